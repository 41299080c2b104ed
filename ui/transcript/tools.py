"""How a tool call is drawn: one row, and below it what went wrong, or all that it said or changed."""

import re
import sys
from collections import Counter
from collections.abc import Callable
from typing import Final

import urwid
from urwid.widget.widget import AbstractFlowWidget

from ipc.messages import DISPLAY_LINES
from ui import figures
from ui.diffs import NO_BREAK
from ui.palettes import Role
from ui.theme import Glyphs
from ui.transcript import folding
from ui.transcript.blocks import ToolBlock
from ui.transcript.lines import Line, Lines
from ui.transcript.transcript import even
from ui.view import View
from ui.widgets.diff import diff_text
from ui.widgets.row import Content, Part, Row, hanging, parts_width

_INDENT: Final = "    "
_TOOL_ROLE: Final[dict[str, Role]] = {
    "ok": "ok",
    "error": "error",
    "denied": "warning",
    "partial": "warning",
    "cancelled": "dim",
}
_TOOL_WORD: Final = {"error": "failed", "denied": "denied", "partial": "partial", "cancelled": "cancelled"}

_LEFT_OUT: Final = re.compile(r"^… ([\d,]+) lines? left out$", re.MULTILINE)
"""What stands in an output in the place of lines that were cut."""
_UNCOUNTED: Final = re.compile(
    r"^(?:… [\d,]+ characters? left out|\[\.\.\. [\d,]+ of [\d,]+ bytes left out.*)$", re.MULTILINE
)
"""The same where nobody knows how many lines were cut."""
_SUCCEEDED: Final = "\n[exit status 0]"
"""What follows the last line that a command printed."""
_WAITS: Final = " waits for you "
_FEW_LINES: Final = 3
"""Lines of an output that are not worth to be counted."""
_SUBJECT: Final = 60
"""Columns that what is done may take before anything else that is good to know."""
_PROGRESS: Final = re.compile(r"(\d+) of (\d+) done(?:, now: (.*))?")


def tool_widget(block: ToolBlock, view: View) -> AbstractFlowWidget:
    """Return the widget of a tool call."""
    row = Row(_tool_row(block, view), view.glyphs.ellipsis)
    if block.tail:
        printed = [Row(_printed(line), view.glyphs.ellipsis) for line in block.tail]
        return urwid.Pile([("pack", each) for each in (row, *printed)])
    if folding.foldable(block) and folding.unfolded(block, view.desk.unfolded):
        below: AbstractFlowWidget = urwid.Padding(_whole(block, view.glyphs), left=len(_INDENT))
    elif block.detail:
        below = hanging((None, _INDENT), ("dim", block.detail))
    else:
        return row
    return urwid.Pile([("pack", row), ("pack", below)])


def tool_head(block: ToolBlock, view: View) -> str:
    """Return what can be read in the row of a call that has room, but for what changes with time alone."""
    subject = "".join(text for _, text in _subject(block, view.glyphs))
    if block.asking:
        return subject + _WAITS
    if block.status is None:
        return subject
    aside = "".join(text for _, text in _aside(block, view, sys.maxsize))
    return f"{view.glyphs.tool[block.status]} {subject} {aside}"


def tool_said(block: ToolBlock, view: View) -> str:
    """Return what can be read of a call that is unfolded."""
    if block.tail:
        below = "\n".join(block.tail)
    elif not folding.foldable(block):
        below = block.detail
    elif block.diff:
        below = "\n".join(
            f"{line.number} {line.sign} {even(line.text)}" if line.sign else line.text for line in block.diff
        )
    else:
        below = _output(block, view.glyphs)
    return f"{tool_head(block, view)}\n{below}"


def tool_plain(block: ToolBlock, view: View) -> str:
    """Return what is seen of a call as text to be taken elsewhere: no signs, no columns."""
    words = [
        text.strip()
        for _, text in (*_word(block), (None, _WAITS if block.asking else ""), (None, block.decision))
    ]
    row = "  ".join(filter(None, ["".join(text for _, text in _subject(block, view.glyphs)), *words]))
    if block.tail:
        return "\n".join([row, *block.tail])
    whole = folding.foldable(block) and folding.unfolded(block, view.desk.unfolded)
    below = block.output if whole else block.detail
    return f"{row}\n{below}" if below else row


def _whole(block: ToolBlock, glyphs: Glyphs) -> AbstractFlowWidget:
    """Return all that a call said or changed."""
    if block.diff:
        return diff_text(block.diff, glyphs)
    lines = [Line([("dim", line)], wrap="any") for line in _output(block, glyphs).split("\n")]
    return Lines(lambda _: lines)


def _output(block: ToolBlock, glyphs: Glyphs) -> str:
    """Return what a call said; whoever tells it leaves out what is too much, and this is for who does not."""
    lines = even(block.output).split("\n", DISPLAY_LINES)
    if len(lines) > DISPLAY_LINES:
        more = lines[-1].count("\n") + 1
        lines[-1] = f"{glyphs.ellipsis} {more:,} {'line' if more == 1 else 'lines'} more"
    return "\n".join(lines)


def _subject(block: ToolBlock, glyphs: Glyphs) -> list[Part]:
    """Return what is done to what; of a plan how far it is and what has changed."""
    progress = _PROGRESS.match(block.output) if block.name == "update_plan" else None
    if progress is None or block.status != "ok":
        return [("strong", block.name), (None, " " + block.summary)]
    done, of, now = progress.groups("")
    said = block.summary or now
    return [("strong", "plan"), (None, f" {done}/{of}"), (None, f" {glyphs.dot} {said}" if said else "")]


def _changes(block: ToolBlock) -> list[Part]:
    """Count the lines that a call has added and removed; of a diff that was cut nobody knows."""
    signs = Counter(line.sign for line in block.diff)
    if not block.diff or any(line.text for line in block.diff if not line.sign and line.text != NO_BREAK):
        return []
    return [("added", f"+{signs['+']} "), ("removed", f"-{signs['-']} ")]


def _printed(line: str) -> Callable[[int], Content]:
    return lambda _: ([("dim", _INDENT + line)], [])


def _tool_row(block: ToolBlock, view: View) -> Callable[[int], Content]:
    def content(columns: int) -> Content:
        if block.asking:
            sign: Part = ("ask", f"  {view.glyphs.running[0]} ")
            return [sign, *_subject(block, view.glyphs)], [("ask", _WAITS)]
        if block.status is None:
            sign = ("chrome", f"  {view.glyphs.running[view.phase]} ")
        else:
            sign = (_TOOL_ROLE[block.status], f"  {view.glyphs.tool[block.status]} ")
        left = [sign, *_subject(block, view.glyphs)]
        return left, _aside(block, view, columns - min(parts_width(left), max(_SUBJECT, columns // 2)))

    return content


def _aside(block: ToolBlock, view: View, room: int) -> list[Part]:
    """Return what stands at the right of a call's row, in so many columns."""
    took = f" {_took(block, view):>7}{'+' if block.status is None and block.longer else ' '}"
    right: list[Part] = [*_changes(block), *_word(block), ("dim", took)]
    return [*_beside(block, room - parts_width(right)), *right]


def _took(block: ToolBlock, view: View) -> str:
    if block.status is None:
        return "" if block.started_at is None else figures.clock(view.now - block.started_at)
    # of a call that was given up nobody knows how long it ran
    known = block.duration_ms or block.status != "cancelled"
    return figures.duration(block.duration_ms) if known else ""


def _word(block: ToolBlock) -> list[Part]:
    return [(_TOOL_ROLE[block.status], _TOOL_WORD[block.status])] if block.status in _TOOL_WORD else []


def _beside(block: ToolBlock, room: int) -> list[Part]:
    """Return what is good to know where there is room: who allowed it, and how much there is to unfold."""
    said = [block.decision, _length(block) if block.status == "ok" else ""]
    kept: list[Part] = []
    for each in filter(None, said):
        room -= len(each) + 2
        if room >= 0:
            kept.append(("dim", f"{each}  "))
    return kept


def _length(block: ToolBlock) -> str:
    """Return how many lines a call has said, when there are enough of them to be counted."""
    if block.diff or _UNCOUNTED.search(block.output):
        return ""
    printed, succeeded, _ = f"\n{block.output}".rpartition(_SUCCEEDED)
    lines = printed.count("\n") if succeeded and block.name == "bash_exec" else block.output.count("\n") + 1
    if found := _LEFT_OUT.search(block.output):
        lines += int(found[1].replace(",", "")) - 1
    return "" if lines <= _FEW_LINES else f"{lines:,} lines"
