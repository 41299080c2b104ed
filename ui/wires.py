"""The screen's connections: it follows three publishers and sends to their mailboxes."""

from collections.abc import Callable
from typing import Final, Literal, get_args

from ipc.bus import Follower
from ipc.channel import Channel
from ipc.endpoints import RunPlace
from ipc.mailbox import Link
from ipc.messages import AnyCommand, AnyFact, AnyReply
from ui.state import Source

News = tuple[Source, Literal["snapshot", "fact", "lost"], tuple[AnyFact, ...]]
"""Who tells, what kind of news it is, and the facts."""

_SOURCES: Final[tuple[Source, ...]] = get_args(Source)


class Wires:
    """Hands on what happens; `deliver` must not raise."""

    def __init__(self, run_directory: str, deliver: Callable[[News], None]) -> None:
        place = RunPlace.open(run_directory)
        self.run = place.run
        self._deliver = deliver
        self._channel = Channel(frame_limit=place.run.frame_limit)
        self._links = {source: self._link(source, place.mailbox(source)) for source in _SOURCES}
        self._followers = [self._follow(source, place.facts(source)) for source in _SOURCES]

    async def ask(self, target: Source, command: AnyCommand, deadline_s: float) -> AnyReply:
        """Send a command. Raises `IpcError`."""
        return await self._links[target].ask(command, deadline_s)

    def close(self) -> None:
        """Leave; what is unsent lingers for a moment."""
        for follower in self._followers:
            follower.close()
        self._channel.close()

    def _link(self, source: Source, address: str) -> Link:
        return Link(self._channel, "ui", address, on_gone=lambda: self._deliver((source, "lost", ())))

    def _follow(self, source: Source, address: str) -> Follower:
        return Follower(
            self._channel,
            self._links[source],
            address,
            on_reset=lambda facts: self._deliver((source, "snapshot", facts)),
            on_fact=lambda fact: self._deliver((source, "fact", (fact,))),
        )
