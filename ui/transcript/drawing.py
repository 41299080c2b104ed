"""The widget of each block."""

from typing import Final, assert_never

import urwid
from urwid.widget.widget import AbstractFlowWidget

from ui.theme import Glyphs, Role
from ui.transcript.blocks import Block, NoteBlock, TextBlock, ThoughtBlock, ToolBlock
from ui.transcript.texts import text_widget
from ui.transcript.thoughts import thought_widget
from ui.transcript.tools import tool_widget
from ui.view import View
from ui.widgets.row import Part, hanging

LEVEL_ROLE: Final[dict[str, Role]] = {"info": "dim", "warning": "warning", "error": "error"}


def drawn(block: Block, view: View) -> AbstractFlowWidget:
    """Return the widget of one block."""
    match block:
        case TextBlock():
            body = text_widget(block, view.glyphs)
        case ThoughtBlock():
            body = thought_widget(block, view)
        case ToolBlock():
            body = tool_widget(block, view)
        case NoteBlock():
            body = _note(block, view.glyphs)
        case _:
            assert_never(block)
    return urwid.Pile([("pack", urwid.Divider()), ("pack", body)]) if block.first else body


def _note(block: NoteBlock, glyphs: Glyphs) -> AbstractFlowWidget:
    role = LEVEL_ROLE[block.level]
    text: list[Part] = [(role, block.text)]
    if block.next_step:
        text.append((None, "\n" + block.next_step))
    return hanging((role, f"{glyphs.level[block.level]} "), *text)
