"""Blocks as canvases, drawn anew only when they have changed; of those seen lately so many rows are kept."""

from collections.abc import Callable
from typing import Final, NamedTuple

import urwid
from urwid.widget.widget import AbstractFlowWidget

from ui.theme import Glyphs
from ui.transcript import folding
from ui.transcript.blocks import Block, ThoughtBlock, ToolBlock
from ui.transcript.transcript import Transcript
from ui.view import View

KEPT_ROWS: Final = 1_000
"""Rows that are kept of blocks seen lately: 1 to 10 KB each."""


class _Sheet(NamedTuple):
    block: Block
    glyphs: Glyphs
    state: tuple[int, ...]
    """All that can change what is drawn of a block."""
    canvas: urwid.Canvas


class Sheets:
    """The blocks of the transcript, by positions that count from the beginning of the session."""

    def __init__(self, view: View, draw: Callable[[Block, View], AbstractFlowWidget]) -> None:
        self._view = view
        self._draw = draw
        self._kept: dict[int, _Sheet] = {}
        """The one seen last is the last one."""
        self._rows = 0
        """Of all that are kept."""
        self._needed = set[int]()
        """Since the last frame."""

    @property
    def transcript(self) -> Transcript:
        """Where the blocks are."""
        return self._view.state.conversation.transcript

    @property
    def first(self) -> int:
        """The position of the oldest block that is still there."""
        return self.transcript.dropped

    @property
    def end(self) -> int:
        """The position behind the newest."""
        return self.first + len(self.transcript.blocks)

    def thing(self, position: int) -> Block:
        """Return the block at a position."""
        return self.transcript.blocks[position - self.first]

    def height(self, position: int, columns: int) -> int:
        """Return the rows of a block; one that is folded away has none, and need not be drawn for that."""
        if folding.hidden(self.thing(position), self._view.desk.unfolded):
            return 0
        return self.canvas(position, columns).rows()

    def canvas(self, position: int, columns: int) -> urwid.Canvas:
        """Return a block as it looks now: the same canvas as before when it looks the same."""
        block, view = self.thing(position), self._view
        whole = folding.unfolded(block, view.desk.unfolded)
        state = (columns, block.revision, whole, int(view.now * 2) if _moves(block) else 0)
        kept = self._forget(position)
        if kept is None or kept.block is not block or kept.state != state or kept.glyphs is not view.glyphs:
            kept = _Sheet(block, view.glyphs, state, self._draw(block, view).render((columns,)))
        self._kept[position] = kept
        self._needed.add(position)
        self._rows += _cost(kept)
        return kept.canvas

    def tidy(self) -> None:
        """Let go what was not needed lately when it is too much; what this frame needed stays."""
        if self._rows > KEPT_ROWS:
            for position in [each for each in self._kept if each not in self._needed]:
                self._forget(position)
                if self._rows <= KEPT_ROWS:
                    break
        self._needed.clear()

    def _forget(self, position: int) -> _Sheet | None:
        kept = self._kept.pop(position, None)
        if kept is not None:
            self._rows -= _cost(kept)
        return kept


def _cost(sheet: _Sheet) -> int:
    return max(1, sheet.canvas.rows())


def _moves(block: Block) -> bool:
    """Tell whether a block shows how long it goes on."""
    match block:
        case ToolBlock():
            return block.status is None
        case ThoughtBlock():
            return block.lasts
        case _:
            return False
