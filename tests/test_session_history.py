"""The fold of a session: whatever was lost, a strict server accepts what is left."""

import json
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.conversation import encode_assistant, encode_system, encode_user
from actors.session.events import (
    AnyEvent,
    CallEnded,
    MessageAppended,
    PlanWritten,
    PromptTaken,
    TurnEnded,
    UsageRecorded,
)
from actors.session.history import History, add_usage
from ipc.messages import Usage
from tests.fakes.plans import plan, step
from tests.fakes.session_events import HEADER, appended, asks, begun, fold, prompted, result, said

PROMPT = prompted()
ENDED = TurnEnded(turn=1, status="completed", final_text="done")


def read(history: History) -> list[dict[str, Any]]:
    return [json.loads(message) for message in history.messages]


def error_of(message: dict[str, Any]) -> dict[str, str]:
    return json.loads(message["content"])["error"]  # type: ignore[no-any-return]


def assert_balanced(history: History) -> None:
    """What a strict server demands of tool calls and their results."""
    due: list[str] = []
    for message in read(history):
        if message["role"] == "tool":
            assert message["tool_call_id"] == due.pop(0)
            continue
        assert due == []
        if message["role"] == "assistant":
            due = [call["id"] for call in message.get("tool_calls", [])]
            assert due or message["content"].strip()
    assert due == []


# --- whole sessions ----------------------------------------------------------------------------------------


def test_a_finished_session_folds_to_its_very_bytes() -> None:
    events = [
        HEADER,
        appended(encode_system("s"), turn=0),
        *PROMPT,
        asks("a", "b"),
        begun("a"),
        result("a"),
        begun("b"),
        result("b"),
        appended(encode_assistant("done")),
        ENDED,
    ]
    history = fold(events)
    assert history.messages == tuple(
        bytes(event.message) for event in events if isinstance(event, MessageAppended)
    )
    assert (history.turns, history.running) == (1, None)


def test_an_empty_log_is_an_empty_history() -> None:
    history = fold([])
    assert (history.messages, history.turns, history.running, history.usage) == ((), 0, None, Usage())


def test_plan_is_an_event_and_never_a_message() -> None:
    history = fold([*PROMPT, PlanWritten(turn=1, plan=plan()), PlanWritten(turn=1, plan=plan(step("a")))])
    assert len(history.messages) == 1


def test_usage_adds_up_with_the_share_of_the_subagents() -> None:
    one, two = (
        Usage(prompt_tokens=10, completion_tokens=1),
        Usage(prompt_tokens=5, cached_tokens=4, cost_usd=0.5),
    )
    history = fold([UsageRecorded(turn=1, usage=one), UsageRecorded(turn=1, usage=two, subagent=True)])
    assert history.usage == Usage(prompt_tokens=15, cached_tokens=4, completion_tokens=1, cost_usd=0.5)
    assert history.subagent_usage == two
    assert history.context_tokens == 11
    assert add_usage(Usage(), Usage()).cost_usd is None


# --- broken off --------------------------------------------------------------------------------------------


def test_a_call_that_was_running_gets_an_honest_result() -> None:
    history = fold([*PROMPT, asks("a", "b"), begun("a"), result("a"), begun("b")])
    assert_balanced(history)
    error = error_of(read(history)[-1])
    assert error["code"] == "interrupted"
    assert "may have taken effect" in error["message"]
    assert error["next_step"]
    assert history.running is not None


def test_a_call_that_never_began_is_told_apart() -> None:
    history = fold([*PROMPT, asks("a", "b"), begun("a")])
    assert_balanced(history)
    first, second = map(error_of, read(history)[-2:])
    assert "may have taken effect" in first["message"]
    assert "most likely had no effect" in second["message"]


def test_a_start_counts_for_its_own_answer_alone() -> None:
    """Some servers use the same call ids again."""
    history = fold([*PROMPT, asks("call_0"), begun("call_0"), result("call_0"), asks("call_0")])
    assert "most likely had no effect" in error_of(read(history)[-1])["message"]


def test_a_lost_result_is_stood_in_for_at_its_place() -> None:
    history = fold(
        [*PROMPT, asks("a", "b"), begun("a"), result("b"), appended(encode_assistant("done")), ENDED]
    )
    assert_balanced(history)
    assert [message["role"] for message in read(history)] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
    ]
    assert read(history)[3]["content"] == "fine"
    assert history.running is None


def test_a_result_nobody_asked_for_is_left_out() -> None:
    history = fold([*PROMPT, result("x"), asks("a"), result("a"), result("a"), ENDED])
    assert_balanced(history)
    assert len(history.messages) == 3


@pytest.mark.report("PROV-07")
def test_an_empty_answer_is_never_kept() -> None:
    for text in ("", "  \n"):
        history = fold([*PROMPT, appended(encode_assistant(text)), said("x")])
        assert [message["role"] for message in read(history)] == ["user"]


def test_a_prompt_after_an_interruption_stands_behind_the_closed_calls() -> None:
    later = [PromptTaken(turn=2, text="again", at="now"), appended(encode_user("again"), turn=2)]
    history = fold([*PROMPT, asks("a"), begun("a"), *later])
    assert [message["role"] for message in read(history)] == ["user", "assistant", "tool", "user"]
    assert history.running is not None
    assert history.running.turn == 2


# --- any loss ----------------------------------------------------------------------------------------------


@st.composite
def sessions(draw: st.DrawFn) -> list[AnyEvent]:
    """A session of a few turns, from which any events may be missing."""
    events: list[AnyEvent] = [HEADER, appended(encode_system("s"), turn=0)]
    ids = count()
    for turn in range(1, draw(st.integers(1, 3)) + 1):
        events += [PromptTaken(turn=turn, text="p", at="now"), appended(encode_user("p"))]
        for calls in draw(st.lists(st.integers(1, 3), max_size=3)):
            names = [f"c{next(ids) % 5}x{number}" for number in range(calls)]
            events.append(asks(*names, text=draw(st.sampled_from(["", "text"]))))
            for name in names:
                ended = CallEnded(turn=turn, call_id=name, name="bash_exec", status="ok", duration_ms=1)
                events += [begun(name), ended, result(name)]
        events += [appended(encode_assistant(draw(st.sampled_from(["", "done"])))), ENDED]
    kept = draw(st.lists(st.booleans(), min_size=len(events), max_size=len(events)))
    return [event for event, keep in zip(events, kept, strict=True) if keep]


@given(sessions())
def test_whatever_lines_are_lost_a_strict_server_accepts_the_rest(events: list[AnyEvent]) -> None:
    assert_balanced(fold(events))


@given(sessions())
def test_folding_again_behind_the_stand_ins_changes_no_byte(events: list[AnyEvent]) -> None:
    """A session that goes on after an interruption keeps the prefix that a provider has cached."""
    history = fold(events)
    logged = [appended(message) for message in history.messages]
    assert fold(logged).messages == history.messages
    onward = fold([*events, *map(appended, history.stand_ins), appended(encode_user("next"))])
    assert onward.messages[: len(history.messages)] == history.messages
    assert len(onward.messages) == len(history.messages) + 1


def test_a_prompt_whose_message_was_lost_is_told_in_the_persons_words() -> None:
    """Its line was damaged, or the process was killed right behind the prompt."""
    prompt, message = prompted(1, "hello")
    assert fold([prompt]).messages == fold([prompt]).stand_ins == (encode_user("hello"),)
    assert fold([prompt, message]).stand_ins == ()
    assert fold([prompt, begun("a"), message]).messages == (encode_user("hello"),)
    later = fold([prompt, asks("a"), result("a"), ENDED, *prompted(2, "again")])
    assert [one["role"] for one in read(later)] == ["user", "assistant", "tool", "user"]


def test_a_system_message_that_was_written_again_stands_first() -> None:
    system = encode_system("s")
    history = fold([*PROMPT, asks("a"), appended(system, turn=0), result("a")])
    assert_balanced(history)
    assert history.messages[0] == system
    assert read(history)[-1]["content"] == "fine"
