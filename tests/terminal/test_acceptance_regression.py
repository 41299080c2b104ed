"""What was there before the plan and has to stay: one acceptance sentence, in the whole program."""

from pathlib import Path

from tests.fakes.chat_script import call, say
from tests.fakes.fido import Home, wait_until
from tests.fakes.scene import Start, leave
from tests.fakes.scripted_server import ScriptedServer
from tests.fakes.terminal import ENTER, TerminalProgram
from tests.terminal.test_whole_sessions import suspend, until_shown

STEP = {"id": "make", "title": "Make the file", "status": "in_progress", "next_action": "patch"}


def test_existing_undo_suspend_recall_and_tool_notification_behavior_remain_intact(
    at: Home, start: Start, tmp_path: Path, server: ScriptedServer
) -> None:
    server.add(
        call("update_plan", {"reason": "start", "items": [STEP]}),
        call("patch", {"path": "new.py", "old_text": "", "new_text": "one = 1\n"}),
        say("Made it."),
    )
    first = start("--mode", "yolo", "Make new.py")
    until_shown(first, "✓ plan 0/1 · start", "✓ patch new.py", "Made it.", "ready")
    first.type("/undo" + ENTER)
    wait_until(lambda: not (tmp_path / "new.py").exists(), "the file to be gone")
    plan = (tmp_path / ".fido-plan.json").read_bytes()
    come_back = suspend(first, at)
    server.add(say("Another task."))
    other = start("Something else")
    until_shown(other, "Another task.", "ready")
    other.type("/recall" + ENTER)
    until_shown(other, "Earlier sessions", "Make new.py")
    other.type("new.py" + ENTER)
    until_shown(other, "✓ patch new.py", "Made it.", "ready")
    assert (tmp_path / ".fido-plan.json").read_bytes() == plan
    leave(other, at)
    again: TerminalProgram = start(*come_back)
    until_shown(again, "✓ patch new.py", "Made it.", "ready")
    leave(again, at)
