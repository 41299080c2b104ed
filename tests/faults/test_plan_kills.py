"""No acknowledged plan is ever lost, and none applied twice, when the store is killed at random moments."""

import asyncio
import os
import random
import subprocess
from pathlib import Path

import msgspec
import pytest

from actors.plan.client import PlanClient
from actors.plan.file import NAME
from ipc.channel import Channel
from ipc.endpoints import RunPlace
from ipc.mailbox import Link
from ipc.messages import Plan, PlanStored
from tests.fakes.fault_table import LONG, SEED, Fault
from tests.fakes.launch import launch
from tests.fakes.places import run_place
from tests.fakes.plans import step

KILLS = 1000 if LONG else 12


class Stores:
    """Two plan stores of one workspace: whichever serves is killed, and another one stands by."""

    def __init__(self, place: RunPlace) -> None:
        self._place = place
        self._children = [self._launch(), self._launch()]

    def kill(self, pid: int) -> None:
        """Kill one of ours without warning, and let a fresh one stand by."""
        (child,) = (child for child in self._children if child.pid == pid)
        child.kill()
        child.wait()
        self._children[self._children.index(child)] = self._launch()

    def end(self) -> None:
        for child in self._children:
            child.kill()
            child.wait()

    def serving(self) -> int:
        """The process that holds the workspace's lock; 0 when it is free."""
        inode = (self._place.workspace_directory / "lock").stat().st_ino
        for line in Path("/proc/locks").read_text(encoding="utf-8").splitlines():
            fields = line.split()
            if fields[1] == "FLOCK" and fields[5].endswith(f":{inode}"):
                return int(fields[4])
        return 0

    def _launch(self) -> "subprocess.Popen[bytes]":
        return launch("actors.plan_store", self._place.directory, os.getpid())


class Writer:
    """Streams numbered updates as a session does, and checks that each one is there, once."""

    def __init__(self, place: RunPlace, link: Link) -> None:
        self.acknowledged = 0
        self._plans = PlanClient(link, lambda _: None, "s-1", tuple)
        self._path = Path(place.run.workspace) / NAME

    async def update(self) -> None:
        number = self.acknowledged + 1
        items = tuple(step(f"s{each}", details=f"{number} " * 50) for each in range(5))
        reply = await self._plans.replace(str(number), items)
        assert isinstance(reply, PlanStored), reply
        assert (reply.plan.reason, reply.plan.revision) == (str(number), number)
        self.acknowledged = number

    async def check(self) -> None:
        plan = await self._plans.get()
        assert plan.revision == self.acknowledged
        assert plan == msgspec.json.decode(self._path.read_bytes(), type=Plan)


async def stream_and_kill(place: RunPlace, chance: random.Random, fault: Fault) -> None:
    stores, channel = Stores(place), Channel()
    link = Link(channel, "client", place.mailbox("plan_store"))
    writer = Writer(place, link)
    try:
        await writer.update()
        for _ in range(KILLS):
            for _ in range(chance.randrange(10)):
                await writer.update()
            with fault.attempt():
                victim = stores.serving()
                asyncio.get_running_loop().call_later(chance.uniform(0, 0.004), stores.kill, victim)
                while stores.serving() == victim:
                    await writer.update()
                await writer.check()
    finally:
        stores.end()
        link.close()
        channel.close()


@pytest.mark.fault(33, says="the plan store is killed during a stream of updates")
@pytest.mark.timeout(60 if not LONG else 3600)
def test_no_acknowledged_update_is_lost_or_applied_twice_when_the_store_is_killed_at_random_moments(
    tmp_path: Path, fault: Fault
) -> None:
    with run_place(tmp_path) as place:
        asyncio.run(stream_and_kill(place, random.Random(SEED), fault))
    assert set(os.listdir(tmp_path)) <= {NAME, f"{NAME}.tmp"}
