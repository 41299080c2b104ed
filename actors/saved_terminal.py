"""The terminal as the person had it, and the way back to it."""

import contextlib
import os
import signal
import termios
from typing import Any, Final

RESET: Final = (
    b"\x1b[?2026l\x1b]8;;\x1b\\"  # show what a frame has drawn so far; end a link
    b"\x1b[?1002l\x1b[?1000l\x1b[?1006l"  # mouse
    b"\x1b[?1004l\x1b[?2004l"  # focus reports, bracketed paste
    b"\x1b[<u\x1b[>4m"  # keys as kitty and xterm tell them apart
    b"\x1b[0m\x1b[H\x1b[2J"  # tmux shows of the alternate screen what a grown window has room for
    b"\x1b[?1049l"  # leave it
    b"\x1b[23;0t"  # the window's title
    b"\x1b(B\x1b[0m\x1b[?7h\x1b[?25h\r"  # letters, attributes, wrapping, cursor
)
"""Written only when a screen was left behind; one that closed itself has done all this."""


class SavedTerminal:
    """Settings of the controlling terminal, if there is one."""

    def __init__(self) -> None:
        self._settings: list[Any] = []
        self._fd = -1
        with contextlib.suppress(OSError, termios.error):
            # Opened anew, so that writing to a terminal that takes nothing does not wait.
            self._fd = os.open("/dev/tty", os.O_RDWR | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
            self._settings = termios.tcgetattr(self._fd)

    def restore(self, *, lost: bool = False) -> bool:
        """Give the terminal back as it was; True when somebody had left it otherwise.

        A screen sets the modes first and gives them back last: as long as they are the saved ones, there
        is nothing to undo. It also gives them back before a shell takes the terminal, which then has its
        own; but `lost`: the shell took it from a screen, because who it had started was killed.
        """
        if not self._settings:
            return False
        # The terminal may have gone to another group by now; who touches it from the background is stopped.
        before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        try:
            if termios.tcgetattr(self._fd) == self._settings or (not lost and self._is_taken()):
                return False
            if not self._takes_reset():
                termios.tcflush(self._fd, termios.TCOFLUSH)  # what nobody reads must not keep the terminal
                self._takes_reset()
            termios.tcflush(self._fd, termios.TCIFLUSH)
            termios.tcsetattr(self._fd, termios.TCSANOW, self._settings)
        except (termios.error, OSError):  # the terminal is gone
            return False
        finally:
            signal.signal(signal.SIGTTOU, before)
        return True

    def _is_taken(self) -> bool:
        """Tell whether a living group has the terminal that is not ours."""
        group = os.tcgetpgrp(self._fd)
        if group == os.getpgrp():
            return False
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return True

    def _takes_reset(self) -> bool:
        try:
            return os.write(self._fd, RESET) == len(RESET)
        except BlockingIOError:
            return False
