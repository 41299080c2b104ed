"""Two sessions in one workspace, the end of one of them, and what no child may inherit."""

import asyncio
import os
import re
import statistics
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest

from actors.plan.file import NAME
from ipc.channel import Channel
from ipc.endpoints import RunPlace, create_run, new_id
from ipc.errors import IpcError
from ipc.mailbox import Link
from ipc.messages import AnyCommand, AnyReply, GetPlan, Plan, PlanStored, ReplacePlan
from tests.fakes.fault_table import LONG, Fault
from tests.fakes.fido import Home, Run, home, openai_environment, wait_until
from tests.fakes.launch import launch
from tests.fakes.places import run_place
from tests.fakes.plans import step
from tests.fakes.scripted_server import ScriptedServer, call, say

pytestmark = pytest.mark.timeout(1800 if LONG else 60)
DEADLINE_S = 20.0
HAND_OVER_S = 0.2
SLACK = 1 if LONG else 3
"""The short form runs beside others: it allows times what the long form, which is alone, does not."""


def store(place: RunPlace) -> "subprocess.Popen[bytes]":
    return launch("actors.plan_store", place.directory, os.getpid())


def end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()


async def answer(link: Link, command: AnyCommand) -> AnyReply:
    """Ask until somebody answers; only for commands that may be repeated."""
    async with asyncio.timeout(DEADLINE_S):
        while True:
            try:
                return await link.ask(command, 1.0)
            except IpcError:
                await asyncio.sleep(0)


def holds_lock(process: "subprocess.Popen[bytes]", place: RunPlace) -> bool:
    inode = (place.workspace_directory / "lock").stat().st_ino
    locks = Path("/proc/locks").read_text(encoding="utf-8")
    return bool(re.search(rf"FLOCK +ADVISORY +WRITE {process.pid} \S+:{inode} ", locks))


def waits_for_lock(process: "subprocess.Popen[bytes]") -> bool:
    """Whether a store has come as far as its first look at the lock."""
    name = Path(f"/proc/{process.pid}/comm").read_text(encoding="utf-8")
    return name.strip() == "fido-plan_store"


@pytest.mark.fault(43, says="the session that runs the plan store is killed")
def test_the_other_session_takes_over_soon_and_nothing_is_lost(tmp_path: Path, fault: Fault) -> None:
    """Each round: both sessions write, the one whose store serves is killed, the other one goes on."""
    took = asyncio.run(hand_over_again_and_again(tmp_path, fault))
    assert statistics.median(took) < HAND_OVER_S * SLACK


async def hand_over_again_and_again(workspace: Path, fault: Fault) -> list[float]:
    took: list[float] = []
    with run_place(workspace) as place, ExitStack() as ending:
        serving = store(place)
        ending.callback(lambda: end(serving))
        channel = Channel()
        ending.callback(channel.close)
        links = [Link(channel, "client", place.mailbox("plan_store")) for _ in range(2)]
        await answer(links[0], GetPlan())
        for number in range(100 if LONG else 3):
            neighbour = create_run(place.directory.parent, place.run._replace(id=new_id()))
            second = store(neighbour)
            ending.callback(end, second)
            await asyncio.to_thread(wait_until, lambda: waits_for_lock(second), "the second store")  # noqa: B023
            with fault.attempt():
                stored = [await replace(link, f"{number}") for link in links]
                assert holds_lock(serving, place)
                assert not holds_lock(second, place)
                end(serving)
                killed = time.monotonic()
                after = await answer(links[1], GetPlan())
                took.append(time.monotonic() - killed)
                fault.took(took[-1])
                fault.note(lost=after != stored[-1])
                assert after == stored[-1]
                assert msgspec.json.decode((workspace / NAME).read_bytes(), type=Plan) == stored[-1].plan
            serving = second
    return took


async def replace(link: Link, reason: str) -> PlanStored:
    reply = await answer(link, ReplacePlan(reason=reason, items=(step("a", details=reason),)))
    assert isinstance(reply, PlanStored)
    return reply


# --- what is inherited -------------------------------------------------------------------------------------


@pytest.fixture
def at() -> Iterator[Home]:
    with home() as made:
        yield made


@pytest.mark.fault(44, says="a tool looks what it has inherited")
def test_no_descriptor_of_any_process_of_a_run_outlives_the_start_of_a_program(
    at: Home, tmp_path: Path, fault: Fault
) -> None:
    os.mkfifo(tmp_path / "gate")
    command = "ls -l /proc/self/fd; echo here > gate; cat gate"
    with ScriptedServer([call("bash_exec", {"command": command}), say("Over.")]) as server:
        running = Run(at, tmp_path, "go", FIDO_MODE="yolo", **openai_environment(server.base_url))
        assert (tmp_path / "gate").read_text(encoding="utf-8") == "here\n"
        ours = [pid for pid in at.processes() if b"actors" in command_of(pid)]
        assert len(ours) >= 6
        for pid in ours:
            with fault.attempt():
                assert inheritable(pid) == {}, command_of(pid)
        (tmp_path / "gate").write_text("go\n", encoding="utf-8")
        assert running.finish().status == 0
        (result,) = [m["content"] for m in server.requests[-1].messages if m["role"] == "tool"]
    held = re.findall(r" (\d+) -> (\S+)", result)
    assert [number for number, _ in held if int(number) > 2] == ["3"], result  # ls looks through this one
    assert "lock" not in result


def command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def inheritable(pid: int) -> dict[str, str]:
    """Descriptors of a process that a program it starts would have, but for the standard ones."""
    found = {}
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        info = Path(f"/proc/{pid}/fdinfo/{entry.name}").read_text(encoding="utf-8")
        flags = re.search(r"flags:\s+([0-7]+)", info)
        assert flags
        if int(entry.name) > 2 and not int(flags[1], 8) & os.O_CLOEXEC:
            found[entry.name] = os.readlink(entry)
    return found
