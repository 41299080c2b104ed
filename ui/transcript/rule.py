"""The rule below the transcript: it says when there is more below, and a click on that goes there."""

from collections.abc import Callable
from typing import ClassVar, Final

import urwid

from ui.view import View
from ui.widgets.row import Part, Size, draw, parts_width

_BEHIND: Final = 2
"""Columns of the rule behind what it says."""


class Rule(urwid.Widget):
    """One row. `said` gives what is to be told, `follow` goes to the end."""

    _sizing = frozenset([urwid.FLOW])
    _selectable = False
    no_cache: ClassVar[list[str]] = ["render"]

    def __init__(self, view: View, said: Callable[[], str], follow: Callable[[], None]) -> None:
        super().__init__()
        self._view = view
        self._said = said
        self._follow = follow

    def rows(self, size: Size, focus: bool = False) -> int:
        return 1

    def render(self, size: Size, focus: bool = False) -> urwid.Canvas:
        rule, said = self._view.glyphs.rule, self._said()
        told: list[Part] = [("chosen", f" {said} ")] if said else []
        before = size[0] - parts_width(told) - _BEHIND
        if not told or before < 0:
            return draw([("rule", rule * size[0])], size[0])
        return draw([("rule", rule * before), *told, ("rule", rule * _BEHIND)], size[0])

    def mouse_event(self, size: Size, event: str, button: int, col: int, row: int, focus: bool) -> bool:
        """Go to the end on a click."""
        if event != "mouse press" or button != 1 or not self._said():
            return False
        self._follow()
        return True
