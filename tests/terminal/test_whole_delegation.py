"""A delegation as a person sees it, and what nobody sees of it: the whole program on a terminal."""

import json
import os
import re
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.chat_script import Step, call, calls, gate, parent, say, status, subagent
from tests.fakes.fido import wait_until
from tests.fakes.scene import Whole, leave, whole
from tests.fakes.scripted_server import ScriptedServer
from tests.fakes.terminal import CTRL_C, CTRL_UNDERSCORE, ENTER, ESC, F1, F2

RESULT = json.dumps({"status": "completed", "summary": "It prints one.", "findings": []})
PRIVATE = {
    place: f"canary{number}q{number}"
    for number, place in enumerate(
        (
            "message",
            "reasoning",
            "pattern",
            "path",
            "patch",
            "nested",
            "tool",
            "file",
            "around",
            "unknown",
            "raw",
        )
    )
}
"""A secret for each place in a subagent's transcript."""


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(strict=False) as made:
        yield made


def delegation(*of_subagent: Step) -> list[Step]:
    return [
        call("delegate", {"task": "What does a.py print?"}, when=parent),
        *of_subagent,
    ]


def working() -> Step:
    """A subagent that speaks, and then takes its time."""
    return say(["I look. ", gate("subagent"), RESULT], when=subagent)


def private_work() -> list[Step]:
    """A subagent that puts a secret wherever it can."""
    doings = calls(
        [
            call("read_file", {"path": "secret.txt"}),
            call("ripgrep", {"pattern": PRIVATE["pattern"]}),
            call("read_file", {"path": PRIVATE["path"]}),
            call("patch", {"path": "a.py", "old_text": "", "new_text": PRIVATE["patch"]}),
            call("delegate", {"task": PRIVATE["nested"]}),
            call(PRIVATE["tool"], {"x": PRIVATE["unknown"]}),
            call("list_files", PRIVATE["raw"]),
        ]
    )
    first = say([PRIVATE["message"], gate("looked at")], reasoning=PRIVATE["reasoning"])
    thinking = replace(
        say(["Now ", gate("subagent"), f"{PRIVATE['around']}\n```json\n{RESULT}\n```"]), when=subagent
    )
    return [replace(first, calls=doings.calls, when=subagent), thinking]


@pytest.mark.parametrize("columns", [40, 120])
def test_nothing_private_of_a_subagent_is_written_or_drawn_anywhere(
    server: ScriptedServer, tmp_path: Path, columns: int
) -> None:
    (tmp_path / "secret.txt").write_text(PRIVATE["file"], encoding="utf-8")
    server.add(*delegation(*private_work()), say("It prints one.", when=parent))
    with whole(server, tmp_path, "--log-level", "debug", "Look at it", columns=columns) as run:
        run.shows("SUBAGENT", "reviewing")
        server.open("looked at")
        run.shows("nested delegation")
        server.wait_for_requests(3)
        assert_untold(run, run.at.everything_written(), "while it runs")
        server.open("subagent")
        run.shows("completed", "It prints one.")
        run.terminal.until(lambda: "working" not in run.terminal.text, "the turn to end")
        assert_untold(run, run.at.everything_written(), "after the turn")
        leave(run.terminal, run.at)
        assert_untold(run, run.at.everything_written(), "after the end")
    of_subagent = b"".join(request.body for request in server.requests if request.is_subagent)
    assert [place for place, secret in PRIVATE.items() if secret.encode() not in of_subagent] == [
        "reasoning",
        "around",
    ]
    of_parent = b"".join(request.body for request in server.requests if not request.is_subagent)
    assert [place for place, secret in PRIVATE.items() if secret.encode() in of_parent] == []


def assert_untold(run: Whole, written: bytes, when: str) -> None:
    drawn = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", bytes(run.terminal.written))
    for place, secret in PRIVATE.items():
        assert secret.encode() not in written, f"{place} was written, {when}"
        assert secret.encode() not in drawn, f"{place} was drawn, {when}"


def test_what_a_subagent_reports_is_for_the_parent_and_its_bar_counts_it(
    server: ScriptedServer, tmp_path: Path
) -> None:
    (tmp_path / "a.py").write_text("print(1)\n", encoding="utf-8")
    found = [{"file": "a.py", "line": 1, "claim": f"`print` {PRIVATE['message']}", "confidence": "high"}]
    result = {"status": "completed", "summary": PRIVATE["message"], "findings": found}
    server.add(*delegation(say(json.dumps(result), when=subagent)), say("It prints one.", when=parent))
    with whole(server, tmp_path, "--log-level", "debug", "Look at it") as run:
        run.shows("completed  1 finding, 1 checked", "It prints one.", "ready")
        assert PRIVATE["message"].encode() in server.requests[-1].body
        assert_untold(run, run.at.log_text().encode(), "after a report")


def test_what_a_model_server_says_of_a_subagent_is_for_the_parents_model_alone(
    server: ScriptedServer, tmp_path: Path
) -> None:
    (tmp_path / "secret.txt").write_text(PRIVATE["file"], encoding="utf-8")
    echo = {"error": {"message": f"Input should be a string, got {PRIVATE['file']!r}", "type": "error"}}
    server.add(
        *delegation(call("read_file", {"path": "secret.txt"}, when=subagent)),
        status(503, {"Retry-After": "1"}, body=echo, when=subagent),
        status(400, body=echo, when=subagent),
        say("It failed.", when=parent),
    )
    with whole(server, tmp_path, "--log-level", "debug", "Look at it") as run:
        run.shows("the server failed; attempt 2 in 1 s")
        run.shows("bad_request, status 400", "It failed.", "ready")
        assert PRIVATE["file"].encode() in server.requests[-1].body
        assert_untold(run, run.at.log_text().encode(), "after a server's error")
        holding = [
            line for line in run.at.everything_written().splitlines() if PRIVATE["file"].encode() in line
        ]
        assert {json.loads(line)["event"]["type"] for line in holding} == {"MessageAppended"}


def test_what_a_cancelled_subagent_had_said_goes_to_the_parent_and_is_not_drawn(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.add(*delegation(*private_work()))
    with whole(server, tmp_path, "--log-level", "debug", "Look at it") as run:
        server.open("looked at")
        server.wait_for_requests(3)
        run.shows("reviewing")
        run.terminal.type(ESC)
        run.shows("cancelled", "Cancelled.", "ready")
        assert_untold(run, run.at.log_text().encode(), "after a cancel")


@pytest.mark.parametrize(("opened", "key"), [(F1, ESC), (F2, CTRL_C), ("/recall" + ENTER, ESC)])
def test_the_first_key_closes_what_is_open_and_only_the_next_stops_the_delegation(
    server: ScriptedServer, tmp_path: Path, opened: str, key: str
) -> None:
    server.add(*delegation(working()))
    with whole(server, tmp_path, "go") as run:
        run.shows("reviewing", "Esc stop")
        run.terminal.type(opened)
        run.shows("Esc close")
        run.terminal.type(key)
        run.shows("Esc stop", "reviewing")
        assert not any(request.aborted_at for request in server.requests)
        run.terminal.type(key)
        run.shows("◌ SUBAGENT", "cancelled", "Cancelled.", "ready")
        server.wait(lambda played: played.requests[-1].aborted_at)


@pytest.mark.parametrize("columns", [40, 120])
def test_one_ctrl_c_stops_the_delegation_and_leaves_the_draft_and_every_other_process_alone(
    server: ScriptedServer, tmp_path: Path, columns: int
) -> None:
    server.add(*delegation(working()))
    with whole(server, tmp_path, "go", columns=columns) as run:
        run.shows("reviewing", "Esc stop")
        others = {name: run.pid_of(name) for name in ("ui", "parent", "plan_store", "worker_host")}
        run.terminal.type("half a dra")
        run.shows("half a dra")
        run.terminal.type(CTRL_C)
        run.shows("cancelled", "Cancelled.", "› half a dra")
        assert "again to leave" not in run.terminal.text
        assert {name: run.pid_of(name) for name in others} == others
        run.terminal.type(CTRL_C)
        run.shows("Cleared", "again leaves")
        run.terminal.type(CTRL_UNDERSCORE)
        run.shows("› half a dra")


@pytest.mark.parametrize("stopped", [False, True], ids=["works", "stands still"])
def test_a_cancel_waits_for_no_worker_and_the_next_delegation_has_another(
    server: ScriptedServer, tmp_path: Path, stopped: bool
) -> None:
    server.add(*delegation(working()))
    with whole(server, tmp_path, "go") as run:
        run.shows("reviewing")
        worker = run.pid_of("worker")
        if stopped:
            os.kill(worker, signal.SIGSTOP)
        run.terminal.type("and then" + ENTER)
        run.shows("queued  and then")
        server.add(*delegation(say(RESULT, when=subagent)), say("It prints one.", when=parent))
        run.terminal.type(ESC)
        run.shows("Cancelled.", "› and then", "✓ SUBAGENT", "completed", "It prints one.", "ready")
        wait_until(lambda: not Path(f"/proc/{worker}").exists(), "the first worker's end")
        assert run.pid_of("worker") != worker


def test_further_delegations_of_a_message_wait_and_are_counted_in_the_bar(
    server: ScriptedServer, tmp_path: Path
) -> None:
    tasks = [call("delegate", {"task": f"Part {number}"}) for number in range(3)]
    server.add(replace(calls(tasks), when=parent), working(), say(RESULT, when=subagent))
    server.add(say(["Well, ", gate("third"), RESULT], when=subagent), say("All told.", when=parent))
    with whole(server, tmp_path, "go") as run:
        run.shows("2 more wait", "reviewing")
        server.open("subagent")
        server.wait_for_requests(4)
        run.shows("reviewing")
        run.terminal.until(lambda: "more wait" not in run.terminal.text, "the last one")
        server.open("third")
        run.shows("✓ SUBAGENT", "All told.", "ready")


def test_a_partial_and_a_cancelled_delegation_are_called_the_same_in_bar_and_transcript(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.add(*delegation(working()), say("Half of it.", when=parent))
    with whole(server, tmp_path, "go") as run:
        run.shows("reviewing")
        os.kill(run.pid_of("worker"), signal.SIGKILL)
        run.shows("! SUBAGENT", "! delegate", "Half of it.", "ready")
        assert "partial" in run.terminal.line_with("! delegate")
        server.add(*delegation(working()))
        run.terminal.type("again" + ENTER)
        run.shows("reviewing")
        run.terminal.type(ESC)
        run.shows("◌ SUBAGENT", "◌ delegate", "Cancelled.", "ready")
        assert "cancelled" in run.terminal.line_with("◌ delegate")
        assert "failed" not in run.terminal.text


def test_an_agent_that_stands_still_is_told_with_what_a_person_can_do(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.add(*delegation(working()))
    with whole(server, tmp_path, "go") as run:
        run.shows("reviewing")
        os.kill(run.pid_of("parent"), signal.SIGSTOP)
        run.shows("agent does not answer", "busy. Wait, or press Ctrl-C twice to leave.")
        run.terminal.type(CTRL_C)
        run.shows("Press Ctrl-C again to leave.")
        run.terminal.type(CTRL_C)
        run.all_end(10.0)
        assert run.terminal.is_given_back
