"""Blocks as canvases, drawn anew only when they have changed."""

from collections.abc import Callable
from typing import Final, NamedTuple

import urwid
from urwid.widget.widget import AbstractFlowWidget

from ui.theme import Glyphs
from ui.transcript import folding
from ui.transcript.blocks import Block, ThoughtBlock, ToolBlock
from ui.transcript.transcript import Transcript
from ui.view import View

KEPT: Final = 300
"""Canvases that are kept of blocks seen lately: at most 3 MB."""


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
        """Return the rows of a block; a folded one has none below its head."""
        return self.canvas(position, columns).rows()

    def canvas(self, position: int, columns: int) -> urwid.Canvas:
        """Return a block as it looks now: the same canvas as before when it looks the same."""
        block, view = self.thing(position), self._view
        whole = folding.unfolded(block, view.desk.unfolded)
        state = (columns, block.revision, whole, int(view.clock() * 2) if _moves(block) else 0)
        kept = self._kept.get(position)
        if kept is None or kept.block is not block or kept.state != state or kept.glyphs is not view.glyphs:
            canvas = self._draw(block, view).render((columns,))
            kept = _Sheet(block, view.glyphs, state, canvas)
            self._kept.pop(position, None)
            self._kept[position] = kept
            if len(self._kept) > KEPT:
                del self._kept[next(iter(self._kept))]
        return kept.canvas


def _moves(block: Block) -> bool:
    """Tell whether a block shows how long it goes on."""
    match block:
        case ToolBlock():
            return block.status is None
        case ThoughtBlock():
            return block.lasts
        case _:
            return False
