"""What a session that goes on shows of its earlier lives: the last turns, every call with its end."""

from collections.abc import Sequence

import pytest

from actors.session.events import ConversationCompacted, TurnEnded
from actors.session.replay import EARLIER
from ipc.messages import (
    AnyFact,
    CompactionFinished,
    MessageDelta,
    NoticeRaised,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from tests.fakes.session_events import (
    CODE,
    HEADER,
    SYSTEM,
    asks,
    begun,
    done,
    facts_of,
    long_session,
    prompted,
    said,
    whole_turn,
)


def kinds(facts: Sequence[AnyFact]) -> list[str]:
    return [type(fact).__name__ for fact in facts]


def test_a_turn_is_shown_as_it_was() -> None:
    compacted = ConversationCompacted(turn=1, messages=(), method="trim", before_tokens=9, after_tokens=1)
    assert facts_of([HEADER, SYSTEM, *whole_turn(1, output="out"), compacted, said("note")]) == [
        TurnStarted(turn=1, prompt="prompt 1"),
        ToolStarted(call_id="call-1-0", name="bash_exec", summary=""),
        ToolFinished(call_id="call-1-0", name="bash_exec", status="ok", duration_ms=1, display="out"),
        MessageDelta(turn=1, kind="text", text="done 1"),
        TurnFinished(turn=1, status="completed", final_text="done 1"),
        CompactionFinished(method="trim", before_tokens=9, after_tokens=1),
        NoticeRaised(level="info", message="note"),
    ]


@pytest.mark.parametrize("limit", range(10, 60, 7))
def test_of_a_long_session_the_last_whole_turns_are_shown_and_that_there_were_more(limit: int) -> None:
    events = [HEADER, *long_session(500, calls=2, output=CODE)]
    facts = facts_of(events, limit)
    assert facts[0] == NoticeRaised(level="info", message=EARLIER)
    assert len(facts) <= limit + 1
    turns = sum(isinstance(event, TurnEnded) for event in events)
    first = turns - sum(isinstance(fact, TurnFinished) for fact in facts) + 1
    kept = [event for turn in range(first, turns + 1) for event in whole_turn(turn, 2)]
    assert facts[1:] == facts_of(kept)


def test_of_a_turn_that_is_longer_than_all_that_is_shown_prompt_and_end_are_shown() -> None:
    facts = facts_of([*whole_turn(1), *prompted(2, "go"), *list(whole_turn(2, calls=50))[2:]], 20)
    assert facts[1] == TurnStarted(turn=2, prompt="go")
    assert isinstance(facts[-1], TurnFinished)
    started = [fact.call_id for fact in facts if isinstance(fact, ToolStarted)]
    assert started == [fact.call_id for fact in facts if isinstance(fact, ToolFinished)]


def test_a_call_without_its_end_is_closed_with_its_turn() -> None:
    lost = [*prompted(), asks("a"), begun("a"), TurnEnded(turn=1, status="failed")]
    ended = ToolFinished(
        call_id="a", name="bash_exec", status="cancelled", duration_ms=0, display="interrupted"
    )
    assert facts_of(lost)[-2] == ended
    assert facts_of([*lost[:-1], *prompted(2)])[-2] == ended
    assert facts_of([*lost, done("a")]) == facts_of(lost)


def test_the_calls_of_a_turn_that_has_no_end_are_left_to_whoever_ends_it() -> None:
    assert kinds(facts_of([*prompted(), asks("a"), begun("a")])) == ["TurnStarted", "ToolStarted"]
