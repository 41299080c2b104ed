"""What an ask is about, in full: a command, a diff, a question; scrolled where it has no room."""

from typing import ClassVar, Final

import urwid
from urwid.widget.widget import AbstractFlowWidget

from ipc.messages import AskRaised
from ui import asking
from ui.diffs import diff_lines, shows_diff
from ui.transcript.lines import Line, Lines
from ui.view import View
from ui.widgets.diff import diff_text
from ui.widgets.row import ScrolledPage, Size, constant_row

_HANG: Final = 2


class AskBody(urwid.Widget):
    """As high as its text, within a limit; below a part of it stands how much is out of sight."""

    _sizing = frozenset([urwid.FLOW])
    _selectable = False
    no_cache: ClassVar[list[str]] = ["render"]

    def __init__(self, view: View, ask: AskRaised) -> None:
        super().__init__()
        self.limit = 1
        """Most rows it may take."""
        self._view = view
        self._text = _text(view, ask)
        self._page = ScrolledPage(self._text, view.glyphs)

    def whole(self, columns: int) -> int:
        """Return the rows that all of it takes."""
        return self._text.rows((max(1, columns - 1),))  # the last column is the scroll bar's

    def rows(self, size: Size, focus: bool = False) -> int:
        return max(1, min(self.limit, self.whole(size[0])))

    def render(self, size: Size, focus: bool = False) -> urwid.Canvas:
        columns, rows = size[0], self.rows(size)
        if rows == 1 or self.whole(columns) <= rows:
            return self._page.render((columns, rows))
        page = self._page.render((columns, rows - 1))
        ellipsis = self._view.glyphs.ellipsis
        foot = constant_row([("ask", f"{ellipsis} {self.hidden(columns)}")], ellipsis).render((columns,))
        return urwid.CanvasCombine([(page, None, False), (foot, None, False)])

    def scroll(self, key: str) -> None:
        """Scroll by one of `up`, `down`, `page up`, `page down`."""
        self._page.scroll(key)

    def is_cut(self, columns: int) -> bool:
        """Tell whether there is more of it than can be seen at once."""
        return self.whole(columns) > self.rows((columns,))

    def hidden(self, columns: int, *, brief: bool = False) -> str:
        """Return how much is out of sight, and the key to it."""
        shown = max(1, self.rows((columns,)) - 1)
        above = self._page.page.get_scrollpos((max(1, columns - 1), shown))
        below = self.whole(columns) - shown - above
        count, where = (below, "below") if below > 0 else (above, "above")
        key = self._view.keymap.shown("page_down" if below > 0 else "page_up")
        rows = "" if brief else f" {'row' if count == 1 else 'rows'} {where}"
        return f"{count} more{rows}: {key}"


def _text(view: View, ask: AskRaised) -> AbstractFlowWidget:
    if shows_diff(ask.tool):
        return diff_text(diff_lines(ask.body), view.glyphs)
    # Rows that go on stand further right: where a line of a command ends must be seen.
    hang = " " * _HANG if ask.kind == "approval" else ""
    lines = [Line([(None, line)], hang=hang) for line in asking.body(ask).split("\n")]
    return Lines(lambda _: lines)
