"""Widgets below one another that do not change: what they take is asked once for each width."""

import itertools
from collections.abc import Sequence

import urwid
from urwid.widget.widget import AbstractFlowWidget

from ui.widgets.row import Size


class Stack(urwid.Widget):
    """A flow widget of flow widgets; a Pile asks all that is in them for their kind at every step."""

    _sizing = frozenset([urwid.FLOW])
    _selectable = False

    def __init__(self) -> None:
        super().__init__()
        self._widgets: Sequence[AbstractFlowWidget] = ()
        self._columns = 0
        self._ends: list[int] = []

    def hold(self, widgets: Sequence[AbstractFlowWidget]) -> None:
        """Hold these widgets, at least one, instead of those that were there."""
        self._widgets = widgets
        self._columns = 0
        self._invalidate()

    def ends(self, columns: int) -> list[int]:
        """Return the row behind each widget."""
        if self._columns != columns:
            self._columns = columns
            self._ends = list(itertools.accumulate(widget.rows((columns,)) for widget in self._widgets))
        return self._ends

    def rows(self, size: Size, focus: bool = False) -> int:
        return self.ends(size[0])[-1]

    def render(self, size: Size, focus: bool = False) -> urwid.Canvas:
        return urwid.CanvasCombine([(widget.render((size[0],)), None, False) for widget in self._widgets])
