"""Other agents' names: which tool each means, and that nothing but the name is different."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.calls import ToolResult
from actors.catalog.aliases import ALIASES, canonical, canonical_name, nearest_tools
from actors.catalog.builtin import EFFECTS, TOOLS, worker_tools
from actors.delegation.policy import refusal
from actors.files.workspace import Workspace
from actors.invocation import InvocationGuard
from ipc.messages import ToolCall
from tests.test_invocation import Gate, Watcher

INPUTS = {tool.name: tool.input for tool in TOOLS}
NAMES = sorted({name for alias in ALIASES for name in alias.names})


def call(name: str, arguments: Mapping[str, Any] | str) -> ToolCall:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return ToolCall(id="1", name=name, arguments=text)


@pytest.mark.report("TOOL-04")
@pytest.mark.parametrize(
    ("name", "arguments", "tool", "meant"),
    [
        ("Bash", {"command": "ls", "description": "List", "timeout": 120000}, "bash_exec",
         {"command": "ls", "timeout_ms": 120000}),
        ("shell", {"command": ["bash", "-lc", "ls -l"], "workdir": "src", "timeout_ms": 1000}, "bash_exec",
         {"command": "ls -l", "cwd": "src", "timeout_ms": 1000}),
        ("shell", {"command": ["git", "log", "a b"]}, "bash_exec", {"command": "git log 'a b'"}),
        ("run_shell_command", {"command": "ls", "directory": "src"}, "bash_exec", {"command": "ls",
         "cwd": "src"}),
        ("execute_bash", {"command": "ls", "timeout": 30}, "bash_exec", {"command": "ls",
         "timeout_ms": 30000}),
        ("run_terminal_cmd", {"command": "ls", "explanation": "look"}, "bash_exec", {"command": "ls"}),
        ("TodoWrite", {"todos": [
            {"content": "Fix it", "status": "in_progress", "activeForm": "Fixing it"},
            {"content": "Test it", "status": "pending", "activeForm": "Testing it"},
            {"content": "Not it", "status": "cancelled", "activeForm": "x"}]}, "update_plan",
         {"reason": "The steps were listed anew", "items": [
             {"id": "fix-it", "title": "Fix it", "status": "in_progress", "next_action": "Fixing it"},
             {"id": "test-it", "title": "Test it", "status": "pending", "next_action": "Testing it"}]}),
        ("todo_write", {"merge": True, "todos": [{"id": "1", "content": "Fix", "status": "completed"}]},
         "update_plan",
         {"reason": "The steps were listed anew", "items": [{"id": "1", "title": "Fix", "status": "done"}]}),
        ("write_todos", {"explanation": "go", "plan": [{"step": "Fix", "status": "not-started"}]},
         "update_plan",
         {"reason": "go", "items": [{"id": "fix", "title": "Fix", "status": "pending",
          "next_action": "Fix"}]}),
        ("Task", {"description": "look", "prompt": "Find x", "subagent_type": "general"}, "delegate",
         {"task": "Find x", "context": "look"}),
        ("new_task", {"mode": "code", "message": "Find x"}, "delegate", {"task": "Find x"}),
        ("Read", {"file_path": "a.py", "offset": 3, "limit": 2}, "read_file",
         {"path": "a.py", "offset": 3, "limit": 2}),
        ("view", {"path": "a.py", "view_range": [3, 5]}, "read_file", {"path": "a.py",
         "offset": 3, "limit": 3}),
        ("functions.read_file", {"path": "a.py"}, "read_file", {"path": "a.py"}),
        ("Edit", {"file_path": "a", "old_string": "x", "new_string": "y", "replace_all": True}, "patch",
         {"path": "a", "old_text": "x", "new_text": "y", "replace_all": True}),
        ("Write", {"file_path": "a", "content": "y"}, "patch", {"path": "a", "old_text": "",
         "new_text": "y"}),
        ("Grep", {"pattern": "x", "-i": True, "-n": True, "output_mode": "content", "head_limit": 5},
         "ripgrep",
         {"pattern": "x", "ignore_case": True, "max_results": 5}),
        ("Glob", {"pattern": "**/*.py", "path": "src"}, "list_files", {"glob": "**/*.py", "path": "src"}),
        ("list_directory", {"dir_path": "src"}, "list_files", {"path": "src"}),
        ("ls", {"path": "src", "recursive": False}, "list_files", {"path": "src", "depth": 1}),
        ("delete_file", {"target_file": "a"}, "rm", {"path": "a"}),
        ("WebFetch", {"url": "https://a.org", "prompt": "sum up"}, "browse_url", {"url": "https://a.org"}),
        ("google_web_search", {"query": "x"}, "websearch", {"query": "x"}),
    ],
)  # fmt: skip
def test_a_name_of_another_agent_is_the_call_of_the_tool_it_means(
    name: str, arguments: Mapping[str, Any], tool: str, meant: Mapping[str, Any]
) -> None:
    read = canonical(call(name, arguments))
    assert (read.id, read.name, json.loads(read.arguments)) == ("1", tool, meant)
    INPUTS[tool].model_validate(meant)


@pytest.mark.report("TOOL-04")
@pytest.mark.parametrize("name", NAMES)
def test_a_subagent_is_refused_by_every_name_what_it_is_refused_by_its_own(name: str) -> None:
    tool = canonical_name(name)
    assert refusal("a", canonical_name(name), EFFECTS[tool]) == refusal("a", tool, EFFECTS[tool])
    assert EFFECTS[canonical_name(name.upper())] == EFFECTS[tool]


def test_the_table_names_tools_that_there_are_and_each_name_once() -> None:
    names = [name for alias in ALIASES for name in alias.names]
    assert sorted(names) == sorted(set(names))
    assert {alias.tool for alias in ALIASES} == set(EFFECTS)
    assert not set(names) & {tool.replace("_", "") for tool in EFFECTS}
    for alias in ALIASES:
        fields = set(INPUTS[alias.tool].model_fields)
        assert set(alias.arguments.values()) - {"end_line", "view_range"} <= fields


@pytest.mark.parametrize("tool", sorted(EFFECTS))
def test_a_call_by_its_own_name_is_left_as_it_came(tool: str) -> None:
    sent = call(tool, '{"file_path": "a", }')
    assert canonical(sent) is sent
    assert canonical_name("no_such_tool") == "no_such_tool"


def test_what_a_name_nearly_means_is_told_by_its_own_name() -> None:
    assert nearest_tools("run_shel_comand", EFFECTS) == ["bash_exec"]
    assert "read_file" in nearest_tools("raed_file", EFFECTS)
    assert nearest_tools("search_everything", ["ripgrep"]) == ["ripgrep"]
    assert nearest_tools("zzz", EFFECTS) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
ARGUMENT_NAMES = st.sampled_from(
    sorted({name for alias in ALIASES for name in alias.arguments} | {"command", "items"})
)


@given(st.sampled_from(NAMES), st.dictionaries(ARGUMENT_NAMES, JSON, max_size=4) | st.text(max_size=20))
def test_whatever_the_arguments_are_a_call_is_read_and_has_one_result(
    name: str, arguments: Mapping[str, Any] | str
) -> None:
    watcher = Watcher()
    guard = InvocationGuard(worker_tools(Workspace(Path("/nowhere"))), Gate(), watcher)
    result: ToolResult = asyncio.run(guard.invoke(call(name, arguments)))
    assert result.status == "error"
    assert result.code != "tool_crashed"
    assert len(watcher.told) == 2
