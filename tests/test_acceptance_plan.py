"""What the plan must do: each acceptance sentence a test, through the real processes and a strict server."""

import json
import re
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from actors.catalog.builtin import TOOLS
from actors.session.events import FilesChanged, MessageAppended, PlanWritten
from actors.session.log import read_log
from ipc.messages import PlanChanged
from tests.fakes.chat_request import Request
from tests.fakes.chat_script import call, calls, say
from tests.fakes.fido import DEADLINE_S, GUARD, Finished, Home, Run, home, openai_environment
from tests.fakes.plans import plan, step
from tests.fakes.screen import Desktop
from tests.fakes.scripted_server import ScriptedServer

ROOT = Path(__file__).parent.parent
UPDATES = 1_000
FULL = {
    "id": "look",
    "title": "Look",
    "status": "done",
    "details": "d" * 600,
    "dependencies": [],
    "next_action": "",
    "evidence": ["pytest -q", "a.py:1"],
}
NEXT = {
    "id": "act",
    "title": "Act",
    "status": "in_progress",
    "next_action": "Write it",
    "dependencies": ["look"],
}


@pytest.fixture
def at() -> Iterator[Home]:
    with home() as made:
        yield made


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.py").write_text("print(1)\n", encoding="utf-8")
    return folder


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as made:
        yield made


@pytest.fixture
def fido(at: Home, workspace: Path, server: ScriptedServer) -> "Fido":
    return Fido(at, workspace, server)


class Fido:
    """The program in one workspace, started again and again on one session."""

    def __init__(self, at: Home, workspace: Path, server: ScriptedServer) -> None:
        self.at, self.workspace, self.server = at, workspace, server

    def run(self, *words: str, session: str = "s-1", **environ: str) -> Finished:
        environment = {**openai_environment(self.server.base_url), **environ}
        line = ["--session", session, "--output-format", "stream-json", *words]
        return Run(self.at, self.workspace, *line, **environment).finish(120.0)

    def command(self, *words: str) -> str:
        done = subprocess.run(
            [*GUARD, *words],
            cwd=self.workspace,
            env=self.at.environment(),
            capture_output=True,
            timeout=DEADLINE_S,
            check=True,
        )
        return done.stdout.decode()

    def configure(self, line: str) -> None:
        config = self.at.folder / "config" / "fido" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(line + "\n", encoding="utf-8")

    @property
    def plan(self) -> dict[str, Any]:
        text = (self.workspace / ".fido-plan.json").read_text(encoding="utf-8")
        stored: dict[str, Any] = json.loads(text)
        return stored

    def events(self, session: str = "s-1") -> tuple[Any, ...]:
        return tuple(read_log(self.at.folder / "state" / "fido" / "sessions" / f"{session}.jsonl").events)


def update(*items: dict[str, Any], reason: str = "why") -> Any:
    return call("update_plan", {"reason": reason, "items": list(items)})


def plan_results(request: Request) -> list[str]:
    """Contents of all results of `update_plan` in a request, oldest first."""
    ids = {
        made["id"]
        for message in request.messages
        for made in message.get("tool_calls", ())
        if made["function"]["name"] == "update_plan"
    }
    return [message["content"] for message in request.messages if message.get("tool_call_id") in ids]


# --- the source's acceptance lines: plan -------------------------------------------------------------------


def test_a_multi_step_request_can_create_update_reload_and_clear_a_plan(fido: Fido) -> None:
    fido.server.add(
        update(NEXT | {"dependencies": []}), update(FULL, NEXT, reason="a milestone"), say("half")
    )
    assert fido.run("go").status == 0
    assert [item["status"] for item in fido.plan["items"]] == ["done", "in_progress"]
    fido.server.add(update(FULL, NEXT | {"status": "done", "evidence": ["a.py:1"]}), say("done"))
    assert fido.run("go on").status == 0
    assert fido.plan["revision"] == 3
    shown = json.loads(fido.command("plan", "show", "--json"))
    assert shown == fido.plan
    fido.command("plan", "clear")
    assert fido.plan["items"] == []
    fido.server.assert_done()


def test_the_current_plan_is_available_after_restarting_fido_and_delivered_as_a_full_tool_result(
    fido: Fido,
) -> None:
    fido.server.add(update(FULL, NEXT), say("half"))
    assert fido.run("first").status == 0
    stored = fido.plan
    fido.server.add(say("same session"), say("another session"))
    for session, prompt in (("s-1", "second"), ("s-2", "third")):
        assert fido.run(prompt, session=session).status == 0
        request = fido.server.requests[-1]
        first_user = max(n for n, message in enumerate(request.messages) if message["role"] == "user")
        made, result = request.messages[first_user + 1 : first_user + 3]
        assert made["tool_calls"][0]["function"]["name"] == "update_plan"
        assert result["tool_call_id"] == made["tool_calls"][0]["id"]
        restored = json.loads(result["content"])
        note = restored.pop("note", "")
        assert restored == stored
        assert note.startswith("Carried over") is (session == "s-2")
        assert stored["updatedAt"] not in json.dumps(request.messages[0])
    fido.server.assert_done()


def test_every_successful_update_plan_response_contains_the_complete_normalized_state(fido: Fido) -> None:
    largest = [
        {
            "id": f"{number:02}-{'i' * 45}",
            "title": f"{number:02} {'t' * 117}",
            "status": "done",
            "details": "d" * 600,
            "dependencies": [f"{earlier:02}-{'i' * 45}" for earlier in range(number)],
            "next_action": "n" * 240,
            "evidence": [f"{entry} {'e' * 238}" for entry in range(10)],
        }
        for number in range(20)
    ]
    fido.server.add(update(*largest, reason="r" * 240), say("stored"))
    assert fido.run("go").status == 0
    result = json.loads(plan_results(fido.server.requests[-1])[-1])
    assert result == fido.plan
    assert result["reason"] == "r" * 240
    for stored, sent in zip(result["items"], largest, strict=True):
        assert {name: stored[name] for name in sent} == sent
    assert {"version", "revision", "updatedAt", "reason", "items"} <= result.keys()


def test_updating_the_plan_does_not_mutate_the_system_message_or_force_a_rebuilt_cached_prefix(
    fido: Fido,
) -> None:
    fido.configure("context_window = 100000000")
    rounds, each = 25, UPDATES // 25
    for number in range(rounds):
        items = [NEXT | {"dependencies": [], "details": f"round {number}, call {n}"} for n in range(each)]
        fido.server.add(calls([update(item, reason=item["details"]) for item in items]))
    fido.server.add(say("done"))
    assert fido.run("go", "--max-turns", "100").status == 0
    requests = fido.server.requests
    assert fido.plan["revision"] == UPDATES
    assert len({json.dumps(request.messages[0]) for request in requests}) == 1
    assert len({json.dumps(request.data["tools"]) for request in requests}) == 1
    assert len({request.body[: request.body.index(b'"role":"user"')] for request in requests}) == 1
    assert all(later.extends(earlier) for earlier, later in pairwise(requests))
    started = fido.events()[0]
    assert started.system_sha256


def test_the_latest_full_plan_state_tool_result_remains_available_after_turn_handoff_and_compaction(
    fido: Fido,
) -> None:
    fido.server.add(update(FULL, NEXT), say("half"), say("handed over"))
    assert fido.run("first").status == 0
    assert fido.run("second").status == 0
    handed = plan_results(fido.server.requests[-1])
    assert json.loads(handed[0]) == fido.plan
    usage = {"prompt_tokens": 9_000, "completion_tokens": 10, "total_tokens": 9_010}
    fido.configure("context_window = 11000")
    changed = NEXT | {"status": "blocked", "next_action": "Ask"}
    fido.server.add(
        call("update_plan", {"reason": "blocked", "items": [FULL, changed]}, usage=usage),
        say("SUMMARY OF IT ALL", usage=usage),
        say("compacted"),
    )
    assert fido.run("third").status == 0
    fido.server.assert_done()
    request = fido.server.requests[-1]
    results = plan_results(request)
    assert json.loads(results[-1]) == fido.plan
    assert fido.plan["items"][1]["status"] == "blocked"
    assert request.messages[-1]["content"] == results[-1], "the newest tool result is the plan"
    assert "SUMMARY OF IT ALL" in json.dumps(request.messages)
    assert request.messages[0] == fido.server.requests[0].messages[0]


def test_invalid_ids_dependencies_and_status_combinations_fail_without_corrupting_saved_state(
    fido: Fido,
) -> None:
    fido.server.add(update(FULL, NEXT))
    broken = {
        "duplicate_id": [FULL, FULL | {"title": "Other"}],
        "malformed_id": [FULL | {"id": "no id!"}],
        "changed_id": [FULL, NEXT | {"id": "acting"}],
        "unknown_dependency": [FULL | {"dependencies": ["nowhere"]}],
        "self_dependency": [FULL | {"dependencies": ["look"]}],
        "cyclic_dependency": [FULL | {"dependencies": ["act"]}, NEXT],
        "second_in_progress": [
            NEXT | {"dependencies": []},
            NEXT | {"id": "b", "title": "B", "dependencies": []},
        ],
        "unmet_dependency": [FULL | {"status": "pending", "next_action": "look"}, NEXT],
        "missing_next_action": [NEXT | {"status": "pending", "next_action": ""}],
        "missing_evidence": [FULL | {"evidence": []}],
    }
    for items in broken.values():
        fido.server.add(update(*items))
    fido.server.add(say("gave up"))
    assert fido.run("go").status == 0
    assert fido.plan["revision"] == 1
    refusals = [json.loads(content) for content in plan_results(fido.server.requests[-1])[1:]]
    assert len(refusals) == len(broken)
    for rule, refusal in zip(broken, refusals, strict=True):
        assert rule in {problem["rule"] for problem in refusal["error"]["problems"]}, refusal
        assert refusal["plan"] == fido.plan


def test_a_plan_update_does_not_modify_source_files_or_appear_in_the_undo_log(fido: Fido) -> None:
    before = sorted(path.name for path in fido.workspace.iterdir())
    content = (fido.workspace / "a.py").read_bytes()
    fido.server.add(update(FULL, NEXT), say("done"))
    assert fido.run("go").status == 0
    assert sorted(path.name for path in fido.workspace.iterdir()) == sorted([*before, ".fido-plan.json"])
    assert (fido.workspace / "a.py").read_bytes() == content
    events = fido.events()
    assert any(isinstance(event, PlanWritten) for event in events)
    assert not any(isinstance(event, FilesChanged) for event in events)
    messages = [bytes(event.message) for event in events if isinstance(event, MessageAppended)]
    assert sum(b'"plan"' in message for message in messages) == 0


@pytest.mark.parametrize("columns", [120, 200])
def test_the_ui_renders_every_current_todo_item_in_a_persistent_box_anchored_to_the_right_side(
    columns: int,
) -> None:
    items = [step(f"step-{number}", title=f"Do part {number}") for number in range(6)]
    desk = Desktop(columns, 40).tell(PlanChanged(plan=plan(*items)))
    for item in items:
        for part in (item.title, item.id, item.next_action):
            lines = [line for line in desk.lines if part in line]
            assert lines, part
            assert all(line.index(part) > columns // 2 for line in lines)


# --- the source's acceptance lines: regression --------------------------------------------------------------


def test_existing_tests_remain_green() -> None:
    """What lands has run all of them: none is left out of the run, none is skipped for good or may fail."""
    ci, makefile = (ROOT / ".ci" / "run").read_text(encoding="utf-8"), (ROOT / "Makefile").read_text("utf-8")
    assert re.search(r"^make VENV=\S+ test$", ci, re.MULTILINE)
    (recipe,) = re.findall(r"^test:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    assert re.findall(r"pytest .*?-m (\"[^\"]+\"|\w+)", recipe) == ['"not fault and not interop"', "fault"]
    tests = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py")]
    assert len(tests) > 100
    left_out = re.compile(r"^\s*@pytest\.mark\.(?:skip\b|xfail)", re.MULTILINE)
    assert not [text for text in tests if left_out.search(text)]


def test_no_new_tool_duplicates_an_existing_shell_operation() -> None:
    names = {tool.name for tool in TOOLS}
    assert {"update_plan", "delegate"} <= names
    assert not names & {
        "get_plan",
        "complete_task",
        "list_agents",
        "join_subagent",
        "run_tests",
        "git_status",
    }
    coordination = {tool.name for tool in TOOLS if tool.effect in ("plan", "delegate")}
    assert coordination == {"update_plan", "delegate"}
