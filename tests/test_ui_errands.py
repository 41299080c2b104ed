"""Orders carried to the other processes: what comes back of them, and what is said when nothing does."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from functools import wraps

import pytest

from actors.files import all_paths
from ipc.errors import IpcError, LocalFault, PeerGone, ReplyLate
from ipc.messages import (
    Accepted,
    AnyCommand,
    AnyReply,
    ClearPlan,
    GetPlan,
    ListPaths,
    ListPrompts,
    ListSessions,
    PathsListed,
    Ping,
    Plan,
    PlanStored,
    ProcessStarted,
    PromptsListed,
    Refused,
    SessionsListed,
    StartTurn,
    Stop,
    StopJob,
    UndoTurn,
)
from tests.fakes.facts import session
from tests.fakes.screen import Desktop
from ui import errands
from ui.composer.draft import Draft
from ui.desk import SILENT
from ui.errands import Errands
from ui.orders import Send


class Wires:
    """Answers what the test says, and notes what was asked of whom and with which deadline."""

    def __init__(self, *answers: AnyReply | IpcError) -> None:
        self.answers = [*answers]
        self.asked: list[tuple[str, AnyCommand, float]] = []

    async def ask(self, target: str, command: AnyCommand, deadline_s: float) -> AnyReply:
        self.asked.append((target, command, deadline_s))
        answer = self.answers.pop(0)
        if isinstance(answer, IpcError):
            raise answer
        return answer


class Office:
    """Errands for a screen, until all are done."""

    def __init__(self, *answers: AnyReply | IpcError) -> None:
        self.desk = Desktop().tell(session())
        self.wires = Wires(*answers)
        self.given_back: list[Draft] = []
        self.left: list[str] = []
        self.drawn = asyncio.Event()
        loop = asyncio.get_running_loop()
        self.errands = Errands(self.desk.view, loop, self.given_back.append, self.drawn.set)
        self.errands.wires = self.wires  # type: ignore[assignment]

    async def send(self, order: Send) -> "Office":
        self.drawn.clear()
        self.errands.send(order)
        await self.drawn.wait()
        return self

    @property
    def said(self) -> str:
        message = self.desk.view.desk.message
        return "" if message is None else message.text


def soon(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run an async test, which waits for nothing long."""

    @wraps(test)
    def run(*args: object, **kwargs: object) -> None:
        async def within() -> None:
            async with asyncio.timeout(5):
                await test(*args, **kwargs)

        asyncio.run(within())

    return run


async def started(*answers: AnyReply | IpcError) -> Office:
    """An office from which a prompt was sent."""
    office = Office(*answers)
    office.desk.type("do it").press("enter")
    (order,) = office.desk.orders
    assert isinstance(order, StartTurn)
    return await office.send(order)


@soon
async def test_an_accepted_prompt_comes_back_to_nobody() -> None:
    office = await started(Accepted())
    assert office.wires.asked == [("parent", StartTurn(prompt="do it"), errands.DEADLINE_S)]
    assert (office.given_back, office.said) == ([], "")


@soon
async def test_a_prompt_that_another_turn_was_before_waits_and_is_tried_again_by_itself() -> None:
    office = await started(Refused(code="turn_running", message="A turn is running."))
    assert office.desk.view.desk.queue == ["do it"]
    assert office.desk.view.desk.held
    office.drawn.clear()
    await office.drawn.wait()
    assert not office.desk.view.desk.held


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (ReplyLate("late"), "may yet be taken"),
        (PeerGone("gone"), "may yet be taken"),
        (LocalFault("it is too large"), "This can not be sent: it is too large."),
        (
            Refused(code="stopping", message="Fido ends.", next_step="Start it again."),
            "Fido ends. Start it again.",
        ),
    ],
)
@soon
async def test_a_prompt_that_did_not_arrive_is_given_back_with_the_reason(
    answer: AnyReply | IpcError, said: str
) -> None:
    office = await started(answer)
    assert office.given_back == [Draft("do it", 5)]
    assert said in office.said


@soon
async def test_what_a_refusal_says_is_cleaned() -> None:
    office = await Office(Refused(code="x", message="no\x1b[2J", next_step="\u202etry")).send(UndoTurn())
    assert office.said == "no␛[2J <U+202E>try"


@pytest.mark.parametrize(
    ("order", "target", "deadline", "said"),
    [
        (GetPlan(), "plan_store", errands.DEADLINE_S, "The plan store does not answer."),
        (ClearPlan(), "plan_store", errands.DEADLINE_S, "The plan store does not answer."),
        (ListPaths(), "parent", errands.DEADLINE_S, "The files are not listed yet"),
        (UndoTurn(), "parent", errands.LONG_DEADLINE_S, f"{SILENT} It may yet be carried out."),
        (StopJob(pid=7), "parent", errands.LONG_DEADLINE_S, SILENT),
    ],
)
@soon
async def test_who_is_asked_for_how_long_and_what_is_said_of_silence(
    order: Send, target: str, deadline: float, said: str
) -> None:
    office = await Office(ReplyLate("late")).send(order)
    assert office.wires.asked == [(target, order, deadline)]
    assert said in office.said


def test_a_list_of_files_is_cut_long_before_a_screen_gives_up() -> None:
    assert all_paths.DEADLINE_S <= 0.6 * errands.DEADLINE_S


@soon
async def test_files_that_did_not_come_are_asked_for_again_at_once() -> None:
    office = Office(ReplyLate("late"))
    assert office.desk.type("@a").orders == [ListPaths()]
    await office.send(ListPaths())
    assert office.desk.type("b").orders == [ListPaths(), ListPaths()]


@soon
async def test_lists_reach_who_waits_for_them() -> None:
    office = Office(
        PathsListed(paths=("src/a.py",)), PromptsListed(prompts=("an old one",)), SessionsListed(sessions=())
    )
    await office.send(ListPaths())
    while not office.desk.view.desk.files.count:
        office.drawn.clear()
        await office.drawn.wait()
    await office.send(ListPrompts())
    office.desk.view.desk.pick()
    await office.send(ListSessions())
    assert office.desk.view.desk.files.paths.find("a") == ["src/a.py"]
    assert office.desk.view.desk.history.prompts == ["an old one"]
    assert office.desk.view.desk.recall is not None
    assert office.desk.view.desk.recall.sessions == ()


@soon
async def test_an_emptied_plan_is_shown_and_said() -> None:
    office = await Office(PlanStored(plan=Plan(revision=4))).send(ClearPlan())
    assert office.desk.view.state.plan == Plan(revision=4)
    assert office.said == "The plan is empty."


@soon
async def test_a_silent_parent_is_asked_until_it_answers_and_cut_off_meanwhile() -> None:
    office = Office(ReplyLate("late"), Accepted())
    office.errands.probe()
    office.errands.probe()
    await office.drawn.wait()
    assert office.desk.view.state.cut_off
    office.drawn.clear()
    await office.drawn.wait()
    assert not office.desk.view.state.cut_off
    assert [command for _, command, _ in office.wires.asked] == [Ping(), Ping()]


@pytest.mark.parametrize("ours", [True, False])
@soon
async def test_leaving_ends_the_run_only_when_it_is_ours(ours: bool) -> None:
    office, left = Office(Accepted()), asyncio.Event()
    office.desk.view.state.processes["ui"] = ProcessStarted(actor="ui", pid=os.getpid() if ours else 1)
    office.errands.leave("quit", left.set)
    await left.wait()
    assert [command for _, command, _ in office.wires.asked] == ([Stop(reason="quit")] if ours else [])


@soon
async def test_a_supervisor_that_does_not_answer_keeps_the_screen_which_says_so() -> None:
    office, left = Office(ReplyLate("late")), asyncio.Event()
    office.desk.view.state.processes["ui"] = ProcessStarted(actor="ui", pid=os.getpid())
    office.errands.leave("quit", left.set)
    await office.drawn.wait()
    assert not left.is_set()
    assert f"kill -9 {os.getppid()}" in office.said
