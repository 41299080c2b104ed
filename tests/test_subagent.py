"""A subagent in this process: it reads, is refused everything else, and hands in what it has."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from actors.catalog.builtin import EFFECTS, worker_tools
from actors.delegation.result import nested_failure
from actors.delegation.subagent import Subagent
from actors.delegation.wording import HAND_IN, REPAIR
from actors.files.workspace import Workspace
from ipc.messages import Problem, Refused, ToolCall
from tests.fakes.launch import DEADLINE_S
from tests.fakes.worker_parent import AGENT, HANG, Here, Step, WorkerParent, calls, forked, result, says

LICENCE = "MIT License\n"


Meanwhile = Callable[[Subagent, WorkerParent, "asyncio.Task[Problem | None]"], Awaitable[None]]


def play(
    workspace: Path,
    *steps: Step,
    max_rounds: int = 20,
    meanwhile: Meanwhile | None = None,
) -> tuple[Problem | None, WorkerParent]:
    async def whole() -> tuple[Problem | None, WorkerParent]:
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


def test_a_subagent_reads_and_comes_to_its_end(workspace: Path) -> None:
    reading = says("I look.", calls("read_file", "r", path="LICENSE"), calls("list_files", "l"))
    problem, parent = play(workspace, reading, says(result()))
    assert problem is None
    assert set(parent.results()) == {"d", "r", "l"}
    assert "MIT License" in parent.results()["r"]
    assert "LICENSE" in parent.results()["l"]
    first, second = parent.tails
    assert first == forked().opening
    assert second[: len(first)] == first


@pytest.mark.parametrize(
    "name", sorted(name for name, effect in EFFECTS.items() if effect not in ("read", "web", "delegate"))
)
def test_whatever_does_more_than_read_is_denied_as_a_normal_result(workspace: Path, name: str) -> None:
    wish = calls(name, path="LICENSE", command="rm LICENSE", question="?", reason="x", items=[])
    problem, parent = play(workspace, says("", wish), says(result()))
    assert problem is None
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
    problem, parent = play(workspace, says("", wish), says(result()))
    assert problem is None
    assert parent.results()["c1"] == nested_failure(AGENT)
    assert len(parent.tails) == 2


def test_a_last_text_out_of_form_is_asked_for_once_more(workspace: Path) -> None:
    for second in (result(), "I said it is MIT."):
        problem, parent = play(workspace, says("It is MIT."), says(second))
        assert problem is None
        assert len(parent.tails) == 2
        assert json.loads(parent.tails[1][-1]) == {"role": "user", "content": REPAIR}


def test_no_tool_runs_where_only_the_result_is_asked_for(workspace: Path) -> None:
    reading = says("wait", calls("read_file", "r", path="LICENSE"))
    _, parent = play(workspace, says("It is MIT."), reading)
    assert len(parent.tails) == 2


def test_a_subagent_at_its_round_limit_is_asked_for_what_it_has(workspace: Path) -> None:
    more = says("I look.", calls("list_files"))
    problem, parent = play(workspace, more, more, says(result()), max_rounds=2)
    assert problem is not None
    assert problem.code == "max_rounds"
    assert json.loads(parent.tails[-1][-1]) == {"role": "user", "content": HAND_IN}


def test_a_fault_of_the_provider_names_its_reason(workspace: Path) -> None:
    broken = Refused(code="server_error", message="It broke.", next_step="Ask again.")
    problem, parent = play(workspace, says("It is MIT.", calls("list_files")), broken)
    assert problem == Problem(code="server_error", message="It broke.", next_step="Ask again.")
    assert len(parent.tails) == 2


@pytest.mark.parametrize("answers", [1, 2])
def test_a_subagent_whose_time_is_up_asks_once_more_for_the_result_alone(
    workspace: Path, answers: int
) -> None:
    async def stop(subagent: Subagent, parent: WorkerParent, playing: "asyncio.Task[Problem | None]") -> None:
        while len(parent.tails) < answers:
            parent.asked.clear()
            await parent.asked.wait()
        subagent.hand_in()

    before = [says("I look.", calls("list_files"))] * (answers - 1)
    problem, parent = play(workspace, *before, HANG, says(result()), meanwhile=stop)
    assert problem is not None
    assert problem.code == "timeout"
    assert len(parent.tails) == answers + 1
    assert json.loads(parent.tails[-1][-1]) == {"role": "user", "content": HAND_IN}


def test_a_subagent_whose_time_is_up_before_its_first_step_still_comes_to_an_end(workspace: Path) -> None:
    async def stop(subagent: Subagent, parent: WorkerParent, playing: "asyncio.Task[Problem | None]") -> None:
        subagent.hand_in()

    problem, parent = play(workspace, HANG, says(result()), meanwhile=stop)
    assert problem is not None
    assert json.loads(parent.tails[-1][-1]) == {"role": "user", "content": HAND_IN}
