"""What was found marked on a canvas, wherever it is wrapped."""

import re
from collections.abc import Hashable, Iterator, Sequence
from typing import Literal, NamedTuple

import urwid

from ui.transcript.blocks import Block, ToolBlock
from ui.transcript.canvases import blank_rows
from ui.transcript.legible import head, legible
from ui.transcript.search import pattern
from ui.transcript.viewport import Placed
from ui.view import View
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

    def __init__(self, view: View) -> None:
        self._view = view
        self._query = ""
        self._kept: dict[int, tuple[urwid.Canvas, int, urwid.Canvas]] = {}

    def of(self, position: int, canvas: urwid.Canvas, block: Block) -> urwid.Canvas:
        """Return the canvas of a block as it is while a text is searched for."""
        search = self._view.desk.reading.search
        if search.query != self._query:
            self._query = search.query
            self._kept.clear()
        now = search.current.nth if search.current and search.current.block is block else -1
        kept = self._kept.get(position)
        if kept is None or kept[0] is not canvas or kept[1] != now:
            found = occurrences(canvas, block, self._view)
            kept = canvas, now, marked(canvas, found, now) if any(found) else canvas
            self._kept[position] = kept
        return kept[2]

    def tidy(self, seen: Sequence[Placed]) -> None:
        """Keep nothing but what is in view."""
        if self._kept:
            in_view = {placed.position for placed in seen}
            self._kept = {at: kept for at, kept in self._kept.items() if at in in_view}


def occurrences(canvas: urwid.Canvas, block: Block, view: View) -> list[list[Span]]:
    """Return where each occurrence stands that was counted in a block; nowhere, if it is out of sight.

    What a call does, and what stands beside that, may be cut; what it said begins in the next row.
    """
    search = view.desk.reading.search
    found = spans(canvas, pattern(search.query))
    count = search.times_in(legible(block, view))
    if not isinstance(block, ToolBlock):
        return found[:count]
    first = blank_rows(canvas)
    above = [cells for cells in found if cells[0].row == first]
    count_above = search.times_in(head(block, view))
    below = found[len(above) :][: count - count_above]
    return [*above[:count_above], *([] for _ in range(count_above - len(above))), *below]


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
