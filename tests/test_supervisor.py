"""The supervisor over played actors: starts, restarts, giving up, and the end of everything."""

import asyncio
import os
import signal
import time
from collections.abc import Iterator

import pytest

from actors.process_tree import children, descendants
from actors.processes import GUARD_LOST
from ipc.bus import Follower
from ipc.channel import Channel
from ipc.endpoints import RunPlace
from ipc.mailbox import Link
from ipc.messages import Accepted, NoticeRaised, Ping, Pong, ProcessExited, ProcessStarted, Stop
from tests.fakes.fido import parent_of, wait_until
from tests.fakes.play import KEY, WELL, Stage, left_on, stage
from tests.fakes.watching import Seen


@pytest.fixture
def on() -> Iterator[Stage]:
    with stage() as made:
        yield made


def all_ended(on: Stage) -> bool:
    wait_until(lambda: not left_on(on), "everything to end", 5.0)
    return True


def exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("status", [0, 1, 3, 4])
def test_a_headless_front_ends_the_run_with_its_status(on: Stage, status: int) -> None:
    assert on.start("headless", headless=f"exit={status}", **WELL).end() == (status, "")
    assert all_ended(on)
    assert not list((on.root / "run").glob("r-*"))


def test_a_screen_that_was_closed_ends_the_run_well(on: Stage) -> None:
    assert on.start("ui", ui="exit=0", **WELL).end() == (0, "")
    assert all_ended(on)


@pytest.mark.fault(15, says="an actor crashes whenever it starts")
def test_an_actor_that_keeps_crashing_is_restarted_three_times_and_then_given_up(on: Stage) -> None:
    players = {**WELL, "parent": "exit=9"}
    status, said = on.start("headless", headless="well.front", **players).end()
    assert len(on.players("exit=9")) == 4
    assert status == 1
    assert said.count("\n") == 1
    assert said.startswith("fido: the parent process kept ending (status 9), so Fido stopped. The log: ")
    assert said.strip().rpartition(" ")[2] == str(on.root / "state/fido/logs/s-test.log")
    assert (on.root / "state/fido/logs/s-test.log").stat().st_mode & 0o777 == 0o600
    assert all_ended(on)


def test_a_refused_start_ends_everything_and_tells_the_reason(on: Stage) -> None:
    players = {**WELL, "parent": "refuse=parent"}
    play = on.start("headless", headless="well.front", **players)
    assert play.end() == (2, "fido: the setting is wrong; mend it\n")
    assert len(on.players("refuse=parent")) == 1
    assert all_ended(on)


@pytest.mark.parametrize("actor", ["parent", "plan_store", "worker"])
def test_a_killed_service_comes_back(on: Stage, actor: str) -> None:
    gate = on.gate("gate")
    play = on.start("headless", headless="until=gate", **WELL)
    os.kill(on.player(WELL[actor]), signal.SIGKILL)
    on.player(WELL[actor], 2)
    gate.write_bytes(b"0")
    assert play.end() == (0, "")
    assert all_ended(on)


def test_a_killed_screen_comes_back_and_the_others_stay(on: Stage) -> None:
    play = on.start("ui", ui="well.ui", **WELL)
    others = [on.player(behaviour) for behaviour in WELL.values()]
    os.kill(on.player("well.ui"), signal.SIGKILL)
    on.player("well.ui", 2)
    assert all(exists(pid) for pid in others)
    os.kill(play.guard, signal.SIGTERM)
    assert play.end() == (143, "")
    assert all_ended(on)


def test_what_a_killed_actor_leaves_is_killed_and_a_living_ones_daemons_are_not(on: Stage) -> None:
    gate = on.gate("gate")
    players = {**WELL, "parent": "daemons.parent", "plan_store": "daemons.store"}
    play = on.start("headless", headless="until=gate", **players)
    parent, store = on.player("daemons.parent"), on.player("daemons.store")
    wait_until(lambda: min(len(descendants(parent)), len(descendants(store))) >= 6, "all daemons")
    below, kept = descendants(parent), descendants(store)
    os.kill(parent, signal.SIGKILL)
    second = on.player("daemons.parent", 2)
    wait_until(lambda: not any(exists(pid) for pid in below), "its tools to end")
    assert all(exists(pid) for pid in kept)
    assert exists(second)
    gate.write_bytes(b"0")
    assert play.end()[0] == 0
    assert all_ended(on)


def test_only_the_parent_gets_a_key(on: Stage) -> None:
    play = on.start("headless", headless="well.front", **WELL)
    keys = {behaviour: KEY in on.environment_of(behaviour) for behaviour in ("well.front", *WELL.values())}
    assert keys == {
        "well.front": False,
        "listening.parent": True,
        "well.plan_store": False,
        "well.worker": False,
    }
    os.kill(play.guard, signal.SIGTERM)
    play.end()


def test_the_front_alone_stays_in_the_terminals_group(on: Stage) -> None:
    play = on.start("headless", headless="well.front", **WELL)
    assert os.getpgid(on.player("well.front")) == os.getpgid(play.guard)
    for behaviour in WELL.values():
        pid = on.player(behaviour)
        assert os.getsid(pid) == os.getpgid(pid) == pid
    os.kill(play.guard, signal.SIGTERM)
    play.end()


@pytest.mark.parametrize(("number", "status"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_ends_the_run_with_its_status(on: Stage, number: str, status: int) -> None:
    play = on.start("headless", headless="well.front", **WELL)
    for behaviour in ("well.front", *WELL.values()):
        on.player(behaviour)
    os.kill(play.guard, signal.Signals[number])
    assert play.end() == (status, "")
    assert all_ended(on)


def test_deaf_and_stopped_actors_are_ended_in_time(on: Stage) -> None:
    deaf = dict.fromkeys(("headless", "parent", "plan_store"), "deaf")
    play = on.start("headless", **deaf, worker="well.worker")
    on.player("deaf", 3)
    os.kill(on.player("well.worker"), signal.SIGSTOP)
    started = time.monotonic()
    os.kill(play.guard, signal.SIGTERM)
    assert play.end() == (143, "")
    assert time.monotonic() - started < 3.0
    assert all_ended(on)


@pytest.mark.parametrize("name", ["guard", "supervisor"])
def test_when_guard_or_supervisor_is_killed_everything_ends(on: Stage, name: str) -> None:
    players = dict.fromkeys(("headless", "parent", "plan_store"), "daemons.all")
    play = on.start("headless", **players, worker="deaf")
    on.player("daemons.all", 3)
    victim = play.guard if name == "guard" else parent_of(on.player("deaf"))
    os.kill(victim, signal.SIGKILL)
    status, said = play.end()
    assert all_ended(on)
    if name == "supervisor":
        assert status == 1
        assert said.startswith("fido: killed by SIGKILL; everything it had started was ended")
    else:
        assert said == f"fido: {GUARD_LOST}\n"


def test_a_supervisor_that_was_stopped_for_a_while_goes_on(on: Stage) -> None:
    gate = on.gate("gate")
    play = on.start("headless", headless="until=gate", **WELL)
    victim = on.player("listening.parent")
    supervisor = parent_of(victim)
    os.kill(supervisor, signal.SIGSTOP)
    os.kill(victim, signal.SIGKILL)
    assert on.players("listening.parent") == [victim]
    os.kill(supervisor, signal.SIGCONT)
    on.player("listening.parent", 2)
    gate.write_bytes(b"0")
    assert play.end() == (0, "")


def test_strays_that_come_without_an_actors_death_are_swept(on: Stage) -> None:
    """As when the processes that watch a tool were all killed, while the parent lives."""
    play = on.start("headless", headless="well.front", **{**WELL, "parent": "leaky.parent"})
    parent = on.player("leaky.parent")
    known = {on.player(behaviour) for behaviour in ("well.front", "well.plan_store", "well.worker")} | {
        parent
    }
    supervisor = parent_of(parent)
    wait_until(lambda: set(children(supervisor)) == known, "the strays to be swept")
    os.kill(play.guard, signal.SIGTERM)
    play.end()


def test_a_state_folder_that_can_not_be_written_is_told_with_the_way_out(on: Stage) -> None:
    (on.root / "state").write_text("", encoding="utf-8")
    status, said = on.start("headless", headless="well.front", **WELL).end()
    assert status != 0
    assert "no log can be written in" in said
    assert "Set XDG_STATE_HOME" in said
    assert all_ended(on)


# --- on the bus --------------------------------------------------------------------------------------


def test_it_publishes_what_becomes_of_the_actors_and_takes_a_stop(on: Stage) -> None:
    play = on.start("ui", ui="well.ui", **WELL)
    parent = on.player("listening.parent")
    place = RunPlace.open(next((on.root / "run").glob("r-*")))

    async def watch() -> None:
        channel, seen = Channel(), Seen()
        link = Link(channel, "client", place.mailbox("supervisor"))
        facts = place.facts("supervisor")
        follower = Follower(channel, link, facts, on_reset=seen.reset, on_fact=seen.add)
        await seen.until(lambda seen: ProcessStarted(actor="parent", pid=parent) in seen.facts)
        os.kill(parent, signal.SIGKILL)
        gone = ProcessExited(actor="parent", pid=parent, status=-9, restarting=True)
        await seen.until(lambda seen: gone in seen.facts)
        await seen.until(lambda seen: isinstance(seen.facts[-1], ProcessStarted))
        assert any(isinstance(fact, NoticeRaised) and "SIGKILL" in fact.message for fact in seen.facts)
        assert isinstance(await link.ask(Ping()), Pong)
        assert await link.ask(Stop(reason="quit")) == Accepted()
        follower.close()
        channel.close()

    asyncio.run(watch())
    assert play.end() == (0, "")
    assert all_ended(on)


@pytest.mark.parametrize(
    ("reason", "said"),
    [("suspend", "suspended. This brings it back"), ("left", "this goes on with the session")],
)
def test_a_run_that_was_left_tells_the_command_that_brings_it_back(on: Stage, reason: str, said: str) -> None:
    play = on.start("ui", ui="well.ui", **WELL)
    on.player("listening.parent")
    place = RunPlace.open(next((on.root / "run").glob("r-*")))
    place.go_on_with("s-other")

    async def suspend() -> None:
        channel = Channel()
        assert (
            await Link(channel, "client", place.mailbox("supervisor")).ask(Stop(reason=reason)) == Accepted()
        )
        channel.close()

    asyncio.run(suspend())
    back = f"fido resume s-other --workspace {on.root}"
    assert play.end() == (0, f"fido: {said}: {back}\n")
    assert all_ended(on)
