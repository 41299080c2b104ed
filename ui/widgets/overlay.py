"""What lies over the rest of the screen for a moment: its frame, and the help."""

from typing import Final

import urwid

from ui import keys
from ui.theme import Glyphs
from ui.widgets.row import Part, ScrolledPage

WIDEST: Final = 96
"""Columns past which lines get hard to read."""


class HelpText(urwid.WidgetWrap[urwid.Pile]):
    """Keys and commands, from the one table of them."""

    def __init__(self, glyphs: Glyphs) -> None:
        self._page = ScrolledPage(urwid.Text(_help_markup()), glyphs)
        head = urwid.Text(("strong", "Keys and commands"), wrap=urwid.CLIP)
        super().__init__(urwid.Pile([(urwid.PACK, head), (urwid.WEIGHT, 1, self._page)]))

    def scroll(self, key: str) -> None:
        """Scroll by one of `up`, `down`, `page up`, `page down`."""
        self._page.scroll(key)


def overlaid(body: urwid.Canvas, box: urwid.Widget, glyphs: Glyphs) -> urwid.Canvas:
    """Return `body` with a framed `box` over its middle."""
    columns, rows = body.cols(), body.rows()
    width, height = min(columns, WIDEST), max(3, rows - 2) if rows > 8 else rows
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


def _help_markup() -> list[Part]:
    names = [binding.shown for binding in keys.BINDINGS] + list(keys.LOCAL_COMMANDS)
    helps = [binding.help for binding in keys.BINDINGS] + list(keys.LOCAL_COMMANDS.values())
    return [
        part
        for name, does in zip(names, helps, strict=True)
        for part in ((None, name), ("dim", f"  {does}\n"))
    ]
