"""What was said and done: a list of which only the visible part is ever laid out."""

from collections import Counter
from collections.abc import Callable
from typing import Final, assert_never

import urwid
from urwid.widget.widget import AbstractFlowWidget

from ui import figures
from ui.blocks import Block, NoteBlock, TextBlock, ThoughtBlock, ToolBlock, Transcript
from ui.diffs import NO_BREAK
from ui.theme import Glyphs, Role
from ui.view import View
from ui.widgets.diff import diff_text
from ui.widgets.row import Content, Part, Row, Scrolled, Size, hanging

KEPT_WIDGETS: Final = 400
"""Widgets kept for blocks that were visible lately."""
WIDEST: Final = 104
"""Columns past which lines get hard to follow."""
THOUGHT_ROWS: Final = 4
"""Rows of a thought that are seen while it goes on."""
_MARGIN: Final = 2
_INDENT: Final = "    "
_PARAGRAPH: Final = 1_200
"""Characters at the end of a thought's line that are laid out while it goes on: 1 ms."""
LEVEL_ROLE: Final[dict[str, Role]] = {"info": "dim", "warning": "warning", "error": "error"}
_TOOL_ROLE: Final[dict[str, Role]] = {
    "ok": "ok",
    "error": "error",
    "denied": "warning",
    "partial": "warning",
    "cancelled": "dim",
}
_TOOL_WORD: Final = {"error": "failed", "denied": "denied", "partial": "partial", "cancelled": "cancelled"}


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


def drawn(block: Block, view: View) -> AbstractFlowWidget:
    """Return the widget of one block."""
    match block:
        case TextBlock():
            body = _text(block, view.glyphs)
        case ThoughtBlock():
            body = _thought(block, view)
        case ToolBlock():
            body = _tool(block, view)
        case NoteBlock():
            body = _note(block, view.glyphs)
        case _:
            assert_never(block)
    return urwid.Pile([("pack", urwid.Divider()), ("pack", body)]) if block.first else body


def _text(block: TextBlock, glyphs: Glyphs) -> AbstractFlowWidget:
    match block.kind:
        case "prompt":
            mark = f"{glyphs.prompt} " if block.first else "  "
            return hanging(("brand", mark), ("prompt", block.text))
        case "answer":
            return urwid.Padding(urwid.Text(block.text), left=_MARGIN)
        case _:
            assert_never(block.kind)


def _thought(block: ThoughtBlock, view: View) -> AbstractFlowWidget:
    """Draw a thought dimmed: its last rows while it goes on, then one row, or all of it on a key."""
    row = Row(_thought_row(block, view), view.glyphs.ellipsis)
    if block.lasts:
        text: AbstractFlowWidget = _LastRows(_end_of(block.text), THOUGHT_ROWS)
    elif view.desk.unfolded:
        gap = f"{view.glyphs.ellipsis} {block.dropped:,} characters before\n" if block.dropped else ""
        text = urwid.Text(("dim", gap + block.text.rstrip()))
    else:
        return row
    return urwid.Pile([("pack", row), ("pack", urwid.Padding(text, left=len(_INDENT)))])


def _thought_row(block: ThoughtBlock, view: View) -> Callable[[int], Content]:
    def content(columns: int) -> Content:
        since, until = block.started_at, block.ended_at
        if block.lasts:
            took = "" if since is None else figures.clock(view.clock() - since)
            return [("dim", f"  {view.glyphs.running[view.phase]} thinking")], [("dim", f" {took:>7} ")]
        ms = 0 if since is None or until is None else round(1000 * (until - since))
        took = figures.duration(ms) if ms >= 1000 else ""  # below, it tells how the pieces came
        said = "" if view.desk.unfolded else " ".join(block.text[:WIDEST].split())
        return [("dim", f"  {view.glyphs.thought} thought {said}")], [("dim", f" {took:>7} ")]

    return content


def _end_of(thought: str) -> str:
    """Return the last lines of a thought; of each no more than can be seen, cut where it stays cut."""
    lines = [line for line in thought.split("\n") if line.strip()][-THOUGHT_ROWS:]
    return "\n".join(line[max(0, len(line) // _PARAGRAPH - 1) * _PARAGRAPH :] for line in lines)


class _LastRows(urwid.WidgetWrap[urwid.Text]):
    """The last rows of a dimmed text."""

    def __init__(self, text: str, most: int) -> None:
        self._most = most
        self._text = urwid.Text(("dim", text))
        super().__init__(self._text)

    def rows(self, size: Size, focus: bool = False) -> int:
        return min(self._most, self._text.rows((size[0],)))

    def render(self, size: Size, focus: bool = False) -> urwid.Canvas:
        canvas = urwid.CompositeCanvas(self._text.render((size[0],)))
        canvas.trim(canvas.rows() - self.rows(size))
        return canvas


def _tool(block: ToolBlock, view: View) -> AbstractFlowWidget:
    row = Row(_tool_row(block, view), view.glyphs.ellipsis)
    if block.tail:
        printed = [Row(_printed(line), view.glyphs.ellipsis) for line in block.tail]
        return urwid.Pile([("pack", each) for each in (row, *printed)])
    if block.diff and view.desk.unfolded:
        below: AbstractFlowWidget = urwid.Padding(diff_text(block.diff, view.glyphs), left=len(_INDENT))
    elif block.detail:
        below = hanging((None, _INDENT), ("dim", block.detail))
    else:
        return row
    return urwid.Pile([("pack", row), ("pack", below)])


def _changes(block: ToolBlock) -> list[Part]:
    """Count the lines that a call has added and removed; of a diff that was cut nobody knows."""
    signs = Counter(line.sign for line in block.diff)
    if not block.diff or any(line.text for line in block.diff if not line.sign and line.text != NO_BREAK):
        return []
    return [("added", f"+{signs['+']} "), ("removed", f"-{signs['-']} ")]


def _printed(line: str) -> Callable[[int], Content]:
    return lambda _: ([("dim", _INDENT + line)], [])


def _tool_row(block: ToolBlock, view: View) -> Callable[[int], Content]:
    glyphs = view.glyphs

    def content(columns: int) -> Content:
        if block.status is None:
            sign: Part = ("chrome", f"  {glyphs.running[view.phase]} ")
            since = block.started_at
            took = "" if since is None else figures.clock(view.clock() - since)
        else:
            sign = (_TOOL_ROLE[block.status], f"  {glyphs.tool[block.status]} ")
            # of a call that was given up nobody knows how long it ran
            known = block.duration_ms or block.status != "cancelled"
            took = figures.duration(block.duration_ms) if known else ""
        more = "+" if block.status is None and block.longer else " "
        left: list[Part] = [sign, ("strong", block.name), (None, " " + block.summary)]
        right: list[Part] = [("dim", f" {took:>7}{more}")]
        if block.status in _TOOL_WORD:
            right.insert(0, (_TOOL_ROLE[block.status], _TOOL_WORD[block.status]))
        right[:0] = _changes(block)
        return left, right

    return content


def _note(block: NoteBlock, glyphs: Glyphs) -> AbstractFlowWidget:
    role = LEVEL_ROLE[block.level]
    text: list[Part] = [(role, block.text)]
    if block.next_step:
        text.append((None, "\n" + block.next_step))
    return hanging((role, f"{glyphs.level[block.level]} "), *text)
