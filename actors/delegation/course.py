"""Where one delegation is: the first end counts, and what comes behind it changes nothing."""

import asyncio
import logging
import time
from typing import Any, Final

from actors.delegation.problems import FAULTY, lost
from actors.discreet import course_of
from ipc.lifecycle import DELEGATION, DelegationEvent, DelegationState, advance
from ipc.messages import Problem

LEASE_S: Final = 1.0
"""How often a working worker tells its parent that it is there, and makes sure of the parent."""

log = logging.getLogger(__name__)


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
        self.end("worker_lost", lost(why))

    def fail(self, error: BaseException) -> None:
        """End it for a fault of Fido's own; the log has where, and no word of what was worked on."""
        log.error("a delegation failed inside Fido:\n%s", course_of(error))
        self.end("worker_lost", FAULTY)

    def attend(self, task: "asyncio.Task[Any]") -> None:
        """End it should one of its tasks fail: nobody else would hear of that."""
        task.add_done_callback(self._heard)

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

    def _heard(self, task: "asyncio.Task[Any]") -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self.fail(error)
