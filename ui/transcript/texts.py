"""How prompts and answers are drawn."""

from typing import Final, assert_never

import urwid
from urwid.widget.widget import AbstractFlowWidget

from ui.theme import Glyphs
from ui.transcript.blocks import TextBlock
from ui.widgets.row import hanging

_MARGIN: Final = 2


def text_widget(block: TextBlock, glyphs: Glyphs) -> AbstractFlowWidget:
    """Return the widget of a prompt's or an answer's line."""
    match block.kind:
        case "prompt":
            mark = f"{glyphs.prompt} " if block.first else "  "
            return hanging(("brand", mark), ("prompt", block.text))
        case "answer":
            return urwid.Padding(urwid.Text(block.text), left=_MARGIN)
        case _:
            assert_never(block.kind)
