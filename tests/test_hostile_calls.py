"""Whatever a model sends to whatever tool: one result, and never a crash of the tool."""

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.calls import ToolResult
from actors.catalog.builtin import TOOLS, parent_tools, web_tools
from actors.files.workspace import Workspace
from actors.invocation import InvocationGuard
from actors.permissions.approvals import Approvals
from actors.permissions.policy import Rules
from actors.session.log import SessionLog
from actors.session.recorder import Recorder
from actors.settings.tables import Web
from actors.tools.delegate import DelegateInput
from actors.tools.tool import Invocation
from ipc.messages import AnyFact, AskRaised, Plan, PlanItem, PlanStored, SettleAsk, ToolCall
from tests.fakes.places import short_directory
from tests.fakes.session_events import HEADER
from tests.fakes.shells import Shelled, shelled
from tests.fakes.snapshots import NOTHING_KEPT

NAMES = [
    "", ".", "..", "/", "~", "a", "a/b", "link", "loop", "pipe", "out", "dead", "dir", "dir/", "dir//x",
    "closed/x", "a\x00b", "x" * 300, "x/" * 3000, "\ud800", "\udcff", "*", "a*[", "{", "!", "-rf",
    "$HOME", "a\nb", "\u202e", " a ", ".git/config", ".fido-plan.json", "/dev/zero", "/proc/self/mem",
    "a:1", "a:0:0", "\\", "é", "\x1b[2J", "(", "[^", "http://", "https://[", "http://x:y",
    "http://127.0.0.1:1/", "file:///etc/passwd", "https://a@b/", "javascript:1",
]  # fmt: skip
TEXT = st.sampled_from(NAMES) | st.text(max_size=20)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
COMMANDS = st.sampled_from(
    ["", " ", "\x00", "\ud800", "x" * 140_000, "'", "exit 3", "true\n", "$(", "cat <<E"]
)


class Quiet:
    """A plan store that stores what it gets, and a delegator that is done at once."""

    seen: int | None = None

    async def get(self) -> Plan:
        return Plan()

    async def replace(self, reason: str, items: tuple[PlanItem, ...]) -> PlanStored:
        return PlanStored(plan=Plan(reason=reason, items=items))

    async def delegate(self, request: DelegateInput, invocation: Invocation) -> str:
        return '{"status":"completed"}'

    async def question(self, title: str, options: tuple[str, ...], call_id: str) -> str | None:
        return title or None


class Scene:
    """A workspace of awkward entries, and the guard in front of every tool of a parent."""

    def __init__(self, folder: Path, shell: Shelled) -> None:
        self.runner = shell.runner
        workspace, quiet = Workspace(shell.root), Quiet()
        recorder = Recorder(SessionLog.create(folder, "s-1", HEADER), lambda _: None, None)
        rules = Rules.build({}, {"git push *": "deny", "ls": "allow"}, {"dir/**": "ask"}, {"*.x": "deny"})
        self.approvals = Approvals(rules, "yolo", self._take, recorder, workspace, self._keep)
        tools = parent_tools(workspace, quiet, quiet, quiet, NOTHING_KEPT, shell.tool, web_tools(Web()))
        self.guard = InvocationGuard(tools, self.approvals, recorder)

    def _take(self, fact: AnyFact) -> None:
        """What could hide a denied command is asked about; the person lets it."""
        if isinstance(fact, AskRaised):
            settle = SettleAsk(ask_id=fact.ask_id, decision="allow_once")
            asyncio.get_running_loop().call_soon(self.approvals.settle, settle)

    async def _keep(self, _: object) -> str:
        raise AssertionError

    def call(self, name: str, arguments: str) -> ToolResult:
        call = ToolCall(id="1", name=name, arguments=arguments)
        return self.runner.run(asyncio.wait_for(self.guard.invoke(call), 20))


def _furnish(root: Path) -> None:
    (root / "dir" / "sub").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / "a").write_bytes(b"one\r\ntwo\xff\n" * 3)
    (root / "a:1").write_text("x", encoding="utf-8")
    (root / "empty").touch()
    (root / "link").symlink_to("a")
    (root / "loop").symlink_to("loop")
    (root / "out").symlink_to("/etc/passwd")
    (root / "dead").symlink_to("nowhere")
    (root / "closed").mkdir(mode=0)
    with open(os.fsencode(root) + b"/bad\xff", "wb") as file:
        file.write(b"\x00\x01")
    os.mkfifo(root / "pipe")


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    with short_directory() as folder:
        _furnish(folder / "w")
        with shelled(folder / "w") as shell:
            yield Scene(folder, shell)


def fields(tool: Any) -> list[str]:
    return sorted(tool.input.model_fields)


def arguments_of(tool: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Its own fields with any values, most of them of the right type; now and then another one."""
    names = fields(tool)
    likely = st.fixed_dictionaries(
        {}, optional=dict.fromkeys(names, TEXT | st.integers(-1, 9) | st.booleans())
    )
    return likely | st.dictionaries(st.sampled_from([*names, "extra"]), VALUE, max_size=len(names))


@pytest.mark.parametrize(
    "tool", [tool for tool in TOOLS if tool.name != "bash_exec"], ids=lambda tool: tool.name
)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_no_call_ends_as_a_crash(scene: Scene, tool: Any, data: st.DataObject) -> None:
    given_arguments = data.draw(arguments_of(tool))
    result = scene.call(tool.name, json.dumps(given_arguments))
    assert result.code != "tool_crashed", result.content
    assert result.status in ("ok", "error", "denied")


@settings(max_examples=40, deadline=None)
@given(
    st.fixed_dictionaries({"command": COMMANDS}, optional={"cwd": TEXT, "timeout_ms": st.integers(0, 10**9)})
)
def test_no_command_ends_as_a_crash(scene: Scene, arguments: dict[str, Any]) -> None:
    result = scene.call("bash_exec", json.dumps(arguments))
    assert result.code != "tool_crashed", result.content


@given(
    st.sampled_from([tool.name for tool in TOOLS]),
    st.text(max_size=30) | st.sampled_from(["[" * 9999, '{"a":' * 999]),
)
def test_no_text_in_place_of_arguments_ends_as_a_crash(scene: Scene, name: str, text: str) -> None:
    result = scene.call(name, "" if name == "bash_exec" and "command" in text else text)
    assert (result.status, result.code != "tool_crashed") == ("error", True) or name == "list_files"
