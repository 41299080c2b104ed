"""What lies over the rest of the screen for a moment: its frame, pages of text, and the help."""

from collections.abc import Callable
from typing import ClassVar, Final

import urwid

from ui import keys
from ui.theme import Glyphs
from ui.widgets.row import Part, ScrolledPage, Size

WIDEST: Final = 96
"""Columns past which lines get hard to read."""


class TextPage(urwid.WidgetWrap[urwid.Pile]):
    """A head over a text that scrolls; the text is asked for anew at every frame."""

    no_cache: ClassVar[list[str]] = ["render"]

    def __init__(self, head: str, markup: Callable[[], list[Part]], glyphs: Glyphs) -> None:
        self._markup = markup
        self._text = urwid.Text("")
        self._page = ScrolledPage(self._text, glyphs)
        title = urwid.Text(("strong", head), wrap=urwid.CLIP)
        super().__init__(urwid.Pile([(urwid.PACK, title), (urwid.WEIGHT, 1, self._page)]))

    def render(self, size: Size, focus: bool = False) -> urwid.Canvas:
        self._text.set_text(self._markup())
        return super().render(size, focus)

    def scroll(self, key: str) -> None:
        """Scroll by one of `up`, `down`, `page up`, `page down`."""
        self._page.scroll(key)


def overlay_box(columns: int, rows: int) -> tuple[int, int, int, int]:
    """Return left, top, columns and rows of what is inside the frame on a screen of this size."""
    width, height = _framed(columns, rows)
    return (columns - width) // 2 + 2, (rows - height) // 2 + 1, width - 3, height - 2


def overlaid(body: urwid.Canvas, box: urwid.Widget, glyphs: Glyphs) -> urwid.Canvas:
    """Return `body` with a framed `box` over its middle."""
    columns, rows = body.cols(), body.rows()
    width, height = _framed(columns, rows)
    rule, side = glyphs.rule, glyphs.bar
    corners = glyphs.corners
    framed = urwid.LineBox(
        urwid.Padding(box, left=1),
        tline=rule,
        bline=rule,
        lline=side,
        rline=side,
        tlcorner=corners[0],
        trcorner=corners[1],
        blcorner=corners[2],
        brcorner=corners[3],
    )
    top = framed.render((width, height), True)
    return urwid.CanvasOverlay(top, body, (columns - width) // 2, (rows - height) // 2)


def _framed(columns: int, rows: int) -> tuple[int, int]:
    """Return columns and rows of the frame; the status line below it stays in sight."""
    return min(columns, WIDEST), max(3, rows - 2) if rows > 8 else rows


def help_markup() -> list[Part]:
    """Return keys and commands, from the one table of them."""
    names = [binding.shown for binding in keys.BINDINGS] + list(keys.LOCAL_COMMANDS)
    helps = [binding.help for binding in keys.BINDINGS] + list(keys.LOCAL_COMMANDS.values())
    return [
        part
        for name, does in zip(names, helps, strict=True)
        for part in ((None, name), ("dim", f"  {does}\n"))
    ]
