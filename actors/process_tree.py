"""Ending a whole tree of processes: groups first, then each one, then waiting until nobody is left.

Works for a process that adopts orphans (`ipc.kernel.adopt_orphans`): whatever its descendants do, a child
whose own parent ends becomes its child, so "no children" proves that the tree is gone.
"""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Collection, Iterator

STEP_S = 0.002


def children(pid: int) -> list[int]:
    """Pids of the direct children of a process, of all its threads."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found += map(int, file.read().split())
    return found


def descendants(pid: int) -> Iterator[int]:
    """Pids of all processes below one, nearer ones first."""
    waiting = children(pid)
    while waiting:
        below = waiting.pop(0)
        yield below
        waiting += children(below)


def signal_all(pids: Collection[int], number: int) -> None:
    """Send a signal to the groups of these processes, then to each of them.

    The kernel lets no member of a group escape a signal by forking; a list of pids it can outrun.
    """
    own = os.getpgrp()
    groups = set()
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            groups.add(os.getpgid(pid))
    for group in groups - {own, 0}:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def reap(ended: Callable[[int, int], None] | None = None) -> bool:
    """Take the status of every child that has ended; False when there are no children left."""
    try:
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return True
            if ended is not None:
                ended(pid, status)
    except ChildProcessError:
        return False


def end_tree(
    *, grace_s: float = 0.0, budget_s: float = 5.0, ended: Callable[[int, int], None] | None = None
) -> bool:
    """End everything below this process; True when nothing is left.

    Within `grace_s` processes may follow SIGTERM, after it SIGKILL is repeated until `budget_s` is spent.
    """
    started = time.monotonic()
    if grace_s:
        below = list(descendants(os.getpid()))
        signal_all(below, signal.SIGTERM)
        signal_all(below, signal.SIGCONT)
        while reap(ended) and time.monotonic() - started < grace_s:
            time.sleep(STEP_S)
    while reap(ended):
        if time.monotonic() - started > grace_s + budget_s:
            return False
        signal_all(list(descendants(os.getpid())), signal.SIGKILL)
        time.sleep(STEP_S)
    return True
