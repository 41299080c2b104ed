"""Keys as the terminal sends them, and what is written to it."""

import contextlib
import os
import termios
import threading
import time
import tty
from collections.abc import Callable, Iterator

import pytest
import urwid

from ui.answers import ASK_BACKGROUND
from ui.terminal import Terminal, in_ascii


class Clock:
    """Calls back when it is told to."""

    def __init__(self) -> None:
        self.due: Callable[[], None] | None = None

    def __call__(self, seconds: float, callback: Callable[[], None]) -> "Clock":
        self.due = callback
        return self

    def fire(self) -> None:
        """Let the time run out."""
        assert self.due is not None
        due, self.due = self.due, None
        due()

    def cancel(self) -> None:
        self.due = None


class Sent(Terminal):
    """A terminal that was sent some bytes."""

    def __init__(self) -> None:
        self.later = Clock()
        super().__init__(None, lambda _: None, lambda: None, lambda: None, self.later)
        self.bytes = b""
        self.written = ""

    def _get_input_codes(self) -> list[int]:
        sent, self.bytes = self.bytes, b""
        return list(sent)

    def write(self, data: str) -> None:
        self.written += data

    def flush(self) -> None:
        pass

    def send(self, data: bytes) -> list[object]:
        """Return the keys that it is."""
        self.bytes = data
        typed, _ = self.parse_input(None, None, self.get_available_raw_input(), wait_for_more=False)
        return list(self.named(typed))


@pytest.mark.parametrize(
    ("sent", "keys"),
    [
        (b"\r", ["enter"]),
        (b"\n", ["ctrl j"]),
        (b"\x1b\r", ["meta enter"]),
        (b"\x1b[13;2u", ["shift enter"]),
        (b"\x03", ["ctrl c"]),
        (b"\x1a", ["ctrl z"]),
        (b"\x1b", ["esc"]),
        (b"\x1b[I\x1b[O", ["focus in", "focus out"]),
        (b"\x1b[200~\nenter\r\x1b[201~", ["\nenter\n"]),
        (b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\a", ["a"]),
        (b"\x1b[<64;3;4M", [("mouse press", 4, 2, 3)]),
        ("é漢".encode(), ["é", "漢"]),
        (b"\x00", ["ctrl  "]),
        (b"\x1b[32;5u", ["ctrl  "]),
        (b"\x1b[105;5u\x1b[109;5u\x1b[104;5u\x1b[91;5u", ["tab", "enter", "backspace", "esc"]),
        (b"\x1b[1089::99;5u", ["ctrl c"]),  # С of a Cyrillic keyboard
        (b"\x1b[1089:1057:99;69u", ["ctrl c"]),  # with Caps Lock
        (b"\x1b[1084:1052:118;3u", ["meta v"]),
        (b"\x1b[1092::97;5:1u", ["ctrl a"]),
        (b"\x1b[1089:1057:99;2u", ["С"]),
        (b"\x1b[1489::99;5u", ["ctrl c"]),  # Hebrew
        (b"\x1b[106::99;5u", ["ctrl j"]),  # Dvorak has Latin letters
        (b"\x1b]10;rgb:ffff/ffff/ffff\x07a", ["a"]),
        (b"\x1bPx", ["meta P", "x"]),
    ],
)
def test_bytes_are_the_keys_that_a_person_pressed(sent: bytes, keys: list[object]) -> None:
    assert Sent().send(sent) == keys


def test_a_terminal_that_knows_ascii_alone_gets_signs_of_the_same_width() -> None:
    for text in ("✓ done → next", "漢字 ok", "│─…"):
        shown = in_ascii(text)
        assert shown.isascii()
        assert urwid.calc_width(shown, 0, len(shown)) == urwid.calc_width(text, 0, len(text))


@pytest.mark.parametrize(
    "given_up", [b"\x03", b"\x1b[99;5u", b"\x1b[99;69u", b"\x1b[1089::99;5u", b"\x1b[27;5;99~"]
)
def test_ctrl_c_ends_a_paste_whose_end_was_lost_however_the_terminal_sends_it(given_up: bytes) -> None:
    sent = Sent()
    assert sent.send(b"\x1b[200~abc") == []
    assert sent.send(b"\x1b[99u") == []
    assert sent.send(given_up) == ["abc\x1b[99u"]
    assert sent.send(b"x") == ["x"]


def test_an_answer_that_was_cut_off_leaves_the_keyboard_alive() -> None:
    sent = Sent()
    assert sent.send(b"\x1b]11;rgb:1e1e/1e") == []
    sent.later.fire()
    assert sent.send(b"hello") == [*"hello"]


@pytest.mark.parametrize("term", ["linux", "linux-16color", "dumb", "fbterm", ""])
def test_a_terminal_that_prints_what_it_does_not_know_gets_none_of_it(
    monkeypatch: pytest.MonkeyPatch, term: str
) -> None:
    monkeypatch.setenv("TERM", term)
    sent = Sent()
    sent._started = True
    sent.set_title("Fido")
    sent.copy_to_clipboard("text")
    sent.tell("\x1b]9;done\x07")
    assert sent.written == ""
    assert not sent.has_clipboard
    sent.tell("\x07")
    assert sent.written == "\x07"


class Asking(Sent):
    """A terminal on a real pty, which is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.outside, self.inside = os.openpty()
        tty.setraw(self.inside)
        os.set_blocking(self.inside, False)

    def _input_fileno(self) -> int:
        return self.inside


@pytest.fixture
def asking() -> Iterator[Asking]:
    made = Asking()
    yield made
    for fd in (made.outside, made.inside):
        with contextlib.suppress(OSError):
            os.close(fd)


def test_a_terminal_that_has_answered_is_not_asked_again(asking: Asking) -> None:
    asking._detect_terminal_modes()
    assert ASK_BACKGROUND in asking.written
    assert asking.written.endswith("\x1b[c")  # the answer to it comes last
    asking.send(b"\x1b[?62;22c")
    before = asking.written
    asking._detect_terminal_modes()
    assert asking.written == before


def test_answers_that_are_on_their_way_are_taken_before_another_program_has_the_terminal(
    asking: Asking,
) -> None:
    asking._detect_terminal_modes()
    answers = b"\x1b]11;rgb:00/00/00\x1b\\\x1b[?2026;2$y", b"\x1b[?0u\x1b[?62;22c"
    os.write(asking.outside, answers[0])
    timer = threading.Timer(0.05, os.write, (asking.outside, answers[1]))
    timer.start()
    asking._take_answers()
    timer.join()
    with pytest.raises(BlockingIOError):
        os.read(asking.inside, 1)


def test_nobody_waits_for_a_terminal_that_never_answers(asking: Asking) -> None:
    asking._detect_terminal_modes()
    asking._answers_until = time.monotonic()
    asking._take_answers()
    assert not asking._outstanding


def test_a_terminal_that_is_gone_is_left_without_a_word(asking: Asking) -> None:
    asking._started = True
    asking._old_termios_settings = termios.tcgetattr(asking.inside)
    asking._detect_terminal_modes()
    os.close(asking.outside)
    asking.outside = os.open(os.devnull, os.O_RDONLY)
    asking.stop()
    assert not asking.started
