"""The terminal as the person had it, and the way back to it."""

import contextlib
import os
import signal
import termios
from typing import Any, Final

RESET: Final = (
    b"\x1b[?1049l"  # leave the alternate screen
    b"\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l"  # mouse
    b"\x1b[?1004l\x1b[?2004l"  # focus reports, bracketed paste
    b"\x1b[0m\x1b[?25h\r\n"  # attributes, cursor
)
"""Written only when a screen was left behind; one that closed itself has done all this."""


class SavedTerminal:
    """Terminal settings of standard input, if it is a terminal."""

    def __init__(self) -> None:
        self._settings: list[Any] | None = None
        with contextlib.suppress(termios.error, OSError):
            self._settings = termios.tcgetattr(0)

    def restore(self) -> bool:
        """Give the terminal back as it was; True when somebody had left it otherwise."""
        if self._settings is None:
            return False
        # A process in the background would be stopped for touching the terminal.
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        try:
            if termios.tcgetattr(0) == self._settings:
                return False
            termios.tcsetattr(0, termios.TCSANOW, self._settings)
            os.write(1, RESET)
        except (termios.error, OSError):
            return False
        return True
