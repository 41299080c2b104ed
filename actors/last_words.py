"""The line that a person reads when Fido had to end: on stderr, and never waited for."""

import contextlib
import os
import select
import time
from typing import Final

from ipc.terminal_text import clean

PATIENCE_S: Final = 1.0
"""For a terminal or pipe that takes nothing; then the line is lost, not the end."""


def say(words: str) -> None:
    """Write one line, `fido: WORDS`, as far as stderr takes it."""
    rest = f"fido: {clean(words)}\n".encode(errors="replace")
    fd = _own_stderr()
    deadline = time.monotonic() + PATIENCE_S
    while rest and select.select([], [fd], [], max(0.0, deadline - time.monotonic()))[1]:
        try:
            rest = rest[os.write(fd, rest) :]
        except BlockingIOError:
            continue
        except OSError:
            return


def _own_stderr() -> int:
    """Stderr opened anew, so that it can be told not to wait without telling the shell's, too."""
    with contextlib.suppress(OSError):
        flags = os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        return os.open("/proc/self/fd/2", flags)
    return 2
