"""The preloaded process that workers are forked from: nothing but imports in it, and one warm worker.

It makes no thread, no socket and no ZeroMQ context, so a fork of it is a fresh, empty worker within
milliseconds. It waits for signals alone, reaps, sweeps what a worker left, and forks the next one.
"""

import contextlib
import logging
import os
import re
import shutil
import signal
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final, NoReturn

from actors.process_tree import end_all, reap
from actors.sandbox import level, wall
from actors.sandbox.private import private_places
from actors.sandbox.quarters import Quarters, is_furnished, move_in, move_out
from ipc import kernel
from ipc.endpoints import RunPlace
from ipc.secret_text import without_secrets
from ipc.terminal_text import clean

RESTARTS: Final = 3
"""Faulty ends within `WINDOW_S` after which another one is forked; the next ends the host."""
WINDOW_S: Final = 30.0

_WATCHED: Final = frozenset({signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
_NAME: Final = re.compile(r"w-(\d+)-\d+")

log = logging.getLogger(__name__)


class WorkerHost:
    """Keeps exactly one worker; each serves once, in a folder of its own."""

    def __init__(self, place: RunPlace, serve: Callable[[Quarters], int]) -> None:
        """`serve` is a worker's whole life behind its wall, from what it has to its exit status."""
        self._place = place
        self._serve = serve
        private = private_places(os.environ, place.directory.parent)
        self._wall = wall.Wall(Path(place.run.workspace), level.probe(), private)
        self._number = 0
        self._faults: deque[float] = deque(maxlen=RESTARTS + 1)

    def run(self) -> bool:
        """Fork, reap and fork again until a signal says stop; False when too many workers failed."""
        signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
        kernel.adopt_orphans()
        self._number = clear_out(self._place.workers_directory)
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
        self._note_end(pid, status)
        folder = self._folder(pid)
        was_ready = is_furnished(folder)
        end_all()
        _tell(move_out(folder))
        if status is not None and _is_fault(status, was_ready):
            log.error("worker %d ended with status %d", pid, status)
            self._faults.append(time.monotonic())
        return status is not None

    def _be_worker(self, host: int) -> NoReturn:
        """Live a worker's life; nothing of the host's own ever runs in this process again."""
        status = 70
        try:
            os.setsid()
            kernel.die_with_parent(host)
            quarters = move_in(self._folder(os.getpid()))
            wall.limit()
            if not self._place.no_wall.exists():
                self._wall.build(quarters)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _WATCHED)
            status = self._serve(quarters)
        except wall.SandboxError as error:
            log.critical("no worker without its wall: %s", error)
        except Exception:
            log.exception("the worker failed")
        finally:
            logging.shutdown()
            os._exit(status)

    def _note_end(self, pid: int, status: int | None) -> None:
        """Tell the parent, who can see that a worker has ended, but not how."""
        with contextlib.suppress(OSError):
            self._place.worker_end.write_text(f"{pid} {status}", encoding="utf-8")

    def _folder(self, pid: int) -> Path:
        return self._place.workers_directory / f"w-{self._number}-{pid}"

    def _spent(self) -> bool:
        return len(self._faults) > RESTARTS and self._faults[-1] - self._faults[0] <= WINDOW_S


def clear_out(directory: Path) -> int:
    """Remove the folders of workers whose host was killed; return the highest of their numbers, or 0."""
    newest = 0
    for path in directory.iterdir():
        if match := _NAME.fullmatch(path.name):
            newest = max(newest, int(match[1]))
            shutil.rmtree(path, ignore_errors=True)
    return newest


def _tell(said: bytes) -> None:
    """Put what a worker left in its log into the session's; it may have written anything."""
    if said:
        with contextlib.suppress(OSError):
            sys.stderr.write(without_secrets(clean(said.decode(errors="replace"))))
            sys.stderr.flush()


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
