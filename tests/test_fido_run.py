"""`fido run` as a whole: the real processes, the real SDK, a strict server."""

import json
import os
import shlex
import signal
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.fakes.chat_script import Step, call, calls, gate, parent, say, status, subagent
from tests.fakes.fido import Finished, Home, Run, home, kill, openai_environment, wait_until
from tests.fakes.scripted_server import ScriptedServer

KEY = "sk-canary-4711"
ITEMS = [{"id": "look", "title": "Look", "status": "in_progress", "next_action": "read a.py"}]
RESULT = json.dumps(
    {
        "status": "completed",
        "summary": "It prints one.",
        "findings": [{"file": "a.py", "line": 2, "claim": "prints", "confidence": "high"}],
        "recommended_next_steps": [],
        "tests_to_run": [],
        "uncertainties": [],
    }
)


@pytest.fixture
def at() -> Iterator[Home]:
    with home() as made:
        yield made


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "wörk space"
    folder.mkdir()
    (folder / "a.py").write_text("def main():\n    print(1)\n", encoding="utf-8")
    return folder


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as made:
        yield made


def whole_turn() -> list[Step]:
    return [
        call("update_plan", {"reason": "start", "items": ITEMS}, when=parent),
        calls([call("read_file", {"path": "a.py"}), call("list_files", {})], when=parent),
        call("delegate", {"task": "What does a.py print?"}, when=parent),
        call("read_file", {"path": "a.py"}, when=subagent),
        say(RESULT, when=subagent),
        say("It prints one.", when=parent),
    ]


def run(at: Home, workspace: Path, server: ScriptedServer, *arguments: str) -> Finished:
    return Run(at, workspace, *arguments, **openai_environment(server.base_url, KEY)).finish()


def test_one_prompt_goes_through_all_the_actors(at: Home, workspace: Path, server: ScriptedServer) -> None:
    server.add(*whole_turn())
    done = run(at, workspace, server, "What does it print?", "--output-format", "stream-json")
    server.assert_done()
    assert done.status == 0, done
    kinds = [event["type"] for event in done.events() if event["type"] != "notice"]
    assert kinds[:2] == ["session", "turn_started"]
    assert [(event["name"], event["status"]) for event in done.events("tool_finished")] == [
        ("update_plan", "ok"), ("read_file", "ok"), ("list_files", "ok"), ("delegate", "ok"),
    ]  # fmt: skip
    assert done.events("plan")[-1]["plan"]["items"][0]["id"] == "look"
    assert done.events("subagent")[-1]["phase"] == "completed"
    assert done.events("turn_finished") == [
        {"type": "turn_finished", "status": "completed", "final_text": "It prints one.", "error": None}
    ]
    assert json.loads((workspace / ".fido-plan.json").read_text(encoding="utf-8"))["revision"] == 1


@pytest.mark.report("CACHE-01")
@pytest.mark.report("CACHE-02")
def test_every_request_carries_the_same_head_and_extends_the_one_before_it(
    at: Home, workspace: Path, server: ScriptedServer
) -> None:
    server.add(*whole_turn())
    assert run(at, workspace, server, "go").status == 0
    bodies = [json.loads(request.body) for request in server.requests]
    assert len({json.dumps(body["tools"]) for body in bodies}) == 1
    assert len({json.dumps(body["messages"][0]) for body in bodies}) == 1
    parents = [request for request in server.requests if not request.is_subagent]
    subagents = [request for request in server.requests if request.is_subagent]
    for line in (parents, subagents):
        assert all(later.extends(earlier) for earlier, later in pairwise(line))
    assert subagents[0].extends(parents[2])
    assert len({request.connection for request in server.requests}) == 1


def test_the_first_request_is_at_most_12_kilobytes(at: Home, workspace: Path, server: ScriptedServer) -> None:
    server.add(say("hello"))
    assert run(at, workspace, server, "hello").status == 0
    assert len(server.requests[0].body) <= 12 * 1024


def test_the_parent_sees_the_subagents_result_and_nothing_else_of_it(
    at: Home, workspace: Path, server: ScriptedServer
) -> None:
    server.add(*whole_turn())
    assert run(at, workspace, server, "go").status == 0
    messages = json.loads(server.requests[-1].body)["messages"]
    result = json.loads(messages[-1]["content"])
    assert (result["type"], result["status"], result["summary"]) == (
        "delegate_result", "completed", "It prints one.",
    )  # fmt: skip
    assert "subagent_bootstrap" not in json.dumps(messages)


@pytest.mark.report("PROV-15")
def test_a_wait_for_a_busy_server_is_told_on_stderr(
    at: Home, workspace: Path, server: ScriptedServer
) -> None:
    server.add(status(429, {"Retry-After": "0.1"}), say("hello"))
    done = run(at, workspace, server, "hello")
    assert (done.status, done.out) == (0, "hello\n")
    (line,) = [line for line in done.err.splitlines() if "Attempt" in line]
    assert "scripted 429" in line
    assert line.endswith(" Attempt 2 of 4 in 0.1 s.")


def test_the_key_is_found_nowhere_but_at_the_server(
    at: Home, workspace: Path, server: ScriptedServer
) -> None:
    server.add(
        status(401, body={"error": {"message": f"Incorrect API key: {KEY}", "code": "invalid_api_key"}})
    )
    done = run(at, workspace, server, "go", "--output-format", "json", "--log-level", "debug")
    assert done.status == 1
    assert json.loads(done.out)["error"]["code"] == "unauthorized"
    assert KEY in server.requests[0].headers["authorization"]
    assert KEY not in done.out + done.err
    assert KEY.encode() not in at.everything_written()


def test_what_needs_an_approval_is_refused_at_once_and_told_by_the_exit_status(
    at: Home, workspace: Path, server: ScriptedServer
) -> None:
    server.add(call("bash_exec", {"command": "touch made"}), say("I could not."))
    done = run(at, workspace, server, "go")
    assert done.status == 4
    assert not (workspace / "made").exists()
    told = json.loads(json.loads(server.requests[1].body)["messages"][-1]["content"])
    flag = "--allow 'bash_exec(touch made)'"
    assert told["error"]["code"] == "nobody_to_ask"
    assert done.err.count(flag) == 1
    server.add(call("bash_exec", {"command": "touch made"}), say("Done."))
    assert run(at, workspace, server, "go", *shlex.split(flag)).status == 0
    assert (workspace / "made").exists()


def test_what_is_allowed_by_a_flag_is_done(at: Home, workspace: Path, server: ScriptedServer) -> None:
    server.add(call("bash_exec", {"command": "touch made"}), say("Done."))
    assert run(at, workspace, server, "go", "--allow", "bash_exec").status == 0
    assert (workspace / "made").exists()


def test_a_limit_of_rounds_or_of_time_ends_the_run_with_status_3(
    at: Home, workspace: Path, server: ScriptedServer
) -> None:
    server.add(call("list_files", {}))
    assert run(at, workspace, server, "go", "--max-turns", "1").status == 3
    server.add(say(["Let me think", gate("never")]))
    done = run(at, workspace, server, "go", "--timeout", "1.5", "--output-format", "json")
    assert (done.status, json.loads(done.out)["error"]["code"]) == (3, "timeout")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_with_its_status_and_leaves_nobody(
    at: Home, workspace: Path, server: ScriptedServer, number: signal.Signals
) -> None:
    server.add(say(["Let me think", gate("never")]))
    running = Run(at, workspace, "go", "--output-format", "json", **openai_environment(server.base_url))
    server.wait_for_requests(1, 30)
    os.kill(running.process.pid, number)
    done = running.finish()
    assert done.status == 128 + number
    assert json.loads(done.out)["status"] == "cancelled"
    wait_until(lambda: not at.processes(), "everything to end")


def test_a_run_that_is_ended_in_the_midst_of_a_delegation_keeps_its_result_and_leaves_nobody(
    at: Home, workspace: Path, server: ScriptedServer
) -> None:
    server.add(
        call("delegate", {"task": "Look."}, id="d", when=parent),
        say(["I see one.", gate("never")], when=subagent),
    )
    line = ["go", "--session", "s", "--output-format", "stream-json"]
    running = Run(at, workspace, *line, **openai_environment(server.base_url))
    server.wait_for_requests(2, 30)
    os.kill(running.process.pid, signal.SIGTERM)
    done = running.finish()
    assert done.status == 128 + signal.SIGTERM
    assert done.events("subagent")[-1]["phase"] == "cancelled"
    wait_until(lambda: not at.processes(), "everything to end")
    server.add(say("I go on.", when=parent))
    assert run(at, workspace, server, "go on", "--session", "s").status == 0
    (told,) = (each for each in server.requests[-1].messages if each.get("tool_call_id") == "d")
    result = json.loads(told["content"])
    assert (result["status"], result["error"]["code"]) == ("partial", "cancelled")
    assert result["summary"] == "I see one."


def test_a_bad_setting_is_one_clear_line_and_status_2(
    at: Home, workspace: Path, server: ScriptedServer
) -> None:
    (workspace / ".fido-config.toml").write_text('modle = "x"\n', encoding="utf-8")
    done = run(at, workspace, server, "go")
    assert done.status == 2
    assert "modle" in done.err
    assert "Did you mean" in done.err or "model" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("output", ["json", "stream-json"])
def test_a_refused_start_is_an_object_where_objects_are_asked_for(
    at: Home, workspace: Path, server: ScriptedServer, output: str
) -> None:
    (workspace / ".fido-config.toml").write_text('modle = "x"\n', encoding="utf-8")
    done = run(at, workspace, server, "go", "--output-format", output)
    last = json.loads(done.out.splitlines()[-1])
    assert (done.status, last["status"], last["error"]["code"]) == (2, "failed", "start_refused")
    assert "modle" in last["error"]["message"]
    assert done.err.count("modle") == 1


HOSTILE = "raise SystemExit('code of the workspace was run: ' + __name__)\n"


def test_nothing_of_the_workspace_is_ever_imported(at: Home, workspace: Path, server: ScriptedServer) -> None:
    for name in ("ui", "ipc", "actors"):
        (workspace / name).mkdir()
        (workspace / name / "__init__.py").write_text(HOSTILE, encoding="utf-8")
    for name in ("zmq", "openai", "urwid", "json", "sitecustomize", "usercustomize"):
        (workspace / f"{name}.py").write_text(HOSTILE, encoding="utf-8")
    server.add(*whole_turn())
    environment = dict(
        openai_environment(server.base_url), PYTHONPATH=f".:{workspace}", PYTHONSTARTUP="zmq.py"
    )
    done = Run(at, workspace, "go", **environment).finish()
    server.assert_done()
    assert (done.status, done.out) == (0, "It prints one.\n"), done
    assert "code of the workspace" not in done.err + at.log_text()


@pytest.mark.parametrize(
    "name", ["plan_store", "worker", "worker_host", "parent", "headless", "supervisor", "guard"]
)
def test_whichever_process_is_killed_in_mid_turn_nobody_is_left_and_the_outcome_is_the_house_plans(
    at: Home, workspace: Path, server: ScriptedServer, name: str
) -> None:
    server.add(
        call("update_plan", {"reason": "start", "items": ITEMS}, when=parent),
        call("delegate", {"task": "What does a.py print?"}, when=parent),
        say(["half ", gate("on"), RESULT], when=subagent),
    )
    running = Run(
        at, workspace, "go", "--output-format", "stream-json", **openai_environment(server.base_url)
    )
    server.wait_for_requests(3, 30)
    if name in ("plan_store", "worker", "worker_host"):
        server.add(
            call("update_plan", {"reason": "again", "items": ITEMS}, when=parent), say("Done.", when=parent)
        )
    kill(running.pid_of(name))
    if name not in ("worker", "worker_host"):
        server.open("on")
    done = running.finish()
    wait_until(lambda: not at.processes(), "everything to end")
    plan = json.loads((workspace / ".fido-plan.json").read_text(encoding="utf-8"))
    match name:
        case "plan_store":
            assert done.status == 0, done
            assert plan["revision"] == 2
        case "worker" | "worker_host":
            assert done.status == 0, done
            content = json.loads(json.loads(server.requests[3].body)["messages"][-1]["content"])
            assert content["status"] in ("partial", "failed")
            assert content["error"]["code"] == "worker_lost"
        case "parent":
            assert done.status == 1, done
            assert done.events("turn_finished")[0]["error"]["code"] == "interrupted"
            assert plan["revision"] == 1
        case _:
            assert done.status != 0, done
            assert plan["revision"] == 1


def test_nothing_of_a_hostile_workspace_reaches_the_terminal_raw(
    at: Home, workspace: Path, server: ScriptedServer
) -> None:
    config = '"\\u001b]0;pwned\\u0007\\u001b[31m" = 1\n'
    (workspace / ".fido-config.toml").write_text(config, encoding="utf-8")
    done = run(at, workspace, server, "go")
    assert done.status == 2
    assert "pwned" in done.err
    assert not set(done.err) & {"\x1b", "\x07"}


@pytest.mark.report("CACHE-01")
def test_a_second_run_of_a_session_takes_its_own_prompt_and_tells_its_own_turn_alone(
    at: Home, workspace: Path, server: ScriptedServer
) -> None:
    server.add(call("list_files", {}), say("First answer."), say("Second answer."))
    assert run(at, workspace, server, "first", "--session", "s1").out == "First answer.\n"
    done = run(at, workspace, server, "second", "--session", "s1", "--output-format", "stream-json")
    assert [event["turn"] for event in done.events("turn_started")] == [2]
    assert "".join(event["delta"] for event in done.events("text")) == "Second answer."
    assert done.events("tool_started") == done.events("tool_finished") == []
    assert [event["final_text"] for event in done.events("turn_finished")] == ["Second answer."]
    assert all(later.extends(earlier) for earlier, later in pairwise(server.requests))


def test_a_session_of_another_workspace_is_not_gone_on_with(
    at: Home, workspace: Path, server: ScriptedServer, tmp_path: Path
) -> None:
    server.add(say("First answer."))
    assert run(at, workspace, server, "first", "--session", "s1").status == 0
    (tmp_path / "other").mkdir()
    done = run(at, tmp_path / "other", server, "second", "--session", "s1")
    assert (done.status, done.out, len(server.requests)) == (2, "", 1)
    assert str(workspace) in done.err
    assert "Traceback" not in done.err


def test_a_session_that_lost_its_system_message_gets_one_again_once(
    at: Home, workspace: Path, server: ScriptedServer
) -> None:
    server.add(say("One."), say("Two."), say("Three."))
    assert run(at, workspace, server, "one", "--session", "s1").status == 0
    (log,) = (at.folder / "state").rglob("s1.jsonl")
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(line for line in lines if b'"role":"system"' not in line))
    assert run(at, workspace, server, "two", "--session", "s1").status == 0
    assert run(at, workspace, server, "three", "--session", "s1").status == 0
    roles = [message["role"] for message in json.loads(server.requests[2].body)["messages"]]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user"]
    assert server.requests[2].extends(server.requests[1])
    log.write_bytes(b"")
    server.add(say("Four."))
    assert run(at, workspace, server, "four", "--session", "s1").out == "Four.\n"


def test_the_offline_survey_reports_on_names_that_are_no_utf8(at: Home, tmp_path: Path) -> None:
    with open(os.fsencode(tmp_path) + b"/bad\xff.py", "w", encoding="utf-8") as file:
        file.write("# TODO: rename\n")
    done = Run(at, tmp_path, "survey").finish()
    assert done.status == 0, done
    assert "TODO" in done.out
