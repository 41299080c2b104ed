"""The other processes of a run, played by the test: they publish what it tells and note what they hear."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from ipc.actor import Actor
from ipc.endpoints import RunPlace
from ipc.mailbox import Answer, Peer
from ipc.messages import (
    Accepted,
    AnyCommand,
    AnyFact,
    AnyReply,
    ClearPlan,
    GetPlan,
    Plan,
    PlanChanged,
    PlanStored,
    Stop,
)
from tests.fakes.facts import session
from tests.fakes.places import run_place
from tests.fakes.watching import DEADLINE_S

C = TypeVar("C", bound=AnyCommand)


class Played(Actor):
    """An actor that accepts everything, or answers what it is told to."""

    publishes = True

    def __init__(self, place: RunPlace) -> None:
        super().__init__(place)
        self.heard: list[AnyCommand] = []
        self.answers: dict[type[AnyCommand], AnyReply] = {}
        self.bound = asyncio.Event()
        self._hears = asyncio.Event()

    async def on_bound(self) -> None:
        self.bound.set()

    def on_command(self, command: AnyCommand, peer: Peer) -> Answer:
        self.heard.append(command)
        self._hears.set()
        return self.answers.get(type(command), Accepted())

    def stop(self, reason: str) -> None:
        self.heard.append(Stop(reason=reason))
        self._hears.set()
        super().stop(reason)

    async def hears(self, kind: type[C], count: int = 1) -> list[C]:
        """Wait for commands of a kind."""
        async with asyncio.timeout(DEADLINE_S):
            while len(found := [command for command in self.heard if isinstance(command, kind)]) < count:
                self._hears.clear()
                await self._hears.wait()
        return found

    def tell(self, *facts: AnyFact) -> None:
        for fact in facts:
            self.publish(fact)


class PlayedParent(Played):
    name = "parent"


class PlayedSupervisor(Played):
    name = "supervisor"


class PlayedStore(Played):
    name = "plan_store"
    plan = Plan()

    def on_command(self, command: AnyCommand, peer: Peer) -> Answer:
        super().on_command(command, peer)
        if isinstance(command, ClearPlan):
            self.plan = Plan(revision=self.plan.revision + 1)
            self.publish(PlanChanged(plan=self.plan))
        return PlanStored(plan=self.plan) if isinstance(command, GetPlan | ClearPlan) else Accepted()


class PlayedRun:
    """A run whose actors live in the test."""

    def __init__(self, place: RunPlace) -> None:
        self.place = place
        self.parent = PlayedParent(place)
        self.store = PlayedStore(place)
        self.supervisor = PlayedSupervisor(place)
        self._tasks: dict[Actor, asyncio.Task[None]] = {}

    async def start(self, *actors: Played) -> None:
        for actor in actors:
            self._tasks[actor] = asyncio.ensure_future(actor.serve())
        for actor in actors:
            async with asyncio.timeout(DEADLINE_S):
                await actor.bound.wait()

    async def stop(self, *actors: Actor) -> None:
        for actor in actors or tuple(self._tasks):
            actor.stop("test")
            await self._tasks.pop(actor)


@asynccontextmanager
async def played_run(workspace: Path, flags: Mapping[str, object] | None = None) -> AsyncIterator[PlayedRun]:
    """A parent with an open session, a plan store and a supervisor."""
    with run_place(workspace, flags=flags or {}) as place:
        workspace_directory = place.workspace_directory
        workspace_directory.mkdir(exist_ok=True)
        run = PlayedRun(place)
        await run.start(run.supervisor, run.parent, run.store)
        run.parent.tell(session())
        run.store.tell(PlanChanged(plan=run.store.plan))
        try:
            yield run
        finally:
            await run.stop()
