"""The help: every key and every command, as they are here, from the one table of them."""

from typing import ClassVar, Final, NamedTuple

import urwid

from ui import key_names, keys
from ui.view import View
from ui.widgets.overlay import Page
from ui.widgets.row import Size

WIDEST: Final = 136
"""Columns of the screen that it takes at most."""
_TWO_SIDES: Final = 92
"""Columns from which on sections stand side by side."""
_KEYS: Final = 20
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
    no_cache: ClassVar[list[str]] = ["render", "rows"]

    def __init__(self, view: View) -> None:
        super().__init__()
        self._view = view

    def rows(self, size: Size, focus: bool = False) -> int:
        return self.render(size).rows()

    def render(self, size: Size, focus: bool = False) -> urwid.Canvas:
        columns = size[0]
        sections = [_drawn(section) for section in _sections(self._view.keymap)]
        if columns < _TWO_SIDES:
            return urwid.Pile([(urwid.PACK, each) for each in sections]).render((columns,))
        side = (columns - _GAP) // 2
        heights = [each.rows((side,)) for each in sections]
        at = min(range(1, len(sections)), key=lambda at: max(sum(heights[:at]), sum(heights[at:])))
        sides = [urwid.Pile([(urwid.PACK, each) for each in part]) for part in (sections[:at], sections[at:])]
        return urwid.Columns(sides, dividechars=_GAP).render((columns,))


def _sections(keymap: keys.Keymap) -> list[_Section]:
    bound = [each for each in keymap.bindings if each.keys]
    places = [
        _Section(head, [(each.shown, each.help) for each in bound if each.place == place])
        for place, head in keys.PLACES.items()
    ]
    editing = [(", ".join(map(key_names.shown, names)), does) for names, does in keys.EDITING]
    return [*places, _Section("Editing", editing), _Section("Commands", list(keys.LOCAL_COMMANDS.items()))]


def _drawn(section: _Section) -> urwid.Pile:
    rows = [
        urwid.Columns([(_KEYS, urwid.Text(name)), urwid.Text(("dim", does))], dividechars=1)
        for name, does in section.rows
    ]
    head = urwid.Text(("chrome", section.head))
    return urwid.Pile([(urwid.PACK, each) for each in (head, *rows, urwid.Divider())])
