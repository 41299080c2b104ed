"""Searching the transcript as one types: a match is brought into view, unfolded while it is looked at."""

from collections.abc import Callable
from typing import Final

from ipc.terminal_text import clean
from ui import keys
from ui.composer.editor import LineEditor
from ui.orders import Order
from ui.transcript import canvases, folding, highlights
from ui.transcript.blocks import Block
from ui.transcript.legible import head, legible
from ui.transcript.search import Match, Search
from ui.transcript.sheets import Sheets
from ui.transcript.viewport import Viewport, found
from ui.view import View

_AROUND: Final = 3
"""A match that was out of sight is shown at this part of the view from its edge."""


class Finder:
    """What keys do while a text is searched for."""

    def __init__(
        self,
        view: View,
        sheets: Sheets,
        viewport: Viewport,
        reveal: Callable[[int, bool], list[Block]],
    ) -> None:
        """`reveal` chooses the block at a position; told to, it unfolds it and returns what was folded."""
        self._view = view
        self._sheets = sheets
        self._viewport = viewport
        self._reveal = reveal
        self._near = 0
        """The position up to which the first match is looked for."""
        self._opened: list[Block] = []
        """What was folded until the search came there."""
        self.line = LineEditor(multiline=False)
        """What is searched for, while it is written."""

    @property
    def _search(self) -> Search:
        return self._view.desk.reading.search

    def begin(self) -> None:
        """Let the person write what to look for; what was looked for before stands there."""
        self._view.desk.reading.finding = True
        placed = self._viewport.layout(self._viewport.columns, self._viewport.rows)
        self._near = placed[-1].position if placed else self._sheets.end
        self.line.set_edit_text(self._search.query)
        self.line.set_edit_pos(len(self._search.query))

    def press(self, columns: int, key: str, action: keys.Action | None) -> list[Order] | None:
        """Take a key while the text to look for is written; None when it scrolls."""
        match action:
            case "cancel":
                self.close()
            case "toggle":
                self._view.desk.reading.finding, self._opened = False, []
            case "search" | "block_up" | "line_up":
                self.go_on(-1)
            case "block_down" | "line_down":
                self.go_on(1)
            case "page_up" | "page_down" | "select":
                return None
            case _:
                self.line.type(columns, key)
                self._look_for(clean(self.line.edit_text))
        return []

    def close(self) -> None:
        """End the search; what it has unfolded is folded again."""
        self._view.desk.reading.finding = False
        self._fold_again()
        self._view.desk.reading.search = Search()

    def go_on(self, step: int) -> None:
        """Go to the next match below (1) or above (-1)."""
        if self._search.query:
            self._search.again(self._sheets.transcript, self._read, step)
            self.show_match()

    def follow(self) -> None:
        """Find the text again when the transcript was told anew."""
        if self._search.follow(self._sheets.transcript, self._read):
            self._opened = []

    def show_match(self) -> None:
        """Choose the block of the current match, and bring the match into view."""
        self.follow()
        match = self._search.current
        position = None if match is None else found(self._sheets, match.position, match.block)
        if match is None or position is None:
            return
        if not any(match.block is opened for opened in self._opened):
            self._fold_again()
            self._opened = self._reveal(position, self._hides(match))
        row = self._row(position, match)
        self._viewport.show(position, row, row + 1, self._viewport.rows // _AROUND)

    def _look_for(self, query: str) -> None:
        self._search.look_for(query, self._sheets.transcript, self._read, self._near)
        self.show_match()

    def _read(self, block: Block) -> str:
        return legible(block, self._view)

    def _fold_again(self) -> None:
        for block in self._opened:
            block.unfolded = None
        self._opened = []

    def _hides(self, match: Match) -> bool:
        """Tell whether an occurrence is in what is folded."""
        block = match.block
        if not folding.foldable(block) or folding.unfolded(block, self._view.desk.unfolded):
            return False
        return match.nth >= self._search.times_in(head(block, self._view))

    def _row(self, position: int, match: Match) -> int:
        """Return in which row of its block an occurrence is seen."""
        canvas = self._sheets.canvas(position, self._viewport.columns)
        seen = highlights.occurrences(canvas, match.block, self._view)
        cells = seen[match.nth] if match.nth < len(seen) else []
        return cells[0].row if cells else canvases.blank_rows(canvas)
