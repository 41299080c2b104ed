"""A page of a long UTF-8 text: some of its lines, bounded in number, in length and in bytes (pure)."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

MAX_BYTES = 32 << 10
MAX_LINE_BYTES = 2000
_BLOCK = 1 << 16
"""Bytes that are passed over at once on the way to a line: a million lines one by one take 250 ms."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One line of a page, or what of it fits."""

    line: int
    """Its number, from 1."""
    column: int
    """Byte of the line at which the piece begins, from 1."""
    text: str
    """Without its line break."""
    left: int = 0
    """Bytes of the line behind the piece."""
    next_column: int = 0
    """Where the rest begins; never inside a character."""
    with_return: bool = False
    """The line ends in CRLF."""


def line_start(data: bytes, line: int) -> int | None:
    """Offset of a line, counted from 1; null when the data end before it."""
    at, before = 0, line - 1
    while at < len(data) and (breaks := data.count(b"\n", at, at + _BLOCK)) < before:
        at, before = at + _BLOCK, before - breaks
    for _ in range(before):
        at = data.find(b"\n", at) + 1
        if at == 0:
            return None
    return at if at < len(data) or line == 1 else None


def line_count(data: bytes) -> int:
    """Lines, the last of which need not have a line break."""
    return data.count(b"\n") + (not data.endswith(b"\n") and bool(data))


def page(data: bytes, start: int, line: int, column: int, limit: int) -> list[Piece]:
    """The pieces of at most `limit` lines from `start` on, the offset of `line`.

    With a `column` past 1 the first line is shown from there, as far as the bound of the page allows.
    """
    return list(islice(_pieces(data, start, line, column), limit))


def _pieces(data: bytes, start: int, line: int, column: int) -> Iterator[Piece]:
    room = MAX_BYTES
    while start < len(data) and room > 0:
        found = data.find(b"\n", start)
        end = len(data) if found < 0 else found
        most = room if column > 1 else MAX_LINE_BYTES
        first = _boundary(data, min(start + column - 1, end), 1)
        last = end if end - first <= most else _boundary(data, first + most, -1)
        with_return = found > 0 and last == end and data[end - 1 : end] == b"\r" and last > first
        text = data[first : last - with_return].decode("utf-8")
        yield Piece(line, first - start + 1, text, end - last, last - start + 1, with_return)
        room -= last - first + 8
        start, line, column = end + 1, line + 1, 1


def _boundary(data: bytes, at: int, step: int) -> int:
    """The nearest offset in the direction of `step` that is not inside a character."""
    while at < len(data) and 0x80 <= data[at] < 0xC0:
        at += step
    return at
