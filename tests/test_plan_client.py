"""The parent's side of the plan: every update stored once or honestly refused, whatever gets lost."""

import asyncio
import os
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from actors.plan.client import PlanClient
from actors.plan_store import PlanStore
from actors.tools.tool import ToolFailure
from ipc.errors import LocalFault, PeerGone, ReplyLate
from ipc.messages import (
    AnyCommand,
    AnyFact,
    AnyReply,
    ClearPlan,
    Deed,
    Plan,
    PlanProblem,
    PlanRefused,
    PlanStored,
    Refused,
    ReplacePlan,
)
from tests.fakes.places import run_place
from tests.fakes.plans import step

LONG = os.environ.get("FIDO_FAULTS") == "long"
SEEDS = 10_000 if LONG else 200
UPDATES = 6


class Store(PlanStore):
    """The real store without its sockets."""

    def publish(self, fact: AnyFact) -> None:
        pass

    def do(self, command: AnyCommand) -> AnyReply:
        reply = self.on_command(command, None)  # type: ignore[arg-type]
        assert not hasattr(reply, "__await__")
        return reply  # type: ignore[return-value]


class Way:
    """A way to a store on which `lose` may do with a command what it wants."""

    def __init__(self, store: Store, lose: Callable[[AnyCommand], AnyReply | None] = lambda _: None) -> None:
        self.store = store
        self.lose = lose
        self.asked: list[AnyCommand] = []

    async def ask(self, command: AnyCommand, deadline_s: float = 0) -> AnyReply:
        await asyncio.sleep(0)
        self.asked.append(command)
        return self.lose(command) or self.store.do(command)

    def tell(self, fact: AnyFact) -> None:
        raise AssertionError(fact)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with run_place(tmp_path) as place:
        yield Store(place)


def client(way: Way, *deeds: Deed, session: str = "s-1") -> tuple[PlanClient, list[Plan]]:
    written: list[Plan] = []
    return PlanClient(way, written.append, session, lambda: deeds), written


def replaced(plans: PlanClient, reason: str, *ids: str) -> PlanStored | PlanRefused:
    items = tuple(step(each, status="done", evidence=("pytest -q",)) for each in ids)
    return asyncio.run(plans.replace(reason, items))


def test_a_stored_plan_is_told_with_session_and_verdicts_and_counts_as_seen(store: Store) -> None:
    plans, written = client(Way(store), Deed(kind="command", subject="pytest -q"))
    reply = replaced(plans, "why", "a")
    assert isinstance(reply, PlanStored)
    assert written == [reply.plan]
    assert (reply.plan.session, reply.plan.items[0].verdicts) == ("s-1", ("verified",))
    assert plans.seen == reply.plan.revision == 1


def test_what_the_model_has_not_seen_is_not_overwritten_and_a_refusal_shows_it(store: Store) -> None:
    ours, written = client(Way(store))
    theirs, _ = client(Way(store), session="s-2")
    replaced(ours, "ours", "a")
    unseen = replaced(theirs, "theirs", "b")
    assert isinstance(unseen, PlanRefused)
    assert [item.id for item in unseen.plan.items] == ["a"], "a plan that was never seen is shown first"
    assert isinstance(replaced(theirs, "theirs", "b"), PlanStored)
    reply = replaced(ours, "again", "c")
    assert isinstance(reply, PlanRefused)
    assert [problem.rule for problem in reply.problems] == ["stale_plan"]
    assert (reply.plan.session, [item.id for item in reply.plan.items]) == ("s-2", ["b"])
    assert len(written) == 1
    assert isinstance(replaced(ours, "again", "c"), PlanStored)


def test_a_plan_that_is_delivered_otherwise_counts_as_seen_when_that_is_said(store: Store) -> None:
    ours, _ = client(Way(store))
    replaced(ours, "ours", "a")
    store.do(ClearPlan())
    ours.seen = asyncio.run(ours.get()).revision
    assert isinstance(replaced(ours, "again", "c"), PlanStored)


def test_an_update_whose_answer_is_lost_is_found_and_not_applied_twice(store: Store) -> None:
    def lose(command: AnyCommand) -> None:
        if isinstance(command, ReplacePlan):
            store.do(command)
            raise PeerGone("gone")

    plans, written = client(Way(store, lose), Deed(kind="command", subject="pytest -q"))
    reply = replaced(plans, " why ", "a")
    assert isinstance(reply, PlanStored)
    assert (reply.plan.revision, reply.plan.items[0].verdicts) == (1, ("verified",))
    assert written == [reply.plan]


def test_the_same_plan_from_before_is_not_taken_for_the_update(store: Store) -> None:
    plans, _ = client(Way(store))
    replaced(plans, "why", "a")
    lost = [ReplyLate("late")]

    def lose(command: AnyCommand) -> None:
        if isinstance(command, ReplacePlan) and lost:
            raise lost.pop()

    again, _ = client(Way(store, lose), Deed(kind="command", subject="pytest -q"))
    again.seen = 1
    reply = replaced(again, "why", "a")
    assert isinstance(reply, PlanStored)
    assert (reply.plan.revision, reply.plan.items[0].verdicts) == (2, ("verified",))


def test_a_plan_that_may_not_survive_a_power_cut_is_told_as_that_and_not_as_stored(store: Store) -> None:
    def doubt(command: AnyCommand) -> AnyReply | None:
        if not isinstance(command, ReplacePlan):
            return None
        stored = store.do(command)
        assert isinstance(stored, PlanStored)
        problem = PlanProblem(
            item="plan", rule="uncertain", message="it may not survive", fix="Tell the user."
        )
        return PlanRefused(problems=(problem,), plan=stored.plan)

    plans, written = client(Way(store, doubt))
    reply = replaced(plans, "why", "a")
    assert isinstance(reply, PlanRefused)
    assert [problem.rule for problem in reply.problems] == ["uncertain"]
    assert (written, plans.seen) == ([], 1)


def test_a_store_that_is_stopping_is_asked_again(store: Store) -> None:
    answers = [Refused(code="stopping", message="this process is ending") for _ in range(3)]
    way = Way(store, lambda _: answers.pop() if answers else None)
    assert isinstance(replaced(client(way)[0], "why", "a"), PlanStored)


def test_a_store_of_another_version_is_told_at_once(store: Store) -> None:
    refused = Refused(code="wrong_version", message="protocol version 9 was sent, this process speaks 1")
    with pytest.raises(ToolFailure) as caught:
        replaced(client(Way(store, lambda _: refused))[0], "why", "a")
    assert (caught.value.code, "another version" in caught.value.message) == ("plan_store_differs", True)


def test_a_plan_that_no_frame_holds_is_a_failure_of_the_call(store: Store) -> None:
    def lose(command: AnyCommand) -> None:
        if isinstance(command, ReplacePlan):
            raise LocalFault("the message has 9 bytes; at most 8 are sent")

    with pytest.raises(ToolFailure) as caught:
        replaced(client(Way(store, lose))[0], "why", "a")
    assert (caught.value.code, "at most 8" in caught.value.message) == ("plan_too_large", True)


# --- a way that loses, delays and repeats ------------------------------------------------------------


def mischief(way: Way, chance: random.Random) -> Callable[[AnyCommand], AnyReply | None]:
    """Lose commands and answers, and carry some out later or twice, as a seed wants it."""
    late: list[AnyCommand] = []

    def lose(command: AnyCommand) -> AnyReply | None:
        while late and chance.random() < 0.5:
            way.store.do(late.pop(0))
        match chance.choice(["ok", "ok", "ok", "request", "reply", "delayed", "twice"]):
            case "request":
                raise PeerGone("the command was lost")
            case "reply":
                way.store.do(command)
                raise ReplyLate("the reply was lost")
            case "delayed":
                late.append(command)
                raise ReplyLate("the command comes later")
            case "twice":
                late.append(command)
        return None

    return lose


async def stream(workspace: Path, seed: int) -> None:
    """Send numbered updates; each one that is acknowledged is the plan, and was applied once."""
    with run_place(workspace) as place:
        way = Way(Store(place))
        way.lose = mischief(way, random.Random(seed))
        plans, written = client(way)
        for number in range(1, UPDATES + 1):
            reply = await plans.replace(str(number), (step("a"), step("b")))
            assert (reply.plan.reason, reply.plan.revision) == (str(number), number), f"seed {seed}"
        way.lose = lambda _: None
        assert (await plans.get()).reason == str(UPDATES), f"seed {seed}"
        assert [plan.revision for plan in written] == list(range(1, UPDATES + 1)), f"seed {seed}"


@pytest.mark.fault(41, says="messages are lost, delayed, repeated")
@pytest.mark.timeout(60 if not LONG else 600)
def test_no_update_is_lost_or_applied_twice_when_messages_are_lost_delayed_and_repeated() -> None:
    async def all_seeds(folders: list[Path]) -> None:
        for begin in range(0, SEEDS, 100):
            async with asyncio.TaskGroup() as together:
                for seed in range(begin, begin + 100):
                    together.create_task(stream(folders[seed], seed))

    # In memory where the system has such a folder: ten thousand seeds wait for ten disks otherwise.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="fido-t-", dir=memory) as root:
        folders = [Path(root, str(seed)) for seed in range(SEEDS)]
        for folder in folders:
            folder.mkdir()
        asyncio.run(all_seeds(folders))
