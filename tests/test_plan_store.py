"""The plan store: one writer a workspace, every answer with the plan that holds."""

import asyncio
import fcntl
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.plan.file import NAME, encode
from actors.plan_store import PlanStore, _elected
from ipc.bus import Follower
from ipc.channel import Channel
from ipc.endpoints import RunPlace
from ipc.errors import IpcError
from ipc.mailbox import Link
from ipc.messages import (
    AnyCommand,
    AnyFact,
    AnyReply,
    ClearPlan,
    Deed,
    GetPlan,
    NoticeRaised,
    Plan,
    PlanChanged,
    PlanItem,
    PlanRefused,
    PlanStored,
    Refused,
    ReplacePlan,
    StartTurn,
    Stop,
)
from tests.fakes.launch import launch
from tests.fakes.places import run_place
from tests.fakes.plans import plan, step

DEADLINE_S = 20.0


class Store(PlanStore):
    """The actor without its sockets; keeps what it would have told."""

    def __init__(self, place: RunPlace) -> None:
        super().__init__(place)
        self.facts: list[AnyFact] = []

    def publish(self, fact: AnyFact) -> None:
        self.facts.append(fact)

    def do(self, command: AnyCommand) -> AnyReply:
        reply = self.on_command(command, None)  # type: ignore[arg-type]
        assert not hasattr(reply, "__await__")
        return reply  # type: ignore[return-value]

    def plan(self) -> Plan:
        reply = self.do(GetPlan())
        assert isinstance(reply, PlanStored)
        return reply.plan

    def notices(self) -> list[str]:
        return [fact.message for fact in self.facts if isinstance(fact, NoticeRaised)]


def replace(*items: PlanItem, reason: str = "why", based_on: int | None = None) -> ReplacePlan:
    return ReplacePlan(reason=reason, items=items, based_on=based_on)


@contextmanager
def started(workspace: Path) -> Iterator[Store]:
    """A store as it is after its start."""
    with run_place(workspace) as place:
        store = Store(place)

        async def start() -> None:
            await store.on_start()
            await store.on_bound()

        asyncio.run(start())
        yield store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with started(tmp_path) as store:
        yield store


def refusal(reply: AnyReply) -> tuple[list[str], Plan]:
    assert isinstance(reply, PlanRefused)
    return [problem.rule for problem in reply.problems], reply.plan


# --- replacing ---------------------------------------------------------------------------------------------


def test_a_stored_plan_is_answered_published_and_written_as_one_object(store: Store, tmp_path: Path) -> None:
    reply = store.do(replace(step(" a ", title="x\ny"), reason=" why\n"))
    assert isinstance(reply, PlanStored)
    assert (reply.plan.revision, reply.plan.reason, reply.plan.items[0].title) == (1, "why", "x y")
    assert reply.plan.updated_at.endswith("Z")
    assert store.facts[-1] == PlanChanged(plan=reply.plan)
    assert store.plan() == reply.plan
    assert (tmp_path / NAME).read_bytes() == encode(reply.plan)


def test_a_refused_plan_leaves_file_and_panel_as_they_are(store: Store, tmp_path: Path) -> None:
    store.do(replace(step("a", status="in_progress")))
    before, facts = (tmp_path / NAME).read_bytes(), len(store.facts)
    two = replace(step("a", status="in_progress"), step("b", status="in_progress"))
    for _ in range(3):
        rules, current = refusal(store.do(two))
        assert rules == ["second_in_progress"]
        assert current.revision == 1
    assert (tmp_path / NAME).read_bytes() == before
    assert len(store.facts) == facts


def test_a_running_step_is_no_hindrance_for_a_new_list_nor_for_the_empty_one(store: Store) -> None:
    store.do(replace(step("a", status="in_progress")))
    assert isinstance(store.do(replace(step("other"))), PlanStored)
    assert isinstance(store.do(replace()), PlanStored)
    assert store.plan().items == ()


def test_a_replacement_of_an_older_plan_is_refused_with_the_current_one(store: Store) -> None:
    store.do(replace(step("a")))
    store.do(replace(step("b"), based_on=1))
    rules, current = refusal(store.do(replace(step("c"), based_on=1)))
    assert rules == ["stale_plan"]
    assert [item.id for item in current.items] == ["b"]
    assert isinstance(store.do(replace(step("c"), based_on=2)), PlanStored)


def test_a_replacement_that_is_old_and_wrong_is_told_both(store: Store) -> None:
    store.do(replace(step("a")))
    rules, _ = refusal(store.do(replace(step("a", title=""), reason="", based_on=0)))
    assert rules == ["stale_plan", "empty_reason", "empty_title"]


def test_clearing_starts_over_and_counts_on(store: Store, tmp_path: Path) -> None:
    assert store.do(ClearPlan()) == PlanStored(plan=Plan())
    assert os.listdir(tmp_path) == []
    store.do(replace(step("a")))
    reply = store.do(ClearPlan())
    assert isinstance(reply, PlanStored)
    assert (reply.plan.items, reply.plan.revision) == ((), 2)
    with started(tmp_path) as successor:
        assert successor.plan() == reply.plan


def test_what_is_not_for_the_plan_store_is_refused(store: Store) -> None:
    reply = store.do(StartTurn(prompt="hello"))
    assert isinstance(reply, Refused)
    assert reply.code == "not_for_me"


# --- whose plan, and what its evidence is worth -------------------------------------------------------

RAN = Deed(kind="command", subject="pytest -q")
FAILED = Deed(kind="command", subject="pytest -q", ok=False)


def done(*evidence: str, **changes: Any) -> PlanItem:
    return step("a", status="done", evidence=evidence, **changes)


def verdicts(reply: AnyReply) -> list[str]:
    assert isinstance(reply, PlanStored)
    return [verdict for item in reply.plan.items for verdict in item.verdicts]


def by(session: str, *items: PlanItem, ledger: tuple[Deed, ...] = ()) -> ReplacePlan:
    return ReplacePlan(reason="why", items=items, session_id=session, ledger=ledger)


def test_a_stored_plan_says_of_every_entry_whether_the_session_did_it(store: Store, tmp_path: Path) -> None:
    reply = store.do(by("s-1", done("pytest -q: 12 passed", "npm test"), ledger=(RAN,)))
    assert verdicts(reply) == ["verified", "claimed"]
    assert b'"verified",\n        "claimed"' in (tmp_path / NAME).read_bytes()


def test_nobody_sets_a_verdict_by_sending_one(store: Store, tmp_path: Path) -> None:
    boast = done("npm test", verdicts=("verified",))
    assert verdicts(store.do(by("s-1", boast))) == ["claimed"]
    (tmp_path / NAME).write_bytes(encode(plan(boast)))
    assert store.plan().items[0].verdicts == ("claimed",)
    assert b'"verified"' not in (tmp_path / NAME).read_bytes()


def test_what_one_session_verified_the_next_one_takes_over_until_it_fails(
    store: Store, tmp_path: Path
) -> None:
    store.do(by("s-1", done("pytest -q"), ledger=(RAN,)))
    with started(tmp_path) as successor:
        assert verdicts(successor.do(by("s-2", done("pytest -q")))) == ["verified"]
        assert verdicts(successor.do(by("s-2", done("pytest  -q")))) == ["claimed"]
        assert verdicts(successor.do(by("s-2", done("pytest -q"), ledger=(RAN,)))) == ["verified"]
        assert verdicts(successor.do(by("s-2", done("pytest -q"), ledger=(FAILED,)))) == ["claimed"]


def test_an_edit_from_outside_keeps_what_was_verified_of_what_it_kept(store: Store, tmp_path: Path) -> None:
    store.do(by("s-1", done("pytest -q"), ledger=(RAN,)))
    edited = done("pytest -q", "npm test", verdicts=("verified", "verified"))
    (tmp_path / NAME).write_bytes(encode(plan(edited)))
    assert store.plan().items[0].verdicts == ("verified", "claimed")


def test_a_plan_belongs_to_the_session_that_replaced_it_last_or_to_nobody(
    store: Store, tmp_path: Path
) -> None:
    for session in ("s-1", "s-2"):
        reply = store.do(by(session, step("a")))
        assert isinstance(reply, PlanStored)
        assert reply.plan.session == session
    (tmp_path / NAME).write_bytes(encode(msgspec.structs.replace(plan(step("theirs")), session="s-1")))
    assert store.plan().session == ""
    store.do(by("s-1", step("a")))
    store.do(by("s-1", step("a")))
    assert store.plan().session == "s-1"
    store.do(ClearPlan())
    assert store.plan().session == ""


# --- the file under it -------------------------------------------------------------------------------------


def test_the_plan_of_an_earlier_run_is_published_at_start(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(encode(plan(step("a"), revision=7)))
    with started(tmp_path) as store:
        assert store.facts == [PlanChanged(plan=plan(step("a"), revision=7))]


def test_a_damaged_file_is_told_and_the_session_goes_on(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b"{")
    with started(tmp_path) as store:
        (notice,) = store.notices()
        assert "is damaged" in notice
        assert ".bad-" in notice
        assert isinstance(store.do(replace(step("a"))), PlanStored)


def test_an_edit_from_outside_becomes_the_plan_and_is_told(store: Store, tmp_path: Path) -> None:
    store.do(replace(step("a")))
    (tmp_path / NAME).write_bytes(encode(plan(step("theirs"))))
    current = store.plan()
    assert [item.id for item in current.items] == ["theirs"]
    assert current.revision == 2
    assert store.facts[-2] == PlanChanged(plan=current)
    assert "changed by another program" in store.notices()[-1]
    assert (tmp_path / NAME).read_bytes() == encode(current)


@pytest.mark.parametrize("seen_first", [False, True], ids=["found by the replacement", "found before"])
@pytest.mark.parametrize("based_on", [None, 1])
def test_a_replacement_never_overwrites_an_edit_the_caller_has_not_seen(
    store: Store, tmp_path: Path, seen_first: bool, based_on: int | None
) -> None:
    store.do(replace(step("a")))
    (tmp_path / NAME).write_bytes(encode(plan(step("theirs"))))
    if seen_first:
        store.plan()
    rules, current = refusal(store.do(replace(step("mine"), based_on=based_on)))
    assert rules == ["stale_plan"]
    assert [item.id for item in current.items] == ["theirs"]
    assert isinstance(store.do(replace(step("mine"), based_on=based_on and current.revision)), PlanStored)


def test_clearing_does_not_overwrite_an_unseen_edit_either(store: Store, tmp_path: Path) -> None:
    store.do(replace(step("a")))
    (tmp_path / NAME).write_bytes(encode(plan(step("theirs"))))
    reply = store.do(ClearPlan())
    assert isinstance(reply, Refused)
    assert (reply.code, bool(reply.next_step)) == ("stale_plan", True)
    assert isinstance(store.do(ClearPlan()), PlanStored)


def test_a_removed_file_means_an_empty_plan(store: Store, tmp_path: Path) -> None:
    store.do(replace(step("a")))
    (tmp_path / NAME).unlink()
    assert store.plan().items == ()
    assert "removed" in store.notices()[-1]
    assert not (tmp_path / NAME).exists()
    refusal(store.do(replace(step("b"))))
    assert isinstance(store.do(replace(step("b"))), PlanStored)


def test_garbage_from_outside_is_kept_aside(store: Store, tmp_path: Path) -> None:
    store.do(replace(step("a")))
    (tmp_path / NAME).write_bytes(b"<<<<<<< HEAD")
    assert store.plan().items == ()
    (kept,) = tmp_path.glob(f"{NAME}.bad-*")
    assert kept.read_bytes() == b"<<<<<<< HEAD"


def test_a_plan_that_can_not_be_written_is_refused_with_the_one_that_holds(tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    workspace.mkdir()
    with started(workspace) as store:
        workspace.rmdir()
        rules, current = refusal(store.do(replace(step("a"))))
        assert (rules, current) == (["not_stored"], Plan())
        assert "No such file or directory" in store.notices()[-1]
        workspace.mkdir()
        assert isinstance(store.do(replace(step("a"))), PlanStored)


def test_the_exclude_file_of_git_is_told_once(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, timeout=DEADLINE_S)
    for expected in (1, 0):
        with started(tmp_path) as store:
            store.do(replace(step("a"), reason=f"{expected}"))
            store.do(replace(step("b")))
            assert len(store.notices()) == expected


# --- processes ---------------------------------------------------------------------------------------------


@contextmanager
def process(place: RunPlace) -> Iterator["subprocess.Popen[bytes]"]:
    child = launch("actors.plan_store", place.directory, os.getpid())
    try:
        yield child
    finally:
        child.kill()
        child.wait()


@asynccontextmanager
async def client(place: RunPlace) -> AsyncIterator[Link]:
    channel = Channel()
    link = Link(channel, "client", place.mailbox("plan_store"))
    try:
        yield link
    finally:
        link.close()
        channel.close()


async def answer(link: Link, command: AnyCommand) -> AnyReply:
    """Ask until somebody answers; only for commands that may be repeated."""
    async with asyncio.timeout(DEADLINE_S):
        while True:
            try:
                return await link.ask(command, 1.0)
            except IpcError:
                await asyncio.sleep(0)


def test_a_real_process_serves_and_a_late_follower_sees_its_plan(tmp_path: Path) -> None:
    async def scenario(place: RunPlace) -> None:
        async with client(place) as link:
            reply = await answer(link, replace(step("a")))
            assert isinstance(reply, PlanStored)
            seen: asyncio.Queue[AnyFact] = asyncio.Queue()

            def take(facts: tuple[AnyFact, ...]) -> None:
                for fact in facts:
                    seen.put_nowait(fact)

            # A fact goes out behind the reply: it is in the snapshot, or comes right after it.
            place_of_facts = place.facts("plan_store")
            follower = Follower(link._channel, link, place_of_facts, on_reset=take, on_fact=seen.put_nowait)
            async with asyncio.timeout(DEADLINE_S):
                while await seen.get() != PlanChanged(plan=reply.plan):
                    pass
            follower.close()

    with run_place(tmp_path) as place, process(place):
        asyncio.run(scenario(place))


def test_plan_store_runs_without_pydantic_and_the_sdk(tmp_path: Path) -> None:
    async def serves(place: RunPlace) -> None:
        async with client(place) as link:
            await answer(link, GetPlan())

    with run_place(tmp_path) as place, process(place) as child:
        asyncio.run(serves(place))
        maps = Path(f"/proc/{child.pid}/maps").read_text(encoding="utf-8")
    assert "msgspec" in maps
    assert not [name for name in ("pydantic", "openai", "urwid", "jiter") if name in maps]


def test_a_store_that_stands_by_binds_nothing_and_stops_when_told(tmp_path: Path) -> None:
    async def scenario(place: RunPlace) -> None:
        store = PlanStore(place)
        serving = asyncio.ensure_future(store.serve())
        for _ in range(10):
            await asyncio.sleep(0)
        assert not serving.done()
        store.stop("quit")
        await asyncio.wait_for(serving, DEADLINE_S)

    with (
        run_place(tmp_path) as place,
        open(place.workspace_directory / "lock", "w", encoding="utf-8") as held,
    ):
        fcntl.flock(held, fcntl.LOCK_EX)
        asyncio.run(scenario(place))
        assert os.listdir(place.workspace_directory) == ["lock"]


def test_a_lock_file_that_was_swept_away_elects_nobody_twice(tmp_path: Path) -> None:
    with run_place(tmp_path) as place:
        lock = place.workspace_directory / "lock"
        with open(lock, "w", encoding="utf-8") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            assert not _elected(place.workspace_directory)
            shutil.rmtree(place.workspace_directory)
            assert _elected(place.workspace_directory)
            assert not _elected(place.workspace_directory)


def test_a_store_that_is_stopped_ends_well_and_frees_the_workspace(tmp_path: Path) -> None:
    async def scenario(place: RunPlace) -> None:
        async with client(place) as link:
            stored = await answer(link, replace(step("a")))
            await answer(link, Stop(reason="test"))
            assert first.wait(DEADLINE_S) == 0
        with process(place):
            async with client(place) as link:
                assert await answer(link, GetPlan()) == stored

    with run_place(tmp_path) as place, process(place) as first:
        asyncio.run(scenario(place))
