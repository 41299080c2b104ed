"""The actors' processes: how each is started, which ones live, and one run of them from start to end.

What a person waits for is started first, before the supervisor imports what it needs itself; the worker,
which is needed last, is started last.
"""

import gc
import os
import signal
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from actors.directories import make_private, state_directory
from actors.environment import without_keys
from actors.last_words import say
from actors.process_tree import end_all, send
from actors.saved_terminal import SavedTerminal
from ipc import kernel
from ipc.endpoints import DRAWN
from ipc.errors import PlaceError
from ipc.lifecycle import PROCESS, advance

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ipc.endpoints import RunPlace
    from ipc.lifecycle import ProcessEvent, ProcessState
    from ipc.messages import ActorName

MODULES: Final = {
    "ui": "ui.app",
    "headless": "actors.headless",
    "parent": "actors.parent",
    "plan_store": "actors.plan_store",
    "worker": "actors.worker",
}
FRONTS: Final = ("ui", "headless")
FIRST_FRAME_S: Final = 1.0
"""Longest time that a screen has two processors to itself and the parent."""
ENDS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GUARD_LOST: Final = (
    "the first process of Fido was killed; everything it had started was ended, too. "
    "The plan and the session are on disk: fido sessions lists them."
)
AT_A_SCREEN: Final = " Press Enter for the prompt."
"""The shell wrote it while the screen still stood, and it went with the screen."""
KEPT_LOGS: Final = 20
FAILED: Final = 1
NOT_STARTED: Final = 127
_STEP_S: Final = 0.005


class Processes:
    """The actors' processes: how each is started, and which ones live."""

    def __init__(self, place: "RunPlace", commands: "Mapping[str, Sequence[str]]", log: Path) -> None:
        """`commands` starts each actor; the run's directory and our pid are added to it."""
        self.log = log
        self.alive: dict[int, ActorName] = {}
        self._states: dict[ActorName, ProcessState] = {}
        self._place = place
        self._commands = commands
        self._log_fd = os.open(log, os.O_WRONLY | os.O_APPEND)
        self._nowhere = os.open(os.devnull, os.O_RDONLY)

    def start(self, actor: "ActorName") -> int:
        """Start one actor; it is tied to this process from its first moment. Raises `OSError`."""
        self._advance(actor, "start")
        supervisor = os.getpid()
        line = [*self._commands[actor], str(self._place.directory), str(supervisor)]
        environ = _environment(actor)
        pid = os.fork()
        if pid == 0:
            self._become(actor, line, environ, supervisor)
        self.alive[pid] = actor
        return pid

    def fork(self, actor: "ActorName") -> int:
        """Start one actor as a copy of this process, whose memory it shares until it writes to it.

        Only for a process that has neither a thread nor a socket yet. Raises `OSError`.
        """
        self._advance(actor, "start")
        supervisor = os.getpid()
        pid = os.fork()
        if pid == 0:
            self._live(actor, supervisor)
        self.alive[pid] = actor
        return pid

    def ended(self, pid: int) -> "ActorName | None":
        """Take note of the end of a process; None when it was no actor of ours."""
        actor = self.alive.pop(pid, None)
        if actor is not None:
            self._advance(actor, "exit")
        return actor

    def stop(self, pids: "Collection[int]") -> None:
        """Ask processes to end in good order; they are not started again."""
        for pid in pids:
            if pid in self.alive:
                self._advance(self.alive[pid], "stop")
        send(pids, signal.SIGTERM)
        send(pids, signal.SIGCONT)

    def _advance(self, actor: "ActorName", event: "ProcessEvent") -> None:
        self._states[actor] = advance(PROCESS, self._states.get(actor, "down"), event)

    def pid_of(self, actor: "ActorName") -> int | None:
        """The living process of an actor."""
        return next((pid for pid, name in self.alive.items() if name == actor), None)

    def _become(
        self, actor: "ActorName", line: list[str], environ: dict[str, str], supervisor: int
    ) -> NoReturn:
        try:
            # A screen has to put the terminal in order; nothing may keep the others.
            kernel.die_with_parent(supervisor, signal.SIGTERM if actor == "ui" else signal.SIGKILL)
            self._redirect(actor)
            if actor not in FRONTS:
                os.setsid()  # the terminal's signals are for the front
            signal.signal(signal.SIGTSTP, signal.SIG_DFL)
            os.execve(line[0], line, environ)
        except OSError as error:
            os.write(self._log_fd, f"{actor} was not started: {error}\n".encode())
        finally:
            os._exit(NOT_STARTED)

    def _live(self, actor: "ActorName", supervisor: int) -> NoReturn:
        status = FAILED
        try:
            kernel.die_with_parent(supervisor)
            self._redirect(actor)
            if actor not in FRONTS:
                os.setsid()
            for number in (*ENDS, signal.SIGTSTP):
                signal.signal(number, signal.SIG_DFL)
            environ = _environment(actor)
            os.environ.clear()
            os.environ.update(environ)
            status = import_module(MODULES[actor]).main([str(self._place.directory), str(supervisor)])
        except Exception:
            import logging

            from ipc import logs

            logs.begin("warning")  # a line of the log holds no secret, whatever failed
            logging.getLogger(__name__).exception("%s failed", actor)
        finally:
            kernel.leave(status)

    def _redirect(self, actor: "ActorName") -> None:
        if actor != "ui":
            os.dup2(self._nowhere, 0)
        if actor not in FRONTS:
            os.dup2(self._log_fd, 1)
        if actor != "headless":
            os.dup2(self._log_fd, 2)


def supervise(
    place: "RunPlace", front: "ActorName", commands: "Mapping[str, Sequence[str]] | None" = None
) -> int:
    """Run a front and the services until the front is done; return the exit status of `fido`."""
    guard, terminal = os.getppid(), SavedTerminal()
    kernel.adopt_orphans()
    signal.signal(signal.SIGTSTP, signal.SIG_IGN)  # we stop when the front has stopped
    for number in ENDS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _leave)
    last_words = ""
    try:
        processes = Processes(place, commands or _commands(), _log_file(place))
        if front == "ui":
            processes.start("ui")
        processes.start("parent")
        if front == "ui":
            _let_draw(place.directory / DRAWN)
        from actors.supervisor import Supervisor, run

        gc.freeze()  # a collection would write to every page that is shared
        copy = processes.start if commands else processes.fork
        if front == "headless":
            copy("headless")
        copy("plan_store")
        supervisor = Supervisor(place, front, processes, terminal)
        status = run(supervisor)
        last_words = supervisor.last_words
    except OSError as error:
        status, last_words = FAILED, f"could not start: {error.strerror}: {error.filename or 'a process'}"
    finally:
        for number in ENDS:
            signal.signal(number, _go_on)
        end_all()
        lost = os.getppid() != guard
        terminal.restore(lost=lost)
        place.remove()
        if lost:
            last_words = GUARD_LOST + (AT_A_SCREEN if front == "ui" else "")
        if last_words:
            say(last_words)
    return status


def _let_draw(drawn: Path) -> None:
    """Start nothing more until the first frame stands: on two processors it would come half as fast."""
    deadline = time.monotonic() + FIRST_FRAME_S
    while not drawn.exists() and time.monotonic() < deadline:
        time.sleep(_STEP_S)


def _leave(number: int, _: object) -> NoReturn:
    """Take a signal that comes before the supervisor listens; a second one must not disturb the end."""
    for each in ENDS:
        signal.signal(each, _go_on)
    raise SystemExit(128 + number)


def _go_on(number: int, _: object) -> None:
    """Take a signal when the end is on its way already."""


def _commands() -> dict[str, list[str]]:
    return {actor: [sys.executable, "-I", "-X", "utf8", "-m", module] for actor, module in MODULES.items()}


def _environment(actor: "ActorName") -> dict[str, str]:
    """The key is for the parent alone, and a worker gets less still."""
    match actor:
        case "parent":
            return dict(os.environ)
        case "worker":
            from actors.sandbox.environment import public_environment

            return public_environment(os.environ)
        case _:
            return without_keys(os.environ)


def _log_file(place: "RunPlace") -> Path:
    """A private log for this run; the oldest ones are removed. Raises `PlaceError`."""
    folder = state_directory(os.environ) / "logs"
    try:
        make_private(folder)
        logs = sorted(folder.glob("*.log"), key=_modified)
        for path in logs[:-KEPT_LOGS]:
            path.unlink(missing_ok=True)
        log = folder / f"{place.run.session_id}.log"
        log.touch(mode=0o600)
    except OSError as error:
        raise PlaceError(
            f"no log can be written in {folder}: {error.strerror}. Set XDG_STATE_HOME to a folder of yours."
        ) from error
    return log


def _modified(path: Path) -> float:
    """When a file was last written, seconds; one that another start has removed counts as the oldest."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
