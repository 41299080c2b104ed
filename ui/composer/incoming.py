"""A paste that has begun and does not end: said after a moment, given up after a long silence."""

from collections.abc import Callable
from typing import Final, Protocol

from ui import keys
from ui.composer.pastes import SILENCE_S, Pastes
from ui.desk import Desk

SAID_AFTER_S: Final = 0.5
"""Silence within a paste after which the screen says what it waits for."""


class Timer(Protocol):
    """Something that will be called."""

    def cancel(self) -> None: ...


class Incoming:
    """Watches a paste on its way; until its end comes, every key that is pressed is a part of it."""

    def __init__(
        self,
        pastes: Pastes,
        desk: Desk,
        later: Callable[[float, Callable[[], None]], Timer],
        take: Callable[[keys.Pasted], None],
        draw: Callable[[], None],
    ) -> None:
        """`later` calls after so many seconds, `take` takes what came of a paste that was given up."""
        self._pastes = pastes
        self._desk = desk
        self._later = later
        self._take = take
        self._draw = draw
        self._timer: Timer | None = None

    def look(self) -> None:
        """Look whether a paste is on its way, after something was read."""
        if self._timer is not None:
            self._timer.cancel()
        waits = self._pastes.coming_in
        self._timer = self._later(SAID_AFTER_S, self._say) if waits else None
        self._desk.pasting = self._desk.pasting and waits

    def _say(self) -> None:
        self._desk.pasting = True
        self._timer = self._later(SILENCE_S - SAID_AFTER_S, self._give_up)
        self._draw()

    def _give_up(self) -> None:
        self._timer, self._desk.pasting = None, False
        self._take(self._pastes.give_up())
        self._draw()
