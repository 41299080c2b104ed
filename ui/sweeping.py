"""When the screen looks for what nobody needs any more: never while somebody waits for a key to be drawn.

Python's own sweeps come when they come, and one through a long transcript takes 57 ms. What is swept are
urwid's canvases; the transcript has no cycles and is laid aside.
"""

import gc
from collections.abc import Callable
from typing import Final

from ui.composer.incoming import Timer

QUIET_S: Final = 0.5
"""Time without a frame after which nobody is taken to wait."""
_YOUNG_FRAMES: Final = 32
_ALL_FRAMES: Final = 300
"""Frames that leave enough behind for a sweep through everything, in a quiet moment."""
_MOST_FRAMES: Final = 3_000
"""Frames after which what is new is swept without one: 100 s of a stream."""


class Sweeping:
    """Sweeps a little after each frame, and all in quiet moments."""

    def __init__(self, later: Callable[[float, Callable[[], None]], Timer]) -> None:
        """`later` calls after so many seconds."""
        self._later = later
        self._frames = 0
        self._quiet: Timer | None = None

    def begin(self) -> None:
        """Sweep from now on, and leave it to nobody else."""
        gc.disable()

    def set_aside(self) -> None:
        """Take what there is for needed, until the next quiet moment."""
        gc.freeze()

    def drawn(self) -> None:
        """Note that a frame was drawn."""
        self._frames += 1
        gc.collect(1 if self._frames % _YOUNG_FRAMES == 0 else 0)
        if self._quiet is not None:
            self._quiet.cancel()
            self._quiet = None
        if self._frames >= _MOST_FRAMES:
            self._sweep()
        elif self._frames >= _ALL_FRAMES:
            self._quiet = self._later(QUIET_S, self._sweep_all)

    def _sweep_all(self) -> None:
        self._quiet = None
        gc.unfreeze()
        self._sweep()

    def _sweep(self) -> None:
        gc.collect()
        gc.freeze()
        self._frames = 0
