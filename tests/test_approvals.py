"""What a person is asked, and what their answer reaches."""

import asyncio
from pathlib import Path

import pytest

from actors.files.unified_diff import MAX_LINE_SHOWN, diff
from actors.invocation import Refusal
from actors.permissions.approvals import BODY_LIMIT, Approvals
from actors.permissions.policy import Rules
from actors.session.log import SessionLog
from actors.session.recorder import Recorder
from actors.tools.bash_exec import BashExecInput
from ipc.errors import LocalFault
from ipc.messages import AnyFact, AskRaised, Refused, SettleAsk, ToolCall
from tests.fakes.session_events import HEADER
from tests.fakes.shells import bash_exec


class Desk:
    """Approvals, and the person who settles every ask by a rule."""

    def __init__(self, folder: Path) -> None:
        self.facts: list[AnyFact] = []
        log = SessionLog.create(folder, "s-1", HEADER)
        recorder = Recorder(log, self.facts.append, None)
        self.approvals = Approvals(Rules.build({}, {}), "agent", self._take, recorder)

    def _take(self, fact: AnyFact) -> None:
        self.facts.append(fact)
        if isinstance(fact, AskRaised):
            settle = SettleAsk(ask_id=fact.ask_id, decision="allow_once", text="yes")
            asyncio.get_running_loop().call_soon(self.approvals.settle, settle)

    def asks(self) -> list[AskRaised]:
        return [fact for fact in self.facts if isinstance(fact, AskRaised)]

    def check(self, command: str) -> Refusal | None:
        tool, given = (
            bash_exec(Path("/tmp")),
            BashExecInput.model_validate({"command": command}),
        )
        call = ToolCall(id="c", name="bash_exec", arguments="{}")
        return asyncio.run(self.approvals.check(tool, given, call))


def test_a_command_is_shown_whole_or_not_asked_about_at_all(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    longest = "make " + "x" * (BODY_LIMIT - 5)
    assert desk.check(longest) is None
    assert [ask.body for ask in desk.asks()] == [longest]
    refusal = desk.check(longest + "; rm -rf /")
    assert refusal is not None
    assert refusal.code == "command_too_long"
    assert len(desk.asks()) == 1


def test_a_question_is_bounded_and_says_what_is_missing(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    assert asyncio.run(desk.approvals.question("q" * (BODY_LIMIT + 1234), ())) == "yes"
    (ask,) = desk.asks()
    assert len(ask.body) < BODY_LIMIT + 100
    assert "1,234 more characters" in ask.body
    assert len(ask.title) < 1000


def test_a_line_of_a_diff_is_bounded_and_says_what_is_missing() -> None:
    told = diff("f", "a", "b" * 10_000_000)
    assert len(told) < 2 * MAX_LINE_SHOWN
    assert "more characters" in told


def test_an_answer_to_an_earlier_life_reaches_no_ask_of_this_one(tmp_path: Path) -> None:
    lives = [Desk(tmp_path / name) for name in ("first", "second")]
    for life in lives:
        assert asyncio.run(life.approvals.question("Which?", ())) == "yes"
    (first,), (second,) = (life.asks() for life in lives)
    assert first.ask_id != second.ask_id


def test_an_ask_that_can_not_be_told_waits_for_nobody(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    told: list[AskRaised] = []

    def refuse(fact: AnyFact) -> None:
        if isinstance(fact, AskRaised):
            told.append(fact)
            raise LocalFault("too large")

    desk.approvals._publish = refuse
    with pytest.raises(LocalFault):
        asyncio.run(desk.approvals.question("Which?", ()))
    answer = desk.approvals.settle(SettleAsk(ask_id=told[0].ask_id, decision="allow_once"))
    assert isinstance(answer, Refused)
