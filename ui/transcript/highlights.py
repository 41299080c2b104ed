"""What was found marked on a canvas, wherever it is wrapped."""

import re
from collections.abc import Hashable, Iterator
from typing import Literal, NamedTuple

import urwid

from ui.widgets.row import width

Charset = Literal["0", "U"] | None
Run = tuple[Hashable, Charset, bytes]
"""Text of one look: its attribute, its character set."""


class Span(NamedTuple):
    """Columns of a row."""

    row: int
    start: int
    stop: int


def spans(canvas: urwid.Canvas, pattern: re.Pattern[str]) -> list[list[Span]]:
    """Return where each occurrence stands: in one row, or in several when it is wrapped."""
    rows = [row.decode("utf-8") for row in canvas.text]
    starts, joined = list[int](), ""
    for row in rows:
        starts.append(len(joined))
        joined += row.strip() + "\n"
    margins = [len(row) - len(row.lstrip()) for row in rows]
    found = []
    for match in pattern.finditer(joined):
        cells = []
        for at, start in enumerate(starts):
            text = rows[at].strip()
            first, last = max(0, match.start() - start), min(len(text), match.end() - start)
            if first < last:
                before = width(rows[at][: margins[at] + first])
                cells.append(Span(at, before, before + width(text[first:last])))
        if cells:
            found.append(cells)
    return found


def marked(canvas: urwid.Canvas, found: list[list[Span]], current: int) -> urwid.Canvas:
    """Return a canvas with the occurrences in their colours; `current`: which of them is the current one."""
    roles: dict[int, list[tuple[Span, str]]] = {}
    for at, cells in enumerate(found):
        for span in cells:
            roles.setdefault(span.row, []).append((span, "found now" if at == current else "found"))
    texts = list[bytes]()
    attributes, sets = list[list[tuple[Hashable, int]]](), list[list[tuple[Charset, int]]]()
    for at, row in enumerate(canvas.content()):
        pieces = list(_coloured(row, roles.get(at, [])))
        texts.append(b"".join(text for _, _, text in pieces))
        attributes.append([(attribute, len(text)) for attribute, _, text in pieces])
        sets.append([(charset, len(text)) for _, charset, text in pieces])
    return urwid.TextCanvas(texts, attributes, sets, maxcol=canvas.cols(), check_width=False)


def _coloured(row: list[Run], spans: list[tuple[Span, str]]) -> Iterator[Run]:
    """Split the runs of a row where a mark begins or ends."""
    column = 0
    for attribute, charset, text in row:
        for sign in _signs(text.decode("utf-8")):
            role = next((role for span, role in spans if span.start <= column < span.stop), None)
            yield attribute if role is None else role, charset, sign.encode("utf-8")
            column += width(sign)


def _signs(text: str) -> Iterator[str]:
    """Yield the characters of a text, each with what joins it."""
    sign = ""
    for character in text:
        if sign and width(character):
            yield sign
            sign = ""
        sign += character
    if sign:
        yield sign
