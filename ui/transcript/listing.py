"""What was said and done: a list of which only the visible part is ever laid out."""

from typing import Final

import urwid
from urwid.widget.widget import AbstractFlowWidget

from ui.transcript.blocks import Block
from ui.transcript.drawing import drawn
from ui.transcript.transcript import Transcript
from ui.view import View
from ui.widgets.row import Scrolled, Size

KEPT_WIDGETS: Final = 400
"""Widgets kept for blocks that were visible lately."""
WIDEST: Final = 104
"""Columns past which lines get hard to follow."""


class _Walker(urwid.ListWalker[int, AbstractFlowWidget]):
    """Gives the list widgets for blocks, made when asked for."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._kept: dict[int, tuple[Block, int, AbstractFlowWidget]] = {}
        self._unfolded = False
        self.focus = 0

    @property
    def _transcript(self) -> Transcript:
        return self._view.state.conversation.transcript

    def __len__(self) -> int:
        return len(self._transcript.blocks)

    def __getitem__(self, position: int) -> AbstractFlowWidget:
        block = self._transcript.blocks[position]
        kept = self._kept.get(position)
        if kept is None or kept[0] is not block or kept[1] != block.revision:
            if len(self._kept) >= KEPT_WIDGETS:
                self._kept.clear()
            kept = self._kept[position] = (block, block.revision, drawn(block, self._view))
        return kept[2]

    def next_position(self, position: int) -> int:
        if position + 1 >= len(self):
            raise IndexError
        return position + 1

    def prev_position(self, position: int) -> int:
        if position <= 0:
            raise IndexError
        return position - 1

    def set_focus(self, position: int) -> None:
        self.focus = position
        self._modified()

    def changed(self) -> None:
        """Tell the list that blocks were added, changed, replaced, folded or unfolded."""
        if self._unfolded != self._view.desk.unfolded:
            self._unfolded = self._view.desk.unfolded
            self._kept.clear()
        self.focus = max(0, min(self.focus, len(self) - 1))
        self._modified()


class _List(urwid.ListBox[int]):
    """A list whose scroll bar does not count 50,000 blocks to know where it stands."""

    def get_first_visible_pos(self, size: tuple[int, int], focus: bool = False) -> int:
        _, top, _ = self.calculate_visible(size, focus)
        return top.fill[-1].position if top is not None and top.fill else self.focus_position


class _Measured(urwid.WidgetDecoration[_List]):
    """The list in columns that read well, on the left of a wider place."""

    def sizing(self) -> frozenset[urwid.Sizing]:
        return frozenset((urwid.BOX,))

    def render(self, size: Size, focus: bool = False) -> urwid.Canvas:
        canvas = urwid.CompositeCanvas(self._original_widget.render((min(size[0], WIDEST), size[1]), focus))
        canvas.pad_trim_left_right(0, size[0] - canvas.cols())
        return canvas


class TranscriptView(Scrolled):
    """The scrolled list; it follows the end until the person scrolls away from it."""

    def __init__(self, view: View) -> None:
        self._walker = _Walker(view)
        self._list = _List(self._walker)
        self.following = True
        super().__init__(_Measured(self._list), view.glyphs)

    def changed(self) -> None:
        """Draw what the state now says."""
        self._walker.changed()

    def render(self, size: Size, focus: bool = False) -> urwid.Canvas:
        if self.following and len(self._walker):
            self._list.set_focus(len(self._walker) - 1, coming_from="above")
            self._list.set_focus_valign("bottom")
        return super().render(size, focus)

    def scroll(self, key: str) -> None:
        """Scroll by one of `up`, `down`, `page up`, `page down`."""
        if len(self._walker):
            self._list.keypress(self._size, key)
            self.following = "bottom" in self._list.ends_visible(self._size)
            self._invalidate()

    def to_oldest(self) -> None:
        """Show the beginning."""
        if len(self._walker):
            self.following = False
            self._list.set_focus(0, coming_from="below")
            self._list.set_focus_valign("top")
            self._invalidate()

    def to_newest(self) -> None:
        """Show the end and follow it."""
        self.following = True
        self._invalidate()

    def fits(self, size: tuple[int, int]) -> bool:
        shown = (min(size[0], WIDEST), size[1])
        return len(self._walker) <= size[1] and len(self._list.ends_visible(shown)) == 2

    @property
    def _size(self) -> tuple[int, int]:
        columns, rows = self.inner
        return min(columns, WIDEST), rows
