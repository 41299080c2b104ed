"""What a person is asked, and what their answer reaches."""

import asyncio
from pathlib import Path

import pytest

from actors.files.unified_diff import MAX_LINE_SHOWN, diff
from actors.files.workspace import Workspace
from actors.invocation import Refusal
from actors.permissions.approvals import BODY_LIMIT, Approvals
from actors.permissions.grants import Grant
from actors.permissions.keeping import NotKept
from actors.permissions.policy import Rules
from actors.session.events import CallDecided
from actors.session.log import SessionLog, read_log
from actors.session.recorder import Recorder
from actors.tools.tool import Effect, Invocation, ToolFailure, ToolInput, ToolOutput
from ipc.errors import LocalFault
from ipc.messages import (
    AnyFact,
    AskRaised,
    Decision,
    Mode,
    NoticeRaised,
    Refused,
    SettleAsk,
    ToolCall,
)
from tests.fakes.session_events import HEADER


class Desk:
    """Approvals, and the person who settles every ask by a rule."""

    def __init__(
        self,
        folder: Path,
        decision: Decision = "allow_once",
        *,
        rules: Rules | None = None,
        mode: Mode = "agent",
        is_writable: bool = True,
        by_person: bool = True,
    ) -> None:
        self.by_person = by_person
        self.decision = decision
        self.folder = folder
        self.is_writable = is_writable
        self.facts: list[AnyFact] = []
        log = SessionLog.create(folder, "s-1", HEADER)
        recorder = Recorder(log, self.facts.append, None)
        self.kept: list[Grant] = []
        self.approvals = Approvals(
            rules or Rules(), mode, self._take, recorder, Workspace(folder), self._keep
        )

    def _take(self, fact: AnyFact) -> None:
        self.facts.append(fact)
        if isinstance(fact, AskRaised):
            settle = SettleAsk(
                ask_id=fact.ask_id, decision=self.decision, text="yes", by_person=self.by_person
            )
            asyncio.get_running_loop().call_soon(self.approvals.settle, settle)

    async def _keep(self, grant: Grant) -> str:
        if not self.is_writable:
            raise NotKept("it is read-only.")
        self.kept.append(grant)
        return "Kept in config.toml."

    def asks(self) -> list[AskRaised]:
        return [fact for fact in self.facts if isinstance(fact, AskRaised)]

    def notices(self) -> list[tuple[str, str]]:
        return [(fact.level, fact.message) for fact in self.facts if isinstance(fact, NoticeRaised)]

    def decisions(self) -> list[tuple[str, str, str]]:
        """What the log says: answer, what decided, why."""
        (log,) = self.folder.glob("*.jsonl")
        return [
            (event.answer, event.by, event.because)
            for event in read_log(log).events
            if isinstance(event, CallDecided)
        ]

    def check(self, command: str, cwd: str = "") -> Refusal | None:
        return self.call(Shown("bash_exec", "execute"), command=command, cwd=cwd)

    def call(self, tool: "Shown", **given: str) -> Refusal | None:
        call = ToolCall(id="c", name=tool.name, arguments="{}")
        return asyncio.run(self.approvals.check(tool, AnyInput.model_validate(given), call))


class AnyInput(ToolInput):
    command: str = ""
    cwd: str = ""
    path: str = ""
    url: str = ""


class Shown:
    """A tool that is never run."""

    input = AnyInput

    def __init__(self, name: str, effect: Effect) -> None:
        self.name = name
        self.effect = effect

    def summary(self, given: AnyInput) -> str:
        return given.command or given.path or given.url

    async def run(self, given: AnyInput, invocation: Invocation) -> ToolOutput:
        raise AssertionError


def test_a_command_is_shown_whole_or_not_asked_about_at_all(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    longest = "make " + "x" * (BODY_LIMIT - 5)
    assert desk.check(longest) is None
    assert [ask.body for ask in desk.asks()] == [longest]
    refusal = desk.check(longest + "; rm -rf /")
    assert refusal is not None
    assert refusal.code == "command_too_long"
    assert len(desk.asks()) == 1


def test_an_ask_names_the_call_that_waits(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.check("make")
    asyncio.run(desk.approvals.question("Which?", (), "q"))
    assert [ask.call_id for ask in desk.asks()] == ["c", "q"]


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


def test_every_decision_is_in_the_log_with_what_decided_it(tmp_path: Path) -> None:
    rules = Rules.build({"rm": "deny"}, {"git status": "allow", "git push *": "deny"})
    desk = Desk(tmp_path, "allow_session", rules=rules)
    for command in ("git status", "git push", "make", "make"):
        desk.check(command)
    desk.call(Shown("rm", "write"), path="a")
    desk.call(Shown("read_file", "read"), path="a")
    assert desk.decisions() == [
        ("allow", "rule", "git status"),
        ("deny", "rule", "git push *"),
        ("allow", "person", "allow_session"),
        ("allow", "grant", "`make`"),
        ("deny", "table", ""),
        ("allow", "table", ""),
    ]
    (tmp_path / "other").mkdir()
    planning = Desk(tmp_path / "other", mode="plan")
    refusal = planning.check("make")
    assert refusal is not None
    assert refusal.code == "denied_by_mode"
    assert planning.decisions() == [("deny", "mode", "plan")]


def test_a_refusal_carries_the_sentence_of_the_person(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "deny")
    refusal = desk.check("make")
    assert refusal is not None
    assert (refusal.code, "They say: yes" in refusal.message) == ("denied_by_user", True)
    assert desk.decisions() == [("deny", "person", "deny")]


def test_a_yes_for_once_is_asked_again_and_one_for_the_session_is_not(tmp_path: Path) -> None:
    for decision, asks in (("allow_once", 2), ("allow_session", 1), ("allow_always", 1)):
        folder = tmp_path / decision
        folder.mkdir()
        desk = Desk(folder, decision)
        assert [desk.check("make"), desk.check("make")] == [None, None]
        assert len(desk.asks()) == asks
        desk.check("make; ls")
        assert len(desk.asks()) == asks + 1


def test_a_yes_for_good_is_kept_and_told(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "allow_always")
    desk.check("make", "")
    assert desk.kept == [Grant("command_lines", "make")]
    assert desk.notices() == [("info", "Kept in config.toml.")]


def test_a_yes_for_good_that_can_not_be_kept_holds_for_the_session(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "allow_always", is_writable=False)
    assert [desk.check("make"), desk.check("make")] == [None, None]
    ((level, message),) = desk.notices()
    assert (level, "session only" in message, "read-only" in message) == ("warning", True, True)


def test_an_ask_says_what_a_yes_covers_and_where_a_command_runs(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    desk = Desk(tmp_path)
    desk.check("make", "sub")
    desk.call(Shown("browse_url", "web"), url="https://Docs.Python.org/3/")
    desk.call(Shown("browse_url", "web"), url="no url")
    told = [(ask.title, ask.grant, ask.flag) for ask in desk.asks()]
    assert told == [
        ("bash_exec in sub: make", "`make` in sub", "--allow 'bash_exec(cd sub && make)'"),
        (
            "browse_url: https://Docs.Python.org/3/",
            "browse_url on docs.python.org",
            "--allow 'browse_url(docs.python.org)'",
        ),
        ("browse_url: no url", "", ""),
    ]


def test_paths_are_judged_by_where_they_lead(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "secret").write_text("x", encoding="utf-8")
    (tmp_path / "docs" / "link").symlink_to("../secret")
    rules = Rules.build({}, {}, {"docs/**": "allow", "secret": "deny"})
    desk = Desk(tmp_path, rules=rules)
    tool = Shown("patch", "write")
    assert desk.call(tool, path="docs/a") is None
    assert desk.call(tool, path="x/../docs/a") is None
    for path in ("docs/link", "docs/../secret", "./secret", str(tmp_path / "secret")):
        refusal = desk.call(tool, path=path)
        assert refusal is not None
        assert refusal.code == "denied_by_rule"
    assert desk.asks() == []
    with pytest.raises(ToolFailure, match="outside the workspace"):
        desk.call(tool, path="../x")


def test_several_asks_wait_and_each_is_settled_once(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    asked: list[AskRaised] = []
    both = asyncio.Event()

    def take(fact: AnyFact) -> None:
        if isinstance(fact, AskRaised):
            asked.append(fact)
            if len(asked) == 2:
                both.set()

    desk.approvals._publish = take

    async def play() -> list[Refusal | None]:
        tool = Shown("bash_exec", "execute")
        checks = [
            asyncio.ensure_future(
                desk.approvals.check(
                    tool, AnyInput(command=command), ToolCall(id=command, name="bash_exec", arguments="{}")
                )
            )
            for command in ("a", "b")
        ]
        await both.wait()
        first, second = (SettleAsk(ask_id=ask.ask_id, decision="allow_once") for ask in asked)
        second = SettleAsk(ask_id=second.ask_id, decision="deny")
        for settle in (second, first):
            assert not isinstance(desk.approvals.settle(settle), Refused)
            assert isinstance(desk.approvals.settle(settle), Refused)
        return list(await asyncio.gather(*checks))

    allowed, denied = asyncio.run(asyncio.wait_for(play(), 10))
    assert allowed is None
    assert denied is not None


def test_where_nobody_can_be_asked_nobody_is_said_to_have_refused(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "deny", by_person=False)
    refusal = desk.check("make")
    assert refusal is not None
    assert (refusal.code, refusal.next_step) == ("nobody_to_ask", "yes")
    assert "user did not" not in refusal.message
    assert desk.decisions() == [("deny", "limit", "there is nobody who could be asked")]
