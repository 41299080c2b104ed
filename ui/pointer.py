"""What the mouse does: the wheel scrolls what is under it, a click goes to what was clicked."""

from typing import Final, Protocol, TypeGuard, runtime_checkable

from ui.composer.composer import Composer
from ui.screen import Screen
from ui.transcript.listing import TranscriptView

Event = tuple[str, int, int, int]
"""urwid's: what happened, the button, column and row."""
_WHEEL: Final = {4: "up", 5: "down"}
_NOTCH: Final = 3
"""Rows that a notch of the wheel scrolls."""


def is_of_mouse(event: tuple[object, ...]) -> TypeGuard[Event]:
    """Tell whether an event is one of the mouse: a terminal's answer, such as its cursor's place, is none."""
    return len(event) == 4 and isinstance(event[0], str) and "mouse" in event[0]


@runtime_checkable
class _Scrolled(Protocol):
    def scroll(self, key: str) -> None: ...


def point(screen: Screen, event: Event) -> None:
    """Take what the mouse did. A click answers and sends nothing: it may only mean to focus the window."""
    happened, button, column, row = event
    part = screen.part_at(column, row)
    if part is None or not happened.endswith("mouse press"):
        return
    widget, wheel = part.widget, _WHEEL.get(button)
    if wheel is not None and not isinstance(widget, TranscriptView):
        if isinstance(widget, _Scrolled):
            for _ in range(_NOTCH):
                widget.scroll(wheel)
        return
    if button == 1 and isinstance(widget, Composer):
        screen.view.desk.reading.leave()
    if (wheel or button == 1) and hasattr(widget, "mouse_event"):
        widget.mouse_event(part.size, "mouse press", button, part.column, part.row, True)
