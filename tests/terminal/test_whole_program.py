"""The whole program on a real terminal: a turn as a person sees it, and any process killed in its midst."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.chat_script import Step, call, gate, parent, say, status, subagent
from tests.fakes.fido import Home, kill, openai_environment, pid_of, wait_until
from tests.fakes.scene import Start, leave
from tests.fakes.scripted_server import ScriptedServer
from tests.fakes.terminal import CTRL_C, ENTER, ESC

ITEMS = [
    {"id": "look", "title": "Look at the file", "status": "in_progress", "next_action": "read a.py"},
    {"id": "tell", "title": "Tell what it prints", "status": "pending", "next_action": "write it down"},
]
PROCFILE = Path(__file__).parents[2] / "Procfile"
RESULT = json.dumps({"status": "completed", "summary": "It prints one.", "findings": []})


def whole_turn() -> list[Step]:
    return [
        call("update_plan", {"reason": "start", "items": ITEMS}, when=parent),
        call("delegate", {"task": "What does a.py print?"}, when=parent),
        say(["half ", gate("subagent"), RESULT], when=subagent),
        say(["It prints ", gate("answer"), "one."], when=parent),
    ]


@pytest.mark.parametrize("columns", [60, 80, 120, 200])
def test_a_person_sees_plan_subagent_and_answer_at_every_width(
    at: Home, start: Start, server: ScriptedServer, columns: int
) -> None:
    server.add(*whole_turn())
    program = start("What does it print?", columns=columns)
    program.until(lambda: "SUBAGENT" in program.text, "the activity bar")
    program.until(lambda: "Look at the file" in program.text, "the plan")
    assert "What does it print?" in program.text
    server.open("subagent")
    program.until(lambda: "It prints" in program.text, "the answer to begin")
    server.open("answer")
    program.until(lambda: "It prints one." in program.text, "the whole answer")
    program.until(lambda: "ready" in program.text or columns < 80, "the turn to end")
    leave(program, at)


SURVIVES = ("ui", "parent", "plan_store", "worker", "worker_host")


@pytest.mark.parametrize("name", [*SURVIVES, "supervisor", "guard"])
def test_whichever_process_is_killed_the_terminal_is_as_before_and_nobody_is_left(
    at: Home, start: Start, tmp_path: Path, server: ScriptedServer, name: str
) -> None:
    server.add(*whole_turn())
    program = start("What does it print?")
    program.until(lambda: "SUBAGENT" in program.text, "the activity bar")
    program.until(lambda: "Look at the file" in program.text, "the plan")
    victim = program.process.pid if name == "guard" else pid_of(at, program.process.pid, name)
    kill(victim)
    server.open("subagent")
    server.open("answer")
    if name in SURVIVES:
        if name == "parent":
            program.until(lambda: "interrupted" in program.text, "the turn to be marked interrupted")
        else:
            program.until(lambda: "It prints one." in program.text, "the answer")
        program.until(lambda: "What does it print?" in program.text, "the prompt, as before")
        program.until(lambda: "Look at the file" in program.text, "the plan, as before")
        leave(program, at)
    else:
        wait_until(lambda: not program.take() and not at.processes(), "everything to end")
        assert program.modes == program.modes_before
    plan = json.loads((tmp_path / ".fido-plan.json").read_text(encoding="utf-8"))
    assert [item["id"] for item in plan["items"]] == ["look", "tell"]


def test_one_ctrl_c_cancels_the_turn_and_keeps_the_draft(
    at: Home, start: Start, server: ScriptedServer
) -> None:
    server.add(say(["Let me ", gate("never"), "think"]))
    program = start("go")
    program.until(lambda: "Let me" in program.text, "the answer to begin")
    program.type("a draft" + CTRL_C)
    program.until(lambda: "Cancelled" in program.text, "the turn to be cancelled")
    assert "a draft" in program.text
    program.type(CTRL_C)
    program.until(lambda: "again leaves" in program.text, "the hint")
    program.type(CTRL_C)
    program.until(lambda: program.ended, "the program to end")
    wait_until(lambda: not at.processes(), "everything to end")


@pytest.mark.report("PROV-15")
def test_a_wait_for_a_busy_server_ticks_on_the_screen_until_esc_ends_it(
    at: Home, start: Start, server: ScriptedServer
) -> None:
    server.add(status(429, {"Retry-After": "50"}))
    program = start("go", columns=80)

    def left() -> int:
        """What is shown of the wait, seconds; 0: nothing."""
        said = re.search(r"attempt 2/4 in (\d\d) s  Esc stop", program.text)
        return int(said[1]) if said else 0

    program.until(lambda: left() > 0, "the wait")
    first = left()
    program.until(lambda: 0 < left() < first, "it to tick")
    assert "Attempt 1 of 4 failed" in program.text
    program.type(ESC)
    program.until(lambda: "Cancelled." in program.text, "the turn to be cancelled", 5.0)
    assert "attempt 2/4" not in program.text
    assert len(server.requests) == 1
    leave(program, at)


def test_services_started_by_honcho_are_drawn_by_attach(
    at: Home, start: Start, tmp_path: Path, server: ScriptedServer
) -> None:
    server.add(say("Hello from the services."))
    honcho = Path(sys.executable).parent / "honcho"
    environment = at.environment(**openai_environment(server.base_url))
    environment["PATH"] = f"{honcho.parent}:{environment['PATH']}"
    shutil.copy(PROCFILE, tmp_path)
    with subprocess.Popen(
        [str(honcho), "start"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
    ) as services:
        try:
            wait_until(lambda: any(at.folder.rglob("parent.ipc")), "the services to be there")
            program = start("attach")
            program.until(lambda: "ready" in program.text, "the session")
            program.type("hello" + ENTER)
            program.until(lambda: "Hello from the services." in program.text, "the answer")
            program.type("/quit" + ENTER)
            program.until(lambda: program.ended, "attach to end")
            assert services.poll() is None, "leaving the screen must not end the services"
        finally:
            services.terminate()
    wait_until(lambda: not at.processes(), "the services to end")
