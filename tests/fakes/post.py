"""Processes that live on the bus alone: a post that does what it is asked, and a watcher of its facts.

`main` gets `post` or `watch`, RUN_DIR and PPID. A watcher prints a line for what it is told to look for.
"""

import asyncio
import sys
from typing import ClassVar

from ipc import kernel
from ipc.actor import Actor, run
from ipc.bus import Follower
from ipc.channel import Channel
from ipc.endpoints import RunPlace
from ipc.mailbox import Answer, Link, Peer
from ipc.messages import (
    Accepted,
    ActorName,
    AnyCommand,
    AnyFact,
    NoticeRaised,
    Plan,
    PlanChanged,
    PlanItem,
    Refused,
    StartTurn,
)


class Post(Actor):
    """Does what a prompt says; counts every command it was given."""

    name: ClassVar[ActorName] = "parent"
    publishes: ClassVar[bool] = True

    def __init__(self, place: RunPlace) -> None:
        super().__init__(place)
        self.commands = 0
        self.facts = 0

    async def on_bound(self) -> None:
        print("bound", flush=True)

    def on_fact(self, fact: AnyFact, peer: Peer) -> None:
        self.facts += 1

    def on_command(self, command: AnyCommand, peer: Peer) -> Answer:
        self.commands += 1
        match command:
            case StartTurn(prompt="count"):
                return Refused(code="count", message=f"{self.commands} {self.facts}")
            case StartTurn(prompt="hang"):
                return asyncio.get_running_loop().create_future()
            case StartTurn(prompt=prompt) if prompt.startswith("plans "):
                return self._plans(*map(int, prompt.split()[1:]))
            case StartTurn(prompt=prompt) if prompt.startswith("last words "):
                self.stop("asked")
                return Refused(code="last words", message="x" * int(prompt.split()[-1]))
            case StartTurn():
                return Accepted()
            case _:
                return super().on_command(command, peer)

    async def _plans(self, count: int, size: int) -> Accepted:
        """Publish that many plans of that size, then a notice that says so."""
        details = "x" * size
        for revision in range(1, count + 1):
            item = PlanItem(id="a", title="A", status="done", details=details)
            self.publish(PlanChanged(plan=Plan(revision=revision, items=(item,))))
            if revision % 50 == 0:
                await asyncio.sleep(0)
        self.publish(NoticeRaised(level="info", message=f"published {count}"))
        return Accepted()


class Watcher:
    """Follows the post; prints what it holds whenever a notice arrives or it was healed."""

    def __init__(self, place: RunPlace) -> None:
        channel = Channel(frame_limit=place.run.frame_limit)
        link = Link(channel, "client", place.mailbox("parent"))
        self._held: list[AnyFact] = []
        self._follower = Follower(
            channel, link, place.facts("parent"), on_reset=self._reset, on_fact=self._take
        )

    def _reset(self, facts: tuple[AnyFact, ...]) -> None:
        self._held = []
        for fact in facts:
            self._take(fact)
        print("whole", flush=True)

    def _take(self, fact: AnyFact) -> None:
        if isinstance(fact, PlanChanged):
            self._held = [one for one in self._held if not isinstance(one, PlanChanged)]
        self._held.append(fact)
        if isinstance(fact, NoticeRaised):
            plans = [one.plan.revision for one in self._held if isinstance(one, PlanChanged)]
            print(fact.message, *plans, self._follower.replica.holes, flush=True)


async def watch(place: RunPlace) -> None:
    watcher = Watcher(place)
    await asyncio.get_running_loop().create_future()
    del watcher


def main(argv: list[str]) -> int:
    what, run_dir, ppid = argv
    kernel.die_with_parent(int(ppid))
    place = RunPlace.open(run_dir)
    if what == "post":
        return run(Post(place))
    asyncio.run(watch(place))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
