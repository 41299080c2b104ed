"""/undo in the whole program: what a shell command did, also when the parent was killed meanwhile."""

from pathlib import Path

from tests.fakes.chat_script import call, say
from tests.fakes.fido import Home, kill, pid_of, wait_until
from tests.fakes.scene import Start, leave
from tests.fakes.scripted_server import ScriptedServer
from tests.fakes.terminal import ENTER
from tests.fakes.undoing import tree_of


def test_a_shell_commands_changes_are_taken_back_after_the_parent_was_killed_in_it(
    at: Home, start: Start, tmp_path: Path, server: ScriptedServer
) -> None:
    (tmp_path / "edited").write_text("one\n", encoding="utf-8")
    (tmp_path / "gone").write_bytes(b"\xff\0bytes")
    (tmp_path / "empty").mkdir()
    before = tree_of(tmp_path)
    command = "echo two > edited; rm gone; rmdir empty; echo 3 > made; sleep 1000"
    server.add(call("bash_exec", {"command": command}))
    program = start("--mode", "yolo", "Change something")
    wait_until((tmp_path / "made").exists, "the command to have changed files")
    kill(pid_of(at, program.process.pid, "parent"))
    program.until(lambda: "ready" in program.text and "interrupted" in program.text, "the session to be back")
    program.type("/undo" + ENTER)
    program.until(lambda: "Took back turn 1" in program.text, "the changes to be taken back")
    assert tree_of(tmp_path) == before
    program.type("/redo" + ENTER)
    wait_until((tmp_path / "made").exists, "the changes to be made again")
    leave(program, at)


def test_an_undo_that_is_killed_is_told_to_the_person_and_to_the_model(
    at: Home, start: Start, tmp_path: Path, server: ScriptedServer
) -> None:
    for number in range(800):
        path = tmp_path / f"d{number % 5}" / f"f{number}"
        path.parent.mkdir(exist_ok=True)
        path.write_text(str(number), encoding="utf-8")
    before = tree_of(tmp_path)
    server.add(call("bash_exec", {"command": "rm -r d*"}), say("Removed."), say("Gone on."))
    program = start("--mode", "yolo", "Remove them")
    program.until(lambda: "Removed." in program.text and "ready" in program.text, "the turn to end")
    program.type("/undo" + ENTER)
    wait_until(lambda: any(at.folder.rglob("undo/*/restoring")), "the undo to begin")
    kill(pid_of(at, program.process.pid, "parent"))
    program.until(lambda: "half-way" in program.text and "ready" in program.text, "the person to be told")
    program.type("Go on" + ENTER)
    program.until(lambda: "Gone on." in program.text and "ready" in program.text, "the next turn to end")
    told = str(server.requests[-1].body)
    assert "taking back the file changes of turn 1 was interrupted" in told
    assert "Read before you rely on them" in told
    program.type("/undo" + ENTER)
    program.until(lambda: "Took back turn 1" in program.text, "the changes to be taken back")
    assert tree_of(tmp_path) == before
    leave(program, at)


def test_an_ignored_file_that_a_command_removes_is_told_at_once_and_by_undo(
    at: Home, start: Start, tmp_path: Path, server: ScriptedServer
) -> None:
    (tmp_path / ".gitignore").write_text("*.log\n", encoding="utf-8")
    (tmp_path / "secret.log").write_text("1", encoding="utf-8")
    server.add(call("bash_exec", {"command": "echo 1 > made"}), say("First."))
    server.add(call("bash_exec", {"command": "rm -f secret.log"}), say("Second."))
    program = start("--mode", "yolo", "Make it")
    program.until(lambda: "First." in program.text and "ready" in program.text, "the turn to end")
    program.type("Remove it" + ENTER)
    program.until(lambda: "/undo will not take back secret.log" in program.text, "the notice")
    program.until(lambda: "Second." in program.text and "ready" in program.text, "the turn to end")
    program.type("/undo" + ENTER)
    program.until(lambda: "Turn 2 may have changed" in program.text, "the refusal")
    assert (tmp_path / "made").exists()
    program.type("/undo" + ENTER)
    program.until(lambda: "Took back turn 1" in program.text, "the changes to be taken back")
    assert not (tmp_path / "made").exists()
    leave(program, at)
