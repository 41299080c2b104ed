"""/undo in the whole program: what a shell command did, also when the parent was killed meanwhile."""

from pathlib import Path

from tests.fakes.chat_script import call
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
