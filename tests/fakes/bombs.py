"""Programs that multiply or run away, bounded in number and in time: BOMB UID.

Into the pipe `ready` comes a word when they are at their height. Standard library only: it starts quickly.
"""

import contextlib
import os
import resource
import signal
import sys
import time
from pathlib import Path

MOST = 60
"""Processes at a time."""
LIFE_S = 15.0
ENDS = time.monotonic() + LIFE_S


HOPS = 100


def ready() -> None:
    """Tell whoever waits, if anybody still does."""
    with contextlib.suppress(OSError):
        os.write(os.open("ready", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC), b"ready")
        os._exit(0)


def fork() -> bool:
    """Fork; whether this is the child. False too where no more are allowed."""
    try:
        return os.fork() == 0
    except OSError:
        ready()
        return False


def hopper() -> None:
    """Be somebody else all the time."""
    hops = 0
    while time.monotonic() < ENDS:
        if not fork():
            os._exit(0)
        hops += 1
        if hops == HOPS and not fork():
            ready()


def forks() -> None:
    """Fork in every process."""
    while time.monotonic() < ENDS:
        fork()


def sessions() -> None:
    """Fork in every process, each in a session of its own and deaf to SIGTERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while time.monotonic() < ENDS:
        if fork():
            os.setsid()


def main(name: str, uid: int) -> None:
    if uid:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    mine = sum(path.stat().st_uid == os.getuid() for path in Path("/proc").glob("[0-9]*") if path.exists())
    resource.setrlimit(resource.RLIMIT_NPROC, (mine + MOST, mine + MOST))
    {"hopper": hopper, "forks": forks, "sessions": sessions}[name]()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
