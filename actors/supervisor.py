"""The supervisor: watches the actors, restarts what dies, ends everything in good order."""

import asyncio
import contextlib
import logging
import os
import shlex
import signal
from collections.abc import Collection
from typing import Final

from actors.process_tree import children, descendants, kill, reap, send
from actors.processes import FAILED, FRONTS, Processes
from actors.restarts import REOPEN, RestartBudget, Verdict
from actors.resume import resume_command
from actors.saved_terminal import SavedTerminal
from ipc import logs
from ipc.actor import Actor, run
from ipc.endpoints import RunPlace
from ipc.errors import IpcError
from ipc.messages import ActorName, NoticeRaised, Ping, ProcessExited, ProcessStarted

__all__ = ["Supervisor", "run"]

PASSED_ON_S: Final = 1.2
"""How long a headless front may take to report its end after a signal."""
FRONT_S: Final = 0.3
"""How long the front may take to end after SIGTERM; it is asked first, so that it goes in good order."""
OTHERS_S: Final = 0.5
"""How long the others may take then. Together with `PASSED_ON_S` and the killing this is two seconds."""
PARENT_FIRST_S: Final = 2.0
"""How long the worker's start waits for the parent to answer."""
SWEEP_S: Final = 1.0
"""Between two looks for strays that came without an actor's death."""
STOPS: Final = frozenset({signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU})
USAGE: Final = 2
GOES_ON: Final = {
    "suspend": "suspended. This brings it back",
    "left": "this goes on with the session",
}
"""Reasons of a stop behind which the person reads how to come back, and the words for it."""
CRASHED: Final = 70

log = logging.getLogger(__name__)


class Supervisor(Actor):
    """Owns the processes of a run."""

    name = "supervisor"
    publishes = True

    def __init__(
        self, place: RunPlace, front: ActorName, processes: Processes, terminal: SavedTerminal
    ) -> None:
        super().__init__(place)
        self._front = front
        self._processes = processes
        self._terminal = terminal
        self._guard = os.getppid()
        self._budget = RestartBudget()
        self._changed = asyncio.Event()
        self._ending = False
        self._signal = 0
        self._words = ""

    @property
    def last_words(self) -> str:
        """What the person reads when everything has ended; mostly nothing."""
        if self.exit_status == CRASHED and not self._words:
            return f"the supervisor failed, so Fido stopped. The log: {self._processes.log}"
        return self._words

    async def on_start(self) -> None:
        logs.begin(self.place.run.flags.get("log_level", "warning"), file=self._processes.log)

    async def on_bound(self) -> None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGCHLD, self._look)
        for pid, actor in self._processes.alive.items():
            self.publish(ProcessStarted(actor=actor, pid=pid))
        self._tick()
        await self._until_parent_listens()
        self._start("worker")

    def on_signal(self, number: signal.Signals) -> None:
        """A headless front takes a signal itself and ends the run; a screen is closed."""
        self._signal = self._signal or number
        front = self._processes.pid_of("headless")
        if front is None or number == signal.SIGHUP or self._guard_is_lost():
            self.stop(number.name)
            return
        send([front], number)
        asyncio.get_running_loop().call_later(PASSED_ON_S, self.stop, number.name)

    async def on_stop(self, reason: str) -> None:
        """End the front, then the others: ask, and after a while kill."""
        self._ending = True
        if self._signal:
            self.exit_status = 128 + self._signal
        if reason in GOES_ON:
            back = shlex.join(resume_command(self.place.read_again()))
            self._words = f"{GOES_ON[reason]}: {back}"
        fronts = [pid for pid, actor in self._processes.alive.items() if actor in FRONTS]
        lost = self._guard_is_lost()  # the shell has the terminal back already
        await self._end(fronts, 0.0 if lost else FRONT_S)
        self._terminal.restore(lost=lost)
        await self._end(list(self._processes.alive), 0.1 if lost else OTHERS_S)

    async def _end(self, pids: Collection[int], patience_s: float) -> None:
        self._processes.stop(pids)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                await self._until_gone(pids)
        left = [pid for pid in pids if pid in self._processes.alive]
        kill([each for pid in left for each in (pid, *descendants(pid))])
        await self._until_gone(left)

    async def _until_gone(self, pids: Collection[int]) -> None:
        while not self._processes.alive.keys().isdisjoint(pids):
            self._changed.clear()
            await self._changed.wait()

    async def _until_parent_listens(self) -> None:
        """The worker is needed last: it must not take a processor from the parent's start."""
        parent = self.link(self.place.mailbox("parent"))
        with contextlib.suppress(IpcError):
            await parent.ask(Ping(), PARENT_FIRST_S)
        parent.close()

    def _tick(self) -> None:
        self._look()
        asyncio.get_running_loop().call_later(SWEEP_S, self._tick)

    def _look(self) -> None:
        """Find out what has become of our children, and act on it."""
        for pid, status in reap().statuses.items():
            actor = self._processes.ended(pid)
            if actor is not None and not self._ending:
                self._ended(actor, pid, status)
        self._changed.set()
        self._sweep()
        self._follow_front()

    def _ended(self, actor: ActorName, pid: int, status: int) -> None:
        if actor == "ui":
            self._terminal.restore()
        verdict = self._budget.judge(actor, status, asyncio.get_running_loop().time())
        self.publish(ProcessExited(actor=actor, pid=pid, status=status, restarting=verdict == "restart"))
        self._follow(verdict, actor, status)

    def _follow(self, verdict: Verdict, actor: ActorName, status: int) -> None:
        match verdict:
            case "restart":
                self._restart(actor, status)
            case "end":
                self.exit_status = status if status >= 0 else FAILED
                self.stop(f"{actor} ended")
            case "refused":
                self._give_up(USAGE, self._reason(actor))
            case "give_up":
                words = f"the {actor} process kept ending ({_ending(status)}), so Fido stopped."
                self._give_up(FAILED, f"{self._reason(actor) or words} The log: {self._processes.log}")

    def _restart(self, actor: ActorName, status: int) -> None:
        if status not in (0, REOPEN, -signal.SIGTERM):
            message = f"The {actor} process ended ({_ending(status)}) and was started again."
            self.publish(NoticeRaised(level="warning", message=message))
        self._start(actor)

    def _start(self, actor: ActorName) -> None:
        if not self.place.directory.is_dir():
            self._give_up(FAILED, f"the run directory {self.place.directory} was removed. Start Fido again.")
            return
        try:
            pid = self._processes.start(actor)
        except OSError as error:
            self._give_up(FAILED, f"the {actor} process could not be started: {error.strerror}")
        else:
            self.publish(ProcessStarted(actor=actor, pid=pid))

    def _give_up(self, status: int, words: str) -> None:
        self.exit_status = status
        self._words = words
        self.stop("gave up")

    def _reason(self, actor: ActorName) -> str:
        try:
            return self.place.failure_file(actor).read_text(encoding="utf-8").strip()
        except OSError:
            return ""

    def _sweep(self) -> None:
        """Kill what came to us when its own parent died: no tool outlives its agent."""
        alive = self._processes.alive
        strays = [pid for pid in children(os.getpid()) if pid not in alive]
        if strays:
            kill([each for pid in strays for each in (pid, *descendants(pid))], spare_groups=alive.keys())

    def _follow_front(self) -> None:
        """Stop with a front that was stopped by the terminal, so that the shell gets its job back.

        Not when it is to end: whoever stands still then ends nobody.
        """
        front = self._processes.pid_of(self._front)
        if front is None:
            return
        try:
            stopped = os.waitid(os.P_PID, front, os.WSTOPPED | os.WNOHANG)
        except ChildProcessError:
            return  # it has just ended: the next look reaps it
        if stopped is not None and stopped.si_status in STOPS and not self._ending:
            signal.signal(signal.SIGTSTP, signal.SIG_DFL)
            os.kill(os.getpid(), stopped.si_status)
            signal.signal(signal.SIGTSTP, signal.SIG_IGN)
            send([front], signal.SIGCONT)

    def _guard_is_lost(self) -> bool:
        return os.getppid() != self._guard


def _ending(status: int) -> str:
    return f"status {status}" if status >= 0 else signal.Signals(-status).name
