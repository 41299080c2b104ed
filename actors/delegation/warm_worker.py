"""The parent's view of the workers: which one is alive, how to reach it, how to end it.

A worker announces itself by the name of its folder, `w-<n>-<pid>`: there is no message that could get lost,
and a successor always has another name.
"""

import asyncio
import contextlib
import os
import signal
import time
from pathlib import Path
from typing import Final

from actors.delegation.candidates import Candidate, candidates
from ipc.endpoints import RunPlace
from ipc.errors import PlaceError

_POLL_S: Final = 0.005
PATIENCE_S: Final = 0.5
"""How long a worker may be seen without the wall that it should have; it builds it within milliseconds."""
_HIDDEN: Final = (
    "A worker is there, but /proc, mounted with hidepid, does not show it to Fido, so nothing tells "
    "whether its wall stands. Mount /proc with hidepid=0, or with the gid= of a group of yours."
)
_REAPED_S: Final = 0.2
"""How long a host may take to reap a worker and to note its end."""


class WarmWorker:
    """A live worker process, held by its pidfd so that its number can't come to mean another one."""

    def __init__(self, path: Path, pid: int, pidfd: int, ends: Path) -> None:
        """`ends` is where the host notes how its last worker ended."""
        self._path = path
        self._ends = ends
        self.address = f"ipc://{path}"
        self.pid = pid
        self._pidfd = pidfd
        self.exited: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done as soon as the process has ended."""
        asyncio.get_running_loop().add_reader(pidfd, self._on_exit)

    def kill(self) -> None:
        """End the worker and whatever it started, at once; nobody will find it any more."""
        with contextlib.suppress(OSError):
            self._path.unlink()
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
    seen: dict[int, float] = {}
    while place.workers_directory.is_dir():
        worker = newest_worker(place)
        if worker is not None:
            return worker
        _lose_patience(place, seen)
        await asyncio.sleep(_POLL_S)
    raise PlaceError(f"The run directory {place.directory} was removed by another program.")


def newest_worker(place: RunPlace) -> WarmWorker | None:
    """The live worker with the highest number, if there is one."""
    fit = (each for each in candidates(place) if each.verdict == "fit")
    return next((_taken(each, place) for each in fit), None)


def _taken(one: Candidate, place: RunPlace) -> WarmWorker:
    return WarmWorker(one.path, one.pid, os.dup(one.pidfd), place.worker_end)


def _lose_patience(place: RunPlace, seen: dict[int, float]) -> None:
    """End a worker that stays without the wall it should have: its host then forks another one.

    It may have been forked while none was wanted, or still be building. `seen` says since when each is known.
    Raises `PlaceError` for one that can't be seen: it would be waited for in vain.
    """
    now = time.monotonic()
    for each in candidates(place):
        if each.verdict == "foreign" or now - seen.setdefault(each.pid, now) < PATIENCE_S:
            continue
        if each.verdict == "hidden":
            raise PlaceError(_HIDDEN)
        if each.verdict == "bare":
            worker = _taken(each, place)
            worker.kill()
            worker.close()
