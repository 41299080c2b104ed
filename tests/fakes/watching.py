"""A follower's picture that tests can wait on, and a publisher that loses what it is told to lose."""

import asyncio
from collections.abc import Callable

from ipc import codec
from ipc.bus import Publisher
from ipc.messages import AnyFact, NoticeRaised

DEADLINE_S = 10.0


class Seen:
    """The facts a follower holds; `until` waits for the event, not for time to pass."""

    def __init__(self) -> None:
        self.facts: list[AnyFact] = []
        self._changed = asyncio.Event()

    def reset(self, facts: tuple[AnyFact, ...]) -> None:
        self.facts = list(facts)
        self._changed.set()

    def add(self, fact: AnyFact) -> None:
        self.facts.append(fact)
        self._changed.set()

    @property
    def notices(self) -> list[str]:
        return [fact.message for fact in self.facts if isinstance(fact, NoticeRaised)]

    async def until(self, condition: Callable[["Seen"], bool]) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while not condition(self):
                self._changed.clear()
                await self._changed.wait()


class LossyPublisher(Publisher):
    """Numbers and remembers every fact, and sends those that `loses` spares."""

    loses: Callable[[int], bool] = staticmethod(lambda seq: False)

    def _send(self, frame: bytes) -> None:
        envelope, _ = codec.decode(frame)
        if not self.loses(envelope.seq):
            super()._send(frame)
