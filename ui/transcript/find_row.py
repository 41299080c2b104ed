"""The row below the transcript while it is searched: what for, and how often it was found."""

from typing import Final

import urwid

from ui.composer.editor import LineEditor
from ui.view import View
from ui.widgets.row import Part, cut, draw, width

_COUNT: Final = 14
"""Columns of the count of matches."""


def find_row(line: LineEditor, view: View, columns: int) -> urwid.CompositeCanvas:
    """Draw the row; `line`: what is being written."""
    reading = view.desk.reading
    search = reading.search
    if search.total:
        said: Part = ("dim", f"{search.at + 1:,}/{search.total:,}")
    else:
        said = ("warning", "no match" if search.query else "")
    room = max(1, columns - 3 - _COUNT)
    if reading.finding:
        middle: urwid.Canvas = line.render((room,), True)
    else:
        middle = draw([(None, cut(search.query, room, view.glyphs.ellipsis))], room)
    right = max(1, columns - 2 - room)
    count = draw([(None, " " * max(0, right - 1 - width(said[1]))), said], right)
    sign = draw([("brand", "/ ")], 2)
    return urwid.CanvasJoin([(sign, None, False, 2), (middle, None, True, room), (count, None, False, right)])
