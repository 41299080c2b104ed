"""Where one delegation is: the first end counts, and what comes behind it changes nothing (pure)."""

import asyncio
import time
from typing import Final

from ipc.lifecycle import DELEGATION, DelegationEvent, DelegationState, advance
from ipc.messages import Problem

CANCELLED: Final = Problem(code="cancelled", message="The delegation was cancelled.")
OUT_OF_TIME: Final = Problem(
    code="timeout",
    message="The delegation ran out of time.",
    next_step="Delegate less at once, or give it a larger timeout_ms.",
)
_NEXT: Final = "Delegate it again, or look yourself."


class Course:
    """The one owner of a delegation's state and of its end."""

    def __init__(self) -> None:
        self.state: DelegationState = "waiting"
        self.ended = asyncio.Event()
        self.problem: Problem | None = None
        """Why it ended; null while it has not, and when it came to its end by itself."""
        self._started = time.monotonic()

    def begin(self) -> None:
        """Start its clock anew, now that it is its turn."""
        self._started = time.monotonic()

    def advance(self, event: DelegationEvent) -> None:
        """Take an event that ends nothing."""
        self.state = advance(DELEGATION, self.state, event)

    def end(self, event: DelegationEvent, problem: Problem | None) -> None:
        """End it, unless it has ended."""
        first = not self.ended.is_set()
        self.advance(event)
        if first:
            self.problem = problem
            self.ended.set()

    def lose(self, why: str) -> None:
        """End it for a worker that is no use any more; `why` is a sentence."""
        self.end("worker_lost", Problem(code="worker_lost", message=why, next_step=_NEXT))

    async def ended_by(self, moment_s: float) -> bool:
        """Wait until it has ended, at most until so many seconds behind its start."""
        left = self._started + moment_s - time.monotonic()
        try:
            async with asyncio.timeout(max(left, 0)):
                await self.ended.wait()
        except TimeoutError:
            pass
        return self.ended.is_set()

    def elapsed_ms(self) -> int:
        return round(1000 * (time.monotonic() - self._started))
