"""A subagent in this process: it reads, is refused everything else, and hands in what it has."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from actors.catalog.builtin import EFFECTS, worker_tools
from actors.delegation.result import nested_failure
from actors.delegation.subagent import Subagent
from actors.delegation.wording import REPAIR
from actors.files.workspace import Workspace
from ipc.messages import (
    FinishDelegation,
    Refused,
    ToolCall,
)
from tests.fakes.launch import DEADLINE_S
from tests.fakes.worker_parent import AGENT, HANG, Here, Step, WorkerParent, calls, forked, result, says

LICENCE = "MIT License\n"


Meanwhile = Callable[[Subagent, WorkerParent, "asyncio.Task[FinishDelegation]"], Awaitable[None]]


def play(
    workspace: Path,
    *steps: Step,
    max_rounds: int = 20,
    meanwhile: Meanwhile | None = None,
) -> tuple[FinishDelegation, WorkerParent]:
    async def whole() -> tuple[FinishDelegation, WorkerParent]:
        parent = WorkerParent(*steps)
        peer = Here(parent, lambda fact: subagent.receive(fact.event))  # type: ignore[union-attr]
        start = forked().start(str(workspace), max_rounds)
        subagent = Subagent(start, peer, worker_tools(Workspace(workspace)), EFFECTS)
        playing = asyncio.ensure_future(subagent.play())
        if meanwhile is not None:
            await meanwhile(subagent, parent, playing)
        return await asyncio.wait_for(playing, DEADLINE_S), parent

    return asyncio.run(whole())


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "LICENSE").write_text(LICENCE, encoding="utf-8")
    return tmp_path


def test_a_subagent_reads_and_hands_in_its_last_text(workspace: Path) -> None:
    reading = says("I look.", calls("read_file", "r", path="LICENSE"), calls("list_files", "l"))
    end, parent = play(workspace, reading, says(result()))
    assert end == FinishDelegation(status="completed", texts=("I look.", result()))
    assert set(parent.results()) == {"d", "r", "l"}
    assert "MIT License" in parent.results()["r"]
    assert "LICENSE" in parent.results()["l"]
    first, second = parent.tails
    assert first == forked().opening
    assert second[: len(first)] == first


@pytest.mark.parametrize(
    "name", sorted(name for name, effect in EFFECTS.items() if effect not in ("read", "delegate"))
)
def test_whatever_does_more_than_read_is_denied_as_a_normal_result(workspace: Path, name: str) -> None:
    wish = calls(name, path="LICENSE", command="rm LICENSE", question="?", reason="x", items=[])
    end, parent = play(workspace, says("", wish), says(result()))
    assert end.status == "completed"
    denied = json.loads(parent.results()["c1"])
    assert denied["error"]["code"] == "permission_denied"
    assert denied["error"]["next_step"]
    assert (workspace / "LICENSE").read_text(encoding="utf-8") == LICENCE
    assert sorted(path.name for path in workspace.iterdir()) == ["LICENSE"]


@pytest.mark.parametrize("arguments", ['{"task":"again"}', "{}", "not json", '{"identity":"main"}'])
def test_a_nested_delegation_fails_with_the_exact_result_whatever_it_asks(
    workspace: Path, arguments: str
) -> None:
    wish = ToolCall(id="c1", name="delegate", arguments=arguments)
    end, parent = play(workspace, says("", wish), says(result()))
    assert end.status == "completed"
    assert parent.results()["c1"] == nested_failure(AGENT)
    assert len(parent.tails) == 2
    assert any("nested delegation rejected" in detail for _, detail in parent.activities)


def test_a_last_text_out_of_form_is_asked_for_once_more(workspace: Path) -> None:
    end, parent = play(workspace, says("It is MIT."), says(result()))
    assert end == FinishDelegation(status="completed", texts=("It is MIT.", result()))
    assert json.loads(parent.tails[1][-1]) == {"role": "user", "content": REPAIR}
    end, parent = play(workspace, says("It is MIT."), says("I said it is MIT."))
    assert end.texts == ("It is MIT.", "I said it is MIT.")
    assert len(parent.tails) == 2


def test_a_subagent_at_its_round_limit_hands_in_what_it_has(workspace: Path) -> None:
    more = says("I look.", calls("list_files"))
    end, _ = play(workspace, more, more, says(result()), max_rounds=2)
    assert end.status == "partial"
    assert end.problem is not None
    assert end.problem.code == "max_rounds"
    assert end.texts[-1] == result()


def test_an_answer_at_the_output_limit_is_not_completed(workspace: Path) -> None:
    end, _ = play(workspace, says("It is M", finish_reason="length"), says(result()))
    assert end.status == "partial"
    assert end.problem is not None
    assert end.problem.code == "output_limit"


def test_a_fault_of_the_provider_keeps_what_was_found_and_names_its_reason(workspace: Path) -> None:
    overflow = Refused(code="context_length_exceeded", message="Too long.", next_step="Ask for less.")
    end, _ = play(workspace, says("It is MIT.", calls("list_files")), overflow)
    assert (end.status, end.texts) == ("partial", ("It is MIT.",))
    assert end.problem is not None
    assert (end.problem.code, end.problem.next_step) == ("context_length_exceeded", "Ask for less.")
    end, _ = play(workspace, overflow)
    assert (end.status, end.texts) == ("failed", ())


@pytest.mark.parametrize("reason", ["cancelled", "timeout"])
def test_a_stopped_subagent_hands_in_what_it_has(workspace: Path, reason: str) -> None:
    async def stop(
        subagent: Subagent, parent: WorkerParent, playing: "asyncio.Task[FinishDelegation]"
    ) -> None:
        while len(parent.tails) < 2:
            parent.asked.clear()
            await parent.asked.wait()
        subagent.stop(reason)
        playing.cancel()

    end, parent = play(workspace, says("I look.", calls("list_files")), HANG, meanwhile=stop)
    assert (end.status, end.texts) == ("partial", ("I look.",))
    assert end.problem is not None
    assert end.problem.code == reason
    assert len(parent.tails) == 2


def test_the_parent_is_told_what_the_subagent_does(workspace: Path) -> None:
    _, parent = play(workspace, says("", calls("read_file", path="LICENSE")), says("x" * 10), says(result()))
    phases = [phase for phase, _ in parent.activities]
    assert phases == ["reasoning", "read_file", "reasoning", "reviewing", "reasoning", "reviewing"]
    assert ("read_file", "LICENSE") in parent.activities
    assert all("xxx" not in detail for _, detail in parent.activities)
