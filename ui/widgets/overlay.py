"""What lies over the rest of the screen for a moment: its frame, and pages that scroll."""

from collections.abc import Callable
from typing import ClassVar, Final, NamedTuple

import urwid
from urwid.widget.widget import AbstractFlowWidget

from ui.theme import Glyphs
from ui.widgets.row import Part, ScrolledPage, Size

WIDEST: Final = 96
"""Columns past which lines get hard to read."""
_AROUND: Final = 2
"""Rows of the screen that stay in sight: the header and the status line."""
_FRAME: Final = 2


class Page(urwid.WidgetWrap[urwid.Pile]):
    """A head over something that scrolls."""

    no_cache: ClassVar[list[str]] = ["render"]

    def __init__(self, head: str, body: AbstractFlowWidget, glyphs: Glyphs) -> None:
        self.body = body
        self._page = ScrolledPage(body, glyphs)
        title = urwid.Text(("strong", head), wrap=urwid.CLIP)
        gap = (urwid.GIVEN, 1, urwid.SolidFill(" "))
        super().__init__(urwid.Pile([(urwid.PACK, title), gap, (urwid.WEIGHT, 1, self._page)]))

    def rows_wanted(self, columns: int) -> int:
        """Return the rows of all of it."""
        return self.body.rows((max(1, columns - 1),)) + 2

    def scroll(self, key: str) -> None:
        """Scroll by one of `up`, `down`, `page up`, `page down`, or to `home` or `end`."""
        self._page.scroll(key)


class TextPage(Page):
    """A page of text, which is asked for anew at every frame."""

    def __init__(self, head: str, markup: Callable[[], list[Part]], glyphs: Glyphs) -> None:
        self._markup = markup
        self._text = urwid.Text("")
        super().__init__(head, self._text, glyphs)

    def rows_wanted(self, columns: int) -> int:
        self._text.set_text(self._markup())
        return super().rows_wanted(columns)

    def render(self, size: Size, focus: bool = False) -> urwid.Canvas:
        self._text.set_text(self._markup())
        return super().render(size, focus)


class Box(NamedTuple):
    """A place on the screen, without the frame around it."""

    left: int
    top: int
    columns: int
    rows: int


def overlay_box(size: Size, overlay: urwid.Widget, widest: int) -> Box:
    """Return where an overlay lies; it is no higher than what is in it."""
    columns, rows = size
    width = min(columns, widest)
    most = rows - _AROUND
    wanted = overlay.rows_wanted(width - 3) if isinstance(overlay, Page) else most
    height = max(_FRAME + 1, min(most, wanted + _FRAME))
    return Box((columns - width) // 2 + 2, (rows - height) // 2 + 1, width - 3, height - _FRAME)


def overlaid(body: urwid.Canvas, widget: urwid.Widget, box: Box, glyphs: Glyphs) -> urwid.Canvas:
    """Return `body` with a framed widget over it."""
    rule, side = glyphs.rule, glyphs.bar
    corners = glyphs.corners
    framed = urwid.LineBox(
        urwid.Padding(widget, left=1),
        tline=rule,
        bline=rule,
        lline=side,
        rline=side,
        tlcorner=corners[0],
        trcorner=corners[1],
        blcorner=corners[2],
        brcorner=corners[3],
    )
    top = framed.render((box.columns + 3, box.rows + _FRAME), True)
    return urwid.CanvasOverlay(top, body, box.left - 2, box.top - 1)
