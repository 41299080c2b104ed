"""What stands right above the composer: messages that wait to be sent, and the line for the person."""

from typing import Final

from urwid.widget.widget import AbstractFlowWidget

from ui.desk import SILENT, Message
from ui.transcript.drawing import LEVEL_ROLE
from ui.view import View
from ui.widgets.row import Part, constant_row, hanging

_QUEUE_SHOWN: Final = 3
_MESSAGE_ROWS: Final = 4


def notes(view: View, columns: int, room: int) -> list[AbstractFlowWidget]:
    """Return the widgets, together at most `room` rows; the line for the person comes first."""
    message = _message(view, columns, room)
    taken = sum(widget.rows((columns,)) for widget in message)
    return [*_queued(view, min(_QUEUE_SHOWN, max(0, room - taken))), *message]


def _queued(view: View, room: int) -> list[AbstractFlowWidget]:
    queued = [" ".join(text.split()) for text in view.desk.queue]
    if len(queued) > room:
        queued[max(0, room - 1) :] = [f"and {len(queued) - room + 1} more"][:room]
    label: Part = ("dim", " queued  ")
    return [constant_row([label, (None, text)], view.glyphs.ellipsis) for text in queued]


def _message(view: View, columns: int, room: int) -> list[AbstractFlowWidget]:
    message = view.desk.message
    if message is None and view.desk.opening:
        message = Message("info", f"Opening {view.desk.opening}{view.glyphs.ellipsis}")
    elif message is None and view.state.cut_off and view.state.parent_lost is None:
        message = Message("warning", SILENT)
    if message is None or room <= 0:
        return []
    role, mark = LEVEL_ROLE[message.level], f" {view.glyphs.level[message.level]} "
    text = hanging((role, mark), (role, message.text))
    if text.rows((columns,)) <= min(room, _MESSAGE_ROWS):
        return [text]
    return [constant_row([(role, mark + message.line)], view.glyphs.ellipsis)]
