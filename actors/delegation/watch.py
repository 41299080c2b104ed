"""Whether a worker is still any good: it lives, it is heard of, it does not flood its parent."""

import asyncio
import signal
from typing import Final, Literal

from actors.delegation.course import LEASE_S, Course
from actors.delegation.warm_worker import WarmWorker

SILENCE_S: Final = 20.0
"""A worker that was not heard of for so long hangs; an honest one tells every second that it is there."""
SHORTEST_S: Final = 4 * LEASE_S
"""No silence yet: a busy machine may hold up a sign of life or two."""
TICK_S: Final = 0.5
MOST_AT_ONCE: Final = 200
"""What a worker may send at any time; honest ones send a request for each round and a lease a second."""
MOST_PER_S: Final = 10
_UNIT: Final = 256 * 1024
"""Bytes that weigh as much as one more message."""
_EXIT_S: Final = 0.2
"""How long the end of a process may come behind the end of its connection."""


class Watch:
    """Loses the course of a delegation when its worker does."""

    def __init__(self, course: Course, silence_s: float) -> None:
        self._course = course
        self._silence_s = max(SHORTEST_S, min(silence_s, SILENCE_S))
        self._received = 0

    def admits(self, size: int) -> bool:
        """Whether a message of so many bytes is to be read at all."""
        self._received += 1 + size // _UNIT
        elapsed_s = self._course.elapsed_ms() / 1000
        if self._received > MOST_AT_ONCE + MOST_PER_S * elapsed_s:
            self._course.lose(f"The worker flooded its parent with messages within {elapsed_s:.1f} s.")
        return not self._course.ended.is_set()

    async def until_lost(self, worker: WarmWorker, gone: asyncio.Event) -> None:
        """Watch until the worker is lost; `gone` is set when the connection to it breaks."""
        breaking = asyncio.ensure_future(gone.wait())
        try:
            await self._until_silent(worker.exited, breaking)
        finally:
            breaking.cancel()
        await asyncio.wait({worker.exited}, timeout=_EXIT_S)
        if worker.exited.done():
            self._course.lose(_died(await worker.status()))
        elif worker.is_stopped():
            self._course.lose("The worker process was stopped by a signal, so it was ended.")
        else:
            self._course.lose("The worker process broke its connection off, so it was ended.")

    async def _until_silent(self, *ends: "asyncio.Future[None] | asyncio.Future[Literal[True]]") -> None:
        """Return at one of `ends`, or lose the course after a long silence.

        Silence is counted in ticks: while this process is stopped itself, nobody is silent.
        """
        quiet_s = 0.0
        while quiet_s < self._silence_s:
            received = self._received
            done, _ = await asyncio.wait(ends, timeout=TICK_S, return_when=asyncio.FIRST_COMPLETED)
            if done:
                return
            quiet_s = 0.0 if self._received > received else quiet_s + TICK_S
        self._course.lose(f"The worker process was silent for {quiet_s:g} s, so it was ended.")


def _died(status: int | None) -> str:
    match status:
        case None:
            how = "ended"
        case _ if status < 0:
            how = f"was killed by {_name(-status)}"
        case _:
            how = f"ended with status {status}"
    return f"The worker process {how} before it had a result; the log may say why."


def _name(number: int) -> str:
    """A signal's name; most of the real-time ones have none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
