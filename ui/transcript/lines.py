"""Lines with a lead: each is wrapped behind it, and drawn anew only when it has changed."""

import functools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

import urwid

from ui.widgets.row import Size, width

Span = tuple[Hashable, str]
"""An attribute (None: plain) and its text."""
Spans = Sequence[Span]
Wrap = Literal["space", "any"]
"""Where a line is cut: between words, or at any sign."""

Segment = tuple[int, int, int | bytes] | tuple[int, int | None]
"""What urwid lays out in a row: columns, from where up to where of the text, or other signs in that place."""
_Row = tuple[bytes, list[tuple[Hashable, int]]]
"""Text as wide as the place is, and how many bytes of it have which attribute."""

LEAST_ROOM: Final = 0.4
"""Share of the columns that a lead must leave; before further rows a wider one is left out."""
ROWS_KEPT: Final = 512
"""Lines whose rows are kept: those of the pieces that are being written, and of what is scrolled."""
_LAYOUT: Final = urwid.StandardTextLayout()


@dataclass(slots=True)
class Line:
    """A line that is wrapped as wide as the place is."""

    body: list[Span]
    lead: list[Span] = field(default_factory=list)
    """What stands before its first row."""
    hang: str = ""
    """What stands before its further rows, in the role of the lead's first sign."""
    wrap: Wrap = "space"

    def under(self, lead: Span, hang: str) -> "Line":
        """Return the line behind a further lead."""
        return Line(self.body, [lead, *self.lead], hang + self.hang, self.wrap)


def layered(inner: Hashable, outer: Hashable) -> Hashable:
    """Return a role over another one; one of them may be none."""
    return outer if inner is None else urwid.LayeredAttr.layer(inner, outer)


class Lines(urwid.Widget):
    """A flow widget of lines, which `lines` gives for a width in columns."""

    _sizing = frozenset([urwid.FLOW])
    _selectable = False

    def __init__(self, lines: Callable[[int], Sequence[Line]]) -> None:
        super().__init__()
        self._lines = lines
        self._columns = 0
        self._rows: list[_Row] = []

    def rows(self, size: Size, focus: bool = False) -> int:
        return len(self._laid_out(size[0]))

    def render(self, size: Size, focus: bool = False) -> urwid.Canvas:
        rows = self._laid_out(size[0])
        text, attributes = [text for text, _ in rows], [attributes for _, attributes in rows]
        return urwid.CompositeCanvas(
            urwid.TextCanvas(text, attributes, maxcol=size[0], check_width=False)  # all are as wide as that
        )

    def _laid_out(self, columns: int) -> list[_Row]:
        if self._columns != columns:
            lines = self._lines(columns) or [Line([])]
            self._rows = [
                row
                for line in lines
                for row in _drawn(tuple(line.lead), tuple(line.body), line.hang, line.wrap, columns)
            ]
            self._columns = columns
        return self._rows


@functools.lru_cache(maxsize=ROWS_KEPT)
def _drawn(
    lead: tuple[Span, ...], body: tuple[Span, ...], hang: str, wrap: Wrap, columns: int
) -> tuple[_Row, ...]:
    spans = (*lead, *body)
    text = "".join(text for _, text in spans)
    taken = width(text)
    if taken <= columns:
        return (_row(spans, columns, taken),)
    indent = "".join(text for _, text in lead)
    rows = _rows(text, len(indent), hang, columns, wrap)
    return tuple(_row(taken_by, columns) for taken_by in (_taken(spans, row) for row in rows))


def _row(spans: Spans, columns: int, taken: int | None = None) -> _Row:
    """Return one row; `taken`: the columns of its text, if they are known."""
    if taken is None:
        taken = width("".join(text for _, text in spans))
    parts = [(attribute, text.encode("utf-8")) for attribute, text in spans if text]
    if taken < columns:
        parts.append((None, b" " * (columns - taken)))
    runs: list[tuple[Hashable, int]] = []
    for attribute, part in parts:
        if runs and runs[-1][0] == attribute:
            runs[-1] = (attribute, runs[-1][1] + len(part))
        else:
            runs.append((attribute, len(part)))
    return b"".join(part for _, part in parts), runs


def _rows(line: str, lead: int, hang: str, columns: int, wrap: Wrap) -> list[list[Segment]]:
    """Return the rows of a line that is too long as urwid's layout segments; `lead`: its characters."""
    indent, hanging = width(line[:lead]), width(hang)
    room = columns - max(indent, hanging)
    if room < columns * LEAST_ROOM:
        return [*_LAYOUT.layout(line, columns, "left", wrap)]
    first, *further = (_moved(row, lead) for row in _LAYOUT.layout(line[lead:], room, "left", wrap))
    begin: list[Segment] = [(indent, 0, lead)] if lead else []
    sign = lead - len(line[:lead].lstrip())
    before: Segment = (hanging, sign, hang.encode("utf-8")) if hang.strip() else (hanging, None)
    return [[*begin, *first], *([before, *row] if hang else row for row in further)]


def _moved(row: Sequence[Segment], by: int) -> list[Segment]:
    moved: list[Segment] = []
    for segment in row:
        if len(segment) == 3:
            columns, start, end = segment
            moved.append((columns, start + by, end + by if isinstance(end, int) else end))
        else:
            columns, place = segment
            moved.append((columns, None if place is None else place + by))
    return moved


def wrapped(spans: Spans, columns: int) -> list[list[Span]]:
    """Return spans as rows that are at most so wide, wrapped between words."""
    text = "".join(text for _, text in spans)
    if width(text) <= columns:
        return [list(spans)]
    return [_taken(spans, row) for row in _LAYOUT.layout(text, columns, "left", "space")]


def _taken(spans: Spans, row: Sequence[Segment]) -> list[Span]:
    """Return what a row of a layout shows of spans."""
    taken: list[Span] = []
    for segment in row:
        if len(segment) == 2:
            taken.append((None, " " * segment[0]))
        elif isinstance(segment[2], int):
            taken += between(spans, segment[1], segment[2])
        else:
            role = next((role for role, _ in between(spans, segment[1], segment[1] + 1)), None)
            taken.append((role, segment[2].decode("utf-8")))
    return taken


def between(spans: Spans, start: int, stop: int) -> list[Span]:
    """Return the characters of spans from `start` up to `stop`."""
    found: list[Span] = []
    at = 0
    for attribute, text in spans:
        end = at + len(text)
        if end > start:
            found.append((attribute, text[max(0, start - at) : stop - at]))
        if end >= stop:
            break
        at = end
    return [span for span in found if span[1]]
