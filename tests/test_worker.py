"""Workers: one delegation each, from a host that is always ready; real processes."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from actors.delegation.warm_worker import WarmWorker, find_worker
from ipc.channel import Channel
from ipc.endpoints import RunPlace
from ipc.mailbox import Link
from ipc.messages import (
    Accepted,
    FinishDelegation,
    GetPlan,
    HandIn,
    Ping,
    Pong,
    Refused,
    StartDelegation,
    Stop,
)
from tests.fakes.launch import DEADLINE_S, Watched, command, launch
from tests.fakes.places import run_place
from tests.fakes.worker_parent import AGENT, HANG, Step, WorkerParent, calls, forked, result, says

LICENCE = "MIT License\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "LICENSE").write_text(LICENCE, encoding="utf-8")
    return tmp_path


@contextmanager
def a_host(workspace: Path, **options: Any) -> "Iterator[tuple[RunPlace, subprocess.Popen[bytes]]]":
    with run_place(workspace) as place:
        options.setdefault("env", {"PATH": os.environ["PATH"]})
        process = launch("actors.worker", place.directory, os.getpid(), **options)
        try:
            yield place, process
        finally:
            process.terminate()
            assert process.wait(DEADLINE_S) == 0 or process.returncode == -signal.SIGKILL
            assert list(place.workers_directory.iterdir()) == []


class Meeting:
    """A parent that is connected to the warm worker."""

    def __init__(self, worker: WarmWorker, channel: Channel, parent: WorkerParent) -> None:
        self.worker = worker
        self.parent = parent
        self.gone = asyncio.Event()
        self.link = Link(
            channel, "parent", worker.address, on_command=parent.on_command, on_gone=self.gone.set
        )

    async def start(self, workspace: Path, history_bytes: int = 0) -> None:
        start = forked(history_bytes).start(str(workspace), 20)
        assert await self.link.ask(start, DEADLINE_S) == Accepted()

    async def exit(self) -> None:
        await asyncio.wait_for(self.worker.exited, DEADLINE_S)
        self.worker.close()


async def meet(place: RunPlace, channel: Channel, *steps: Step) -> Meeting:
    worker = await asyncio.wait_for(find_worker(place), DEADLINE_S)
    return Meeting(worker, channel, WorkerParent(*steps))


def with_host(workspace: Path, act: "Callable[[RunPlace, Channel], Awaitable[None]]", **options: Any) -> None:
    async def whole(place: RunPlace) -> None:
        channel = Channel()
        try:
            await asyncio.wait_for(act(place, channel), 2 * DEADLINE_S)
        finally:
            channel.close()

    with a_host(workspace, **options) as (place, _):
        asyncio.run(whole(place))


def test_a_worker_serves_one_delegation_over_its_own_socket_and_ends(workspace: Path) -> None:
    async def act(place: RunPlace, channel: Channel) -> None:
        pids = set()
        reads = calls("read_file", "r", path="LICENSE"), calls("ripgrep", "g", pattern="License")
        steps = says("", *reads), says(result())
        for number in range(1, 4):
            meeting = await meet(place, channel, *steps)
            assert Path(meeting.worker.address).parent.name.startswith(f"w-{number}-")
            await meeting.start(workspace)
            assert await meeting.parent.end() == FinishDelegation(agent_id=AGENT)
            assert "MIT License" in meeting.parent.results()["r"]
            assert "MIT License" in meeting.parent.results()["g"]
            await meeting.exit()
            pids.add(meeting.worker.pid)
        assert len(pids) == 3

    with_host(workspace, act)


def test_a_worker_that_works_answers_pings_and_takes_no_second_task(workspace: Path) -> None:
    async def act(place: RunPlace, channel: Channel) -> None:
        meeting = await meet(place, channel, HANG)
        await meeting.start(workspace)
        await asyncio.wait_for(meeting.parent.asked.wait(), DEADLINE_S)
        stranger = Link(channel, "parent", meeting.worker.address)
        pong = await stranger.ask(Ping())
        assert isinstance(pong, Pong)
        assert pong.pid == meeting.worker.pid
        for unwelcome in (forked().start("/", 1), HandIn(agent_id=AGENT), GetPlan()):
            refused = await stranger.ask(unwelcome)
            assert isinstance(refused, Refused)
            assert refused.code == ("busy" if isinstance(unwelcome, StartDelegation) else "not_for_me")
        other = await meeting.link.ask(HandIn(agent_id="subagent-0000"))
        assert isinstance(other, Refused)
        meeting.worker.kill()
        await meeting.exit()

    with_host(workspace, act)


def test_a_worker_asked_to_hand_in_right_behind_its_start_still_comes_to_its_end(workspace: Path) -> None:
    async def act(place: RunPlace, channel: Channel) -> None:
        for _ in range(5):
            meeting = await meet(place, channel, HANG, says(result()))
            asking = meeting.link.ask(HandIn(agent_id=AGENT))
            await asyncio.gather(meeting.start(workspace), asking)
            assert await meeting.parent.end() == FinishDelegation(agent_id=AGENT)
            await meeting.exit()

    with_host(workspace, act)


def test_a_worker_whose_parent_has_gone_ends_by_itself(workspace: Path) -> None:
    async def act(place: RunPlace, channel: Channel) -> None:
        meeting = await meet(place, channel, HANG)
        await meeting.start(workspace)
        await asyncio.wait_for(meeting.parent.asked.wait(), DEADLINE_S)
        meeting.link.close()
        await meeting.exit()

    with_host(workspace, act)


def test_a_killed_worker_is_replaced_by_another_at_another_endpoint(workspace: Path) -> None:
    async def act(place: RunPlace, channel: Channel) -> None:
        addresses = set()
        for _ in range(3):
            meeting = await meet(place, channel, HANG)
            await meeting.start(workspace)
            meeting.worker.kill()
            await meeting.exit()
            addresses.add(meeting.worker.address)
        assert len(addresses) == 3

    with_host(workspace, act)


def test_a_worker_that_is_told_to_stop_ends_and_is_replaced(workspace: Path) -> None:
    async def act(place: RunPlace, channel: Channel) -> None:
        first = await meet(place, channel)
        assert await first.link.ask(Stop(reason="quit")) == Accepted()
        await first.exit()
        second = await meet(place, channel)
        assert isinstance(await second.link.ask(Ping()), Pong)
        assert second.worker.pid != first.worker.pid

    with_host(workspace, act)


def test_every_result_arrives_however_quickly_a_delegation_ends(workspace: Path) -> None:
    async def act(place: RunPlace, channel: Channel) -> None:
        for number in range(40):
            meeting = await meet(
                place, channel, says(result(str(number), filler="x" * (number % 4) * 500_000))
            )
            await meeting.start(workspace)
            assert (await meeting.parent.end()).fault is None
            await meeting.exit()
            meeting.link.close()

    with_host(workspace, act)


def test_a_fork_of_ten_megabytes_is_taken(workspace: Path) -> None:
    async def act(place: RunPlace, channel: Channel) -> None:
        meeting = await meet(place, channel, says(result()))
        await meeting.start(workspace, history_bytes=10_000_000)
        assert (await meeting.parent.end()).fault is None
        assert meeting.parent.tails == [forked(10_000_000).opening]
        await meeting.exit()

    with_host(workspace, act)


def test_what_an_exception_says_in_a_worker_is_not_in_the_log_but_where_it_was_raised_is(
    workspace: Path,
) -> None:
    loop = workspace / "canary"
    loop.symlink_to(loop)

    async def act(place: RunPlace, channel: Channel) -> None:
        meeting = await meet(place, channel)
        refused = await meeting.link.ask(forked().start(str(loop), 1))
        assert isinstance(refused, Refused)
        assert refused.code == "internal_error"
        await meeting.link.ask(Stop(reason="quit"))
        await meeting.exit()

    path = workspace / "host.log"
    with path.open("wb") as log:
        with_host(workspace, act, stderr=log)
    told = path.read_text(encoding="utf-8")
    assert "RuntimeError" in told
    assert "self.root = root.resolve()" in told
    assert "canary" not in told


def test_neither_host_nor_worker_ever_has_a_key_or_a_foreign_descriptor(workspace: Path) -> None:
    secret = "sk-very-secret"
    environ = {"PATH": os.environ["PATH"], "OPENAI_API_KEY": secret, "MY_TOKEN": secret, "FIDO_MODE": "plan"}
    with (
        (workspace / "LICENSE").open(encoding="utf-8") as foreign,
        a_host(workspace, env=environ, pass_fds=[foreign.fileno()]) as (place, process),
    ):
        worker = asyncio.run(asyncio.wait_for(_pid_of(find_worker(place)), DEADLINE_S))
        for pid in (process.pid, worker):
            try:
                seen = Path(f"/proc/{pid}/environ").read_bytes()
                targets = [os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir()]
            except PermissionError:
                assert pid == worker  # the kernel hides the memory of a worker from everyone but root
                continue
            assert b"FIDO_MODE=plan" in seen
            assert secret.encode() not in seen
            assert str(workspace / "LICENSE") not in targets


async def _pid_of(finding: Awaitable[WarmWorker]) -> int:
    worker = await finding
    worker.close()
    return worker.pid


def test_workers_end_with_their_host_and_hosts_with_whoever_started_them(workspace: Path) -> None:
    starter = (
        "import subprocess, sys, os, signal\n"
        "process = subprocess.Popen([*sys.argv[1:], str(os.getpid())], stdin=subprocess.DEVNULL)\n"
        "print(process.pid, flush=True); signal.pause()"
    )
    for victim in ("starter", "host"):
        with run_place(workspace) as place:
            line = command("actors.worker", place.directory)
            started = subprocess.Popen([sys.executable, "-I", "-c", starter, *line], stdout=subprocess.PIPE)
            try:
                assert started.stdout is not None
                host_pid = int(started.stdout.readline())
                worker_pid = asyncio.run(asyncio.wait_for(_pid_of(find_worker(place)), DEADLINE_S))
                with Watched(host_pid) as host, Watched(worker_pid) as worker:
                    os.kill(started.pid if victim == "starter" else host_pid, signal.SIGKILL)
                    assert worker.ends_within()
                    assert host.ends_within()
            finally:
                started.kill()
                started.communicate()
