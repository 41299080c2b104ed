"""What must hold of a session's events while they are written."""

import msgspec
import pytest

from actors.conversation import encode_assistant, encode_system, encode_tool_result, encode_user
from actors.session.events import (
    AnyEvent,
    CallEnded,
    ConversationCompacted,
    FilesChanged,
    FilesChanging,
    FilesRestored,
    FilesRestoring,
    Notice,
    PlanWritten,
    PromptTaken,
    RestoreTakenBack,
    TurnEnded,
    UsageRecorded,
)
from actors.session.invariants import BrokenInvariant, Invariants
from ipc.messages import ToolCall, Usage
from tests.fakes.plans import plan, step
from tests.fakes.session_events import (
    AT,
    HEADER,
    SYSTEM,
    answered,
    appended,
    asks,
    begun,
    done,
    long_session,
    prompted,
    result,
)

START = [HEADER, SYSTEM]
TURN = [*START, *prompted()]
ENDED = TurnEnded(turn=1, status="completed")
CHANGING, CHANGED = FilesChanging(turn=1, call_id="a"), FilesChanged(turn=1, call_id="a", changes=())
RESTORING = FilesRestoring(turn=1, direction="undo", paths=("a",))
RESTORED = FilesRestored(turn=1, direction="undo", paths=("a",))
TAKEN_BACK = RestoreTakenBack(turn=1, direction="undo")
CALL = encode_assistant("", [ToolCall(id="a", name="t", arguments="{}")])


def compacted(*messages: bytes) -> ConversationCompacted:
    return ConversationCompacted(
        turn=1,
        messages=tuple(map(msgspec.Raw, messages)),
        method="summary",
        before_tokens=9,
        after_tokens=3,
    )


def check(events: list[AnyEvent]) -> None:
    invariants = Invariants()
    for event in events:
        invariants.apply(event)


@pytest.mark.parametrize(
    ("events", "broken", "rule"),
    [
        (TURN, result("a"), "order of the calls"),
        ([*TURN, asks("a", "b")], result("b"), "order of the calls"),
        ([*TURN, asks("a"), result("a")], result("a"), "order of the calls"),
        ([*TURN, asks("a")], appended(encode_user("x")), "every call has its result"),
        ([*TURN, asks("a")], asks("b"), "every call has its result"),
        ([*TURN, asks("a", "b"), result("a")], ENDED, "every call has its result"),
        (TURN, PromptTaken(turn=2, text="x", at=AT), "one turn"),
        (START, ENDED, "running turn"),
        ([*TURN, ENDED], ENDED, "running turn"),
        (TURN, TurnEnded(turn=2, status="completed"), "running turn"),
        (TURN, done("a"), "started ends"),
        ([*TURN, asks("a"), begun("a"), done("a")], done("a"), "started ends"),
        ([*TURN, asks("a"), begun("a")], begun("a"), "starts once"),
        ([*TURN, ENDED], begun("a"), "running turn"),
        ([*TURN, ENDED], PlanWritten(turn=1, plan=plan()), "running turn"),
        (START, PlanWritten(turn=1, plan=plan(step("a"))), "running turn"),
        (TURN, appended(encode_user("x"), turn=2), "running turn"),
        (START, appended(encode_user("x"), turn=0), "running turn"),
        ([*TURN, ENDED], appended(encode_user("x")), "running turn"),
        ([HEADER, *prompted()[:1]], appended(encode_user("x")), "stands first"),
        (TURN, appended(encode_system("again"), turn=0), "one system message"),
        (TURN, HEADER, "starts once"),
        (TURN, compacted(encode_user("x"), CALL), "every call has its result"),
        (TURN, compacted(CALL, encode_user("x")), "every call has its result"),
        (TURN, compacted(encode_tool_result("a", "x")), "order of the calls"),
        (TURN, compacted(encode_system("x")), "one system message"),
        ([*TURN, asks("a")], compacted(encode_user("x")), "every call has its result"),
        (TURN, CHANGED, "says so before"),
        ([*TURN, CHANGING, CHANGED], CHANGED, "says so before"),
        ([*TURN, CHANGING], CHANGING, "one thing after the other"),
        (TURN, RESTORING, "between turns"),
        ([*TURN, ENDED], RESTORED, "a restore says so before"),
        ([*TURN, ENDED, RESTORING], RestoreTakenBack(turn=1, direction="redo"), "a restore says so before"),
        ([*TURN, ENDED, RESTORING, TAKEN_BACK], RESTORED, "a restore says so before"),
    ],
)
def test_an_event_that_must_not_be_is_refused_by_its_rule(
    events: list[AnyEvent], broken: AnyEvent, rule: str
) -> None:
    check(events)
    with pytest.raises(BrokenInvariant, match=rule) as caught:
        check([*events, broken])
    assert caught.value.event is broken
    assert type(broken).__name__ in str(caught.value)


@pytest.mark.parametrize(
    "more",
    [
        [asks("a", "b"), begun("b"), begun("a"), done("a"), done("b"), result("a"), result("b"), *answered()],
        [asks("a"), begun("a"), done("a"), result("a"), asks("a"), begun("a"), done("a"), result("a")],
        [asks("a"), begun("a"), result("a"), ENDED, done("a"), *prompted(2)],
        [asks("a"), CHANGING, CHANGED, CHANGING, CHANGED, result("a"), ENDED],
        [PlanWritten(turn=1, plan=plan()), ENDED, PlanWritten(turn=0, plan=plan())],
        [ENDED, compacted(encode_user("x"), CALL, encode_tool_result("a", "x")), *prompted(2)],
        [ENDED, RESTORING, TAKEN_BACK, RESTORING, RESTORING, RESTORED, *prompted(2)],
        [ENDED, UsageRecorded(turn=1, usage=Usage()), Notice(level="info", message="x")],
    ],
    ids=[
        "parallel",
        "ids used again",
        "a straggler",
        "changes",
        "plans",
        "compaction",
        "restores",
        "between turns",
    ],
)
def test_what_does_happen_is_let_pass(more: list[AnyEvent]) -> None:
    check([*TURN, *more])


def test_a_long_session_keeps_all_rules() -> None:
    check([HEADER, *long_session(1000)])


def test_what_stands_in_the_log_is_learned_and_not_judged() -> None:
    """A damaged log has lost its system message and a start; what comes is judged by what is there."""
    invariants = Invariants()
    for event in [*prompted(), asks("a"), done("a")]:
        invariants.learn(event)
    for event in [SYSTEM, result("a"), *answered()]:
        invariants.apply(event)
    with pytest.raises(BrokenInvariant):
        invariants.apply(SYSTEM)


def test_no_dispatcher_takes_a_broken_rule_for_a_failed_tool() -> None:
    assert not issubclass(BrokenInvariant, Exception)


def test_a_long_event_is_told_shortly() -> None:
    ended = CallEnded(turn=1, call_id="a", name="t", status="ok", duration_ms=1, display="x" * 10_000)
    with pytest.raises(BrokenInvariant) as caught:
        check([*TURN, ended])
    assert len(str(caught.value)) < 700
