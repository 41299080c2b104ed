"""The supervisor: watches the actors, restarts what dies, ends everything in good order."""

import asyncio
import os
import signal
import time
from typing import Final

from actors.process_tree import children, kill, reap, send
from actors.processes import Processes
from actors.restarts import RestartBudget, Verdict
from ipc.endpoints import RunPlace
from ipc.mailbox import Actor, run
from ipc.messages import ActorName, NoticeRaised, ProcessExited, ProcessStarted

__all__ = ["Supervisor", "run"]

GRACE_S: Final = 1.2
"""How long the actors may take to end in good order; the rest of two seconds is for killing."""
PASSED_ON_S: Final = 3.5
"""How long a headless front may take to end by itself after a signal."""
_POLL_S: Final = 0.01
_SWEEPS_S: Final = (0.0, 0.02, 0.1, 0.5)
"""When strays are looked for after an actor's death: their own parents take a moment to follow it."""
FAILED: Final = 1
USAGE: Final = 2


class Supervisor(Actor):
    """Owns the processes of a run."""

    name = "supervisor"
    publishes = True

    def __init__(self, place: RunPlace, front: ActorName, processes: Processes) -> None:
        super().__init__(place)
        self.last_words = ""
        """What the person reads when everything has ended."""
        self._front = front
        self._processes = processes
        self._budget = RestartBudget()
        self._stopping_now = False

    async def on_bound(self) -> None:
        for pid, actor in self._processes.alive.items():
            self.publish(ProcessStarted(actor=actor, pid=pid))
        asyncio.get_running_loop().add_signal_handler(signal.SIGCHLD, self._reap)
        self._reap()

    def on_signal(self, number: signal.Signals) -> None:
        """A headless front takes a signal itself and ends the run; a screen is closed."""
        front = self._processes.pid_of("headless")
        if front is None or number == signal.SIGHUP:
            self.exit_status = 128 + number
            self.stop(number.name)
            return
        os.kill(front, number)
        asyncio.get_running_loop().call_later(PASSED_ON_S, self.stop, number.name)

    async def on_stop(self, reason: str) -> None:
        """SIGTERM asks each actor to end in good order; what is left afterwards is killed by the caller."""
        self._stopping_now = True
        for number in (signal.SIGTERM, signal.SIGCONT):
            send(self._processes.alive, number)
        deadline = time.monotonic() + GRACE_S
        while self._processes.alive and time.monotonic() < deadline:
            await asyncio.sleep(_POLL_S)
            self._reap()

    def _reap(self) -> None:
        for pid, status in reap().statuses.items():
            self._ended(pid, status)

    def _ended(self, pid: int, status: int) -> None:
        actor = self._processes.alive.pop(pid, None)
        if actor is None or self._stopping_now:
            return
        verdict = self._budget.judge(actor, status, time.monotonic())
        self.publish(ProcessExited(actor=actor, pid=pid, status=status, restarting=verdict == "restart"))
        for delay in _SWEEPS_S:
            asyncio.get_running_loop().call_later(delay, self._sweep)
        self._follow(verdict, actor, status)

    def _follow(self, verdict: Verdict, actor: ActorName, status: int) -> None:
        match verdict:
            case "restart":
                if status not in (0, -signal.SIGTERM):
                    message = f"The {actor} process ended ({_ending(status)}) and was started again."
                    self.publish(NoticeRaised(level="warning", message=message))
                pid = self._processes.start(actor)
                self.publish(ProcessStarted(actor=actor, pid=pid))
            case "end":
                self.exit_status = status if status >= 0 else FAILED
                self.stop(f"{actor} ended")
            case "refused":
                self._give_up(USAGE, self._reason(actor))
            case "give_up":
                words = f"the {actor} process kept ending ({_ending(status)}), so Fido stopped."
                self._give_up(FAILED, f"{self._reason(actor) or words} The log: {self._processes.log}")

    def _give_up(self, status: int, last_words: str) -> None:
        self.exit_status = status
        self.last_words = last_words
        self.stop("gave up")

    def _reason(self, actor: ActorName) -> str:
        try:
            return self.place.failure_file(actor).read_text(encoding="utf-8").strip()
        except OSError:
            return ""

    def _sweep(self) -> None:
        """End what came to us when its own parent died: no tool outlives its agent."""
        strays = [pid for pid in children(os.getpid()) if pid not in self._processes.alive]
        if strays and not self._stopping_now:
            kill(strays)
            self._reap()


def _ending(status: int) -> str:
    return f"status {status}" if status >= 0 else signal.Signals(-status).name
