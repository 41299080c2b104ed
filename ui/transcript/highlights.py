"""What was found marked on a canvas, wherever it is wrapped."""

import re
from collections.abc import Hashable, Iterator
from typing import Literal, NamedTuple

import urwid

from ui.transcript.search import pattern
from ui.widgets.row import width

Charset = Literal["0", "U"] | None
Run = tuple[Hashable, Charset, bytes]
"""Text of one look: its attribute, its character set."""


class Span(NamedTuple):
    """Columns of a row."""

    row: int
    start: int
    stop: int


class Highlights:
    """Canvases with what was found in them; made once for as long as nothing about them changes."""

    def __init__(self) -> None:
        self._query = ""
        self._pattern = pattern("")
        self._kept: dict[int, tuple[urwid.Canvas, int, urwid.Canvas]] = {}

    def of(self, position: int, canvas: urwid.Canvas, query: str, current: int) -> urwid.Canvas:
        """Return the canvas of a block as it is while a text is searched for; `current` as in `marked`."""
        if query != self._query:
            self._query, self._pattern = query, pattern(query)
            self._kept.clear()
        kept = self._kept.get(position)
        if kept is None or kept[0] is not canvas or kept[1] != current:
            found = spans(canvas, self._pattern)
            kept = canvas, current, marked(canvas, found, current) if found else canvas
            self._kept[position] = kept
        return kept[2]


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
    marks: dict[int, list[tuple[int, int, str]]] = {}
    for at, cells in enumerate(found):
        for span in cells:
            role = "found now" if at == current else "found"
            marks.setdefault(span.row, []).append((span.start, span.stop, role))
    texts = list[bytes]()
    attributes, sets = list[list[tuple[Hashable, int]]](), list[list[tuple[Charset, int]]]()
    for at, row in enumerate(canvas.content()):
        runs = list(_coloured(row, marks[at])) if at in marks else row
        texts.append(b"".join(text for _, _, text in runs))
        attributes.append([(attribute, len(text)) for attribute, _, text in runs])
        sets.append([(charset, len(text)) for _, charset, text in runs])
    return urwid.TextCanvas(texts, attributes, sets, maxcol=canvas.cols(), check_width=False)


def _coloured(row: list[Run], marks: list[tuple[int, int, str]]) -> Iterator[Run]:
    """Split the runs of a row where a mark begins or ends."""
    column = 0
    for attribute, charset, text in row:
        stop = column + urwid.calc_width(text, 0, len(text))
        done = 0
        for start, end, role in marks:
            if start < stop and end > column:
                first = urwid.calc_text_pos(text, 0, len(text), max(0, start - column))[0]
                last = urwid.calc_text_pos(text, 0, len(text), end - column)[0]
                yield attribute, charset, text[done:first]
                yield role, charset, text[first:last]
                done = last
        yield attribute, charset, text[done:]
        column = stop
