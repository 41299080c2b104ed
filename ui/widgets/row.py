"""Rows of the screen, texts that are cut to their room, and what scrolls beside a bar."""

import functools
from collections.abc import Callable, Sequence
from typing import ClassVar

import urwid
from urwid.widget.widget import AbstractBoxWidget, AbstractFlowWidget

from ui.theme import Glyphs

Part = tuple[str | None, str]
"""A role of the theme (None: plain) and its text."""
Content = tuple[Sequence[Part], Sequence[Part]]
"""What stands left and right in a row."""
Size = tuple[int, ...]


def width(text: str) -> int:
    """Return the columns of a text."""
    if text.isascii() and text.isprintable():  # nearly all texts, in a tenth of the time
        return len(text)
    return urwid.calc_width(text, 0, len(text))


def parts_width(parts: Sequence[Part]) -> int:
    """Return the columns of parts in a row."""
    return width("".join(text for _, text in parts))


def cut(text: str, columns: int, ellipsis: str = "…") -> str:
    """Return as much of a text as fits, with an ellipsis when something is missing."""
    if width(text) <= columns:
        return text
    if columns <= width(ellipsis):
        return ellipsis[: max(0, columns)]
    end, _ = urwid.calc_text_pos(text, 0, len(text), columns - width(ellipsis))
    return text[:end] + ellipsis


def fit(left: Sequence[Part], right: Sequence[Part], columns: int, ellipsis: str = "…") -> list[Part]:
    """Lay out a row of exactly `columns`; the right part goes first when even the left has no room."""
    right_width = parts_width(right)
    if right_width > columns - 2:
        right, right_width = (), 0
    room = columns - right_width - (1 if right_width else 0)
    row = cut_parts(left, room, ellipsis)
    return [*row, (None, " " * (columns - parts_width(row) - right_width)), *right]


def cut_parts(parts: Sequence[Part], columns: int, ellipsis: str) -> list[Part]:
    """Return as much of parts as fits. Characters can join across parts, so the whole is measured."""
    whole = "".join(text for _, text in parts)
    shown = cut(whole, columns, ellipsis)
    if shown == whole:
        return list(parts)
    ellipsis = ellipsis[: max(0, columns)]
    left = len(shown) - len(ellipsis)
    row: list[Part] = []
    for role, text in parts:
        row.append((role, text[:left]))
        left -= len(row[-1][1])
        if left <= 0:
            break
    return [*row, (row[-1][0], ellipsis)] if shown else []


def cut_rows(text: str, columns: int, rows: int, ellipsis: str) -> str:
    """Return as much of a text as fits into so many rows when it is wrapped."""
    lines = urwid.Text(text).get_line_translation(columns)
    if len(lines) <= rows:
        return text
    last = lines[rows - 1][0][1]  # where its first segment begins
    row = text[last:].partition("\n")[0]
    end, _ = urwid.calc_text_pos(row, 0, len(row), max(0, columns - width(ellipsis)))
    return text[:last] + row[:end] + ellipsis[:columns]


class Row(urwid.Widget):
    """A flow widget one row high. `content` gives its left and right part for a width.

    `role` lies under the roles of the parts.
    """

    _sizing = frozenset([urwid.FLOW])
    _selectable = False
    # What a row shows changes with time; drawing it costs less than finding out.
    no_cache: ClassVar[list[str]] = ["render"]

    def __init__(self, content: Callable[[int], Content], ellipsis: str, role: str | None = None) -> None:
        super().__init__()
        self._content = content
        self._ellipsis = ellipsis
        self._role = role

    def rows(self, size: Size, focus: bool = False) -> int:
        return 1

    def render(self, size: Size, focus: bool = False) -> urwid.Canvas:
        left, right = self._content(size[0])
        return draw(fit(left, right, size[0], self._ellipsis), size[0], self._role)


def constant_row(
    left: Sequence[Part], ellipsis: str, role: str | None = None, right: Sequence[Part] = ()
) -> Row:
    """Return a row that says the same at every width."""
    return Row(lambda _: (left, right), ellipsis, role)


def draw(parts: Sequence[Part], columns: int, role: str | None = None) -> urwid.CompositeCanvas:
    """Draw parts as one row; `role` lies under their own roles."""
    return urwid.CompositeCanvas(_drawn(tuple(part for part in parts if part[1]), columns, role))


@functools.lru_cache(maxsize=256)  # most rows say the same as in the frame before
def _drawn(parts: tuple[Part, ...], columns: int, role: str | None) -> urwid.CompositeCanvas:
    text = urwid.Text(list(parts) or "", wrap=urwid.CLIP)
    canvas = urwid.CompositeCanvas(text.render((columns,)))
    if role is not None:
        canvas.fill_attr_apply({None: role})
    return canvas


def hanging(mark: Part, *text: Part) -> AbstractFlowWidget:
    """Return text whose further lines are indented behind its mark."""
    columns = len(mark[1])
    return urwid.Columns([(columns, urwid.Text(mark)), urwid.Text(list(text))])


class Scrolled(urwid.WidgetWrap[urwid.ScrollBar[AbstractBoxWidget]]):
    """A widget that scrolls with a bar beside it; the bar's column stays free while everything fits."""

    def __init__(self, widget: AbstractBoxWidget, glyphs: Glyphs) -> None:
        self._scrolled = widget
        self.inner = (1, 1)
        """Columns and rows that the widget had when it was drawn."""
        bar = urwid.ScrollBar(
            widget, attr="dim", thumb_attr="dim", thumb_char=glyphs.thumb, trough_char=glyphs.trough
        )
        super().__init__(bar)

    def fits(self, size: tuple[int, int]) -> bool:
        """Tell whether there is nothing to scroll; without knowing, the bar is drawn."""
        return False

    def render(self, size: Size, focus: bool = False) -> urwid.Canvas:
        self.inner = (max(1, size[0] - 1), size[1])
        if size[0] > 1 and self.fits(self.inner):
            canvas = urwid.CompositeCanvas(self._scrolled.render(self.inner, focus))
            canvas.pad_trim_left_right(0, 1)
            return canvas
        return super().render(size, focus)


class ScrolledPage(Scrolled):
    """A page of bounded length that scrolls; several steps between two frames add up."""

    def __init__(self, page: AbstractFlowWidget, glyphs: Glyphs) -> None:
        self.page = urwid.Scrollable(page)
        super().__init__(self.page, glyphs)

    def fits(self, size: tuple[int, int]) -> bool:
        return self.page.rows_max(size) <= size[1]

    def scroll(self, key: str) -> None:
        """Scroll by one of `up`, `down`, `page up`, `page down`, or to `home` or `end`."""
        rows = self.inner[1]
        step = max(1, rows - 1) if key.startswith("page") else 1
        last, at = self.page.rows_max(self.inner) - rows, self.page.get_scrollpos(self.inner)
        at = {"home": 0, "end": last}.get(key, at - step if key.endswith("up") else at + step)
        self.to(max(0, min(at, last)))

    def to(self, row: int) -> None:
        """Begin with a row; where it does already, nothing is drawn anew."""
        if row != self.page.get_scrollpos(self.inner):
            self.page.set_scrollpos(row)
            self._invalidate()
