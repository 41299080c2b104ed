"""The lock by which a session holds what is its own, so that no other one sweeps it meanwhile."""

import contextlib
import fcntl
import os
import time
from pathlib import Path
from typing import Final

_OPEN: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_TRIES: Final = 100
_PAUSE_S: Final = 0.005


def hold(fd: int) -> None:
    """Share the lock of an open file or folder until it is closed. Raises `BlockingIOError`.

    Who looks whether it is held has it alone for a moment.
    """
    for _ in range(_TRIES):
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return
        time.sleep(_PAUSE_S)
    fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)


def is_held(path: Path) -> bool:
    """Whether anybody holds a file or folder; what can not be opened is held by nobody."""
    try:
        fd = os.open(path, _OPEN)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False
