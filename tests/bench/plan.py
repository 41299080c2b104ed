"""What a durable plan costs: against the same bytes written, synced and renamed by hand on the same disk."""

import asyncio
import os
import statistics
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from actors.plan.evidence import judge, relevant
from actors.plan.file import NAME, PlanFile, encode
from actors.plan.rules import check, normalize
from ipc.channel import Channel
from ipc.endpoints import RunPlace, create_run, new_id
from ipc.errors import IpcError
from ipc.mailbox import Link
from ipc.messages import AnyCommand, AnyReply, Deed, GetPlan, Ping, Plan, PlanStored, ReplacePlan
from tests.bench.measure import Row, interleaved
from tests.fakes.launch import launch
from tests.fakes.places import run_place
from tests.fakes.plans import step

ROUNDS = 200
"""Replacements, each with a raw write behind it: a disk that was idle for a moment takes twice as long."""
HANDOVERS = 7
ITEMS = tuple(
    step(
        f"step-{number}",
        status="done" if number < 4 else "pending",
        details="What is known of it so far. " * 4,
        next_action="Look at the callers",
        evidence=("pytest -q: 12 passed", "src/app.py:42") if number < 4 else (),
    )
    for number in range(8)
)
LEDGER = (
    *(Deed(kind="file", subject=f"src/part_{n}.py", first_line=1, last_line=200) for n in range(150)),
    *(
        Deed(kind="command", subject=f"{program} x{n}")
        for program in ("git", "ls", "cat", "make")
        for n in range(12)
    ),
    Deed(kind="command", subject="pytest -q"),
    Deed(kind="file", subject="src/app.py", first_line=1, last_line=90),
)
"""Two hundred deeds, as of an hour's work."""


class Stored(NamedTuple):
    """Medians of replacements through the mailbox, and of what was measured between them; ms."""

    ours: float
    floor: float
    without_folder: float
    """Write, fsync, rename: a power cut may still undo it."""
    ping: float
    """To the store and back."""

    def note(self) -> str:
        ratio = self.ours / self.without_folder
        return f"through the mailbox; a ping {self.ping:.2f} ms; {ratio:.2f} without the folder's fsync"


def rows() -> list[Row]:
    # On a real disk where there is one: in memory, fsync costs nothing and shows nothing.
    with tempfile.TemporaryDirectory(prefix="fido-b-", dir=Path.cwd()) as folder:
        places = [Path(folder, name) for name in ("file", "store", "two")]
        for place in places:
            place.mkdir()
        file_ms, floor_ms = _file_alone(places[0])
        stored = asyncio.run(_through_the_store(places[1]))
        hand_over = asyncio.run(_hand_over(places[2]))
    size = f"floor: raw write, fsync, rename, folder fsync of {len(encode(Plan(items=ITEMS)))} bytes"
    return [
        Row("plan replace: rules and file alone", file_ms, floor_ms, "ms", 1.5, size),
        Row("plan replace acknowledged durable", stored.ours, stored.floor, "ms", 1.5, stored.note()),
        Row("plan store killed to the next one's answer", hand_over, 200.0, "ms", 1.0, "floor: 200 ms"),
    ]


def _file_alone(folder: Path) -> tuple[float, float]:
    file = PlanFile(folder)
    file.load()
    plan, deeds = Plan(), relevant(ITEMS, LEDGER)
    left: list[Callable[[], None]] = []
    """What is done once the plan is acknowledged."""

    def replace() -> None:
        nonlocal plan
        items = normalize(ITEMS)
        assert not check("why", items, plan.items)
        items = judge(items, plan.items, deeds)
        plan = Plan(revision=plan.revision + 1, updated_at="2026-01-02T03:04:05.678Z", items=items)
        file.store(plan, left.append)

    def taken() -> float:
        took = _ms(replace)
        left.pop()()
        return took

    taken()
    raw = _raw(folder, (folder / NAME).read_bytes())
    ours, floor = interleaved(ROUNDS, taken, lambda: _ms(raw))
    return ours, floor


async def _through_the_store(folder: Path) -> Stored:
    with run_place(folder) as place:
        child = launch("actors.plan_store", place.directory, os.getpid())
        try:
            async with _link(place) as link:
                return await _replacements(link, folder)
        finally:
            child.kill()
            child.wait()


async def _replacements(link: Link, folder: Path) -> Stored:
    def command() -> ReplacePlan:
        return ReplacePlan(reason="why", items=ITEMS, session_id="s-1", ledger=relevant(ITEMS, LEDGER))

    stored = await _answer(link, command())
    assert isinstance(stored, PlanStored)
    content = encode(stored.plan)
    raw, without_folder = _raw(folder, content), _raw(folder, content, of_folder=False)

    async def asking(make: Callable[[], AnyCommand]) -> float:
        began = time.perf_counter()
        await link.ask(make())
        return 1000 * (time.perf_counter() - began)

    taken = [
        (await asking(command), _ms(raw), _ms(without_folder), await asking(Ping)) for _ in range(ROUNDS)
    ]
    return Stored(*map(statistics.median, zip(*taken, strict=True)))


async def _hand_over(folder: Path) -> float:
    """Kill the store that serves while another run of the workspace stands by."""
    taken = []
    for _ in range(HANDOVERS):
        with run_place(folder) as place:
            other = create_run(place.directory.parent, place.run._replace(id=new_id()))
            first = launch("actors.plan_store", place.directory, os.getpid())
            async with _link(place) as link:
                await _answer(link, GetPlan())
                second = launch("actors.plan_store", other.directory, os.getpid())
                _wait_until_it_stands_by(second.pid)
                first.kill()
                first.wait()
                began = time.monotonic()
                await _answer(link, GetPlan())
                taken.append(1000 * (time.monotonic() - began))
                second.kill()
                second.wait()
    return statistics.median(taken)


@asynccontextmanager
async def _link(place: RunPlace) -> AsyncIterator[Link]:
    channel = Channel()
    link = Link(channel, "client", place.mailbox("plan_store"))
    try:
        yield link
    finally:
        link.close()
        channel.close()


async def _answer(link: Link, command: AnyCommand) -> AnyReply:
    async with asyncio.timeout(30):
        while True:
            try:
                return await link.ask(command, 1.0)
            except IpcError:
                await asyncio.sleep(0)


def _wait_until_it_stands_by(pid: int) -> None:
    """Wait until a plan store has come to the point where it waits for the lock."""
    deadline = time.monotonic() + 30
    while Path(f"/proc/{pid}/comm").read_text(encoding="utf-8") != "fido-plan_store\n":
        assert time.monotonic() < deadline
        threading.Event().wait(0.005)


def _raw(folder: Path, content: bytes, *, of_folder: bool = True) -> Callable[[], None]:
    """The least that makes new content durable; without the folder's fsync, the least that is called so."""
    temporary, path = folder / "raw.tmp", folder / "raw"

    def write() -> None:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        os.write(fd, content)
        os.fsync(fd)
        os.close(fd)
        temporary.rename(path)
        if not of_folder:
            return
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        os.fsync(fd)
        os.close(fd)

    return write


def _ms(action: Callable[[], None]) -> float:
    began = time.perf_counter()
    action()
    return 1000 * (time.perf_counter() - began)
