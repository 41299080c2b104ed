"""Lines with a lead: each is wrapped behind it, and all of them are one text to urwid."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

import urwid

from ui.widgets.row import Size, width

Span = tuple[Hashable, str]
"""An attribute (None: plain) and its text."""
Spans = Sequence[Span]

Segment = tuple[int, int, int | bytes] | tuple[int, int | None]
"""What urwid lays out in a row: columns, from where up to where of the text, or other signs in that place."""

LEAST_ROOM: Final = 0.4
"""Share of the columns that a lead must leave; before further rows a wider one is left out."""
_LAYOUT: Final = urwid.StandardTextLayout()


@dataclass(slots=True)
class Line:
    """A line that is wrapped as wide as the place is."""

    body: list[Span]
    lead: list[Span] = field(default_factory=list)
    """What stands before its first row."""
    hang: str = ""
    """What stands before its further rows, in the role of the lead's first sign."""

    def under(self, lead: Span, hang: str) -> "Line":
        """Return the line behind a further lead."""
        return Line(self.body, [lead, *self.lead], hang + self.hang)


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
        self._text: urwid.Text | None = None

    def rows(self, size: Size, focus: bool = False) -> int:
        return self._laid_out(size[0]).rows((size[0],))

    def render(self, size: Size, focus: bool = False) -> urwid.Canvas:
        return urwid.CompositeCanvas(self._laid_out(size[0]).render((size[0],)))

    def _laid_out(self, columns: int) -> urwid.Text:
        if self._text is None or self._columns != columns:
            lines = self._lines(columns)
            markup: list[Span | str] = []
            for line in lines:
                markup += [*line.lead, *line.body, "\n"]
            markup = [each for each in markup[:-1] if each == "\n" or each[1]]
            self._text = urwid.Text(markup or "", layout=_Layout(lines))
            self._columns = columns
        return self._text


class _Layout(urwid.StandardTextLayout):
    """Wraps each line behind its lead."""

    def __init__(self, lines: Sequence[Line]) -> None:
        super().__init__()
        self._leads = [("".join(text for _, text in line.lead), line.hang) for line in lines]

    def layout(
        self,
        text: str | bytes,
        width: int,
        align: Literal["left", "center", "right"] | urwid.Align,
        wrap: Literal["any", "space", "clip", "ellipsis"] | urwid.WrapMode,
    ) -> list[list[Segment]]:
        assert isinstance(text, str)
        rows: list[list[Segment]] = []
        at = 0
        for line, (lead, hang) in zip(text.split("\n"), self._leads, strict=True):
            rows += _rows(line, len(lead), hang, at, width)
            at += len(line) + 1
        return rows


def _rows(line: str, lead: int, hang: str, at: int, columns: int) -> list[list[Segment]]:
    """Return the rows of a line as urwid's layout segments; `lead`: its characters, `at`: where it begins."""
    if width(line) <= columns:
        return [[(width(line), at, at + len(line))]] if line else [[]]
    indent, hanging = width(line[:lead]), width(hang)
    room = columns - max(indent, hanging)
    if room < columns * LEAST_ROOM:
        return [_moved(row, at) for row in _LAYOUT.layout(line, columns, "left", "space")]
    first, *further = (_moved(row, at + lead) for row in _LAYOUT.layout(line[lead:], room, "left", "space"))
    begin: list[Segment] = [(indent, at, at + lead)] if lead else []
    sign = at + lead - len(line[:lead].lstrip())
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
    return [_taken(spans, row) for row in _LAYOUT.layout(text, columns, "left", "space")]


def _taken(spans: Spans, row: Sequence[Segment]) -> list[Span]:
    """Return what a row of a layout shows of spans."""
    taken: list[Span] = []
    for segment in row:
        if len(segment) == 3 and isinstance(segment[2], int):
            taken += between(spans, segment[1], segment[2])
    return taken


def between(spans: Spans, start: int, stop: int) -> list[Span]:
    """Return the characters of spans from `start` up to `stop`."""
    found: list[Span] = []
    at = 0
    for attribute, text in spans:
        part = text[max(0, start - at) : max(0, stop - at)]
        if part:
            found.append((attribute, part))
        at += len(text)
    return found
