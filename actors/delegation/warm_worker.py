"""The parent's view of the workers: which one is alive, how to reach it, how to end it.

A worker announces itself by the name of its folder, `w-<n>-<pid>`: there is no message that could get lost,
and a successor always has another name.
"""

import asyncio
import contextlib
import os
import re
import select
import signal
import time
from pathlib import Path
from typing import Final

from actors.sandbox import level
from actors.sandbox.quarters import MAILBOX
from ipc.endpoints import RunPlace
from ipc.errors import PlaceError

_NAME: Final = re.compile(r"w-(\d+)-(\d+)")
_MODULE: Final = "actors.worker"
_POLL_S: Final = 0.005
_REAPED_S: Final = 0.2
"""How long a host may take to reap a worker and to note its end."""


class WarmWorker:
    """A live worker process, held by its pidfd so that its number can't come to mean another one."""

    def __init__(self, path: Path, pid: int, pidfd: int, ends: Path) -> None:
        """`ends` is where the host notes how its last worker ended."""
        self._ends = ends
        self.address = f"ipc://{path}"
        self.pid = pid
        self._pidfd = pidfd
        self.exited: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done as soon as the process has ended."""
        asyncio.get_running_loop().add_reader(pidfd, self._on_exit)

    def kill(self) -> None:
        """End the worker and whatever it started, at once."""
        if self.exited.done():
            return
        with contextlib.suppress(ProcessLookupError):
            # The group first: the signal reaches children that are being forked, too. The group is the
            # worker's own, and the pidfd has just told that its leader still exists.
            signal.pidfd_send_signal(self._pidfd, 0)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def is_stopped(self) -> bool:
        """Whether a signal keeps the process from running."""
        try:
            state = Path(f"/proc/{self.pid}/stat").read_bytes().rpartition(b") ")[2][:1]
        except OSError:
            return False
        return state == b"T"

    async def status(self) -> int | None:
        """The ended process's exit status, or minus its signal; null when its host does not tell in time."""
        give_up = time.monotonic() + _REAPED_S
        while time.monotonic() < give_up:
            with contextlib.suppress(OSError, ValueError):
                pid, status = map(int, self._ends.read_text(encoding="utf-8").split())
                if pid == self.pid:
                    return status
            await asyncio.sleep(_POLL_S)
        return None

    def close(self) -> None:
        """Stop watching."""
        if self._pidfd >= 0:
            asyncio.get_running_loop().remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = -1

    def _on_exit(self) -> None:
        asyncio.get_running_loop().remove_reader(self._pidfd)
        if not self.exited.done():
            self.exited.set_result(None)


async def find_worker(place: RunPlace) -> WarmWorker:
    """Wait for a live worker; the caller sets the deadline. Raises `PlaceError` when none can come."""
    while place.workers_directory.is_dir():
        worker = newest_worker(place)
        if worker is not None:
            return worker
        await asyncio.sleep(_POLL_S)
    raise PlaceError(f"The run directory {place.directory} was removed by another program.")


def newest_worker(place: RunPlace) -> WarmWorker | None:
    """The live worker with the highest number, if there is one."""
    found = []
    for path in place.workers_directory.glob(f"w-*/{MAILBOX}"):
        match = _NAME.fullmatch(path.parent.name)
        if match:
            found.append((int(match[1]), int(match[2]), path))
    for _, pid, path in sorted(found, reverse=True):
        with contextlib.suppress(OSError):
            pidfd = os.pidfd_open(pid)
            if not _has_ended(pidfd) and _is_worker(pid, place) and _is_walled(pid, place):
                return WarmWorker(path, pid, pidfd, place.worker_end)
            os.close(pidfd)
    return None


def _is_worker(pid: int, place: RunPlace) -> bool:
    """Whether a process was started as this run's worker and leads its own session.

    Anybody may plant a file name, and what it names will be killed with its group.
    """
    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    started = os.fsencode(_MODULE) in words and os.fsencode(place.directory) in words
    return started and os.getsid(pid) == pid == os.getpgid(pid)


def _is_walled(pid: int, place: RunPlace) -> bool:
    """Whether the kernel says that a worker's wall stands; nothing is handed over before."""
    return place.no_wall.exists() or level.stands_around(pid, level.probe())


def _has_ended(pidfd: int) -> bool:
    """Whether the process is dead; its number and its socket stay until it is reaped."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(0))
