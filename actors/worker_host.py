"""The preloaded process that workers are forked from: nothing but imports in it, and one warm worker.

It makes no thread, no socket and no ZeroMQ context, so a fork of it is a fresh, empty worker within
milliseconds. It waits for signals alone, reaps, sweeps what a worker left, and forks the next one.
"""

import contextlib
import logging
import os
import re
import signal
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final, NoReturn

from actors import sandbox
from actors.process_tree import end_all, reap
from ipc import kernel

RESTARTS: Final = 3
"""Faulty ends within `WINDOW_S` after which another one is forked; the next ends the host."""
WINDOW_S: Final = 30.0

_WATCHED: Final = frozenset({signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
_NUMBER: Final = re.compile(r"w-(\d+)-\d+\.ipc")

log = logging.getLogger(__name__)


class WorkerHost:
    """Keeps exactly one worker; each serves once, at an endpoint of its own."""

    def __init__(self, directory: Path, serve: Callable[[str], int]) -> None:
        """`serve` is a worker's whole life in its own process, from its address to its exit status."""
        self._directory = directory
        self._serve = serve
        self._number = newest_number(directory)
        self._descriptors: frozenset[int] = frozenset()
        self._faults: deque[float] = deque(maxlen=RESTARTS + 1)

    def run(self) -> bool:
        """Fork, reap and fork again until a signal says stop; False when too many workers failed."""
        signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
        kernel.adopt_orphans()
        self._descriptors = frozenset(sandbox.open_descriptors())
        try:
            while not self._spent():
                if not self._one_worker():
                    return True
            return False
        finally:
            end_all()

    def _one_worker(self) -> bool:
        """Have one worker from its fork to its end; False when a signal said stop."""
        self._number += 1
        host = os.getpid()
        pid = os.fork()
        if pid == 0:
            self._be_worker(host)
        status = _wait_for(pid)
        path = self._directory / f"w-{self._number}-{pid}.ipc"
        was_ready = path.exists()
        end_all()
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        if status is not None and _is_fault(status, was_ready):
            log.error("worker %d ended with status %d", pid, status)
            self._faults.append(time.monotonic())
        return status is not None

    def _be_worker(self, host: int) -> NoReturn:
        """Live a worker's life; nothing of the host's own ever runs in this process again."""
        status = 70
        try:
            os.setsid()
            sandbox.apply(host, self._descriptors, os.environ)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _WATCHED)
            status = self._serve(f"ipc://{self._directory}/w-{self._number}-{os.getpid()}.ipc")
        except sandbox.SandboxError as error:
            log.critical("no worker without its walls: %s", error)
        except Exception:
            log.exception("the worker failed")
        finally:
            logging.shutdown()
            os._exit(status)

    def _spent(self) -> bool:
        return len(self._faults) > RESTARTS and self._faults[-1] - self._faults[0] <= WINDOW_S


def newest_number(directory: Path) -> int:
    """The highest number that a worker's socket bears there; 0 when there is none."""
    matches = (_NUMBER.fullmatch(path.name) for path in directory.iterdir())
    return max((int(match[1]) for match in matches if match), default=0)


def _wait_for(pid: int) -> int | None:
    """Exit status of a child, or minus the number of its signal; None when a signal said stop."""
    while signal.sigwaitinfo(_WATCHED).si_signo == signal.SIGCHLD:
        status = reap().statuses.get(pid)
        if status is not None:
            return status
    return None


def _is_fault(status: int, was_ready: bool) -> bool:
    """Whether a worker failed by itself; being killed at work is how the parent ends a delegation."""
    killed = status in (-signal.SIGKILL, -signal.SIGTERM)
    return not was_ready if killed else status != 0
