"""How answers are drawn: each piece by its Markdown."""

from typing import Final

from urwid.widget.widget import AbstractFlowWidget

from ui.transcript.blocks import TextBlock
from ui.transcript.lines import Line, Lines
from ui.transcript.pieces import TAB
from ui.transcript.transcript import even
from ui.transcript.unfinished import completed
from ui.view import View

_MARGIN: Final = 2


def text_widget(block: TextBlock, view: View) -> AbstractFlowWidget:
    """Return the widget of a piece of an answer."""
    from ui.transcript.markdown import Piece, markdown  # 40 ms and 1.3 MiB, which no first frame needs

    session = view.state.conversation.session
    workspace = "" if session is None else session.workspace
    written = source(block)
    piece = Piece(view.glyphs, workspace, block.number, block.lasts, block.touch)
    layout = markdown(completed(written) if block.lasts else written, piece)
    margin = " " * (_MARGIN + block.margin)

    def lines(columns: int) -> list[Line]:
        laid_out = layout(max(1, columns - len(margin)))
        above = [Line([])] if block.apart else []
        return [*above, *(line.under((None, margin), margin) for line in laid_out)]

    return Lines(lines)


def source(block: TextBlock) -> str:
    """Return the Markdown of a piece, readable on its own."""
    text = even(block.text.expandtabs(TAB))
    if block.margin:
        text = "\n".join(_without_margin(line, block.margin) for line in text.split("\n"))
    return even(block.opening) + text


def _without_margin(line: str, margin: int) -> str:
    return line[min(margin, len(line) - len(line.lstrip(" "))) :]
