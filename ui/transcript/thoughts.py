"""How a thought is drawn: its last rows while it goes on, then one row, or all of it on a key."""

from collections.abc import Callable
from typing import Final

import urwid
from urwid.widget.widget import AbstractFlowWidget

from ui import figures
from ui.theme import Glyphs
from ui.transcript import folding
from ui.transcript.blocks import ThoughtBlock
from ui.view import View
from ui.widgets.row import Content, Row, Size

THOUGHT_ROWS: Final = 4
"""Rows of a thought that are seen while it goes on."""
_INDENT: Final = 4
_SAID: Final = 104
"""Characters of a folded thought that its row begins with."""
_PARAGRAPH: Final = 1_200
"""Characters at the end of a thought's line that are laid out while it goes on: 1 ms."""


def thought_widget(block: ThoughtBlock, view: View) -> AbstractFlowWidget:
    """Return the widget of a thought."""
    row = Row(_thought_row(block, view), view.glyphs.ellipsis)
    if block.lasts:
        text: AbstractFlowWidget = _LastRows(_end_of(block.text), THOUGHT_ROWS)
    elif folding.unfolded(block, view.desk.unfolded):
        text = urwid.Text(("dim", _whole(block, view.glyphs)))
    else:
        return row
    return urwid.Pile([("pack", row), ("pack", urwid.Padding(text, left=_INDENT))])


def thought_said(block: ThoughtBlock, glyphs: Glyphs) -> str:
    """Return what can be read of a thought that is unfolded: its row, and all of it."""
    row = "thinking" if block.lasts else f"{glyphs.thought} thought {_took(block)}"
    return f"{row}\n{_whole(block, glyphs)}"


def _thought_row(block: ThoughtBlock, view: View) -> Callable[[int], Content]:
    def content(columns: int) -> Content:
        if block.lasts:
            since = block.started_at
            took = "" if since is None else figures.clock(view.now - since)
            return [("dim", f"  {view.glyphs.running[view.phase]} thinking")], [("dim", f" {took:>7} ")]
        whole = folding.unfolded(block, view.desk.unfolded)
        said = "" if whole else " ".join(block.text[:_SAID].split())
        return [("dim", f"  {view.glyphs.thought} thought {said}")], [("dim", f" {_took(block):>7} ")]

    return content


def _took(block: ThoughtBlock) -> str:
    if block.started_at is None or block.ended_at is None:
        return ""
    ms = round(1000 * (block.ended_at - block.started_at))
    return figures.duration(ms) if ms >= 1000 else ""  # below, it tells how the pieces came


def _whole(block: ThoughtBlock, glyphs: Glyphs) -> str:
    gap = f"{glyphs.ellipsis} {block.dropped:,} characters before\n" if block.dropped else ""
    return gap + block.text.rstrip()


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
