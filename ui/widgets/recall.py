"""The list of earlier sessions with a search line, laid over the screen."""

from typing import ClassVar, Final

import urwid

from ipc.messages import SessionSummary
from ipc.terminal_text import clean
from ui import figures, keys
from ui.composer.editor import LineEditor
from ui.recall import Recall, changed_at
from ui.view import View
from ui.widgets.row import Content, Part, Size, draw, fit

_NARROW: Final = 60
"""Columns below which a day stands without its time."""
_AROUND: Final = 3
"""Rows above the list: head, search line, names of the columns."""
_STEPS: Final[dict[keys.Action | None, int]] = {
    "choose_up": -1,
    "choose_down": 1,
    "oldest": -(10**6),
    "newest": 10**6,
}


class RecallList(urwid.Widget):
    """What can be chosen; the chosen row is always in view."""

    _sizing = frozenset([urwid.BOX])
    _selectable = True
    no_cache: ClassVar[list[str]] = ["render"]

    def __init__(self, view: View) -> None:
        super().__init__()
        self._view = view
        self._recall = Recall()
        self._search = _search_line()
        self._top = 0
        self._page = 1

    def changed(self) -> None:
        """Show the list that the desk now has."""
        recall = self._view.desk.recall
        if recall is not None and recall is not self._recall:
            self._recall, self._search, self._top = recall, _search_line(), 0

    def press(self, columns: int, key: str) -> str | None:
        """Take a key; return the id of the session it opens."""
        action = self._view.keymap.action_of(key, "list")
        recall = self._recall
        if action == "take":
            chosen = recall.chosen(self._open_id)
            return None if chosen is None else chosen.session_id
        if action in ("page_up", "page_down"):
            recall.move(-self._page if action == "page_up" else self._page, self._open_id)
        elif action in _STEPS:
            recall.move(_STEPS[action], self._open_id)
        elif action is None:
            self._search.type(columns, key)
            recall.query = clean(self._search.get_edit_text())
        return None

    def scroll(self, key: str) -> None:
        """Choose another one: `up` or `down`."""
        self._recall.move(-1 if key.endswith("up") else 1, self._open_id)

    def mouse_event(self, size: Size, event: str, button: int, col: int, row: int, focus: bool) -> bool:
        """Choose what was clicked."""
        matching, at = self._recall.matching(), self._top + row - _AROUND
        if event == "mouse press" and row >= _AROUND and at < len(matching):
            self._recall.choose(matching[at].session_id)
            return True
        return False

    def render(self, size: Size, focus: bool = False) -> urwid.Canvas:
        columns, rows = size
        matching, chosen = self._recall.matching(), self._recall.chosen(self._open_id)
        search = self._search_row(columns, focus)
        parts = [self._draw(self._head(matching), columns), search, self._draw(_names(columns), columns)]
        if matching:
            at = 0 if chosen is None else matching.index(chosen)
            parts += [
                self._row(session, columns, session is chosen)
                for session in self._window(matching, at, max(1, rows - _AROUND))
            ]
        else:
            parts.append(urwid.CompositeCanvas(urwid.Text(("dim", self._nothing())).render((columns,))))
        canvas = urwid.CanvasCombine([(part, None, part is search) for part in parts])
        canvas.pad_trim_top_bottom(0, rows - canvas.rows())
        return canvas

    def _search_row(self, columns: int, focus: bool) -> urwid.CompositeCanvas:
        room = max(1, columns - 2)
        mark = draw([("brand", f"{self._view.glyphs.prompt} ")], 2)
        return urwid.CanvasJoin(
            [(mark, None, False, 2), (self._search.render((room,), focus), None, True, room)]
        )

    def _window(self, matching: list[SessionSummary], at: int, rows: int) -> list[SessionSummary]:
        """Return the rows in view; scrolled as little as needed for the one at `at`."""
        self._page = max(1, rows - 1)
        self._top = max(at - rows + 1, min(self._top, at, max(0, len(matching) - rows)))
        return matching[self._top : self._top + rows]

    def _row(self, session: SessionSummary, columns: int, is_chosen: bool) -> urwid.CompositeCanvas:
        is_open = session.session_id == self._open_id
        when = (figures.day if columns < _NARROW else figures.moment)(changed_at(session), self._view.wall())
        state = "open" if is_open else "running" if session.running else ""
        left: list[Part] = [
            ("brand", f"{self._view.glyphs.chosen if is_chosen else ' '} "),
            ("dim", when.ljust(_when_columns(columns))),
            (None, session.first_prompt),
        ]
        right: list[Part] = [("warning", f"{state} "), ("dim", f"{session.turns:>4} ")]
        canvas = self._draw((left, right), columns, "strong" if is_chosen else None)
        if is_open:
            canvas.fill_attr_apply(dict.fromkeys((None, "brand", "warning"), "dim"))
        return canvas

    def _head(self, matching: list[SessionSummary]) -> Content:
        every = self._recall.sessions or ()
        count = f"{len(matching)} of {len(every)} " if every else ""
        return [("strong", "Earlier sessions")], [("dim", count)]

    def _nothing(self) -> str:
        if self._recall.sessions is None:
            return f"Loading{self._view.glyphs.ellipsis}"
        if not self._recall.sessions:
            return "There is no earlier session in this workspace."
        return "No session holds these words."

    def _draw(self, content: Content, columns: int, role: str | None = None) -> urwid.CompositeCanvas:
        return draw(fit(*content, columns, self._view.glyphs.ellipsis), columns, role)

    @property
    def _open_id(self) -> str:
        session = self._view.state.conversation.session
        return "" if session is None else session.session_id


def _when_columns(columns: int) -> int:
    return 12 if columns < _NARROW else 18


def _names(columns: int) -> Content:
    """Return the names of the columns."""
    return [("dim", f"  {'last used'.ljust(_when_columns(columns))}first prompt")], [("dim", "turns ")]


def _search_line() -> LineEditor:
    return LineEditor("type to search", multiline=False)
