"""What is written to the terminal, without waiting for it: one that reads slowly misses frames."""

import contextlib
import os
import select
import sys
import termios
import time
from collections.abc import Callable
from typing import Final

LAST_WAIT_S: Final = 0.2
"""How long the end of a screen may wait for a terminal that reads nothing."""


class Outlet:
    """A writer that keeps what the terminal does not take yet. `on_room` is called when all of it is gone."""

    def __init__(
        self,
        fd: int,
        watch: Callable[[int, Callable[[], None]], None],
        unwatch: Callable[[int], object],
        on_room: Callable[[], None],
    ) -> None:
        """`fd`: not blocking, and ours alone; `watch` calls back when it takes something, until `unwatch`."""
        self._fd = fd
        self._watch, self._unwatch, self._on_room = watch, unwatch, on_room
        self._waiting = bytearray()
        self.full = False
        """Whether the terminal has yet to read what was flushed before."""
        self._lost = False

    def fileno(self) -> int:
        """Return the descriptor, to ask the terminal for its size."""
        return self._fd

    def write(self, data: str) -> None:
        """Keep what is to be written; only `flush` writes."""
        if not self._lost:
            self._waiting += data.encode("utf-8", "replace")

    def flush(self) -> None:
        """Write what the terminal takes now. Of one that is gone, whoever reads will be told."""
        self._push()
        if self._waiting and not self.full:
            self.full = True
            self._watch(self._fd, self._drain)

    def finish(self, ending: str) -> bool:
        """Write the ending; of what waits before it only what the terminal takes in a moment.

        Return whether the ending was written: without it the terminal is not given back.
        """
        self._unwatch(self._fd)
        self.full = False
        last = ending.encode("utf-8", "replace")
        self._waiting += b"" if self._lost else last
        if self._pushed_in_time() or self._lost:
            return True
        # What it has not read must not keep us, and its settings only come back once this is gone.
        self._waiting[:] = last
        with contextlib.suppress(termios.error):
            termios.tcflush(self._fd, termios.TCOFLUSH)
        self._push()
        written = not self._waiting
        self._waiting.clear()
        return written

    def _pushed_in_time(self) -> bool:
        deadline = time.monotonic() + LAST_WAIT_S
        while self._waiting and (left := deadline - time.monotonic()) > 0:
            if not select.select([], [self._fd], [], left)[1]:
                break
            self._push()
        return not self._waiting

    def _drain(self) -> None:
        self._push()
        if not self._waiting:
            self.full = False
            self._unwatch(self._fd)
            self._on_room()

    def _push(self) -> None:
        try:
            while self._waiting:
                del self._waiting[: os.write(self._fd, self._waiting)]
        except BlockingIOError:
            pass
        except OSError:
            self._lost = True
            self._waiting.clear()


def own_terminal() -> int | None:
    """Return a descriptor of the terminal on standard output that is ours alone and does not block.

    None when there is none: a flag set on the shared one would be set for the shell, too.
    """
    with contextlib.suppress(OSError):
        name = os.ttyname(sys.stdout.fileno())
        return os.open(name, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    return None
