"""What the kernel takes away from a worker, in the one order that holds.

First the limits, then privileges, then files, then system calls. Rules that bind the calling thread alone are
put up before any second one, so `build` refuses to run beside one. Nothing here can be taken back.
"""

import contextlib
import os
import resource
import socket
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final

from actors.sandbox import landlock, reach, seccomp
from actors.sandbox.level import Level
from actors.sandbox.quarters import LOG, Quarters
from ipc import kernel

MEMORY_BYTES: Final = 3 * 1024**3
"""Address space of a worker, and again of each process that it starts: none bounds all of them together."""
PROCESSES: Final = 1024
"""How many more processes and threads its user may have than run when a worker is forked. The count is of the
user and not of the worker, so there is room for what a person opens meanwhile; it does not bind root."""
OPEN_FILES: Final = 256
FILE_BYTES: Final = 1024**2
"""Of the log, the one file that a worker can write."""
_FIRST_TO_GO: Final = "1000"
"""Of /proc/self/oom_score_adj: when memory runs out, a worker ends and not the session."""


class SandboxError(Exception):
    """The kernel refused, or was asked too late, or did not do what it said; the process must not go on."""


def limit() -> None:
    """Bound what this process, and each program it runs, can use. Raises `SandboxError`, `OSError`."""
    require_one_thread()
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_AS, MEMORY_BYTES)
    _limit(resource.RLIMIT_NPROC, _running() + PROCESSES)
    _limit(resource.RLIMIT_NOFILE, OPEN_FILES)
    _limit(resource.RLIMIT_FSIZE, FILE_BYTES)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_FIRST_TO_GO, encoding="utf-8")
    kernel.hide_memory()
    kernel.gain_nothing()


class Wall:
    """All that a kernel has of it, around one workspace; what never changes is worked out before the fork."""

    def __init__(self, workspace: Path, level: Level, private: Collection[Path] = ()) -> None:
        """`private` are files and folders, links followed, that stay out of reach in the workspace, too."""
        self._level = level
        self._workspace = workspace
        self._private = private
        self._reach = tuple(reach.allowed(workspace))
        self._scoped = level.landlock >= landlock.SCOPED_SIGNALS
        self._filter = seccomp.program() if level.seccomp and self._scoped else None

    def build(self, quarters: Quarters) -> None:
        """Put it up around this process and lean against it; there is no way back.

        Raises `SandboxError` when it does not stand, and `OSError` when the kernel refuses to build it.
        """
        require_one_thread()
        kernel.drop_capabilities()
        if self._level.landlock:
            own = landlock.Allowed(quarters.git_ignore, landlock.READ_FILE)
            inside = reach.inside(self._workspace, self._private)
            landlock.restrict(self._level.landlock, (*self._reach, *inside, own))
        if self._level.seccomp:
            seccomp.install(self._filter or seccomp.program(signals_to=os.getpid()))
        _lean_against(self._level, quarters.folder)


def require_one_thread() -> None:
    """Raise `SandboxError` when a second thread exists: rules of one thread would not bind it."""
    threads = sum(1 for _ in Path("/proc/self/task").iterdir())
    if threads != 1:
        raise SandboxError(f"there are {threads} threads; a wall around one of them is none")


def _lean_against(level: Level, folder: Path) -> None:
    """Try what this process could do a moment ago and now must not."""
    if level.landlock:
        _must_fail("write a file", lambda: os.close(os.open(folder / LOG, os.O_WRONLY | os.O_APPEND)))
    if level.seccomp:
        _must_fail("change a file's mode", lambda: folder.chmod(0o700))
        _must_fail("make a socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close())


def _must_fail(deed: str, act: Callable[[], object]) -> None:
    try:
        act()
    except PermissionError:
        return
    raise SandboxError(f"the wall does not hold: a worker could {deed}")


def _running() -> int:
    """Processes and threads of this machine: no fewer than the kernel counts for our user.

    Those that can be seen in /proc would be fewer, in a container or where /proc hides the others'.
    """
    load = Path("/proc/loadavg").read_text(encoding="utf-8")  # 0.20 0.18 0.12 1/80 11206
    return int(load.split()[3].partition("/")[2])


def _limit(which: int, most: int) -> None:
    """Lower a limit for good; a lower one that is there already stays."""
    _, hard = resource.getrlimit(which)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(which, (most, most))
