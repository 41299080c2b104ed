"""The widget of each block: as it is shown, and as plain text for the terminal's own selection."""

from typing import Final, assert_never

import urwid
from urwid.widget.widget import AbstractFlowWidget

from ui.palettes import Role
from ui.theme import Glyphs
from ui.transcript import folding
from ui.transcript.blocks import Block, NoteBlock, PromptBlock, TextBlock, ThoughtBlock, ToolBlock
from ui.transcript.texts import text_widget
from ui.transcript.thoughts import thought_widget
from ui.transcript.tools import tool_plain, tool_widget
from ui.transcript.transcript import even
from ui.view import View
from ui.widgets.row import Part, hanging

LEVEL_ROLE: Final[dict[str, Role]] = {"info": "dim", "warning": "warning", "error": "error"}


def drawn(block: Block, view: View) -> AbstractFlowWidget:
    """Return the widget of one block."""
    match block:
        case PromptBlock():
            body = _prompt(block, view)
        case TextBlock():
            body = text_widget(block, view)
        case ThoughtBlock():
            body = thought_widget(block, view)
        case ToolBlock():
            body = tool_widget(block, view)
        case NoteBlock():
            body = _note(block, view.glyphs)
        case _:
            assert_never(block)
    return urwid.Pile([("pack", urwid.Divider()), ("pack", body)]) if block.first else body


def plain(block: Block, view: View) -> AbstractFlowWidget:
    """Return the widget of one block as text, without colours and margins; of a folded thought nothing."""
    whole = folding.unfolded(block, view.desk.unfolded)
    match block:
        case ThoughtBlock() if not whole:
            return urwid.Pile([])
        case PromptBlock() if not block.first and not whole:
            return urwid.Pile([])
        case PromptBlock():
            text = block.text.removesuffix("\n") + _more(block, view)
        case ToolBlock():
            text = tool_plain(block, view)
        case TextBlock() | ThoughtBlock() | NoteBlock():
            text = folding.written(block).rstrip("\n")
        case _:
            assert_never(block)
    above = block.first or (isinstance(block, TextBlock) and block.apart)
    return urwid.Text("\n" * above + even(text))


def _prompt(block: PromptBlock, view: View) -> AbstractFlowWidget:
    glyphs, whole = view.glyphs, folding.unfolded(block, view.desk.unfolded)
    if not block.first and not whole:
        return urwid.Pile([])
    text: list[Part] = [("prompt", even(block.text.removesuffix("\n"))), ("dim", _more(block, view))]
    return hanging(("brand", f"{glyphs.prompt} " if block.first else "  "), *text)


def _more(block: PromptBlock, view: View) -> str:
    """Say how much of a prompt is folded."""
    if not block.first or not block.more or folding.unfolded(block, view.desk.unfolded):
        return ""
    lines = "1 line" if block.more == 1 else f"{block.more:,} lines"
    return f"\n{view.glyphs.ellipsis} {lines} more"


def _note(block: NoteBlock, glyphs: Glyphs) -> AbstractFlowWidget:
    role = LEVEL_ROLE[block.level]
    text: list[Part] = [(role, block.text)]
    if block.next_step:
        text.append((None, "\n" + block.next_step))
    return hanging((role, f"{glyphs.level[block.level]} "), *text)
