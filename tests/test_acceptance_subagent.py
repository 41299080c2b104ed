"""What delegation must do: each acceptance sentence a test, through real processes and a strict server."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from actors.catalog.builtin import EFFECTS
from actors.delegation.policy import refusal
from actors.session.invariants import CHECK
from actors.tools.tool import description
from tests.fakes.chat_request import Request
from tests.fakes.chat_script import Step, call, calls, gate, parent, say, stall, status, subagent
from tests.fakes.fido import Finished, Home, Run, home, openai_environment, wait_until
from tests.fakes.scene import whole
from tests.fakes.scripted_server import ScriptedServer
from tests.fakes.terminal import CTRL_C, ENTER

TESTS = Path(__file__).parent
CODE = "def main():\n    print(1)\n"
TASK = {
    "task": "What does a.py print?",
    "context": "the report needs it",
    "scope": {"paths": ["a.py"], "symbols": ["main"]},
}
OTHER = {"task": "Which licence is it?"}
OUTCOMES = {"completed", "partial", "failed", "cancelled"}
PRIVATE = "I look at it in private."
FINDING = {"file": "a.py", "line": 2, "claim": "`print(1)` prints one", "confidence": "high"}


def result(summary: str = "It prints one.", **fields: Any) -> str:
    lists = {"recommended_next_steps": ["go on"], "tests_to_run": ["python a.py"], "uncertainties": ["none"]}
    return json.dumps({"status": "completed", "summary": summary, "findings": [FINDING], **lists, **fields})


def results_of(request: Request) -> dict[str, Any]:
    """The tool results of a request by call id, decoded where they are JSON."""
    return {
        message["tool_call_id"]: json.loads(message["content"])
        for message in request.messages
        if message["role"] == "tool" and message["content"].startswith("{")
    }


@dataclass(frozen=True)
class Delegated:
    """A turn with two delegations: what every side saw of it."""

    workspace: Path
    done: Finished
    parents: list[Request]
    firsts: list[Request]
    second: Request
    written: bytes


@pytest.fixture(scope="module")
def delegated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Delegated]:
    """One run; the first subagent tries to write and to delegate, and answers in a fence."""
    workspace = new_workspace(tmp_path_factory.mktemp("work"))
    wishes = [
        call("read_file", {"path": "a.py"}, id="r"),
        call("patch", {"path": "a.py", "old_text": "1", "new_text": "2"}, id="p"),
        call("delegate", {"task": "again"}, id="n"),
    ]
    steps = [
        calls([call("delegate", TASK, id="d"), call("delegate", OTHER, id="e")], when=parent),
        calls(wishes, text=PRIVATE, when=subagent),
        say(f"```json\n{result()}\n```", when=subagent),
        say(result("MIT.", findings=[]), when=subagent),
        say("It prints one.", when=parent),
    ]
    with ScriptedServer(steps) as server, home() as at:
        done = run(at, workspace, server, "What does it print?")
        server.assert_done()
        parents = [request for request in server.requests if not request.is_subagent]
        *firsts, second = (request for request in server.requests if request.is_subagent)
        yield Delegated(workspace, done, parents, firsts, second, at.everything_written())


def new_workspace(folder: Path) -> Path:
    (folder / "a.py").write_text(CODE, encoding="utf-8")
    return folder


def run(at: Home, workspace: Path, server: ScriptedServer, *words: str) -> Finished:
    line = ["--output-format", "stream-json", *words]
    done = Run(at, workspace, *line, **openai_environment(server.base_url)).finish()
    assert done.status == 0, done
    return done


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return new_workspace(tmp_path)


@pytest.fixture
def at() -> Iterator[Home]:
    with home() as made:
        yield made


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as made:
        yield made


# --- the source's acceptance lines: subagent ----------------------------------------------------------------


def test_a_bounded_read_only_task_returns_the_documented_structured_result(delegated: Delegated) -> None:
    made = results_of(delegated.parents[1])["d"]
    agent_id = made["identity"]["agent_id"]
    assert re.fullmatch(r"subagent-[0-9a-f]{4,}", agent_id)
    assert made == {
        "type": "delegate_result",
        "identity": {"role": "subagent", "agent_id": agent_id, "parent_role": "main"},
        "status": "completed",
        "summary": "It prints one.",
        "findings": [FINDING | {"checked": True, "check": "what the claim quotes stands on line 2"}],
        "recommended_next_steps": ["go on"],
        "tests_to_run": ["python a.py"],
        "uncertainties": ["none"],
    }
    assert (delegated.workspace / "a.py").read_text(encoding="utf-8") == CODE


def test_at_call_time_the_subagent_receives_an_isolated_fork_of_the_parent_messages_array(
    delegated: Delegated,
) -> None:
    """At call time the subagent receives an isolated fork of the parent messages array, not a shared live
    reference."""
    before, after = delegated.parents
    first, later = delegated.firsts
    known = len(before.messages)
    assert first.extends(before)
    assert later.extends(first)
    assert first.messages[known]["tool_calls"][0]["function"]["arguments"] == json.dumps(TASK)
    # Its sibling's task is not its business, and its own work is nobody else's.
    assert OTHER["task"] not in first.body.decode()
    (batch,) = (message for message in delegated.second.messages if message.get("tool_calls"))
    assert [made["function"]["arguments"] for made in batch["tool_calls"]] == ["{}", json.dumps(OTHER)]
    assert PRIVATE not in delegated.second.body.decode() + after.body.decode()
    assert after.extends(before)
    assert [message["role"] for message in after.messages[known:]] == ["assistant", "tool", "tool"]
    # The second fork is of a later moment: it holds the first one's result, and the first fork does not.
    assert results_of(delegated.second)["d"] == results_of(after)["d"]
    assert results_of(first)["e"]["error"]["code"] == "not_in_this_fork"


def test_the_fork_contains_a_tool_result_that_tells_the_subagent_its_current_identity(
    delegated: Delegated,
) -> None:
    """The fork contains a tool result that tells the subagent its current identity (role: "subagent", unique
    agent_id, parent_role: "main") and return responsibility."""
    ids = []
    for request, task, call_id in (
        (delegated.firsts[0], TASK["task"], "d"),
        (delegated.second, OTHER["task"], "e"),
    ):
        bootstrap = results_of(request)[call_id]
        ids.append(bootstrap["identity"]["agent_id"])
        assert bootstrap == {
            "type": "subagent_bootstrap",
            "identity": {"role": "subagent", "agent_id": ids[-1], "parent_role": "main"},
            "context_mode": "forked_parent_messages",
            "forked_message_count": len(delegated.parents[0].messages) + 1 + (call_id == "e"),
            "task": task,
            "responsibility": "Inspect only; return the final result to the parent. You are not the main "
            "agent, you may not delegate, and the parent will verify your claims.",
        }
        instructions = request.messages[-1]
        assert instructions["role"] == "user"
        assert task in instructions["content"]
    assert ids[0] != ids[1]
    instructions = delegated.firsts[0].messages[-1]["content"]
    for fact in (TASK["context"], "a.py", "main", "read-only", "do not implement", '"findings"'):
        assert fact in instructions


def test_the_parent_receives_only_the_subagents_normalized_final_output_as_a_delegate_tool_response(
    delegated: Delegated,
) -> None:
    """The parent receives only the subagent's normalized final output, as a delegate tool response carrying
    the producing subagent's identity; it does not receive the subagent's private tool/message transcript."""
    last = delegated.parents[-1]
    told = results_of(last)
    for call_id, request in (("d", delegated.firsts[0]), ("e", delegated.second)):
        assert told[call_id]["identity"] == results_of(request)[call_id]["identity"]
    for private in (PRIVATE, "subagent_bootstrap", "permission_denied", "nested_delegation", "```json"):
        assert private not in last.body.decode().partition('"messages"')[2].partition('"role":"user"')[2]
    assert PRIVATE.encode() not in delegated.written
    assert PRIVATE not in delegated.done.out


def test_the_delegate_tool_description_explicitly_states_what_the_parent_has_to_know() -> None:
    """The delegate tool description explicitly states the fork, identity, read-only restrictions, stable
    advertised catalog, nested-call failure behavior, return path, and parent ownership responsibilities."""
    text = description("delegate")
    for fact in (
        "one bounded, synchronous, read-only subagent",
        "only its final normalized result",
        "a private fork of your messages array: an independent snapshot, never a live reference",
        'a bootstrap tool result tells the subagent its identity (role "subagent", a unique agent_id, '
        'parent_role "main")',
        "its final output is for you",
        "becomes this tool's result",
        "you never see its private tool calls or transcript",
        "the same unchanged tool catalog but is read-only",
        "permission_denied",
        "delegate stays visible to it solely to keep the cached catalog stable",
        'at once returns a normal result with status "failed" and nested_delegation_forbidden, as expected',
        "no further subagent is created",
        "further delegate calls of one message run in order",
        "Verification and integration stay yours",
    ):
        assert fact in text


def test_the_same_tool_names_schemas_descriptions_and_ordering_are_advertised_to_parent_and_subagent(
    delegated: Delegated,
) -> None:
    """The same tool names, schemas, descriptions, and ordering are advertised to parent and subagent; policy
    is enforced at invocation time rather than by mutating the tool list."""
    everybody = [*delegated.parents, *delegated.firsts, delegated.second]
    heads = {request.body[: request.body.index(b'"messages":[')] for request in everybody}
    assert len(heads) == 1
    assert [tool["function"]["name"] for tool in everybody[0].data["tools"]] == sorted(EFFECTS)
    refused = results_of(delegated.firsts[1])["p"]["error"]
    assert refused["code"] == "permission_denied"
    assert refused["next_step"]


def test_a_subagent_that_calls_delegate_receives_a_normal_failed_tool_result(delegated: Delegated) -> None:
    """A subagent that calls delegate receives a normal failed tool result with nested_delegation_forbidden;
    no second subagent is created and no nested provider request is made."""
    nested = results_of(delegated.firsts[1])["n"]
    agent_id = results_of(delegated.firsts[0])["d"]["identity"]["agent_id"]
    exact = refusal(agent_id, "delegate", "delegate")
    assert exact is not None
    assert nested == json.loads(exact.content)
    assert (nested["status"], nested["error"]["code"]) == ("failed", "nested_delegation_forbidden")
    assert len(delegated.firsts) == 2
    agents = {event["agent_id"] for event in delegated.done.events("subagent")}
    assert len(agents) == 2, "one for each delegation of the parent"


def test_the_console_displays_a_separate_accent_colored_subagent_activity_bar(
    workspace: Path, server: ScriptedServer
) -> None:
    """The console displays a separate accent-colored subagent activity bar with agent ID, sanitized activity,
    and final status while delegating."""
    server.add(
        call("delegate", {"task": "What does \x1b[31ma.py print?"}, id="d", when=parent),
        call("read_file", {"path": "a.py"}, text=PRIVATE, when=subagent),
        say([PRIVATE, gate("bar"), result()], when=subagent),
        say(["It ", gate("end"), "prints one."], when=parent),
    )
    with whole(server, workspace, "What does it print?") as fido:
        fido.terminal.until(lambda: "reviewing" in fido.terminal.line_with("SUBAGENT"), "the activity")
        (row,) = (n for n, line in enumerate(fido.terminal.screen.display) if "SUBAGENT" in line)
        assert row == 1, "right below the header"
        cell = fido.terminal.screen.buffer[row][4]
        assert cell.bg == "a78bfa"
        agent_id = results_of(server.requests[-1])["d"]["identity"]["agent_id"]
        assert agent_id.removeprefix("subagent-") in fido.terminal.line_with("SUBAGENT")
        assert PRIVATE not in fido.terminal.text
        server.open("bar")
        fido.terminal.until(lambda: "completed" in fido.terminal.line_with("SUBAGENT"), "the final status")
        server.open("end")
        fido.shows("It prints one.")
        assert PRIVATE.encode() not in fido.terminal.written


HALF = "So far: it has a main function."


@dataclass(frozen=True)
class Case:
    """A delegation that does not go well, and what its result has to say."""

    steps: tuple[Step, ...]
    status: str
    code: str
    summary: str
    timeout_ms: int = 60_000


CASES = {
    "timeout, handed in": Case(
        (stall(HALF), say(result())), "partial", "timeout", "It prints one.", timeout_ms=5_000
    ),
    "timeout, half said": Case((stall(HALF), stall()), "partial", "timeout", HALF, timeout_ms=1_500),
    "timeout, in silence": Case(
        (stall(), stall()), "failed", "timeout", "without a result", timeout_ms=1_000
    ),
    "provider failure": Case((status(400),), "failed", "provider_error", "without a result"),
    "provider failure, half said": Case(
        (call("list_files", {}, text=HALF), status(400)), "partial", "provider_error", HALF
    ),
    "malformed output": Case(
        (say("It prints one."), say("I said so.")), "partial", "malformed_output", "I said so."
    ),
    "no output": Case((say(""), say("")), "failed", "malformed_output", "without a result"),
    "output limit": Case(
        (say(HALF, finish_reason="length"), say(result())), "partial", "output_limit", "It prints one."
    ),
}


@dataclass(frozen=True)
class Troubled:
    """One session in which delegation after delegation does not go well."""

    results: dict[str, Any]
    phases: list[str]
    texts: list[str]


@pytest.fixture(scope="module")
def troubled(tmp_path_factory: pytest.TempPathFactory) -> Troubled:
    """Every case in one turn, then work of its own, a delegation that goes well, and another turn."""
    workspace = new_workspace(tmp_path_factory.mktemp("work"))
    steps: list[Step] = []
    for name, case in CASES.items():
        asked = {"task": f"Try {name}", "timeout_ms": case.timeout_ms}
        steps.append(call("delegate", asked, id=name, when=parent))
        steps += [replace(step, when=subagent) for step in case.steps]
    steps += [
        call("read_file", {"path": "a.py"}, id="r", when=parent),
        call("delegate", OTHER, id="good", when=parent),
        say(result("MIT."), when=subagent),
        say("All is known.", when=parent),
        say("And more.", when=parent),
    ]
    with ScriptedServer(steps) as server, home() as at:
        turns = [run(at, workspace, server, prompt, "--session", "s") for prompt in ("go", "more")]
        server.assert_done()
        outcomes = [event for event in turns[0].events("subagent") if event["phase"] in OUTCOMES]
        texts = [turn.events("turn_finished")[0]["final_text"] for turn in turns]
        return Troubled(results_of(server.requests[-1]), [each["phase"] for each in outcomes], texts)


@pytest.mark.parametrize("name", CASES)
def test_timeout_provider_failure_and_malformed_output_are_handled_gracefully(
    troubled: Troubled, name: str
) -> None:
    """Timeout, cancellation, provider failure, and malformed output are handled gracefully."""
    case, made = CASES[name], troubled.results[name]
    assert (made["status"], made["error"]["code"]) == (case.status, case.code), made
    assert case.summary in made["summary"]
    assert made["type"] == "delegate_result"
    assert troubled.phases[list(CASES).index(name)] == case.status


def test_cancellation_is_handled_gracefully(workspace: Path, server: ScriptedServer) -> None:
    """Timeout, cancellation, provider failure, and malformed output are handled gracefully."""
    server.add(
        call("delegate", {"task": "What does it print?"}, id="d", when=parent),
        stall(HALF, when=subagent),
        say("I go on.", when=parent),
    )
    with whole(server, workspace, "What does it print?") as fido:
        fido.terminal.until(lambda: "reviewing" in fido.terminal.line_with("SUBAGENT"), "the subagent")
        worker = fido.pid_of("worker")
        fido.terminal.type(CTRL_C)
        fido.terminal.until(lambda: "cancelled" in fido.terminal.line_with("SUBAGENT"), "the cancel")
        wait_until(lambda: worker not in fido.at.processes(), "the worker to be gone")
        wait_until(lambda: server.requests[1].aborted_at > 0, "its request to be stopped")
        fido.terminal.type("go on" + ENTER)
        fido.shows("I go on.")
    made = results_of(server.requests[-1])["d"]
    assert (made["status"], made["summary"], made["error"]["code"]) == ("partial", HALF, "cancelled")


def test_the_parent_can_continue_normally_after_a_partial_or_failed_delegation(troubled: Troubled) -> None:
    assert [troubled.results[name]["status"] for name in CASES].count("completed") == 0
    good = troubled.results["good"]
    assert (good["status"], good["summary"]) == ("completed", "MIT.")
    identities = {made["identity"]["agent_id"] for made in troubled.results.values() if "identity" in made}
    assert len(identities) == len(CASES) + 1
    assert troubled.texts == ["All is known.", "And more."]


def test_unit_tests_pass_without_making_a_live_model_or_api_request(at: Home, delegated: Delegated) -> None:
    """Unit tests pass without making a live model/API request.

    The program gets its key and its address from the test alone, whatever the person who runs it has set; all
    that it used of a model came from the server of this machine.
    """
    assert not re.search("OPENAI|PROXY|FIDO_(?!TEST)|KEY", " ".join(at.environ).replace(CHECK, "").upper())
    for path in TESTS.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"environ(?:\.get\(|\[)\"(?:OPENAI|FIDO)_(?:API|BASE)", text), path.name
    requests = [*delegated.parents, *delegated.firsts, delegated.second]
    used = delegated.done.events("usage")[-1]
    assert used["prompt_tokens"] == sum(
        request.step.usage["prompt_tokens"] for request in requests if request.step
    )
