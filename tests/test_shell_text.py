"""What a model reads of a command's output and its end."""

import time

import pytest

from actors.shell.text import described, plain, told
from actors.shell.wire import Reply


def reply(**changes: object) -> Reply:
    whole: Reply = {
        "end": "exited", "status": 0, "total": 5, "head": 5, "tail": 0, "file": "", "in_file": 0,
        "background": [],
    }  # fmt: skip
    return {**whole, **changes}  # type: ignore[typeddict-item]


@pytest.mark.parametrize(
    ("printed", "read"),
    [
        (b"\x1b[1;31mred\x1b[0m", "red"),
        (b"\x1b]0;title\x07text", "text"),
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"\x1bPdcs\x1b\\text\x1b(B", "text"),
        (b" 10%\r 50%\r100%\n", "100%\n"),
        (b"one\r\ntwo\r\n", "one\ntwo\n"),
        (b"N\x08NA\x08AM\x08ME\x08E", "NAME"),
        (b"a\x00b\x07c\x7f\xc2\x9bd\te", "abcd\te"),
        (b"\xff\xfe", "��"),
        (b"one\n" + 40 * b"\xff\x00" + b"\ntwo", "one\n[some 81 bytes that are no text]\ntwo"),
        (b"na\xefve, d\xe9j\xe0 vu\n", "na�ve, d�j� vu\n"),
        (b"\x1b]never closed\nnext line", "\nnext line"),
        (b"\x1b", ""),
    ],
)
def test_output_reads_as_it_would_stand_on_a_screen(printed: bytes, read: str) -> None:
    assert plain(printed) == read


@pytest.mark.parametrize("unit", [b"\x1b[", b"\x1b]", b"\x1b[1;", b"\r", b"a\x08", b"\x1b[0 ", b"\x1bP0"])
def test_hostile_output_is_read_in_linear_time(unit: bytes) -> None:
    started = time.monotonic()
    plain(unit * 200_000)
    assert time.monotonic() - started < 2


def test_a_cut_is_marked_with_its_totals_at_line_ends() -> None:
    text = told(reply(total=1_000_000, head=10, tail=10), b"first 1\nse" + b"ond\nlast1\n", 0)
    assert text.startswith("first 1\n[... 999,987 of 1,000,000 bytes left out")
    assert text.endswith("\nlast1\n[exit status 0]")


def test_a_long_line_is_cut_itself() -> None:
    text = told(reply(total=100, head=10, tail=10), b"a" * 10 + b"b" * 10, 0)
    assert text.startswith("a" * 10 + "\n[... 80 of 100 bytes")
    assert text.split("\n")[2] == "b" * 10


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (0, "exit status 0"),
        (2, "exit status 2"),
        (-9, "killed by SIGKILL"),
        (137, "exit status 137: 128 + SIGKILL"),
        (128 + 60, "exit status 188: 128 + signal 60"),
        (255, "exit status 255"),
    ],
)
def test_statuses_are_told_in_words(status: int, words: str) -> None:
    assert described(status) == words


def test_a_flood_of_background_processes_is_told_in_few_words() -> None:
    background = [(pid, "s\x1b[31mleep") for pid in range(1000)]
    text = told(reply(background=background), b"done\n", 0)
    assert "0 (sleep), 1 (sleep)" in text
    assert "and 990 more" in text
    assert len(text) < 500
