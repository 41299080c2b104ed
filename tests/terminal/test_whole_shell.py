"""Commands in the whole program: what one prints while it runs is seen, and what it leaves running."""

from pathlib import Path

import pytest

from tests.fakes.chat_script import call, say
from tests.fakes.fido import Home, wait_until
from tests.fakes.scene import Start, leave
from tests.fakes.scripted_server import ScriptedServer
from tests.fakes.terminal import ENTER, ESC
from tests.terminal.test_whole_sessions import suspend, until_shown

STAYS = "echo starting; echo serving; until [ -e go ]; do sleep 0.05; done; echo over"


@pytest.mark.report("SH-07")
@pytest.mark.parametrize("columns", [60, 120])
def test_a_command_that_stays_shows_what_it_prints_while_it_runs(
    at: Home, start: Start, tmp_path: Path, server: ScriptedServer, columns: int
) -> None:
    server.add(call("bash_exec", {"command": STAYS}), say("It has run."))
    program = start("--mode", "yolo", "Run it", columns=columns)
    until_shown(program, "    starting", "    serving")
    assert "bash_exec echo starting" in program.text
    (tmp_path / "go").touch()
    until_shown(program, "It has run.", "✓ bash_exec")
    assert "    serving" not in program.text
    leave(program, at)


def test_of_a_command_that_is_stopped_the_output_stays_for_the_person_and_the_model(
    at: Home, start: Start, server: ScriptedServer
) -> None:
    server.add(call("bash_exec", {"command": "echo starting; echo serving; sleep 600"}), say("As you wish."))
    program = start("--mode", "yolo", "Run it")
    until_shown(program, "    serving")
    program.type(ESC)
    until_shown(program, "cancelled", "Cancelled.", "    serving", "ready")
    assert " 0 ms" not in program.text
    program.type("Go on" + ENTER)
    until_shown(program, "As you wish.")
    told = next(message for message in server.requests[-1].messages if message["role"] == "tool")
    assert told["content"].startswith("starting\nserving\n[status cancelled")
    come_back = suspend(program, at)
    again = start(*come_back)
    until_shown(again, "    serving", "As you wish.")
    leave(again, at)


def test_what_a_command_leaves_running_is_counted_listed_and_stopped(
    at: Home, start: Start, tmp_path: Path, server: ScriptedServer
) -> None:
    command = "(trap 'touch ended' TERM; echo up > up; sleep 600 & wait) > /dev/null 2>&1 &"
    server.add(call("bash_exec", {"command": command}), say("It serves."))
    program = start("--mode", "yolo", "Serve")
    until_shown(program, "It serves.", "1 job")
    wait_until((tmp_path / "up").exists, "the job to be up")
    program.type("/jobs" + ENTER)
    until_shown(program, "Running in the background", "trap 'touch ended' TERM", "process ")
    program.type(ESC)
    program.until(lambda: "Running in the background" not in program.text, "the list to be closed")
    program.type("/jobs stop 1" + ENTER)
    program.until(lambda: "1 job" not in program.text, "no job to be left")
    until_shown(program, "Stopped job 1")
    assert (tmp_path / "ended").exists()
    program.type("/jobs" + ENTER)
    until_shown(program, "Nothing runs in the background.")
    program.type(ESC)
    program.until(lambda: "Nothing runs" not in program.text, "the list to be closed")
    leave(program, at)


def test_a_command_that_is_allowed_for_good_is_not_asked_again_in_this_workspace(
    at: Home, start: Start, tmp_path: Path, server: ScriptedServer
) -> None:
    server.add(call("bash_exec", {"command": "touch told", "cwd": "sub"}), say("Told once."))
    (tmp_path / "sub").mkdir()
    program = start("Tell", columns=60)
    until_shown(program, "Run this command in sub?", "4 Allow always", "1-4 answer")
    program.type("4")
    until_shown(program, "Told once.", "ready")
    settings = (at.folder / "config" / "fido" / "config.toml").read_text(encoding="utf-8")
    assert str(tmp_path) in settings
    assert "cd sub && touch told" in settings
    leave(program, at)
    (tmp_path / "sub" / "told").unlink()
    server.add(call("bash_exec", {"command": "touch told", "cwd": "sub"}), say("Told again."))
    again = start("Tell", columns=60)
    until_shown(again, "Told again.", "ready")
    assert (tmp_path / "sub" / "told").exists()
    leave(again, at)
