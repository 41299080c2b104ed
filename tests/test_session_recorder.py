"""The recorder: events to the log, facts to the bus, and a session that goes on when its log does not."""

import errno
import os
import pty
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.calls import ToolResult
from actors.conversation import encode_user
from actors.session.events import AnyEvent, CallEnded, MessageAppended, TurnEnded
from actors.session.history import History
from actors.session.log import SessionLog, read_log
from actors.session.recorder import WRITTEN_AGAIN, Recorder
from actors.settings.tables import Prices
from actors.turn import TurnOutcome
from ipc.messages import (
    AnyFact,
    ModelAnswer,
    NoticeRaised,
    ToolCall,
    ToolFinished,
    TurnFinished,
    Usage,
    UsageReported,
)
from tests.fakes.session_events import (
    HEADER,
    SYSTEM,
    asks,
    begun,
    done,
    facts_of,
    fold,
    prompted,
    small_files,
)

ONE = Usage(prompt_tokens=1_000_000, cached_tokens=500_000, completion_tokens=100_000)
PRICES = Prices(prompt=2.0, cached=1.0, completion=10.0)


class Stage:
    """A recorder over a real log; `told` is what went to the bus."""

    def __init__(self, folder: Path, *events: AnyEvent) -> None:
        self.told: list[AnyFact] = []
        self.log = SessionLog.create(folder, "s-1", HEADER, SYSTEM, *events)
        self.history = fold([HEADER, SYSTEM, *events])
        self.now = 0.0
        self.recorder = Recorder(
            self.log, self.told.append, PRICES, history=self.history, clock=lambda: self.now
        )

    def restarted(self) -> "Stage":
        """The same session in its next life, resumed."""
        self.log.close()
        stage = object.__new__(Stage)
        stage.told, stage.history = [], History()
        stage.log, _ = SessionLog.open(self.log.path, stage.history.apply)
        stage.recorder = Recorder(stage.log, stage.told.append, PRICES, history=stage.history)
        stage.recorder.resume()
        return stage

    def notices(self) -> list[tuple[str, str]]:
        return [(fact.level, fact.message) for fact in self.told if isinstance(fact, NoticeRaised)]

    def events(self) -> tuple[AnyEvent, ...]:
        return read_log(self.log.path).events


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path)
    yield made
    made.log.close()


# --- one count, live and after a restart -------------------------------------------------------------------


def test_usage_is_the_same_live_and_after_a_restart(stage: Stage) -> None:
    stage.recorder.prompt_taken("first")
    stage.recorder.used(ONE)
    stage.recorder.turn_ended(TurnOutcome())
    stage.recorder.prompt_taken("second")
    stage.recorder.on_stream(ModelAnswer(text="x", usage=Usage(prompt_tokens=70, completion_tokens=7)))
    stage.recorder.used(Usage(prompt_tokens=9), subagent=True)
    stage.recorder.turn_ended(TurnOutcome())
    (*_, live) = [fact for fact in stage.told if isinstance(fact, UsageReported)]
    assert live.turn.prompt_tokens == 79
    assert live.total.prompt_tokens == 1_000_079
    assert live.total.cost_usd == pytest.approx(2.5 + (70 + 9) * 2e-6 + 7 * 1e-5)
    assert (live.subagent.prompt_tokens, live.context_tokens) == (9, 77)
    (again,) = [fact for fact in stage.restarted().told if isinstance(fact, UsageReported)]
    assert again == live


def test_turns_are_counted_on_after_a_restart(stage: Stage) -> None:
    for text in ("first", "second"):
        stage.recorder.prompt_taken(text)
        stage.recorder.turn_ended(TurnOutcome())
    again = stage.restarted()
    again.recorder.prompt_taken("third", "r-1")
    assert (again.recorder.turn, again.history.turn_of("r-1"), again.history.turn_of("r-2")) == (3, 3, None)


# --- what a person is shown --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "length", "kept"),
    [("bash_exec", 4_000, 4_000), ("patch", 30_000, 30_000), ("patch", 90_000, 32_768)],
)
def test_what_is_shown_of_a_result_is_bounded_and_a_diff_is_shown_longer(
    stage: Stage, name: str, length: int, kept: int
) -> None:
    stage.recorder.prompt_taken("go")
    call = ToolCall(id="c", name=name, arguments="{}")
    stage.recorder.call_started(call, "")
    stage.recorder.call_finished(call, ToolResult("", "ok", "x" * length))
    (shown,) = [fact.display for fact in stage.told if isinstance(fact, ToolFinished)]
    assert shown == "x" * kept + (f"\n… {length - kept:,} characters more" if kept < length else "")
    assert [event.display for event in stage.events() if isinstance(event, CallEnded)] == [shown]


@pytest.mark.parametrize(
    ("lines", "first", "last"),
    [
        ([f"line {number}" for number in range(2_000)], 200, 100),
        (["x" * 99] * 500, 50, 30),
        (["short"] * 300, 200, 100),
        (["short"] * 301, 301, 0),
        (["short"] * 302, 200, 100),
        (["x" * 90] * 80, 80, 0),
    ],
)
def test_of_a_long_output_both_ends_are_shown_in_whole_lines(
    stage: Stage, lines: list[str], first: int, last: int
) -> None:
    shown = shown_of(stage, "\n".join(lines)).split("\n")
    left = len(lines) - first - last
    if not left:
        assert shown == lines
        return
    assert shown == [*lines[:first], f"… {left:,} lines left out", *lines[-last:]]


def test_of_one_endless_line_both_ends_are_shown(stage: Stage) -> None:
    shown = shown_of(stage, "x" * 20_000)
    assert shown == f"{'x' * 5_000}\n… 12,000 characters left out\n{'x' * 3_000}"


def shown_of(stage: Stage, output: str) -> str:
    """What a person is shown of an output."""
    stage.recorder.prompt_taken("go")
    call = ToolCall(id="c", name="bash_exec", arguments="{}")
    stage.recorder.call_started(call, "")
    stage.recorder.call_finished(call, ToolResult("", "error", output))
    (shown,) = [fact.display for fact in stage.told if isinstance(fact, ToolFinished)]
    return shown


def test_what_a_person_has_decided_about_a_call_is_told_with_its_result_and_again_later(stage: Stage) -> None:
    stage.recorder.prompt_taken("go")
    for number, by in (("1", "person"), ("2", "rule")):
        call = ToolCall(id=number, name="bash_exec", arguments="{}")
        stage.recorder.call_started(call, "make")
        stage.recorder.call_decided(call, "allow", by, "allow_once")  # type: ignore[arg-type]
        stage.recorder.call_finished(call, ToolResult("", "ok", "done"))
    for told in (stage.told, facts_of(stage.events())):
        assert [fact.decided for fact in told if isinstance(fact, ToolFinished)] == ["allow_once", ""]


@pytest.mark.parametrize(("seconds", "told"), [(9.9, 0), (75.4, 75)])
def test_of_a_long_turn_it_is_told_how_long_it_took(stage: Stage, seconds: float, told: int) -> None:
    stage.recorder.prompt_taken("go")
    stage.now += seconds
    stage.recorder.turn_ended(TurnOutcome())
    assert [fact.worked_s for fact in stage.told if isinstance(fact, TurnFinished)] == [told]
    again = [*facts_of(stage.events())]
    assert [fact.worked_s for fact in again if isinstance(fact, TurnFinished)] == [told]


# --- a turn that broke off ---------------------------------------------------------------------------------


def test_a_turn_that_broke_off_is_closed_in_the_log_and_on_the_screen(tmp_path: Path) -> None:
    broken = [*prompted(), asks("a", "b", "c"), begun("a"), done("a"), begun("b")]
    stage = Stage(tmp_path, *broken).restarted()
    closing = stage.events()[2 + len(broken) :]
    ended, *results, end = closing
    assert isinstance(ended, CallEnded)
    assert (ended.call_id, ended.status, ended.display) == ("b", "cancelled", "interrupted")
    assert [isinstance(each, MessageAppended) for each in results] == [True] * 3
    assert isinstance(end, TurnEnded)
    assert end.problem is not None
    assert end.problem.code == "interrupted"
    shown = [*facts_of([HEADER, SYSTEM, *broken]), *stage.told]
    assert [fact.call_id for fact in shown if isinstance(fact, ToolFinished)] == ["a", "b"]
    assert [type(fact) for fact in shown][-1] is TurnFinished
    assert facts_of(stage.events()) == shown
    assert stage.restarted().told == []


def test_a_prompt_that_was_not_yet_a_message_becomes_one(tmp_path: Path) -> None:
    prompt, message = prompted(1, "hello")
    stage = Stage(tmp_path, prompt).restarted()
    assert stage.events()[3] == message
    assert stage.history.messages[1:] == (encode_user("hello"),)


# --- a log that fails --------------------------------------------------------------------------------------


def test_a_full_disk_is_told_once_and_again_when_it_is_over(stage: Stage) -> None:
    stage.recorder.prompt_taken("hello")
    with small_files(stage.log.path.stat().st_size):
        for _ in range(3):
            stage.recorder.on_appended(encode_user("x" * 2000))
        stage.recorder.sync()
    ((level, message),) = stage.notices()
    assert level == "error"
    assert "File too large" in message
    assert "Make room" in message
    stage.recorder.turn_ended(TurnOutcome())
    assert stage.notices()[1:] == [("info", WRITTEN_AGAIN)]
    assert len(fold(stage.events()).messages) == 4
    with small_files(stage.log.path.stat().st_size):
        stage.recorder.prompt_taken("again")
    assert len(stage.notices()) == 3


def test_a_disk_that_fails_is_told_once_and_the_session_goes_on(stage: Stage) -> None:
    before = stage.log.path.read_bytes()
    break_descriptor(stage.log.path)
    stage.recorder.prompt_taken("hello")
    stage.recorder.on_appended(encode_user("hello"))
    stage.recorder.turn_ended(TurnOutcome())
    ((level, message),) = stage.notices()
    assert level == "error"
    assert os.strerror(errno.EIO) in message
    assert stage.history.turns == 1
    assert stage.log.path.read_bytes() == before


@pytest.mark.fault(49, says="the log is removed or replaced")
@pytest.mark.parametrize("replaced", [False, True], ids=["deleted", "replaced"])
def test_a_log_that_is_taken_away_is_told_once_and_the_session_goes_on(stage: Stage, replaced: bool) -> None:
    stage.log.path.unlink()
    if replaced:
        stage.log.path.write_text("theirs", encoding="utf-8")
    for text in ("first", "second"):
        stage.recorder.prompt_taken(text)
        stage.recorder.turn_ended(TurnOutcome())
    ((_, message),) = stage.notices()
    assert "deleted or replaced" in message
    assert stage.history.turns == 2
    assert not replaced or stage.log.path.read_text(encoding="utf-8") == "theirs"


def break_descriptor(path: Path) -> None:
    """Let every write to a file that this process holds open fail as on a broken disk.

    A terminal that was hung up takes no write either: the kernel answers EIO.
    """
    master, slave = pty.openpty()
    for entry in os.listdir("/proc/self/fd"):
        if os.path.realpath(f"/proc/self/fd/{entry}") == str(path):
            os.dup2(slave, int(entry))
    os.close(slave)
    os.close(master)
