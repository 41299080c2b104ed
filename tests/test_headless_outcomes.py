"""How a `fido run` ends: its status, its two streams, and that it never waits for anybody."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.session.events import AnyEvent, CallDecided
from tests.fakes.chat_script import Step, call, calls, drop, gate, parent, say, status, subagent
from tests.fakes.fido import GUARD, Finished, Home, Run, home, openai_environment
from tests.fakes.scripted_server import ScriptedServer
from tests.fakes.session_events import check_log

WRITE = call("patch", {"path": "../out.txt", "old_text": "", "new_text": "x"})


@pytest.fixture
def at() -> Iterator[Home]:
    with home() as made:
        yield made


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as made:
        yield made


def run(at: Home, workspace: Path, server: ScriptedServer, *arguments: str) -> Finished:
    return Run(at, workspace, "go", *arguments, **openai_environment(server.base_url)).finish()


def events_of(at: Home) -> tuple[AnyEvent, ...]:
    (log,) = (at.folder / "state" / "fido" / "sessions").glob("*.jsonl")
    return check_log(log)


def results(server: ScriptedServer) -> list[tuple[str, str]]:
    """Id and error code, or the content, of every tool result in the last request."""
    found = []
    for message in server.requests[-1].messages:
        if message["role"] == "tool":
            content = message["content"]
            found.append(
                (
                    message["tool_call_id"],
                    json.loads(content)["error"]["code"] if '"error"' in content else content,
                )
            )
    return found


UNAUTHORIZED = status(401)
ONCE: tuple[str, ...] = ("--max-turns", "1")
RESULT = json.dumps(
    {
        "status": "completed",
        "summary": "It says made.",
        "findings": [],
        "recommended_next_steps": [],
        "tests_to_run": [],
        "uncertainties": [],
    }
)
DENIED = call("bash_exec", {"command": "touch made"})


@pytest.mark.report("HEAD-01")
@pytest.mark.parametrize(
    ("steps", "flags", "expected", "code"),
    [
        ([call("list_files", {})], ONCE, 3, "max_rounds"),
        ([drop("half an ans")] * 4, (), 1, "connection_lost"),
        ([DENIED, say("I could not.")], (), 4, "approval_needed"),
        (
            [
                call("delegate", {"task": "Look."}, when=parent),
                status(401, when=subagent),
                status(401, when=parent),
            ],
            (), 1, "unauthorized",
        ),
    ],
)  # fmt: skip
def test_whatever_a_run_fails_of_has_its_status_and_one_object(
    at: Home,
    tmp_path: Path,
    server: ScriptedServer,
    steps: list[Step],
    flags: tuple[str, ...],
    expected: int,
    code: str | None,
) -> None:
    server.add(*steps)
    done = run(at, tmp_path, server, "--output-format", "json", *flags)
    (line,) = done.out.splitlines()
    told = json.loads(line)
    assert (done.status, told["error"] and told["error"]["code"]) == (expected, code), done
    assert told["type"] == "turn_finished"


@pytest.mark.report("HEAD-01")
@pytest.mark.parametrize("form", ["json", "stream-json", "text"])
def test_an_approval_that_nobody_could_give_is_the_error_with_the_flags_that_help(
    at: Home, tmp_path: Path, server: ScriptedServer, form: str
) -> None:
    server.add(DENIED, call("bash_exec", {"command": "touch other"}), DENIED, say("I could not."))
    done = run(at, tmp_path, server, "--output-format", form)
    flags = "--allow 'bash_exec(touch made)' --allow 'bash_exec(touch other)'"
    if form == "text":
        assert (done.status, done.out, done.err.count("nobody could give")) == (4, "I could not.\n", 2)
        return
    error = json.loads(done.out.splitlines()[-1])["error"]
    assert (done.status, error["code"]) == (4, "approval_needed")
    assert error["next_step"].endswith(flags)


def test_a_limit_that_a_flag_set_names_that_flag(at: Home, tmp_path: Path, server: ScriptedServer) -> None:
    server.add(call("list_files", {}))
    done = run(at, tmp_path, server, *ONCE)
    assert (done.status, "--max-turns" in done.err, "max_tool_rounds" in done.err) == (3, True, False)


@pytest.mark.report("PROV-05")
def test_a_change_whose_arguments_stop_in_the_middle_is_not_made_and_smaller_pieces_are_asked_for(
    at: Home, tmp_path: Path, server: ScriptedServer
) -> None:
    cut = '{"path": "a.txt", "old_text": "", "new_text": "half of'
    server.add(call("patch", cut, id="c1", finish_reason="stop"), say("I send less."))
    done = run(at, tmp_path, server, "--allow", "patch")
    assert (done.status, done.out) == (0, "I send less.\n")
    assert not (tmp_path / "a.txt").exists()
    ((call_id, code),) = results(server)
    assert (call_id, code) == ("c1", "arguments_cut_off")
    assert "smaller pieces" in server.requests[-1].messages[-1]["content"]


@pytest.mark.report("PROV-07", "PROV-13")
def test_an_answer_of_nothing_is_asked_for_once_more_and_never_sent_back(
    at: Home, tmp_path: Path, server: ScriptedServer
) -> None:
    server.add(say("", reasoning="Let me think."), say("", finish_reason="tool_calls"))
    failed = run(at, tmp_path, server, "--session", "s1")
    assert (failed.status, failed.out, len(server.requests)) == (1, "", 2)
    assert "twice" in failed.err
    server.add(say("Here I am."))
    assert run(at, tmp_path, server, "--session", "s1").out == "Here I am.\n"
    sent = server.requests[-1].messages
    assert [message["role"] for message in sent] == ["system", "user", "user"]
    assert server.requests[-1].extends(server.requests[0])


@pytest.mark.report("HEAD-01")
def test_stdout_has_the_answer_alone_and_what_went_wrong_is_on_stderr(
    at: Home, tmp_path: Path, server: ScriptedServer
) -> None:
    server.add(
        call("delegate", {"task": "Look."}, when=parent),
        status(401, when=subagent),
        say("Nobody could look.", when=parent),
    )
    done = run(at, tmp_path, server)
    assert (done.status, done.out) == (0, "Nobody could look.\n")
    assert "A delegation failed: " in done.err
    server.add(UNAUTHORIZED)
    refused = run(at, tmp_path, server)
    assert (refused.status, refused.out) == (1, "")
    assert "401" in refused.err or "key" in refused.err


@pytest.mark.report("HEAD-01")
def test_a_run_that_is_ended_by_a_signal_has_the_status_of_a_shell_and_one_object(
    at: Home, tmp_path: Path, server: ScriptedServer
) -> None:
    server.add(say(["Let me think", gate("never")]))
    running = Run(at, tmp_path, "go", "--output-format", "json", **openai_environment(server.base_url))
    server.wait_for_requests(1, 30)
    os.kill(running.process.pid, signal.SIGTERM)
    done = running.finish()
    assert done.status == 128 + signal.SIGTERM
    assert [json.loads(line)["status"] for line in done.out.splitlines()] == ["cancelled"]


@pytest.mark.report("HEAD-02")
@pytest.mark.parametrize("stdin", ["closed", "open pipe"])
def test_what_nobody_can_approve_is_refused_at_once_and_the_run_goes_on(
    at: Home, tmp_path: Path, server: ScriptedServer, stdin: str
) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    server.add(WRITE, call("bash_exec", {"command": "echo x > ../out.txt"}), say("I could not."))
    ends = os.pipe()
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-' if stdin == "closed" else 'exec "$@"', "sh", *GUARD, "run", "go"],
        cwd=workspace,
        env=at.environment(**openai_environment(server.base_url)),
        stdin=ends[0] if stdin == "open pipe" else subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=20,
        check=False,
    )
    for end in ends:
        os.close(end)
    assert (done.returncode, done.stdout) == (4, "I could not.\n"), done.stderr
    assert "--allow 'bash_exec(echo x > ../out.txt)'" in done.stderr
    assert [code for _, code in results(server)] == ["outside_workspace", "nobody_to_ask"]
    assert not (tmp_path / "out.txt").exists()


@pytest.mark.parametrize("command", ["echo *", "echo a\necho b", "echo \u202ea"])
def test_where_no_flag_means_just_a_line_the_run_says_what_the_flag_of_its_tool_allows(
    at: Home, tmp_path: Path, server: ScriptedServer, command: str
) -> None:
    server.add(call("bash_exec", {"command": command}), say("I could not."))
    done = run(at, tmp_path, server)
    assert done.status == 4
    assert "--allow bash_exec (this allows every bash_exec that no rule of yours asks about" in done.err
    assert "bash_exec(" not in done.err


@pytest.mark.report("TOOL-01", "TOOL-02")
def test_every_call_of_an_answer_has_its_result_in_order_also_when_one_of_them_is_refused(
    at: Home, tmp_path: Path, server: ScriptedServer
) -> None:
    (tmp_path / "a").write_text("one", encoding="utf-8")
    server.add(
        calls([
            call("read_file", {"path": "a"}, id="c1"),
            call("Bash", {"command": "echo two > a"}, id="c2"),
            call("read_file", {"path": "a"}, id="c3"),
            call("nothing", {}, id="c4"),
            call("Read", {"file_path": "a"}, id="c5"),
        ]),
        say("Done."),
    )  # fmt: skip
    done = run(at, tmp_path, server)
    assert done.status == 4
    found = results(server)
    assert [call_id for call_id, _ in found] == ["c1", "c2", "c3", "c4", "c5"]
    assert [content for _, content in found] == [
        found[0][1], "nobody_to_ask", found[0][1], "unknown_tool", found[0][1],
    ]  # fmt: skip
    assert "one" in found[0][1]


@pytest.mark.report("TOOL-04")
def test_another_agents_names_are_carried_out_under_the_same_rules_and_kept_as_they_were_sent(
    at: Home, tmp_path: Path, server: ScriptedServer
) -> None:
    server.add(
        call("Bash", {"command": "echo made > out", "description": "Make it"}, id="c1", when=parent),
        call("TodoWrite", {"todos": [{"content": "Look", "status": "in_progress", "activeForm": "Looking"}]},
             id="c2", when=parent),
        call("Task", {"description": "look", "prompt": "What is in out?"}, id="c3", when=parent),
        calls([call("shell", {"command": ["rm", "out"]}, id="s1"),
               call("Read", {"file_path": "out"}, id="s2"),
               call("Task", {"prompt": "Again."}, id="s3")], when=subagent),
        say(RESULT, when=subagent),
        call("Write", {"file_path": "new", "content": "x"}, id="c4", when=parent),
        say("Done.", when=parent),
    )  # fmt: skip
    done = run(
        at, tmp_path, server, "--allow", "bash_exec(echo made > out)", "--output-format", "stream-json"
    )
    server.assert_done()
    assert done.status == 4, done
    assert [(event["name"], event["status"]) for event in done.events("tool_finished")] == [
        ("bash_exec", "ok"), ("update_plan", "ok"), ("delegate", "ok"), ("patch", "denied"),
    ]  # fmt: skip
    assert (tmp_path / "out").read_text(encoding="utf-8") == "made\n"
    assert done.events("plan")[-1]["plan"]["items"][0]["title"] == "Look"
    (inner,) = [request for request in server.requests if request.is_subagent][-1:]
    told = {each["tool_call_id"]: each["content"] for each in inner.messages if each["role"] == "tool"}
    assert json.loads(told["s1"])["error"]["code"] == "permission_denied"
    assert "made" in told["s2"]
    assert "nested_delegation_forbidden" in told["s3"]
    sent = [each["function"]["name"] for message in server.requests[-1].messages
            for each in message.get("tool_calls", ())]  # fmt: skip
    assert sent == ["Bash", "TodoWrite", "Task", "Write"]
    decided = [(each.tool, each.answer, each.by) for each in events_of(at) if isinstance(each, CallDecided)]
    assert decided == [
        ("bash_exec", "allow", "rule"), ("update_plan", "allow", "table"), ("delegate", "allow", "table"),
        ("patch", "deny", "limit"),
    ]  # fmt: skip
