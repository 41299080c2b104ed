"""Earlier sessions, undo and compaction in the whole program, as a person uses them."""

import re
from pathlib import Path

import pytest

from tests.fakes.chat_script import Step, call, gate, say
from tests.fakes.fido import Home, kill, pid_of, wait_until
from tests.fakes.scene import Start, leave
from tests.fakes.scripted_server import ScriptedServer
from tests.fakes.terminal import CTRL_C, ENTER, F4, TerminalProgram

ITEMS = [
    {"id": "look", "title": "Look at the file", "status": "in_progress", "next_action": "read a.py"},
    {"id": "tell", "title": "Tell what it prints", "status": "pending", "next_action": "write it down"},
]


def planned() -> list[Step]:
    return [call("update_plan", {"reason": "start", "items": ITEMS}), say("It prints one.")]


def until_shown(program: TerminalProgram, *texts: str) -> None:
    program.until(lambda: all(text in program.text for text in texts), f"{texts}")


def suspend(program: TerminalProgram, at: Home) -> list[str]:
    """Suspend; return the arguments of the command that comes back."""
    program.type("/suspend" + ENTER)
    program.until(lambda: program.ended, "the program to end")
    program.take()
    wait_until(lambda: not at.processes(), "everything to end")
    assert program.modes == program.modes_before
    found = re.search(r"fido (resume \S+)", program.text.replace("\n", ""))
    assert found, program.text
    return found[1].split()


@pytest.mark.parametrize("columns", [60, 80])
def test_a_plan_of_an_earlier_session_is_carried_over_until_its_own_session_is_back(
    at: Home, start: Start, server: ScriptedServer, columns: int
) -> None:
    server.add(*planned())
    first = start("What does it print?", columns=columns)
    until_shown(first, "It prints one.", "ready", "◌ Look at")
    assert "◐" not in first.text
    come_back = suspend(first, at)
    other = start(columns=columns)
    until_shown(other, "carried over from today", "ready")
    assert "It prints one." not in other.text
    leave(other, at)
    again = start(*come_back, columns=columns)
    until_shown(again, "› What does it print?", "It prints one.", "ready", "◌ Look at")
    again.until(lambda: "carried over" not in again.text, "the plan to be its own")
    leave(again, at)


def test_an_earlier_session_is_recalled_and_its_conversation_goes_on(
    at: Home, start: Start, server: ScriptedServer
) -> None:
    server.add(say("The first answer."))
    first = start("The first prompt")
    until_shown(first, "The first answer.", "ready")
    suspend(first, at)
    server.add(say("The second answer."), say("The third answer."))
    second = start("The second prompt")
    until_shown(second, "The second answer.", "ready")
    second.type("a draft" + F4)
    until_shown(second, "Earlier sessions", "The first prompt", "The second prompt", "open")
    second.type("first" + ENTER)
    until_shown(second, "Opening")
    until_shown(second, "The first answer.", "ready")
    assert "The second answer." not in second.text
    assert "› a draft" in second.text
    second.type(" more" + ENTER)
    until_shown(second, "› a draft more", "The third answer.", "ready")
    assert "The first prompt" in str(server.requests[-1].body)
    assert "The second prompt" not in str(server.requests[-1].body)
    leave(second, at)


def test_resume_without_a_name_begins_with_the_list(at: Home, start: Start, server: ScriptedServer) -> None:
    server.add(say("The first answer."))
    first = start("The first prompt")
    until_shown(first, "The first answer.", "ready")
    suspend(first, at)
    again = start("resume")
    until_shown(again, "Earlier sessions", "The first prompt")
    again.type(ENTER)
    until_shown(again, "The first answer.", "ready")
    kill(pid_of(at, again.process.pid, "ui"))
    again.screen.reset()
    until_shown(again, "The first answer.", "ready")
    assert "Earlier sessions" not in again.text
    leave(again, at)


def test_a_change_is_taken_back_and_made_again(
    at: Home, start: Start, tmp_path: Path, server: ScriptedServer
) -> None:
    server.add(call("patch", {"path": "new.py", "old_text": "", "new_text": "one = 1\n"}), say("Made it."))
    program = start("--mode", "yolo", "Make new.py")
    until_shown(program, "Made it.", "ready")
    program.type("/undo" + ENTER)
    wait_until(lambda: not (tmp_path / "new.py").exists(), "the file to be gone")
    program.until(lambda: "new.py" in program.text.partition("Made it.")[2], "the change to be named")
    program.type("/redo" + ENTER)
    wait_until((tmp_path / "new.py").exists, "the file to be back")
    program.type("/redo" + ENTER)
    program.until(lambda: program.line_with("✗") != "", "the refusal")
    leave(program, at)


def test_nothing_is_undone_while_a_turn_runs_and_draft_and_queue_stay(
    at: Home, start: Start, server: ScriptedServer
) -> None:
    server.add(say(["Let me ", gate("answer"), "think"]), say("And more."))
    program = start("go")
    until_shown(program, "Let me")
    program.type("the next one" + ENTER + "/undo" + ENTER)
    until_shown(program, "queued  the next one", "✗")
    program.type("a draft")
    server.open("answer")
    until_shown(program, "think", "› the next one", "And more.", "a draft")
    program.until(lambda: "queued" not in program.text, "the queue to be empty")
    program.type(CTRL_C)
    program.until(lambda: "again leaves" in program.text, "the hint")
    program.type(CTRL_C)
    program.until(lambda: program.ended, "the program to end")
    wait_until(lambda: not at.processes(), "everything to end")


def test_a_compaction_by_hand_is_seen_and_leaves_one_note_that_a_killed_screen_shows_again(
    at: Home, start: Start, server: ScriptedServer
) -> None:
    for name in ("first", "second", "third"):
        server.add(say("A long answer. " * 2_000 + f"\n\nThe {name} end."))
    program = start("one")
    for name, prompt in (("first", "two" + ENTER), ("second", "three" + ENTER), ("third", "")):
        until_shown(program, f"The {name} end.", "ready")
        program.type(prompt)
    server.add(say([gate("summary"), "## Open\n- the third prompt"]))
    program.type("/compact the names" + ENTER)
    until_shown(program, "compacting")
    server.open("summary")
    until_shown(program, "Compacted:", "ready")
    assert "the names" in str(server.requests[-1].body)
    kill(pid_of(at, program.process.pid, "ui"))
    program.screen.reset()
    until_shown(program, "Compacted:", "ready")
    assert program.text.count("Compacted:") == 1
    leave(program, at)
