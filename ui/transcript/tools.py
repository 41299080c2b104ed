"""How a tool call is drawn: one row, and what went wrong or was changed below it."""

from collections import Counter
from collections.abc import Callable
from typing import Final

import urwid
from urwid.widget.widget import AbstractFlowWidget

from ui import figures
from ui.diffs import NO_BREAK
from ui.theme import Role
from ui.transcript.blocks import ToolBlock
from ui.view import View
from ui.widgets.diff import diff_text
from ui.widgets.row import Content, Part, Row, hanging

_INDENT: Final = "    "
_TOOL_ROLE: Final[dict[str, Role]] = {
    "ok": "ok",
    "error": "error",
    "denied": "warning",
    "partial": "warning",
    "cancelled": "dim",
}
_TOOL_WORD: Final = {"error": "failed", "denied": "denied", "partial": "partial", "cancelled": "cancelled"}


def tool_widget(block: ToolBlock, view: View) -> AbstractFlowWidget:
    """Return the widget of a tool call."""
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
