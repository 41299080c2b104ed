"""Workers: one delegation each, read-only, from a host that is always ready; real processes."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from actors.catalog.builtin import EFFECTS, worker_tools
from actors.delegate_result import nested_failure
from actors.subagent import REPAIR, Subagent
from actors.warm_worker import WarmWorker, find_worker
from actors.workspace import Workspace
from ipc.channel import Channel
from ipc.endpoints import RunPlace
from ipc.mailbox import Link
from ipc.messages import (
    Accepted,
    CancelDelegation,
    FinishDelegation,
    GetPlan,
    Ping,
    Pong,
    Refused,
    StartDelegation,
    Stop,
    ToolCall,
)
from tests.fakes.launch import DEADLINE_S, Watched, command, launch, script
from tests.fakes.places import run_place
from tests.fakes.worker_parent import AGENT, HANG, Here, Step, WorkerParent, calls, forked, result, says

LICENCE = "MIT License\n"


# --- one delegation, in this process ------------------------------------------------------------------------


Meanwhile = Callable[[Subagent, WorkerParent, "asyncio.Task[FinishDelegation]"], Awaitable[None]]


def play(
    workspace: Path,
    *steps: Step,
    max_rounds: int = 20,
    meanwhile: Meanwhile | None = None,
) -> tuple[FinishDelegation, WorkerParent]:
    async def whole() -> tuple[FinishDelegation, WorkerParent]:
        parent = WorkerParent(*steps)
        peer = Here(parent, lambda fact: subagent.receive(fact.event))  # type: ignore[union-attr]
        start = forked().start(str(workspace), max_rounds)
        subagent = Subagent(start, peer, worker_tools(Workspace(workspace)), EFFECTS)
        playing = asyncio.ensure_future(subagent.play())
        if meanwhile is not None:
            await meanwhile(subagent, parent, playing)
        return await asyncio.wait_for(playing, DEADLINE_S), parent

    return asyncio.run(whole())


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "LICENSE").write_text(LICENCE, encoding="utf-8")
    return tmp_path


def test_a_subagent_reads_and_hands_in_its_last_text(workspace: Path) -> None:
    reading = says("I look.", calls("read_file", "r", path="LICENSE"), calls("list_files", "l"))
    end, parent = play(workspace, reading, says(result()))
    assert end == FinishDelegation(status="completed", texts=("I look.", result()))
    assert set(parent.results()) == {"d", "r", "l"}
    assert "MIT License" in parent.results()["r"]
    assert "LICENSE" in parent.results()["l"]
    first, second = parent.tails
    assert first == forked().opening
    assert second[: len(first)] == first


@pytest.mark.parametrize(
    "name", sorted(name for name, effect in EFFECTS.items() if effect not in ("read", "delegate"))
)
def test_whatever_does_more_than_read_is_denied_as_a_normal_result(workspace: Path, name: str) -> None:
    wish = calls(name, path="LICENSE", command="rm LICENSE", question="?", reason="x", items=[])
    end, parent = play(workspace, says("", wish), says(result()))
    assert end.status == "completed"
    denied = json.loads(parent.results()["c1"])
    assert denied["error"]["code"] == "permission_denied"
    assert denied["error"]["next_step"]
    assert (workspace / "LICENSE").read_text(encoding="utf-8") == LICENCE
    assert sorted(path.name for path in workspace.iterdir()) == ["LICENSE"]


@pytest.mark.parametrize("arguments", ['{"task":"again"}', "{}", "not json", '{"identity":"main"}'])
def test_a_nested_delegation_fails_with_the_exact_result_whatever_it_asks(
    workspace: Path, arguments: str
) -> None:
    wish = ToolCall(id="c1", name="delegate", arguments=arguments)
    end, parent = play(workspace, says("", wish), says(result()))
    assert end.status == "completed"
    assert parent.results()["c1"] == nested_failure(AGENT)
    assert len(parent.tails) == 2
    assert any("nested delegation rejected" in detail for _, detail in parent.activities)


def test_a_last_text_out_of_form_is_asked_for_once_more(workspace: Path) -> None:
    end, parent = play(workspace, says("It is MIT."), says(result()))
    assert end == FinishDelegation(status="completed", texts=("It is MIT.", result()))
    assert json.loads(parent.tails[1][-1]) == {"role": "user", "content": REPAIR}
    end, parent = play(workspace, says("It is MIT."), says("I said it is MIT."))
    assert end.texts == ("It is MIT.", "I said it is MIT.")
    assert len(parent.tails) == 2


def test_a_subagent_at_its_round_limit_hands_in_what_it_has(workspace: Path) -> None:
    more = says("I look.", calls("list_files"))
    end, _ = play(workspace, more, more, says(result()), max_rounds=2)
    assert end.status == "partial"
    assert end.problem is not None
    assert end.problem.code == "max_rounds"
    assert end.texts[-1] == result()


def test_an_answer_at_the_output_limit_is_not_completed(workspace: Path) -> None:
    end, _ = play(workspace, says("It is M", finish_reason="length"), says(result()))
    assert end.status == "partial"
    assert end.problem is not None
    assert end.problem.code == "output_limit"


def test_a_fault_of_the_provider_keeps_what_was_found_and_names_its_reason(workspace: Path) -> None:
    overflow = Refused(code="context_length_exceeded", message="Too long.", next_step="Ask for less.")
    end, _ = play(workspace, says("It is MIT.", calls("list_files")), overflow)
    assert (end.status, end.texts) == ("partial", ("It is MIT.",))
    assert end.problem is not None
    assert (end.problem.code, end.problem.next_step) == ("context_length_exceeded", "Ask for less.")
    end, _ = play(workspace, overflow)
    assert (end.status, end.texts) == ("failed", ())


@pytest.mark.parametrize("reason", ["cancelled", "timeout"])
def test_a_stopped_subagent_hands_in_what_it_has(workspace: Path, reason: str) -> None:
    async def stop(
        subagent: Subagent, parent: WorkerParent, playing: "asyncio.Task[FinishDelegation]"
    ) -> None:
        while len(parent.tails) < 2:
            parent.asked.clear()
            await parent.asked.wait()
        subagent.stop(reason)
        playing.cancel()

    end, parent = play(workspace, says("I look.", calls("list_files")), HANG, meanwhile=stop)
    assert (end.status, end.texts) == ("partial", ("I look.",))
    assert end.problem is not None
    assert end.problem.code == reason
    assert len(parent.tails) == 2


def test_the_parent_is_told_what_the_subagent_does(workspace: Path) -> None:
    _, parent = play(workspace, says("", calls("read_file", path="LICENSE")), says("x" * 10), says(result()))
    phases = [phase for phase, _ in parent.activities]
    assert phases == ["reasoning", "read_file", "reasoning", "reviewing", "reasoning", "reviewing"]
    assert ("read_file", "LICENSE") in parent.activities
    assert all("xxx" not in detail for _, detail in parent.activities)


# --- the host, with lives of its own ------------------------------------------------------------------------

HOST = """
import os, signal, subprocess, sys
from pathlib import Path
from actors.worker_host import WorkerHost
directory, host = Path(sys.argv[1]), os.getpid()
def serve(address):
    number = int(address.rpartition("/")[2].split("-")[1])
    path = Path(address.removeprefix("ipc://"))
    print("worker", number, os.getpid(), flush=True)
{life}
print("ended", WorkerHost(directory, serve).run(), flush=True)
"""


def hosted(directory: Path, life: str) -> list[list[str]]:
    """Lines that the host and its workers printed; `life` is the body of a worker."""
    code = HOST.format(life="".join(f"    {line}\n" for line in life.splitlines()))
    run = script(code, directory, env={"PATH": os.environ["PATH"]})
    assert run.returncode == 0, run.stderr
    return [line.split() for line in run.stdout.splitlines()]


def test_a_host_whose_workers_only_fail_gives_up_after_three_restarts(tmp_path: Path) -> None:
    for life in ("return 1", "raise RuntimeError", "os.kill(os.getpid(), signal.SIGKILL)", "os.abort()"):
        lines = hosted(tmp_path, life)
        assert [line[0] for line in lines] == ["worker"] * 4 + ["ended"]
        assert lines[-1] == ["ended", "False"]


def test_a_worker_that_is_killed_at_work_is_no_fault(tmp_path: Path) -> None:
    life = (
        "path.touch()\n"
        "os.kill(*((host, signal.SIGTERM) if number == 8 else (os.getpid(), signal.SIGKILL)))\n"
        "signal.pause()"
    )
    lines = hosted(tmp_path, life)
    assert [line[1] for line in lines] == [*map(str, range(1, 9)), "True"]
    assert list(tmp_path.iterdir()) == []


def test_numbers_grow_past_every_socket_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "w-41-7.ipc").touch()
    (tmp_path / "w-x-7.ipc").touch()
    lines = hosted(tmp_path, "os.kill(host, signal.SIGTERM)\nsignal.pause()")
    assert lines[0][:2] == ["worker", "42"]


@pytest.mark.parametrize("number", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_a_host_that_is_told_to_stop_takes_everything_with_it(tmp_path: Path, number: str) -> None:
    life = (
        "child = subprocess.Popen(['sleep', '1000'], start_new_session=True)\n"
        f"print('child', child.pid, flush=True)\nos.kill(host, signal.{number})\nsignal.pause()"
    )
    lines = hosted(tmp_path, life)
    assert lines[-1] == ["ended", "True"]
    for _, *_, pid in lines[:-1]:
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)


def test_what_a_worker_leaves_behind_is_gone_before_the_next_one_lives(tmp_path: Path) -> None:
    life = (
        "if number == 1:\n"
        "    shell = 'trap \"\" TERM; setsid sleep 1000 & sleep 1001 & echo child $! ; wait'\n"
        "    shell = subprocess.Popen(['sh', '-c', shell], start_new_session=True, stdout=subprocess.PIPE)\n"
        "    print(shell.stdout.readline().decode().strip(), flush=True)\n"
        "    return 0\n"
        "left = Path(f'/proc/{host}/task/{host}/children').read_text().split()\n"
        "print('left', *left, flush=True)\n"
        "os.kill(host, signal.SIGTERM)\nsignal.pause()"
    )
    lines = hosted(tmp_path, life)
    assert [line[0] for line in lines] == ["worker", "child", "worker", "left", "ended"]
    assert lines[3][1:] == [lines[2][2]]
    with pytest.raises(ProcessLookupError):
        os.kill(int(lines[1][1]), 0)


# --- real workers -------------------------------------------------------------------------------------------


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
            assert Path(meeting.worker.address).name.startswith(f"w-{number}-")
            await meeting.start(workspace)
            assert await meeting.parent.end() == FinishDelegation(status="completed", texts=(result(),))
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
        for unwelcome in (forked().start("/", 1), CancelDelegation(reason="cancelled"), GetPlan()):
            refused = await stranger.ask(unwelcome)
            assert isinstance(refused, Refused)
            assert refused.code == ("busy" if isinstance(unwelcome, StartDelegation) else "not_for_me")
        assert await meeting.link.ask(CancelDelegation(reason="cancelled")) == Accepted()
        assert (await meeting.parent.end()).status == "failed"
        await meeting.exit()

    with_host(workspace, act)


def test_a_cancel_right_behind_the_start_still_brings_an_end(workspace: Path) -> None:
    async def act(place: RunPlace, channel: Channel) -> None:
        for _ in range(5):
            meeting = await meet(place, channel, HANG, HANG)
            cancel = meeting.link.ask(CancelDelegation(reason="timeout"))
            await asyncio.gather(meeting.start(workspace), cancel)
            end = await meeting.parent.end()
            assert end.problem is not None
            assert end.problem.code == "timeout"
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
            assert json.loads((await meeting.parent.end()).texts[-1])["summary"] == str(number)
            await meeting.exit()
            meeting.link.close()

    with_host(workspace, act)


def test_a_fork_of_ten_megabytes_is_taken(workspace: Path) -> None:
    async def act(place: RunPlace, channel: Channel) -> None:
        meeting = await meet(place, channel, says(result()))
        await meeting.start(workspace, history_bytes=10_000_000)
        assert (await meeting.parent.end()).status == "completed"
        assert meeting.parent.tails == [forked(10_000_000).opening]
        await meeting.exit()

    with_host(workspace, act)


def test_neither_host_nor_worker_ever_has_a_key_or_a_foreign_descriptor(workspace: Path) -> None:
    secret = "sk-very-secret"
    environ = {"PATH": os.environ["PATH"], "OPENAI_API_KEY": secret, "MY_TOKEN": secret, "FIDO_MODE": "plan"}
    with (
        (workspace / "LICENSE").open() as foreign,
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
