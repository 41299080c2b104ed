"""What stands right above the composer: messages that wait to be sent, and the line for the person."""

from typing import Final

from urwid.widget.widget import AbstractFlowWidget

from ui.desk import SILENT, Message
from ui.transcript.drawing import LEVEL_ROLE
from ui.view import View
from ui.widgets.row import constant_row, cut_rows, hanging, width

_QUEUE_SHOWN: Final = 3
_MESSAGE_ROWS: Final = 4


def notes(view: View, columns: int, room: int) -> list[AbstractFlowWidget]:
    """Return the widgets, together at most `room` rows; the line for the person comes first."""
    message = _message(view, columns, room)
    taken = sum(widget.rows((columns,)) for widget in message)
    return [*_queued(view, min(_QUEUE_SHOWN, max(0, room - taken))), *message]


def _queued(view: View, room: int) -> list[AbstractFlowWidget]:
    return [
        constant_row([("dim", " editing " if edited else " queued  "), (None, line)], view.glyphs.ellipsis)
        for line, edited in view.desk.outbox.rows(room)
    ]


def _message(view: View, columns: int, room: int) -> list[AbstractFlowWidget]:
    message = view.desk.message or _standing(view)
    if message is None or room <= 0:
        return []
    role, mark = LEVEL_ROLE[message.level], f" {view.glyphs.level[message.level]} "
    text = hanging((role, mark), (role, message.text))
    most = min(room, _MESSAGE_ROWS)
    if text.rows((columns,)) <= most:
        return [text]
    said = cut_rows(message.line, max(1, columns - width(mark)), most, view.glyphs.ellipsis)
    return [hanging((role, mark), (role, said))]


def _standing(view: View) -> Message | None:
    """Return what is said for as long as it is so."""
    desk, ellipsis = view.desk, view.glyphs.ellipsis
    if desk.opening:
        return Message("info", f"Opening {desk.opening}{ellipsis}")
    if view.state.parent_lost is not None:
        return None
    if view.state.cut_off:
        return Message("warning", SILENT)
    waits_for = desk.still_stopping(view.state)
    return Message("info", f"Still stopping {waits_for}{ellipsis}") if waits_for else None
