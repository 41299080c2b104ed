"""What the parent saw of a subagent: said, used, called, failed; and what of that is safe to show."""

from pathlib import Path

import pytest

from actors.delegation.problems import OUT_OF_TIME, of_the_server
from actors.delegation.witness import MAX_TEXTS, Witness
from actors.files.workspace import Workspace
from actors.provider.interface import ProviderError
from ipc.messages import ModelAnswer, RetryScheduled, TextDelta, ToolCall, Usage
from tests.fakes.worker_parent import AGENT, calls, says

SECRET = "sk-canary"
NOTHING = Usage()


class Told:
    """A witness, and what it shows."""

    def __init__(self, workspace: Path, max_rounds: int = 5) -> None:
        self.shown: list[tuple[str, str]] = []
        self.witness = Witness(AGENT, Workspace(workspace), max_rounds, self._show)

    def _show(self, phase: str, detail: str, usage: Usage) -> None:
        self.shown.append((phase, detail))

    def answer(self, answer: ModelAnswer, usage: Usage = NOTHING) -> None:
        self.witness.requested(handing_in=False)
        if answer.text:
            self.witness.streamed(TextDelta(text=answer.text))
        self.witness.used(usage)
        self.witness.answered(answer)


@pytest.fixture
def told(tmp_path: Path) -> Told:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").touch()
    return Told(tmp_path)


def test_the_phases_follow_what_the_model_does(told: Told) -> None:
    told.answer(says("I look.", calls("read_file", path="./src/../src/a.py"), calls("list_files")))
    told.answer(says("It is there."))
    assert told.shown == [
        ("reasoning", ""),
        ("reviewing", ""),
        ("read_file", "src/a.py (+1)"),
        ("reasoning", ""),
        ("reviewing", ""),
    ]


def test_a_phase_that_lasts_is_told_once(told: Told) -> None:
    told.witness.requested(handing_in=False)
    for _ in range(1000):
        told.witness.streamed(TextDelta(text="word "))
    assert told.shown == [("reasoning", ""), ("reviewing", "")]


def test_a_nested_delegation_is_shown_as_rejected_whatever_stands_beside_it(told: Told) -> None:
    told.answer(says("", calls("list_files"), calls("delegate", task=SECRET)))
    assert told.shown[-1] == ("delegate", "nested delegation rejected (+1)")


def test_a_wait_for_the_next_attempt_is_shown(told: Told) -> None:
    told.witness.requested(handing_in=False)
    told.witness.streamed(RetryScheduled(attempt=2, delay_s=1.5, reason=f"You sent {SECRET}"))
    assert told.shown[-1] == ("reasoning", "the server failed; attempt 2")


def test_what_a_server_says_is_kept_apart_from_what_it_did(told: Told) -> None:
    told.witness.requested(handing_in=False)
    told.witness.failed(ProviderError("bad_request", f"You sent {SECRET}", SECRET, status=400))
    problem = told.witness.problem()
    assert problem is not None
    assert problem.code == "provider_error"
    assert problem.message.endswith(": bad_request, status 400.")
    assert SECRET not in repr(problem)
    assert told.witness.server_said == f"You sent {SECRET}"
    told.witness.requested(handing_in=False)
    assert told.witness.server_said == ""


@pytest.mark.parametrize(
    "call",
    [
        calls("read_file", path=SECRET),
        calls("read_file", path=f"/etc/{SECRET}"),
        calls("read_file", path=f"src/\0{SECRET}"),
        calls("read_file", path={"of": SECRET}),
        calls("ripgrep", pattern=SECRET),
        calls("patch", path=SECRET),
        calls(SECRET, path="src/a.py"),
        ToolCall(id="c1", name="read_file", arguments=f"{{{SECRET}"),
    ],
)
def test_nothing_that_a_model_writes_is_shown_but_a_path_that_is_there(told: Told, call: ToolCall) -> None:
    told.answer(ModelAnswer(text=SECRET, reasoning=SECRET, tool_calls=(call,)))
    assert SECRET not in repr(told.shown)


def test_the_texts_are_kept_one_for_each_answer_and_what_broke_off_is_the_last(told: Told) -> None:
    told.answer(says("first", calls("list_files")))
    told.answer(says("", calls("list_files")))
    told.witness.requested(handing_in=False)
    told.witness.streamed(TextDelta(text="half an "))
    told.witness.streamed(TextDelta(text="answer"))
    assert told.witness.texts() == ("first", "half an answer")
    told.witness.stopped()
    assert told.witness.texts() == ("first", "half an answer")
    assert [answer.text for answer in told.witness.relayed] == ["first", "", "half an answer"]


def test_of_too_much_text_the_oldest_goes_and_that_is_said(told: Told) -> None:
    told.answer(says("a" * MAX_TEXTS))
    told.answer(says("b" * 10))
    first, second = told.witness.texts()
    assert first.startswith("[10 characters before this were not kept]\naaa")
    assert second == "b" * 10
    told.answer(says("c" * (MAX_TEXTS + 5)))
    (only,) = told.witness.texts()
    assert only.startswith(f"[{MAX_TEXTS + 15:,} characters before this were not kept]\nccc")


def test_what_all_requests_used_adds_up(told: Told) -> None:
    for _ in range(3):
        told.answer(says("x", calls("list_files")), Usage(prompt_tokens=10, cached_tokens=8, cost_usd=0.5))
    assert told.witness.usage == Usage(prompt_tokens=30, cached_tokens=24, cost_usd=1.5)
    assert told.witness.requests == 3


def test_of_a_subagent_that_goes_on_calling_behind_its_last_round_the_rounds_it_had_are_told(
    told: Told,
) -> None:
    for _ in range(6):
        told.answer(says("", calls("list_files")))
    problem = told.witness.problem()
    assert problem is not None
    assert "after 5 rounds" in problem.message


def test_it_knows_by_itself_why_a_subagent_is_not_complete(tmp_path: Path) -> None:
    broken = ProviderError("server_error", "It broke.")
    for rounds, code in ((2, None), (3, "max_rounds")):
        told = Told(tmp_path, max_rounds=3)
        for _ in range(rounds):
            told.answer(says("", calls("list_files")))
        told.answer(says("done"))
        problem = told.witness.problem()
        assert (problem.code if problem else None) == code

    told = Told(tmp_path)
    told.answer(says("It is M", finish_reason="length"))
    problem = told.witness.problem()
    assert problem is not None
    assert problem.code == "output_limit"

    told = Told(tmp_path)
    told.witness.requested(handing_in=False)
    told.witness.failed(broken)
    assert told.witness.problem() == of_the_server(broken)
    told.answer(says("It works again."))
    assert told.witness.problem() is None

    told.answer(says(" "))
    problem = told.witness.problem()
    assert problem is not None
    assert problem.code == "malformed_output"
    told.answer(says("It says something."))
    assert told.witness.problem() is None

    told.witness.requested(handing_in=True)
    assert told.witness.problem() == OUT_OF_TIME
