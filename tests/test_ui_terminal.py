"""Keys as the terminal sends them, and what is written to it."""

import pytest
import urwid

from ui.answers import Answers
from ui.terminal import Terminal, in_ascii


class Sent(Terminal):
    """A terminal that was sent some bytes."""

    def __init__(self) -> None:
        super().__init__(Answers(lambda _: None), None, lambda: None)
        self.bytes = b""
        self.written = ""

    def _get_input_codes(self) -> list[int]:
        sent, self.bytes = self.bytes, b""
        return list(sent)

    def send(self, data: bytes) -> list[object]:
        """Return the keys that it is."""
        self.bytes = data
        typed, _ = self.parse_input(None, None, self.get_available_raw_input(), wait_for_more=False)
        return list(self.pastes.named(typed))


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
    ],
)
def test_bytes_are_the_keys_that_a_person_pressed(sent: bytes, keys: list[object]) -> None:
    assert Sent().send(sent) == keys


def test_a_terminal_that_knows_ascii_alone_gets_signs_of_the_same_width() -> None:
    for text in ("✓ done → next", "漢字 ok", "│─…"):
        shown = in_ascii(text)
        assert shown.isascii()
        assert urwid.calc_width(shown, 0, len(shown)) == urwid.calc_width(text, 0, len(text))
