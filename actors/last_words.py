"""The line that a person reads when Fido had to end: on stderr, and never waited for."""

import contextlib
import os
import select
import signal
import stat
import time
from typing import Final

PATIENCE_S: Final = 1.0
"""For a terminal or pipe that takes nothing; then the line is lost, not the end."""
_LONGEST: Final = 2_000


def say(words: str) -> None:
    """Write one line, `fido: WORDS`, as far as stderr takes it."""
    from ipc.terminal_text import clean_line  # 8 ms that few starts need

    rest = f"fido: {clean_line(words, _LONGEST)}\n".encode(errors="replace")
    deadline = time.monotonic() + PATIENCE_S
    with contextlib.suppress(OSError):
        fd = _own_stderr()
        while rest and select.select([], [fd], [], max(0.0, deadline - time.monotonic()))[1]:
            with contextlib.suppress(BlockingIOError):
                rest = rest[os.write(fd, rest) :]


def stdout_lost(error: OSError) -> int:
    """Say why stdout takes nothing more, where that is news; return the exit status.

    Raises the error again when it is about a file, which has a name.
    """
    if error.filename is not None:
        raise error
    if isinstance(error, BrokenPipeError):
        return 128 + signal.SIGPIPE
    say(f"stdout cannot be written: {(error.strerror or str(error)).lower()}")
    return 1


def _own_stderr() -> int:
    """Stderr opened anew, so that it can be told not to wait without telling the shell's, too.

    A file never lets wait, and opened anew it would have a place of its own, where the next line is lost.
    """
    if stat.S_ISREG(os.fstat(2).st_mode):
        return 2
    with contextlib.suppress(OSError):
        flags = os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        return os.open("/proc/self/fd/2", flags)
    return 2
