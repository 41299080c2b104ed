"""Everything below a process: found, killed, reaped, so that the kernel can say nobody is left.

A subreaper adopts whatever loses its parent below it, so no daemon gets away, and `waitpid` failing with
ECHILD proves that the tree is empty. Groups are killed first: that kill reaches a process just being forked.
"""

import contextlib
import os
import signal
import time
from collections.abc import Collection, Iterable
from typing import NamedTuple

_PAUSE_S = 0.0005
"""Between two looks at a dying tree."""


class Reaped(NamedTuple):
    """What a look at the children brought."""

    statuses: dict[int, int]
    """Of those that had ended: exit status, or minus the number of the signal."""
    left: bool
    """Whether there are others still."""


def children(pid: int) -> list[int]:
    """Children of every thread of a process; none when it has ended."""
    found: list[int] = []
    # Whatever ends while we look has no children any more: they have gone to whoever adopts them.
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found += map(int, file.read().split())
    return found


def descendants(pid: int) -> list[int]:
    """Children, their children and so on, parents first."""
    found = children(pid)
    for each in found:
        found += children(each)
    return found


def kill(pids: Collection[int], spare_groups: Collection[int] = ()) -> None:
    """Kill processes and their groups, but for our own group and those that are spared."""
    spared = {os.getpgrp(), *spare_groups}
    for group in {_group_of(pid) for pid in pids} - spared:
        if group > 1:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)
    send(pids, signal.SIGKILL)


def send(pids: Iterable[int], number: signal.Signals) -> None:
    """Send a signal to each that is still there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def reap() -> Reaped:
    """Collect every child that has ended."""
    statuses: dict[int, int] = {}
    try:
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return Reaped(statuses, left=True)
            statuses[pid] = os.waitstatus_to_exitcode(status)
    except ChildProcessError:
        return Reaped(statuses, left=False)


def end_all(grace_s: float = 0.0, limit_s: float = 5.0) -> Reaped:
    """End every descendant of this process, a subreaper: SIGTERM for `grace_s`, then SIGKILL.

    `left` is true when some were still there after `limit_s` more.
    """
    statuses: dict[int, int] = {}
    now = time.monotonic()
    grace_ends, limit = now + grace_s, now + grace_s + limit_s
    if grace_s:
        asked = descendants(os.getpid())
        send(asked, signal.SIGTERM)
        send(asked, signal.SIGCONT)
    while True:
        reaped = reap()
        statuses.update(reaped.statuses)
        now = time.monotonic()
        if not reaped.left or now > limit:
            return Reaped(statuses, reaped.left)
        if now >= grace_ends:
            kill(descendants(os.getpid()))
        time.sleep(_PAUSE_S)


def _group_of(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return 0
