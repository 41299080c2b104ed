"""No acknowledged plan is ever lost: killed at random moments, at every system call, on a disk that fails."""

import asyncio
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from actors.plan.file import NAME, PlanFile
from ipc.channel import Channel
from ipc.endpoints import RunPlace
from ipc.errors import IpcError
from ipc.mailbox import Link
from ipc.messages import AnyCommand, AnyReply, GetPlan, Plan, PlanStored, ReplacePlan
from tests.fakes.launch import DEADLINE_S, ROOT, launch
from tests.fakes.places import run_place
from tests.fakes.plans import plan, step

LONG = os.environ.get("FIDO_FAULTS") == "long"
KILLS = 1000 if LONG else 12
SEED = int(os.environ.get("FIDO_SEED", "1"))


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
    """Streams numbered updates, and checks after each kill that what was acknowledged is there."""

    def __init__(self, place: RunPlace, link: Link) -> None:
        self.sent = self.acknowledged = 0
        self._link = link
        self._path = Path(place.run.workspace) / NAME

    async def update(self) -> None:
        self.sent += 1
        items = tuple(step(f"s{number}", details=f"{self.sent} " * 50) for number in range(5))
        reply = await self._ask(ReplacePlan(reason=str(self.sent), items=items))
        assert isinstance(reply, PlanStored), reply
        self.acknowledged = self.sent

    async def check(self) -> Plan:
        reply = await self._ask(GetPlan())
        assert isinstance(reply, PlanStored)
        assert int(reply.plan.reason or 0) == self.acknowledged
        assert reply.plan == msgspec.json.decode(self._path.read_bytes(), type=Plan)
        return reply.plan

    async def _ask(self, command: AnyCommand) -> AnyReply:
        """Ask until somebody answers; the same update twice is the same plan."""
        async with asyncio.timeout(DEADLINE_S):
            while True:
                try:
                    return await self._link.ask(command, 1.0)
                except IpcError:
                    await asyncio.sleep(0)


async def stream_and_kill(place: RunPlace, chance: random.Random) -> None:
    stores, channel = Stores(place), Channel()
    link = Link(channel, "client", place.mailbox("plan_store"))
    writer = Writer(place, link)
    try:
        await writer.update()
        for _ in range(KILLS):
            for _ in range(chance.randrange(10)):
                await writer.update()
            victim = stores.serving()
            asyncio.get_running_loop().call_later(chance.uniform(0, 0.004), stores.kill, victim)
            while stores.serving() == victim:
                await writer.update()
            assert (await writer.check()).revision >= writer.acknowledged
    finally:
        stores.end()
        link.close()
        channel.close()


@pytest.mark.timeout(60 if not LONG else 3600)
def test_no_acknowledged_update_is_lost_when_the_store_is_killed_at_random_moments(tmp_path: Path) -> None:
    with run_place(tmp_path) as place:
        asyncio.run(stream_and_kill(place, random.Random(SEED)))
    assert set(os.listdir(tmp_path)) <= {NAME, f"{NAME}.tmp"}


# --- at every system call ----------------------------------------------------------------------------------

THREE_PLANS = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from actors.plan.file import PlanFile
from tests.fakes.plans import plan, step
file = PlanFile(Path(sys.argv[1]))
file.load()
for revision in (1, 2, 3):
    file.store(plan(step("a", details=str(revision) * 50), revision=revision))
    os.write(1, b"%d\\n" % revision)
"""

ONE_REPLY = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from actors.plan_store import PlanStore
from ipc.messages import GetPlan, NoticeRaised, Plan, PlanStored, ReplacePlan
from tests.fakes.plans import step
from tests.fakes.places import run_place
import msgspec
notices = []
PlanStore.publish = lambda self, fact: notices.append(fact) if isinstance(fact, NoticeRaised) else None
folder = Path(sys.argv[1])
with run_place(folder) as place:
    store = PlanStore(place)
    store._file.load()
    first = store.on_command(ReplacePlan(reason="first", items=(step("a"),)), None)
    second = store.on_command(ReplacePlan(reason="second", items=(step("b"),)), None)
    held = store.on_command(GetPlan(), None).plan
    third = store.on_command(ReplacePlan(reason="third", items=(step("c"),)), None)
    rule = "stored" if isinstance(second, PlanStored) else second.problems[0].rule
    on_disk = msgspec.json.decode((folder / ".fido-plan.json").read_bytes(), type=Plan)
    agree = second.plan == held and third.plan == on_disk
    print(rule, held.reason, agree, isinstance(third, PlanStored), len(notices))
"""


def traced(code: str, folder: Path, inject: str) -> "subprocess.CompletedProcess[str]":
    calls = inject.partition(":")[0]
    strace = ["strace", "-qq", "-o", "/dev/null", "-e", f"trace={calls}", "-e", f"inject={inject}"]
    return subprocess.run(
        [*strace, sys.executable, "-I", "-c", code, str(folder)],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )


needs_strace = pytest.mark.skipif(
    shutil.which("strace") is None
    or subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode
    != 0,
    reason="strace injects the faults",
)


@needs_strace
@pytest.mark.parametrize("calls", ["fsync", "/^rename", "/^unlink", "write"])
def test_a_kill_at_any_system_call_loses_no_acknowledged_plan(calls: str, tmp_path: Path) -> None:
    number = 0
    while True:
        number += 1
        folder = tmp_path / str(number)
        folder.mkdir()
        run = traced(THREE_PLANS, folder, f"{calls}:signal=KILL:when={number}")
        acknowledged = [int(line) for line in run.stdout.split()]
        if run.returncode == 0:
            break
        file = PlanFile(folder)
        assert file.load().plan.revision in (len(acknowledged), len(acknowledged) + 1)
        file.store(plan(step("a"), revision=9))
        assert os.listdir(folder) == [NAME]
    assert acknowledged == [1, 2, 3]
    assert number > 3


# --- a disk that fails -------------------------------------------------------------------------------------


@needs_strace
@pytest.mark.parametrize(
    ("inject", "rule", "held"),
    [
        ("fsync:error=EIO:when=3", "not_stored", "first"),
        ("fsync:error=EIO:when=4", "uncertain", "second"),
        ("/^rename:error=EIO:when=2", "not_stored", "first"),
        ("/^rename:error=EROFS:when=2", "not_stored", "first"),
    ],
    ids=["fsync of the file", "fsync of the folder", "rename", "read-only"],
)
def test_an_error_of_the_disk_is_told_and_memory_and_disk_agree(
    inject: str, rule: str, held: str, tmp_path: Path
) -> None:
    run = traced(ONE_REPLY, tmp_path, inject)
    assert run.stdout.split() == [rule, held, "True", "True", "1"], run.stderr
    assert os.listdir(tmp_path) == [NAME]
