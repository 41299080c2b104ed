"""The actors' processes: how each is started, which ones live, and one run of them from start to end.

The actors are started before the supervisor imports what it needs itself, so that all load side by side.
"""

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from actors.directories import state_directory
from actors.environment import without_keys
from actors.process_tree import end_all
from actors.saved_terminal import SavedTerminal
from ipc import kernel

if TYPE_CHECKING:
    from ipc.endpoints import RunPlace
    from ipc.messages import ActorName

MODULES: Final = {
    "ui": "ui.app",
    "headless": "actors.headless",
    "parent": "actors.parent",
    "plan_store": "actors.plan_store",
    "worker": "actors.worker",
}
SERVICES: Final[tuple["ActorName", ...]] = ("parent", "plan_store", "worker")
KEPT_LOGS: Final = 20


class Processes:
    """The actors' processes: how each is started, and which ones live."""

    def __init__(self, place: "RunPlace", log: Path) -> None:
        self.log = log
        self._place = place
        self.alive: dict[int, ActorName] = {}

    def start(self, actor: "ActorName") -> int:
        """Start one actor; it is tied to this process and shares its fate."""
        argv = [sys.executable, "-I", "-m", MODULES[actor], str(self._place.directory), str(os.getpid())]
        environ = dict(os.environ) if actor == "parent" else without_keys(os.environ)
        # A front belongs to the terminal's session; the others must not get the terminal's signals.
        front = actor in ("ui", "headless")
        pid = os.posix_spawn(
            sys.executable,
            argv,
            environ,
            file_actions=self._streams(actor),
            setsid=not front,
            setsigdef=[signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGTTOU],
            setsigmask=[],
        )
        self.alive[pid] = actor
        return pid

    def pid_of(self, actor: "ActorName") -> int | None:
        return next((pid for pid, name in self.alive.items() if name == actor), None)

    def _streams(self, actor: "ActorName") -> list[tuple[int, ...]]:
        null = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
        log = str(self.log)
        error = (os.POSIX_SPAWN_OPEN, 2, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        match actor:
            case "ui":
                return [error]  # type: ignore[list-item]
            case "headless":
                return [null]  # type: ignore[list-item]
            case _:
                return [null, error, (os.POSIX_SPAWN_DUP2, 2, 1)]  # type: ignore[list-item]


def supervise(place: "RunPlace", front: "ActorName") -> int:
    """Run a front and the services until the front is done; return the exit status of `fido`."""
    terminal = SavedTerminal()
    kernel.adopt_orphans()
    processes = Processes(place, _log_file(place))
    for actor in (front, *SERVICES):
        processes.start(actor)
    from actors.supervisor import Supervisor, run

    try:
        supervisor = Supervisor(place, front, processes)
        status = run(supervisor)
    finally:
        end_all()
        terminal.restore()
        place.remove()
    if supervisor.last_words:
        sys.stderr.write(f"fido: {supervisor.last_words}\n")
    return status


def _log_file(place: "RunPlace") -> Path:
    """A private log for this run; the oldest ones are removed."""
    folder = state_directory(os.environ) / "logs"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    logs = sorted(folder.glob("*.log"), key=lambda path: path.stat().st_mtime)
    for path in logs[:-KEPT_LOGS]:
        path.unlink(missing_ok=True)
    return folder / f"{place.run.session_id}.log"
