"""Workers that die, stand still, hang, lie, flood or come too many: each delegation has one normal result."""

import asyncio
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.conversation import encode_user
from actors.delegation.warm_worker import find_worker
from actors.delegation.watch import SHORTEST_S
from actors.settings.tables import Delegation
from ipc import codec
from ipc.channel import Channel
from ipc.mailbox import Link
from ipc.messages import PROTOCOL_VERSION, AnyReply, ModelAnswer, Ping, Pong
from tests.fakes.delegation_scene import LONG_MS, Answering, Scene, delegate, start_worker, worker
from tests.fakes.fault_table import LONG, SEED, Fault
from tests.fakes.launch import DEADLINE_S, Watched
from tests.fakes.models import ScriptedProvider, Step
from tests.fakes.places import run_place
from tests.fakes.worker_parent import calls, forked, result, says

pytestmark = pytest.mark.timeout(900 if LONG else 60)

IDLE_MS = 1_000
"""The shortest there is; a worker may be silent for `SHORTEST_S` all the same."""
SLACK_S = 1.0 if not LONG else 0.5
"""What a busy machine may add to a bound that is measured on a quiet one."""

Result = dict[str, Any]


@contextmanager
def a_worker(pid: int) -> Iterator[Watched]:
    """A worker that must not outlive its delegation."""
    with Watched(pid) as watched:
        yield watched
        assert watched.ends_within(SLACK_S)


async def struck(
    scene: Scene, strike: Callable[[int], None], after_s: float | None = None
) -> tuple[Result, float]:
    """Strike the worker of a delegation after a while, or once its model has begun to answer.

    The result, and the seconds from the strike to it.
    """
    pid = await scene.ready()
    with a_worker(pid):
        delegating = asyncio.ensure_future(delegate(scene.delegator()))
        try:
            async with asyncio.timeout(DEADLINE_S):
                if after_s is None:
                    await scene.scripted.waiting.wait()
                else:
                    await asyncio.sleep(after_s)  # the moment itself is what is tried
                began = time.monotonic()
                strike(pid)
                return await delegating, time.monotonic() - began
        finally:
            scene.close()


def by(number: int) -> Callable[[int], None]:
    return lambda pid: os.kill(pid, number)


def check_lost(made: Result, scene: Scene, *said: str) -> None:
    """One end, and it says what was found and what became of the worker."""
    assert made["error"]["code"] == "worker_lost"
    assert any(word in made["error"]["message"] for word in said), made["error"]
    assert [fact.active for fact in scene.activities].count(False) == 1
    assert not scene.activities[-1].active


def again(scene: Scene, *steps: Step) -> None:
    """Prepare a scene for its next delegation."""
    scene.facts.clear()
    scene.provider = scene.scripted = ScriptedProvider(steps)


@pytest.mark.fault(18, says="the worker is killed")
def test_a_killed_worker_is_one_lost_result_and_the_next_delegation_works(
    tmp_path: Path, fault: Fault
) -> None:
    chance = random.Random(SEED)
    moments = [None, *(chance.uniform(0, 0.03) for _ in range(100 if LONG else 6))]
    with worker(tmp_path, "honest") as (scene, _):
        for moment in moments:
            with fault.attempt():
                again(scene, "I see MIT")
                made, seconds = asyncio.run(struck(scene, by(signal.SIGKILL), moment))
                fault.took(seconds)
                check_lost(made, scene, "SIGKILL")
                if moment is None:
                    assert (made["status"], made["summary"]) == ("partial", "I see MIT")
        again(scene, says(result()))
        assert asyncio.run(scene.delegate(LONG_MS))["status"] == "completed"


@pytest.mark.fault(18, says="the worker is ended by one of the other signals")
def test_a_worker_that_any_signal_ends_is_one_lost_result_that_names_it(tmp_path: Path, fault: Fault) -> None:
    lowest, highest = signal.SIGRTMIN + 6, signal.SIGRTMAX - 1  # without a name of their own
    numbers = {signal.SIGSEGV: "SIGSEGV", lowest: f"signal {lowest}", highest: f"signal {highest}"}
    with worker(tmp_path, "honest") as (scene, _):
        for number, name in numbers.items():
            with fault.attempt():
                again(scene, "I see MIT")
                made, seconds = asyncio.run(struck(scene, by(number)))
                fault.took(seconds)
                check_lost(made, scene, f"was killed by {name} ")


@pytest.mark.fault(19, says="the worker stands still")
def test_a_worker_that_stands_still_is_lost_long_before_the_deadline(tmp_path: Path, fault: Fault) -> None:
    with worker(tmp_path, "honest") as (scene, _):
        for _ in range(10 if LONG else 1):
            with fault.attempt():
                again(scene, "I see MIT")
                made, seconds = asyncio.run(struck(scene, by(signal.SIGSTOP)))
                fault.took(seconds)
                check_lost(made, scene, "stopped")
                assert seconds < LONG_MS / 1000 / 5
        again(scene, says(result()))
        assert asyncio.run(scene.delegate(LONG_MS))["status"] == "completed"


def ended(
    tmp_path: Path, behaviour: str, timeout_ms: int = LONG_MS, *steps: ModelAnswer
) -> tuple[Result, Scene, float, float]:
    """A delegation to a hostile worker: result, scene, seconds, and the longest that the loop stood still."""

    async def whole(scene: Scene) -> tuple[Result, float, float]:
        pid = await scene.ready()
        stood = 0.0

        async def tick() -> None:
            nonlocal stood
            while True:
                began = time.monotonic()
                await asyncio.sleep(0.005)
                stood = max(stood, time.monotonic() - began)

        ticking = asyncio.ensure_future(tick())
        with a_worker(pid):
            began = time.monotonic()
            try:
                made = await delegate(scene.delegator(), timeout_ms)
            finally:
                ticking.cancel()
                scene.close()
        return made, time.monotonic() - began, stood

    with worker(tmp_path, behaviour, *steps, limits=Delegation(idle_ms=IDLE_MS)) as (scene, process):
        made, seconds, stood = asyncio.run(whole(scene))
        process.wait(DEADLINE_S)
    return made, scene, seconds, stood


@pytest.mark.parametrize("behaviour", ["hangs", "silent"])
@pytest.mark.fault(20, says="the worker is busy and hears nothing")
def test_a_worker_that_is_not_heard_of_is_lost_within_its_idle_time(
    tmp_path: Path, fault: Fault, behaviour: str
) -> None:
    made, scene, seconds, _ = ended(tmp_path, behaviour)
    fault.took(seconds)
    check_lost(made, scene, "silent")
    assert seconds < SHORTEST_S + 2 * SLACK_S


@pytest.mark.fault(19, says="the worker says that it is there, and does nothing")
def test_a_worker_that_only_says_that_it_is_there_is_ended_at_the_deadline(
    tmp_path: Path, fault: Fault
) -> None:
    timeout_ms = 1_000
    made, scene, seconds, _ = ended(tmp_path, "dawdles", timeout_ms)
    fault.took(seconds)
    assert (made["status"], made["error"]["code"]) == ("failed", "timeout")
    assert timeout_ms / 1000 <= seconds < timeout_ms / 1000 + SLACK_S
    assert scene.scripted.bodies == []


@pytest.mark.parametrize("behaviour", ["floods", "babbles", "swamps"])
@pytest.mark.fault(18, says="the worker floods its parent")
def test_a_worker_that_floods_is_ended_and_its_parent_is_unharmed(
    tmp_path: Path, fault: Fault, behaviour: str
) -> None:
    before = resident_mb()
    made, scene, seconds, stood = ended(tmp_path, behaviour)
    fault.took(seconds)
    check_lost(made, scene, "flooded")
    assert len(scene.activities) == 2
    assert stood < SLACK_S
    assert resident_mb() - before < 100


@pytest.mark.parametrize(
    "behaviour", ["invents", "forges", "smuggles", "quotes", "misnames", "forgets", "impersonates"]
)
@pytest.mark.fault(18, says="the worker lies")
def test_a_worker_that_lies_is_ended_before_a_model_hears_it(
    tmp_path: Path, fault: Fault, behaviour: str
) -> None:
    made, scene, seconds, _ = ended(tmp_path, behaviour, LONG_MS, says("", calls("rm", path="LICENSE")))
    fault.took(seconds)
    check_lost(made, scene, "misbehaved")
    assert len(scene.scripted.bodies) == (1 if behaviour == "forges" else 0)


@pytest.mark.fault(29, says="very many delegations at once")
def test_of_very_many_delegations_one_runs_at_a_time_and_each_has_its_result(
    tmp_path: Path, fault: Fault
) -> None:
    many = 100 if LONG else 15

    async def whole(scene: Scene) -> list[Result]:
        await scene.ready()
        delegator = scene.delegator()
        try:
            return await asyncio.gather(*(delegate(delegator) for _ in range(many)))
        finally:
            scene.close()

    with worker(tmp_path, "honest") as (scene, _):
        scene.provider = model = Answering()
        made = asyncio.run(whole(scene))
    for each in made:
        with fault.attempt():
            assert each["status"] == "completed"
    assert (model.most, model.asked) == (1, many)
    assert len({each["identity"]["agent_id"] for each in made}) == many
    running = 0
    for fact in scene.activities:
        running += {"starting": 1, "completed": -1}.get(fact.phase, 0)
        assert running in (0, 1)


@pytest.mark.fault(30, says="a cancel at any moment of a worker's life")
def test_wherever_a_delegation_is_cancelled_it_has_one_result_and_its_worker_is_gone(
    tmp_path: Path, fault: Fault
) -> None:
    step_ms = 1 if LONG else 8

    async def cancelled(scene: Scene, after_s: float) -> Result:
        pid = await scene.ready()
        with a_worker(pid):
            delegating = asyncio.ensure_future(delegate(scene.delegator()))
            try:
                await asyncio.sleep(after_s)  # the moment itself is what is tried
                delegating.cancel()
                began = time.monotonic()
                made = await delegating
                fault.took(time.monotonic() - began)
            finally:
                scene.close()
        return made

    with worker(tmp_path, "honest") as (scene, _):
        for after_ms in range(0, 60, step_ms):
            with fault.attempt():
                scene.facts.clear()
                scene.provider = Answering(delay_s=0.01)
                try:
                    made = asyncio.run(cancelled(scene, after_ms / 1000))
                except asyncio.CancelledError:
                    assert after_ms == 0  # it had not begun
                    continue
                last = [fact for fact in scene.activities if not fact.active]
                assert len(last) == 1
                code = made.get("error", {}).get("code")
                assert (made["status"], code, last[0].phase) in (
                    ("failed", "cancelled", "cancelled"),
                    ("partial", "cancelled", "cancelled"),
                    ("completed", None, "completed"),
                )
        scene.provider = Answering()
        assert asyncio.run(scene.delegate(LONG_MS))["status"] == "completed"


def junk() -> st.SearchStrategy[bytes]:
    """Frames that no honest parent sends, some of them nearly right."""
    start = codec.encode(forked().start("/w", 1), sender="parent", id=10_000)
    parts = msgspec.msgpack.decode(start)
    other = msgspec.msgpack.encode([PROTOCOL_VERSION + 1, *parts[1:]])
    deep = msgspec.msgpack.encode([*parts[:-1], None])[:-1] + b"\x91" * 100_000 + b"\xc0"
    cut = st.integers(0, len(start) - 1).map(lambda at: start[:at])
    return st.one_of(cut, st.binary(max_size=64), st.sampled_from([b"", b"\x00", other, deep]))


@pytest.mark.fault(31, says="no fork at all, or one that is broken")
def test_whatever_is_no_fork_is_refused_and_the_worker_lives(tmp_path: Path, fault: Fault) -> None:
    async def sent(scene: Scene, frames: list[bytes]) -> AnyReply:
        found = await asyncio.wait_for(find_worker(scene.place), DEADLINE_S)
        channel = Channel()
        try:
            link = Link(channel, "parent", found.address)
            for frame in frames:
                link._socket.send(frame)
            return await link.ask(Ping())
        finally:
            found.close()
            channel.close()

    with worker(tmp_path, "honest") as (scene, _), asyncio.Runner() as runner:
        pids = set()

        @settings(max_examples=500 if LONG else 30, deadline=None)
        @given(st.lists(junk(), min_size=1, max_size=20))
        def refuse(frames: list[bytes]) -> None:
            with fault.attempt():
                pong = runner.run(sent(scene, frames))
                assert isinstance(pong, Pong)
                pids.add(pong.pid)

        refuse()
        assert len(pids) == 1


@pytest.mark.fault(31, says="a fork of any size and shape")
def test_a_fork_of_any_size_and_shape_is_played_or_refused_in_words(tmp_path: Path, fault: Fault) -> None:
    sizes = [0, 1, 1_000_000, 10_000_000] * (5 if LONG else 1)
    with worker(tmp_path, "honest") as (scene, _):
        for size in sizes:
            with fault.attempt():
                scene.provider = model = Answering()
                small = Scene(scene.place, tmp_path / f"{size}-{time.monotonic_ns()}")
                small.provider = model
                small.conversation._messages.insert(1, encode_user("x" * size))
                assert asyncio.run(small.delegate(LONG_MS))["status"] == "completed"
        with fault.attempt("a fork over every limit"):
            large = Scene(scene.place, tmp_path / "large")
            large.conversation._messages.insert(1, encode_user("x" * 70_000_000))
            made = asyncio.run(large.delegate(LONG_MS))
            assert (made["status"], made["error"]["code"]) == ("failed", "worker_lost")
            assert "limit" in made["error"]["message"] or "large" in made["error"]["message"]


@pytest.mark.fault(32, says="the process that workers are forked from is killed")
def test_a_killed_host_takes_its_worker_along_and_the_next_one_serves(tmp_path: Path, fault: Fault) -> None:
    for number in range(10 if LONG else 1):
        with fault.attempt(), run_place(tmp_path / str(number)) as place:
            scene = Scene(place, tmp_path / f"state{number}", "I see MIT", says(result()))
            hosts: list[subprocess.Popen[bytes]] = [start_worker(place)]

            def strike(_: int, hosts: list["subprocess.Popen[bytes]"] = hosts) -> None:
                hosts[0].kill()
                hosts[0].wait(DEADLINE_S)

            try:
                made, _ = asyncio.run(struck(scene, strike))
                check_lost(made, scene, "ended")
                began = time.monotonic()
                hosts.append(start_worker(place))
                assert asyncio.run(scene.delegate(LONG_MS))["status"] == "completed"
                fault.took(time.monotonic() - began)
            finally:
                for host in hosts:
                    host.kill()
                    host.wait(DEADLINE_S)


@pytest.mark.fault(18, says="a delegation that ends at once hands its result over")
def test_every_result_is_delivered_however_quickly_its_worker_ends(tmp_path: Path, fault: Fault) -> None:
    chance = random.Random(SEED)
    with worker(tmp_path, "honest") as (scene, _):
        for number in range(200 if LONG else 20):
            with fault.attempt():
                filler = "x" * chance.choice([0, 10, 10_000, 500_000])
                delay_s = chance.choice([0, 0, 0.001, 0.02])
                scene.provider = Answering(result(str(number), filler=filler), delay_s)
                made = asyncio.run(scene.delegate(LONG_MS))
                fault.note(lost=made["summary"] != str(number))
                assert (made["status"], made["summary"]) == ("completed", str(number))


def resident_mb() -> float:
    """Memory of this process, megabytes."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
