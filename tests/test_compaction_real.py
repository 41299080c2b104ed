"""Compaction in the real program: real processes, the real SDK, a strict server that refuses and babbles."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.chat_script import Step, call, calls, say, status
from tests.fakes.fido import Finished, Home, Run, home, openai_environment
from tests.fakes.scripted_server import Request, ScriptedServer

TOKEN = "always-answer-in-haiku-4711"
WINDOW = 20_000
"""Tokens: 70,000 bytes. System message and tools take 12,000, each reading of the file takes 24,000."""
SUMMARY = "## Completed\nEverything was read."
OVERFLOW = status(
    400,
    body={
        "error": {
            "message": "This model's maximum context length is 20000 tokens.",
            "code": "context_length_exceeded",
        }
    },
)


@pytest.fixture
def at() -> Iterator[Home]:
    with home() as made:
        yield made


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "AGENTS.md").write_text(TOKEN, encoding="utf-8")
    (folder / "big.txt").write_text("a line of a long file that says little\n" * 500, encoding="utf-8")
    (folder / ".fido-config.toml").write_text(f"context_window = {WINDOW}\n", encoding="utf-8")
    return folder


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as made:
        yield made


def run(at: Home, workspace: Path, server: ScriptedServer, prompt: str) -> Finished:
    arguments = (prompt, "--session", "s-1", "--output-format", "stream-json")
    return Run(at, workspace, *arguments, **openai_environment(server.base_url), FIDO_MODE="yolo").finish()


def item(state: str) -> dict[str, Any]:
    told = {"evidence": ["big.txt"]} if state == "done" else {"next_action": "read big.txt"}
    return {"id": "read", "title": "Read it", "status": state, **told}


def plans(state: str) -> Step:
    return call("update_plan", {"reason": "go on", "items": [item(state)]})


def reads() -> Step:
    return call("read_file", {"path": "big.txt"})


def is_for_a_summary(request: Request) -> bool:
    return "This is a request of Fido" in str(request.messages[-1]["content"])


def results(request: Request) -> list[str]:
    return [message["content"] for message in request.messages if message["role"] == "tool"]


def log_of(at: Home) -> bytes:
    return (at.folder / "state" / "fido" / "sessions" / "s-1.jsonl").read_bytes()


def compactions(at: Home) -> list[dict[str, Any]]:
    events = [json.loads(line)["event"] for line in log_of(at).splitlines()]
    return [event for event in events if event["type"] == "ConversationCompacted"]


def test_instructions_prompt_and_the_stored_plan_stand_behind_a_compaction(
    at: Home, workspace: Path, server: ScriptedServer
) -> None:
    """One turn: the plan changes in the very round that crosses the threshold."""
    server.add(plans("in_progress"), reads(), calls([reads(), plans("done")]), say(SUMMARY), say("done"))
    done = run(at, workspace, server, "read it and tick it off")
    server.assert_done()
    assert done.status == 0, done
    *_, before, asked, after = server.requests
    assert is_for_a_summary(asked)
    assert asked.extends(before)
    assert after.messages[0] == before.messages[0]
    assert TOKEN in after.messages[0]["content"]
    assert after.data["tools"] == before.data["tools"]
    assert [m["content"] for m in after.messages if m["role"] == "user"][1:] == ["read it and tick it off"]
    on_disk = json.loads((workspace / ".fido-plan.json").read_text(encoding="utf-8"))
    assert json.loads(results(after)[-1]) == on_disk
    assert on_disk["items"][0]["status"] == "done"
    (event,) = compactions(at)
    assert event["method"] == "summary"


def test_after_a_restart_the_conversation_is_the_very_one_that_was_compacted(
    at: Home, workspace: Path, server: ScriptedServer
) -> None:
    server.add(reads(), reads(), say(SUMMARY), say("done"))
    assert run(at, workspace, server, "read it").status == 0
    server.add(say("again"))
    assert run(at, workspace, server, "continue").status == 0
    server.assert_done()
    *_, before, after = server.requests
    assert after.extends(before)
    assert after.messages[len(before.messages)]["content"] == "done"


def test_the_servers_refusal_of_request_and_repetition_ends_the_turn_and_leaves_the_session_usable(
    at: Home, workspace: Path, server: ScriptedServer
) -> None:
    server.add(plans("in_progress"), reads(), OVERFLOW, OVERFLOW)
    done = run(at, workspace, server, "read it")
    server.assert_done()
    assert done.status == 1, done
    error = done.events("turn_finished")[0]["error"]
    assert error["code"] == "context_length_exceeded"
    assert "shorter prompt" in error["next_step"]
    server.add(say("fine"))
    done = run(at, workspace, server, "then do less")
    assert done.status == 0, done
    last = server.requests[-1]
    assert len(last.body) < WINDOW * 3.5
    assert [m["content"] for m in last.messages if m["role"] == "user"][-1].startswith("then do less")
    plan = json.loads((workspace / ".fido-plan.json").read_text(encoding="utf-8"))
    assert plan in [json.loads(text) for text in results(last) if text.startswith('{"version"')]


def test_an_overflow_is_cut_without_the_model_and_the_turn_goes_on(
    at: Home, workspace: Path, server: ScriptedServer
) -> None:
    server.add(reads(), reads(), OVERFLOW, say("done"))
    done = run(at, workspace, server, "read it twice")
    server.assert_done()
    assert done.status == 0, done
    assert "dropped by Fido" in results(server.requests[-1])[0]
    assert "read it twice" in [m["content"] for m in server.requests[-1].messages if m["role"] == "user"]


def test_a_summary_of_two_megabytes_is_bounded_and_the_next_run_fits(
    at: Home, workspace: Path, server: ScriptedServer
) -> None:
    server.add(reads(), reads(), say("s" * 2_000_000), say("done"))
    assert run(at, workspace, server, "read it").status == 0
    server.add(say("again"))
    assert run(at, workspace, server, "continue").status == 0
    server.assert_done()
    assert len(server.requests[-1].body) < WINDOW * 3.5
    assert "characters dropped by Fido" in server.requests[-1].body.decode()
    assert len(log_of(at)) < 200_000


def test_a_server_that_fails_the_summary_does_not_fail_the_turn(
    at: Home, workspace: Path, server: ScriptedServer
) -> None:
    server.add(reads(), reads(), status(400), say("done"))
    done = run(at, workspace, server, "read it")
    server.assert_done()
    assert done.status == 0, done
    assert not compactions(at)


def reads_once(request: Request) -> Step:
    """A model that reads the file for each prompt, and sums up when it is asked to."""
    if is_for_a_summary(request):
        return say(SUMMARY)
    return reads() if request.messages[-1]["role"] == "user" else say("done")


def test_prompts_keep_their_numbers_through_compactions_and_restarts(at: Home, workspace: Path) -> None:
    with ScriptedServer(otherwise=reads_once) as server:
        for number in range(1, 6):
            done = run(at, workspace, server, f"wish {number}")
            assert done.status == 0, done
        server.assert_done()
        record = str(server.requests[-1].messages[1]["content"])
    quoted = re.findall(r'<prompt number="(\d)" ended="answered">\nwish (\d)\n</prompt>', record)
    assert [number for number, _ in quoted] == [wish for _, wish in quoted] == ["1", "2", "3", "4"]
    assert [event["method"] for event in compactions(at)] == ["summary", "trim", "summary"]


class SmallServer:
    """Refuses every body over `limit` bytes, and to sum up; gives the answers in turn to all others."""

    def __init__(self, limit: int, *answers: Step) -> None:
        self.limit = limit
        self.answers = list(answers)
        self.accepted: list[Request] = []

    def __call__(self, request: Request) -> Step:
        if len(request.body) > self.limit:
            return status(400, body={"error": {"message": "Too long.", "code": "context_length_exceeded"}})
        if is_for_a_summary(request):
            return status(400)
        self.accepted.append(request)
        return self.answers.pop(0)


def test_work_of_a_turn_that_overflowed_without_a_known_window_is_not_forgotten(
    at: Home, workspace: Path
) -> None:
    (workspace / ".fido-config.toml").unlink()
    for name in "abcdef":
        (workspace / f"{name}.txt").write_text(f"a line of {name}\n" * 250, encoding="utf-8")
    command = call("bash_exec", {"command": "echo did-the-work > done.txt"})
    reading = [call("read_file", {"path": f"{name}.txt"}) for name in "abcdef"]
    small = SmallServer(34_000, reading[0], command, *reading[1:], say("done"))
    with ScriptedServer(otherwise=small) as server:
        done = run(at, workspace, server, "do the work")
        server.assert_done()
    assert done.status == 0, done
    (event,) = compactions(at)
    assert event["method"] == "trim"
    cut = next(r for r in small.accepted if "dropped by Fido" in r.body.decode())
    assert len(cut.body) > 34_000 / 2
    assert "echo did-the-work > done.txt" in cut.body.decode()
    assert "do the work" in [m["content"] for m in cut.messages if m["role"] == "user"]
    read = [str(m.get("tool_calls")) for m in cut.messages if m["role"] == "assistant"]
    assert "a.txt" in " ".join(read)


def test_a_command_of_dropped_rounds_is_named_in_the_real_program(at: Home, workspace: Path) -> None:
    (workspace / ".fido-config.toml").unlink()
    command = call("bash_exec", {"command": "echo did-the-work > done.txt; false"})
    talk = [call("read_file", {"path": "AGENTS.md"}, text="I think. " * 400) for _ in range(8)]
    small = SmallServer(34_000, command, *talk, say("done"), say("again"))
    with ScriptedServer(otherwise=small) as server:
        assert run(at, workspace, server, "do the work").status == 0
        assert run(at, workspace, server, "continue").status == 0
        server.assert_done()
    before, after = small.accepted[-2:]
    assert after.extends(before)
    assert "  - bash_exec echo did-the-work > done.txt; false: failed" in str(before.messages[2]["content"])
    assert "dropped by Fido" in str(before.messages[4]["content"])
    assert before.messages[4]["tool_calls"]
