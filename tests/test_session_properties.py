"""Any session that Fido can write, cut or damaged anywhere: a strict server accepts what it folds to."""

import contextlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actors.conversation import encode_assistant, encode_tool_result, encode_user
from actors.session.events import (
    AnyEvent,
    ConversationCompacted,
    FilesChanged,
    FilesChanging,
    PlanWritten,
    TurnEnded,
    UsageRecorded,
)
from actors.session.history import History
from actors.session.invariants import Invariants
from actors.session.log import LogFailed, SessionLog, read_log
from actors.session.recorder import Recorder
from ipc.messages import AnyFact, ToolCall, ToolFinished, TurnFinished, Usage
from tests.fakes import chat_rules
from tests.fakes.places import short_directory
from tests.fakes.plans import plan, step
from tests.fakes.session_events import (
    HEADER,
    SYSTEM,
    answered,
    appended,
    asks,
    begun,
    done,
    fold,
    prompted,
    result,
    said,
    written,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).map(lambda text: f"x{text}")
SUMMARY = [
    encode_user("what was"),
    encode_assistant("", [ToolCall(id="p", name="update_plan", arguments="{}")]),
    encode_tool_result("p", "{}"),
]


@st.composite
def rounds(draw: st.DrawFn, turn: int, ids: Iterator[int]) -> list[AnyEvent]:
    """An answer with calls, run side by side or one after the other, with what they do."""
    # Some servers use the same ids in every answer.
    names = [f"c{next(ids) % 4}x{number}" for number in range(draw(st.integers(1, 3)))]
    events: list[AnyEvent] = [UsageRecorded(turn=turn, usage=Usage(prompt_tokens=7))]
    events.append(asks(*names, text=draw(st.sampled_from(["", "text"])), turn=turn))
    if draw(st.booleans()):
        ended = draw(st.permutations(names))
        return [
            *events,
            *(begun(name, turn) for name in names),
            *(done(name, turn) for name in ended),
            *(result(name, draw(TEXTS), turn) for name in names),
        ]
    for name in names:
        events.append(begun(name, turn))
        events += draw(
            st.sampled_from(
                [
                    [],
                    [PlanWritten(turn=turn, plan=plan(step("a")))],
                    [
                        FilesChanging(turn=turn, call_id=name),
                        FilesChanged(turn=turn, call_id=name, changes=()),
                    ],
                ]
            )
        )
        events += [done(name, turn), result(name, draw(TEXTS), turn)]
    return events


@st.composite
def sessions(draw: st.DrawFn) -> list[AnyEvent]:
    """A session as Fido writes it, broken off anywhere."""
    events: list[AnyEvent] = [HEADER, SYSTEM]
    ids = count()
    for turn in range(1, draw(st.integers(1, 3)) + 1):
        events += prompted(turn, draw(TEXTS))
        for _ in range(draw(st.integers(0, 2))):
            events += draw(rounds(turn, ids))
            events += draw(st.sampled_from([[], [], [compacted(turn)], [said("notice")]]))
        end = [TurnEnded(turn=turn, status="failed")]
        events += draw(st.sampled_from([answered(turn), end, [*end, compacted(turn)]]))
    return events[: draw(st.integers(2, len(events)))]


def compacted(turn: int) -> ConversationCompacted:
    return ConversationCompacted(
        turn=turn,
        messages=tuple(map(msgspec.Raw, SUMMARY)),
        method="summary",
        before_tokens=99,
        after_tokens=9,
    )


def assert_acceptable(history: History) -> None:
    if history.messages:
        messages = [json.loads(message) for message in history.messages]
        chat_rules.check({"model": "m", "stream": True, "messages": messages})


def read(path: Path) -> History:
    history = History()
    with contextlib.suppress(LogFailed):  # a log without any readable line is an empty one here
        read_log(path, history.apply)
    return history


@contextmanager
def log_of(events: Sequence[AnyEvent]) -> Iterator[Path]:
    with short_directory() as folder:
        yield written(folder, *events[1:])


def figures(history: History) -> tuple[object, ...]:
    return (
        history.started,
        history.turns,
        history.running,
        history.usage,
        history.turn_usage,
        history.context_tokens,
        history.plan,
        history.strip,
        history.running_calls,
    )


@given(sessions())
def test_what_is_written_keeps_the_rules(events: list[AnyEvent]) -> None:
    """Or the other properties would be about sessions that can not be."""
    invariants = Invariants()
    for event in events:
        invariants.apply(event)


@settings(max_examples=50)
@given(sessions())
def test_the_fold_of_the_log_is_the_fold_that_was_live(events: list[AnyEvent]) -> None:
    live = fold(events)
    with log_of(events) as path:
        again = read(path)
    assert figures(again) == figures(live)
    assert again.messages == live.messages
    assert_acceptable(again)


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(sessions(), st.data())
def test_a_log_cut_at_any_byte_of_its_last_line_folds_to_what_was_before(
    events: list[AnyEvent], data: st.DataObject
) -> None:
    with log_of(events) as path:
        whole = path.read_bytes()
        last = whole.rfind(b"\n", 0, -1) + 1
        path.write_bytes(whole[: data.draw(st.integers(last, len(whole) - 1))])
        cut = read(path)
    assert figures(cut) == figures(fold(events[:-1]))
    assert cut.messages == fold(events[:-1]).messages
    assert_acceptable(cut)


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(sessions(), st.data())
def test_whatever_lines_are_damaged_a_strict_server_accepts_the_rest(
    events: list[AnyEvent], data: st.DataObject
) -> None:
    with log_of(events) as path:
        lines = path.read_bytes().splitlines(keepends=True)
        for number in data.draw(st.sets(st.integers(0, len(lines) - 1), max_size=4)):
            line = bytearray(lines[number])
            line[data.draw(st.integers(0, len(line) - 1))] ^= data.draw(st.integers(1, 255))
            lines[number] = bytes(line)
        path.write_bytes(b"".join(lines))
        assert_acceptable(read(path))


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(sessions())
def test_a_session_that_broke_off_is_closed_by_its_successor_once(events: list[AnyEvent]) -> None:
    """The log then tells the whole story itself, and a next turn keeps all the rules."""
    before = fold(events)
    facts: list[AnyFact] = []
    with log_of(events) as path:
        history, invariants = History(), Invariants()
        log, _ = SessionLog.open(path, history.apply, invariants.learn)
        recorder = Recorder(log, facts.append, None, [invariants.apply], history)
        recorder.resume()
        closed = path.read_bytes()
        recorder.resume()
        assert path.read_bytes() == closed
        log.close()
        again = read(path)
    assert again.messages == history.messages
    assert again.messages[: len(before.messages)] == before.messages
    assert (again.running, again.stand_ins, again.running_calls) == (None, (), {})
    ended = [fact.call_id for fact in facts if isinstance(fact, ToolFinished)]
    assert ended == list(before.running_calls)
    assert sum(isinstance(fact, TurnFinished) for fact in facts) == (before.running is not None)
    for event in [*prompted(before.turns + 1), appended(encode_assistant("ok"), before.turns + 1)]:
        invariants.apply(event)
