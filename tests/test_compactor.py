"""Compaction as a whole, in one process: when it acts, what it leaves, what it does when the model fails."""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

import msgspec
import pytest

from actors.compaction import rewrite
from actors.compaction.summarizer import NoSummary, Summarizer
from actors.conversation import Conversation
from actors.plan.delivery import plan_result, restoring
from actors.provider.interface import ProviderError
from actors.session.events import AnyEvent, ConversationCompacted, UsageRecorded
from ipc.messages import CompactionStarted, ModelAnswer, RetryScheduled, StreamEvent, TextDelta, Usage
from tests.fakes.compacting import (
    LONG,
    SYSTEM,
    Session,
    near_the_window,
    play,
    roles,
    run,
    says,
)
from tests.fakes.models import ScriptedProvider, calls
from tests.fakes.plans import plan, step
from tests.fakes.session_events import fold

# --- a summary ---------------------------------------------------------------------------------------------


def test_a_conversation_near_the_window_is_summed_up_before_the_request() -> None:
    session = near_the_window(says("## Completed\nA is B."), says("done"))
    assert play(session).status == "completed"
    said = session.said()
    assert roles(said) == "suaua"
    assert said[2]["content"] == "## Completed\nA is B."
    assert session.conversation.messages[0] == SYSTEM
    (finished,) = session.finished
    assert (finished.method, finished.detail) == ("summary", "")
    assert finished.after_tokens < finished.before_tokens / 4
    assert session.facts[0] == CompactionStarted(automatic=True, context_tokens=finished.before_tokens)


def test_the_request_for_the_summary_extends_the_conversation_byte_for_byte() -> None:
    session = near_the_window(says("summary"), says("done"))
    session.works("x")
    before = session.conversation.body().removesuffix(b"]}")
    play(session)
    assert session.provider.bodies[0].startswith(before)
    added = json.loads(session.provider.bodies[0])["messages"][-1]
    assert added["role"] == "user"
    assert "## Cancelled" in added["content"]
    assert "still being worked on" in added["content"]


def test_a_prompt_that_was_not_begun_is_not_for_the_summary() -> None:
    session = near_the_window(says("summary"), says("done"))
    play(session)
    asked = json.loads(session.provider.bodies[0])["messages"]
    assert "continue" not in [message["content"] for message in asked]
    assert [message["role"] for message in asked[-2:]] == ["assistant", "user"]
    assert "No prompt is being worked on" in asked[-1]["content"]


def test_an_earlier_request_is_history_and_the_newest_prompt_the_only_live_one() -> None:
    session = near_the_window(says("summary"), says("done"))
    play(session)
    said = session.said()
    record = str(said[1]["content"])
    assert "All that is quoted below is history" in record
    assert "rename A to B" in record
    assert "no, leave the tests alone" in record
    assert "continue" not in record
    assert [message["content"] for message in said if message["role"] == "user"][1:] == ["continue"]


def test_nothing_happens_below_the_threshold() -> None:
    session = near_the_window(says("done"), window=20_000)
    assert play(session).status == "completed"
    assert not session.facts


def test_in_a_small_window_a_summary_is_asked_for_while_there_is_room_for_it() -> None:
    session = near_the_window(says("summary"), says("done"), window=11_000, at=0.95)
    session.works("x" * 3_000)
    play(session)
    assert [finished.method for finished in session.finished] == ["summary"]


def test_the_servers_number_decides_and_not_the_bytes() -> None:
    session = Session([says("one", 7_000), says("summary"), says("two")], window=8_500)
    session.prompt("first")
    session.works("x" * 12_000)
    play(session)
    session.prompt("second")
    play(session)
    assert [finished.method for finished in session.finished] == ["summary"]
    assert session.compactions[0].before_tokens > 7_000


def test_a_running_turn_keeps_its_prompt_and_its_newest_rounds() -> None:
    session = Session([says("summary"), says("done")], window=8_500)
    session.plays("earlier", "Done.", "x" * 16_000)
    session.prompt("look at all of it")
    for name in ("first", "second", "third"):
        session.works(name * 500)
    play(session)
    said = session.said()
    assert roles(said) == "suauAtAtAta"
    assert said[3]["content"] == "look at all of it"
    first, second, third = (str(m["content"]) for m in said if m["role"] == "tool")
    assert first.startswith("first")
    assert "dropped by Fido" in first
    assert (second, third) == ("second" * 500, "third" * 500)


def test_rounds_of_a_running_turn_that_the_summary_stands_for_leave_a_mark() -> None:
    session = Session([says("summary"), says("done")], window=8_500)
    session.prompt("look at all of it")
    for number in range(60):
        session.works(f"{number} " * 82)
    play(session)
    said = session.said()
    assert said[2]["content"] == "summary"
    assert said[4]["content"] == rewrite.DROPPED
    assert len(session.finished) == 1


def test_compaction_restates_the_plan_of_the_store_as_the_newest_result() -> None:
    """The plan changes in the very turn that crosses the threshold; the store's answer counts."""
    stale, current = plan(step("fix", status="in_progress")), plan(step("fix", status="done"), revision=2)
    session = near_the_window(says("summary"), says("done"), plan=current)
    session.works(plan_result(stale), "update_plan")
    play(session)
    results = [message for message in session.said() if message["role"] == "tool"]
    assert results[-1]["content"] == plan_result(current)
    assert session.plans.seen == 2


def test_the_plan_is_read_when_the_summary_is_there() -> None:
    class Slow(ScriptedProvider):
        async def stream(self, conversation: Conversation) -> AsyncGenerator[StreamEvent, None]:
            session.plans.plan = plan(step("fix", status="done"), revision=9)
            async for event in super().stream(conversation):
                yield event

    session = near_the_window(provider=Slow([says("summary"), says("done")]), plan=plan(step("fix")))
    play(session)
    (result,) = [message for message in session.said() if message["role"] == "tool"]
    assert json.loads(str(result["content"]))["revision"] == 9


def test_a_compaction_is_recorded_before_the_conversation_changes() -> None:
    class Dying(Session):
        def record(self, event: AnyEvent) -> None:
            super().record(event)
            if isinstance(event, ConversationCompacted):
                raise KeyboardInterrupt

    session = Dying([says("summary")])
    session.plays("look", "Looked.", LONG)
    before = session.conversation.body()
    with pytest.raises(KeyboardInterrupt):
        run(session.compactor.compact(session.conversation, ""))
    assert session.conversation.body() == before
    assert len(fold(session.events).messages) == 3


def test_a_store_that_is_away_leaves_the_plan_that_the_model_saw_last() -> None:
    session = Session([says("summary"), says("done")])
    session.plans.is_away = True
    session.prompt("plan it")
    session.works(plan_result(plan(step("fix"), revision=3)), "update_plan")
    session.plays("look", "Looked.", LONG)
    session.prompt("go on")
    play(session)
    results = [message for message in session.said() if message["role"] == "tool"]
    assert results[-1]["content"] == plan_result(plan(step("fix"), revision=3))
    assert session.plans.seen is None


def test_a_plan_of_another_session_is_still_said_to_be_one_and_stands_there_once() -> None:
    foreign = msgspec.structs.replace(plan(step("fix"), revision=3), session="s-other")
    session = near_the_window(says("summary"), says("done"), plan=foreign)
    for message in restoring(foreign, "start0003", "carried over"):
        session.conversation.append(message)
        session.on_appended(message)
    play(session)
    (result,) = [message for message in session.said() if message["role"] == "tool"]
    told = json.loads(str(result["content"]))
    assert "session s-other wrote this plan" in told.pop("note")
    assert told == json.loads(plan_result(foreign))


def test_a_workspace_that_never_had_a_plan_gets_none() -> None:
    session = near_the_window(says("summary"), says("done"))
    play(session)
    assert b"update_plan" not in session.conversation.body()


def test_a_summary_of_two_megabytes_is_cut_with_a_mark_and_told() -> None:
    session = near_the_window(says("s" * 2_000_000), says("done"), window=128_000)
    session.works("x" * 400_000)
    play(session)
    summary = str(session.said()[2]["content"])
    assert len(summary) <= 16_000
    assert "characters dropped by Fido" in summary
    assert "too long" in session.finished[0].detail


def test_a_model_that_babbles_is_not_listened_to_for_ever() -> None:
    class Babbling(ScriptedProvider):
        pieces = 0

        async def stream(self, conversation: Conversation) -> AsyncGenerator[StreamEvent, None]:
            while True:
                self.pieces += 1
                yield TextDelta(text="word " * 200)

    provider, session = Babbling([]), near_the_window()
    summary = run(Summarizer(provider, session).ask(session.conversation, "", 4_000, running=True))
    assert rewrite.weight(summary.text) <= 4_000
    assert provider.pieces < 30


def test_the_log_folds_to_the_very_bytes_of_the_conversation() -> None:
    session = near_the_window(
        says("summary"), calls("read:1"), says("done"), plan=plan(step("look"), revision=4)
    )
    play(session)
    assert fold(session.events).messages == tuple(session.conversation.messages)


def test_compactions_do_not_pile_up_records_or_summaries() -> None:
    session = Session([says(f"summary {n}") for n in range(5)])
    for number in range(5):
        session.plays(f"wish {number}", "Done.", LONG)
        run(session.compactor.compact(session.conversation, ""))
    said = session.said()
    assert roles(said) == "sua"
    assert all(f"wish {number}" in str(said[1]["content"]) for number in range(5))
    assert said[2]["content"] == "summary 4"


def test_what_the_summary_costs_is_counted() -> None:
    session = near_the_window(says("summary", 7_000), says("done"))
    play(session)
    spent = [event.usage.prompt_tokens for event in session.events if isinstance(event, UsageRecorded)]
    assert spent == [7_000]


def test_a_request_for_a_summary_tells_nothing_of_the_conversations_size() -> None:
    failing = msgspec.structs.replace(calls("look:1"), usage=Usage(prompt_tokens=50, completion_tokens=5))
    session = Session([failing, says("short")])
    session.plays("do it", "Done.", "x" * 4_000)
    before = session.compactor.tokens(session.conversation)
    run(session.compactor.compact(session.conversation, ""))
    assert session.compactor.tokens(session.conversation) == before
    run(session.compactor.compact(session.conversation, ""))
    assert len(session.provider.bodies) == 2
    assert session.said()[-1]["content"] == "short"


# --- by hand -----------------------------------------------------------------------------------------------


def test_a_person_may_compact_at_any_size_and_say_what_to_keep() -> None:
    session = Session([says("short")], plan=plan(step("look")))
    session.plays("do it", "Done.", "x" * 4_000)
    run(session.compactor.compact(session.conversation, "the name of the port"))
    assert "above all: the name of the port" in session.provider.bodies[0].decode()
    assert roles(session.said()) == "suAta"
    assert session.said()[-1]["content"] == "short"
    session.prompt("and now?")
    assert roles(session.said()) == "suAtau"


def test_there_is_nothing_to_compact_at_the_start_nor_twice_in_a_row() -> None:
    session = Session([says("short")])
    run(session.compactor.compact(session.conversation, ""))
    session.plays("do it", "Done.", "x" * 4_000)
    for _ in range(2):
        run(session.compactor.compact(session.conversation, ""))
    assert [finished.method for finished in session.finished] == ["none", "summary", "none"]


def test_what_was_only_cut_may_still_be_summed_up() -> None:
    session = near_the_window(says("summary"), window=30_000)
    session.says("a long answer " * 200)
    assert run(session.compactor.overflow(session.conversation))
    run(session.compactor.compact(session.conversation, ""))
    assert [finished.method for finished in session.finished] == ["trim", "summary"]


def test_a_summary_longer_than_the_conversation_changes_nothing() -> None:
    session = Session([says("word " * 300)])
    session.plays("do it", "Done.")
    before = session.conversation.body()
    run(session.compactor.compact(session.conversation, ""))
    assert session.conversation.body() == before
    assert session.finished[-1].method == "none"


# --- the model fails ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "step",
    [
        ModelAnswer(),
        calls("read_file:1"),
        says("  \n"),
        ProviderError("rate_limited", "busy"),
        ProviderError("unreachable", "no server"),
    ],
)
def test_a_failed_summary_changes_nothing_and_the_turn_goes_on(step: Any) -> None:
    session = near_the_window(step, says("done"))
    before = session.conversation.body()
    assert play(session).status == "completed"
    assert session.provider.bodies[1] == before
    assert [finished.method for finished in session.finished] == ["none"]
    assert session.finished[0].detail


def test_a_failed_summary_is_not_asked_for_again_before_there_is_more_to_sum_up() -> None:
    session = near_the_window(ModelAnswer(), calls("read:1"), calls("read:2"), says("done"))
    assert play(session).status == "completed"
    assert len(session.finished) == 1


def test_failing_by_hand_leaves_the_session_usable() -> None:
    session = near_the_window(ProviderError("server_error", "broken"), says("summary"), says("done"))
    run(session.compactor.compact(session.conversation, ""))
    assert "broken" in session.finished[0].detail
    assert play(session).status == "completed"


def test_a_summary_that_takes_too_long_is_given_up() -> None:
    session = near_the_window()
    provider = ScriptedProvider(["half a summ"])
    with pytest.raises(NoSummary, match=r"0\.05 s"):
        run(Summarizer(provider, session, 0.05).ask(session.conversation, "", 1_000, running=False))


def test_a_summary_cut_off_by_the_server_says_so() -> None:
    session = near_the_window(ModelAnswer(text="half", finish_reason="length"), says("done"))
    play(session)
    text = str(session.said()[2]["content"])
    assert text.startswith("half\n[cut at the output limit]\n\n[From the session's log.")
    assert "- Prompt 1 (answered): Renamed A to B.\n  - read_file {}: ok\n" in text


def test_retries_of_the_summary_are_told() -> None:
    class Retrying(ScriptedProvider):
        async def stream(self, conversation: Conversation) -> AsyncGenerator[StreamEvent, None]:
            yield RetryScheduled(attempt=2, delay_s=0.0, reason="busy")
            async for event in super().stream(conversation):
                yield event

    session = near_the_window()
    run(Summarizer(Retrying([says("s")]), session).ask(session.conversation, "", 1_000, running=False))
    assert session.streamed == [RetryScheduled(attempt=2, delay_s=0.0, reason="busy")]


def test_an_interrupt_in_mid_compaction_changes_nothing_and_ends_the_turn() -> None:
    async def whole() -> None:
        session = near_the_window("half a summ")
        before = session.conversation.body()
        turn = asyncio.ensure_future(session.run())
        await session.provider.waiting.wait()
        turn.cancel()
        outcome = await turn
        assert outcome.status == "cancelled"
        assert session.conversation.body() == before
        assert not session.compactions
        assert session.finished[-1].method == "none"

    run(whole())
