"""Compaction past the window: what is cut without the model, what is told in its place, what never goes."""

import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from actors.compaction import rewrite
from actors.conversation import Conversation
from actors.plan.delivery import plan_result
from actors.provider.interface import ProviderError
from actors.turn import TurnOutcome
from ipc.messages import StreamEvent
from tests.fakes.compacting import LONG, TOO_LONG, Session, near_the_window, play, roles, run, says
from tests.fakes.models import ScriptedProvider, calls
from tests.fakes.plans import plan, step
from tests.fakes.session_events import fold


def test_an_overflow_is_cut_without_the_model_and_sent_once_more() -> None:
    session = near_the_window(TOO_LONG, says("done"), window=100_000, plan=plan(step("look")))
    assert play(session).status == "completed"
    assert len(session.provider.bodies) == 2
    said = session.said()
    assert [m["content"] for m in said if m["role"] == "user"] == [
        "rename A to B", "no, leave the tests alone", "continue",
    ]  # fmt: skip
    results = [str(m["content"]) for m in said if m["role"] == "tool"]
    assert "dropped by Fido" in results[0]
    assert results[-1] == plan_result(plan(step("look")))
    assert session.finished[0].method == "trim"


def test_overflow_of_request_and_summary_is_cut_once_and_then_ends_with_a_clear_message() -> None:
    session = near_the_window(TOO_LONG, TOO_LONG, TOO_LONG, says("fine again"))
    outcome = play(session)
    assert outcome.status == "failed"
    assert outcome.problem is not None
    assert outcome.problem.code == "context_length_exceeded"
    assert session.finished[0].method == "trim"
    assert len(session.provider.bodies) <= 3
    session.prompt("a shorter wish")
    session.provider.steps = [says("fine again")]
    assert play(session).status == "completed"
    assert fold(session.events).messages == tuple(session.conversation.messages)


def test_a_window_that_the_server_names_is_kept_to_from_then_on() -> None:
    named = ProviderError("context_length_exceeded", "too long", window=8_000)
    session = near_the_window(named, says("one"), says("summary"), says("two"), window=0)
    play(session)
    assert len(session.conversation.body()) < 8_000 / 2 * 3.5
    session.plays("more", "Yes.", "y" * 23_000)
    session.prompt("go on")
    play(session)
    assert [finished.method for finished in session.finished] == ["trim", "summary"]


def test_long_texts_that_are_no_results_go_as_well_when_they_must() -> None:
    session = Session([TOO_LONG, says("done")])
    for number in range(6):
        session.plays(f"wish {number}", "a long answer " * 300)
    session.prompt("continue")
    assert play(session).status == "completed"
    said = session.said()
    assert roles(said) == "suaua"
    assert "wish 5" in str(said[1]["content"])
    assert "Prompt 6 (answered)" in str(said[2]["content"])


def test_a_cut_between_turns_puts_the_plan_before_the_last_answer_and_only_once() -> None:
    session = near_the_window(TOO_LONG, TOO_LONG, window=40_000, plan=plan(step("look")))
    session.says("Answered.")
    run(session.compactor.compact(session.conversation, ""))
    assert roles(session.said()) == "suAtauauAta"
    session.prompt("more")
    session.works(LONG)
    session.plans.plan = plan(step("look"), revision=1)
    for _ in range(2):
        run(session.compactor.overflow(session.conversation))
    results = [str(message["content"]) for message in session.said() if message["role"] == "tool"]
    assert results[-1] == plan_result(session.plans.plan)
    assert results.count(results[-1]) <= 2
    assert results[-2] != results[-1]


def keeps_all_but(size: int, *steps: Any, window: int = 0) -> ScriptedProvider:
    """A model behind a server that refuses every request longer than `size` bytes."""

    class Refusing(ScriptedProvider):
        async def stream(self, conversation: Conversation) -> AsyncGenerator[StreamEvent, None]:
            if len(conversation.body()) > size:
                self.bodies.append(conversation.body())
                raise ProviderError("context_length_exceeded", "too long", window=window)
            async for event in super().stream(conversation):
                yield event

    return Refusing(steps)


@pytest.mark.parametrize("window", [0, 8_000])
def test_an_overflow_in_mid_turn_tells_what_was_done_and_uses_the_room_there_is(window: int) -> None:
    """Four great readings and a command between them: the next request knows of every one."""
    session = Session(provider=keeps_all_but(34_000, says("done"), window=window), window=0)
    session.prompt("do the work")
    session.works("a line\n" * 1_700, summary="big.txt")
    session.works("written", "bash_exec", summary="echo did-the-work > done.txt")
    for name in ("b.txt", "c.txt"):
        session.works(f"a line of {name}\n" * 900, summary=name)
    assert play(session).status == "completed"
    assert len(session.provider.bodies) == 2
    assert len(session.provider.bodies[1]) > 34_000 / 3
    assert roles(session.said()) == "suAtAtAtAta"
    results = [str(m["content"]) for m in session.said() if m["role"] == "tool"]
    assert ["dropped by Fido" in text for text in results] == [True, False, True, True] or (
        ["dropped by Fido" in text for text in results] == [True, False, True, False]
    )
    assert "log" not in session.provider.bodies[1].decode()


def test_calls_of_dropped_rounds_are_named_with_how_they_ended() -> None:
    """So many and long calls that cut results alone do not make room: rounds are dropped, deeds are not."""
    session = Session(provider=keeps_all_but(34_000, says("done")), window=0)
    session.plays("an earlier wish", "Granted.", "x")
    session.prompt("do the work")
    session.works("written", "bash_exec", summary="echo did-the-work > done.txt")
    session.works("boom", "bash_exec", summary="make", failed=True)
    for number in range(30):
        session.works("r" * 300, "patch", arguments=json.dumps({"text": "t" * 800}), summary=f"f{number}.py")
    assert play(session).status == "completed"
    assert len(session.provider.bodies) == 2
    assert 34_000 / 3 < len(session.provider.bodies[1]) < 34_000
    said = session.said()
    told = str(said[2]["content"])
    assert "- Prompt 1 (answered): Granted.\n  - read_file {}: ok" in told
    assert "- bash_exec echo did-the-work > done.txt: ok" in told
    assert "- bash_exec make: failed" in told
    assert said[3]["content"] == "do the work"
    assert said[4]["content"] == rewrite.DROPPED
    standing = len([message for message in said if message["role"] == "tool"])
    assert standing >= 5
    assert f"f{29 - standing}.py: ok" in told
    assert f"f{30 - standing}.py: ok" not in told
    assert fold(session.events).messages == tuple(session.conversation.messages)


def test_earlier_turns_go_into_the_record_when_nothing_else_is_left_to_drop() -> None:
    """A compacted session, three short turns, and a server that takes less than it did."""
    session = Session([says("## Completed\n" + "It was done. " * 40), TOO_LONG, says("done")], window=0)
    session.plays("the first wish", "Done.", "x" * 9_000)
    run(session.compactor.compact(session.conversation, ""))
    for number in range(3):
        session.plays(f"short wish {number}", f"Short answer {number}. " * 3)
    session.prompt("one more")
    before = len(session.conversation.body())
    assert play(session).status == "completed"
    assert len(session.provider.bodies[-1]) < before
    said = session.said()
    assert roles(said) == "suaua"
    record = str(said[1]["content"])
    assert all(wish in record for wish in ("short wish 0", "short wish 1", "short wish 2"))
    assert said[3]["content"] == "one more"
    assert session.finished[-1].method == "trim"


@pytest.mark.parametrize("turns", range(1, 12, 2))
@pytest.mark.parametrize("answer", ["Yes.", "An answer of some length. " * 20])
def test_earlier_turns_can_always_be_dropped(turns: int, answer: str) -> None:
    session = Session([says("summary"), TOO_LONG, says("done")], window=0)
    session.plays("the first wish", "Done.", "x" * 9_000)
    run(session.compactor.compact(session.conversation, ""))
    for number in range(turns):
        session.plays(f"wish {number} of a few words", answer, "ok")
    session.prompt("one more")
    assert play(session).status == "completed"
    assert f"wish {turns - 1} of a few words" in str(session.said()[1]["content"])


def test_deeds_stay_in_view_in_a_long_turn_without_any_summary() -> None:
    """The server refuses again and again in one turn, and no summary succeeds."""

    class WithoutSummary(ScriptedProvider):
        rounds = 0

        async def stream(self, conversation: Conversation) -> AsyncGenerator[StreamEvent, None]:
            if b"This is a request of Fido" in conversation.messages[-1]:
                raise ProviderError("server_error", "broken")
            if len(conversation.body()) > 34_000:
                raise TOO_LONG
            self.rounds += 1
            self.steps = [calls(f"patch:{self.rounds}", text="t" * 700) if self.rounds < 60 else says("done")]
            async for event in super().stream(conversation):
                yield event

    session = Session(provider=WithoutSummary([]), window=0)
    session.prompt("do the work")
    session.works("written", "bash_exec", summary="echo did-the-work > done.txt")
    outcome: TurnOutcome = run(session.run(lambda call: "r" * 600, max_rounds=90))
    assert outcome.status == "completed"
    assert 1 < len(session.compactions) < 8
    said = session.said()
    assert "did-the-work" in str(said[2]["content"])
    assert str(said[4]["content"]).startswith(f"{rewrite.DROPPED}\nttt")


@pytest.mark.parametrize("window", [0, 8_000])
def test_what_was_just_read_is_shown_whole_where_it_fits_however_often_the_server_refuses(
    window: int,
) -> None:
    """A model that sees only a part of what it reads would read it again and again."""
    steps: list[Any] = [calls(f"read_file:{n}") for n in range(12)]
    provider = keeps_all_but(34_000, *steps, says("done"), window=window)
    session = Session(provider=provider, window=0, at=0.99)
    session.prompt("read all")
    outcome: TurnOutcome = run(session.run(lambda call: f"<{call.id}>" + "w" * 12_000))
    assert outcome.status == "completed"
    accepted = [body for body in provider.bodies if len(body) <= 34_000]
    newest = [json.loads(body)["messages"][-1] for body in accepted]
    assert [message["content"] for message in newest if message["role"] == "tool"] == [
        f"<{n}>" + "w" * 12_000 for n in range(12)
    ]


def test_one_great_result_is_cut_in_place_without_a_record() -> None:
    session = Session(provider=keeps_all_but(34_000, says("done"), window=8_000), window=0)
    session.prompt("read it")
    session.works("w" * 100_000)
    assert play(session).status == "completed"
    assert roles(session.said()) == "suAta"
    assert 10_000 < len(str(session.said()[3]["content"])) < 28_000


def test_a_model_that_goes_on_with_its_work_has_given_no_summary() -> None:
    session = near_the_window(calls("read_file:1", text="Let me look at it."), says("done"))
    before = session.conversation.body().removesuffix(b"]}")
    assert play(session).status == "completed"
    assert session.conversation.body().startswith(before)
    assert "went on" in session.finished[0].detail


def test_one_prompt_past_the_window_is_never_cut_nor_sent_again() -> None:
    session = Session([TOO_LONG], window=8_000)
    session.prompt("x" * 100_000)
    outcome = play(session)
    assert outcome.problem is not None
    assert outcome.problem.code == "context_length_exceeded"
    assert len(session.provider.bodies) == 1
    assert not session.compactions


def test_a_known_window_that_is_passed_already_costs_no_request_for_a_summary() -> None:
    session = near_the_window(says("done"), window=4_000)
    assert play(session).status == "completed"
    assert len(session.provider.bodies) == 1
    assert session.finished[0].method == "trim"


class Reader(ScriptedProvider):
    """Reads 20 great files, and sums up whenever it is asked to."""

    def __init__(self) -> None:
        super().__init__([])
        self.rounds = 0
        self.summaries = 0

    async def stream(self, conversation: Conversation) -> AsyncGenerator[StreamEvent, None]:
        if b"This is a request of Fido" in conversation.messages[-1]:
            self.summaries += 1
            self.steps = [says("summary")]
        else:
            self.rounds += 1
            self.steps = [calls(f"read:{self.rounds}") if self.rounds <= 20 else says("done")]
        async for event in super().stream(conversation):
            yield event


@pytest.mark.parametrize("size", [1_000, 9_000, 40_000])
def test_a_long_turn_of_great_results_stays_within_the_window_at_few_summaries(size: int) -> None:
    reader = Reader()
    session = Session(provider=reader, window=8_000)
    session.prompt("read all of it")
    outcome: TurnOutcome = run(session.run(lambda call: "z" * size))
    assert outcome.status == "completed"
    assert reader.summaries <= 12
    assert all(len(body) <= 8_000 * 3.5 for body in reader.bodies)


def test_numbers_of_turns_come_from_the_prompts_and_survive_compaction() -> None:
    session = Session([says("summary"), says("done")])
    for number in range(1, 4):
        session.prompt(f"wish {number}")
        for _ in range(10):
            session.works("r" * 900)
        session.says("ok")
        session.ends("ok")
    run(session.compactor.compact(session.conversation, ""))
    session.prompt("wish 4")
    play(session)
    history = fold(session.events)
    assert history.turns == 4
    assert [turn.number for turn in session.memory.turns] == [1, 2, 3, 4]
