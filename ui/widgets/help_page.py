"""The help: every key and every command, as they are here, from the one table of them."""

from typing import Final, NamedTuple

import urwid
from urwid.widget.widget import AbstractFlowWidget

from ui import key_names, keys
from ui.transcript.lines import Line, Lines
from ui.view import View
from ui.widgets.overlay import Page
from ui.widgets.row import Size

WIDEST: Final = 136
"""Columns of the screen that it takes at most."""
_TWO_SIDES: Final = 92
"""Columns from which on sections stand side by side."""
_KEYS: Final = 21
_GAP: Final = 3


class HelpPage(Page):
    """Sections of keys with what they do; side by side where there is room."""

    def __init__(self, view: View) -> None:
        super().__init__("Keys and commands", _Sections(view), view.glyphs)


class _Section(NamedTuple):
    head: str
    rows: list[tuple[str, str]]
    """Key or command, and what it does."""


class _Sections(urwid.Widget):
    """All sections in one column or in two of about the same height."""

    _sizing = frozenset([urwid.FLOW])
    _selectable = False

    def __init__(self, view: View) -> None:
        super().__init__()
        self._view = view
        self._keymap: keys.Keymap | None = None
        self._shapes: tuple[AbstractFlowWidget, AbstractFlowWidget]

    def rows(self, size: Size, focus: bool = False) -> int:
        return self._shape(size[0]).rows((size[0],))

    def render(self, size: Size, focus: bool = False) -> urwid.Canvas:
        return urwid.CompositeCanvas(self._shape(size[0]).render((size[0],)))

    def _shape(self, columns: int) -> AbstractFlowWidget:
        if self._keymap is not self._view.keymap:
            self._keymap = self._view.keymap
            sections = _sections(self._keymap)
            left, right = _balanced(sections)
            beside = urwid.Columns([_widget(left), _widget(right)], dividechars=_GAP)
            self._shapes = _widget(sections), beside
        return self._shapes[columns >= _TWO_SIDES]


def _sections(keymap: keys.Keymap) -> list[_Section]:
    bound = [each for each in keymap.bindings if each.keys]
    places = [
        _Section(head, [(each.shown, each.help) for each in bound if each.place == place])
        for place, head in keys.PLACES.items()
    ]
    editing = [(", ".join(map(key_names.shown, names)), does) for names, does in keys.EDITING]
    return [*places, _Section("Editing", editing), _Section("Commands", list(keys.LOCAL_COMMANDS.items()))]


def _balanced(sections: list[_Section]) -> tuple[list[_Section], list[_Section]]:
    heights = [len(section.rows) + 2 for section in sections]
    at = min(range(1, len(sections)), key=lambda at: max(sum(heights[:at]), sum(heights[at:])))
    return sections[:at], sections[at:]


def _widget(sections: list[_Section]) -> AbstractFlowWidget:
    lines = [line for section in sections for line in (*_lines(section), Line([]))][:-1]
    return Lines(lambda _: lines)


def _lines(section: _Section) -> list[Line]:
    rows = [
        Line([("dim", does)], [(None, f"{name} ".ljust(_KEYS))], " " * _KEYS) for name, does in section.rows
    ]
    return [Line([("chrome", section.head)]), *rows]
