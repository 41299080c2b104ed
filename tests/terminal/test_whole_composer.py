"""Writing in the whole program: what was written is what the model reads; a cancel takes none of it."""

import pytest

from tests.fakes.chat_script import call, say
from tests.fakes.fido import Home
from tests.fakes.scene import Start, leave
from tests.fakes.scripted_server import ScriptedServer
from tests.fakes.terminal import BACKSPACE, CTRL_C, ENTER, TerminalProgram
from tests.terminal.test_whole_sessions import until_shown

ESC_ALONE = "\x1b[27u"
"""The key as the kitty protocol names it: what follows in the same write is no part of it."""
DEAF = "trap '' TERM INT HUP; echo up; while :; do sleep 0.05; done"
PASTE = "".join(f"line {number} of it\t\x1b[31m\n" for number in range(10_000))


def prompts(server: ScriptedServer) -> list[str]:
    """The person's messages in the last request."""
    said = [message["content"] for message in server.requests[-1].messages if message["role"] == "user"]
    return [text for text in said if not text.startswith("<")]


def draft(program: TerminalProgram) -> str:
    return program.lines[-2]


@pytest.mark.report("TERM-05", "TERM-07")
def test_wide_signs_invisible_ones_and_a_long_paste_reach_the_model_as_they_were_written(
    at: Home, start: Start, server: ScriptedServer
) -> None:
    server.add(say("Read."))
    program = start(columns=80)
    until_shown(program, "ready")
    program.type("漢字e\u0301👩\u200d💻x")
    program.until(lambda: program.screen.cursor.x == 2 + 2 + 2 + 1 + 2 + 1, "the cursor behind it")
    program.type(BACKSPACE * 2 + " می\u200cخواهم")
    program.until(lambda: "<U+200C>" in draft(program), "what hides to be seen")
    program.paste(PASTE)
    program.until(lambda: "[paste #1: 10,000 lines]" in draft(program), "the paste")
    for columns in (40, 120, 80):
        program.resize(columns, 32)
        program.until(lambda: program.fits and "[paste #1:" in program.text, f"{columns} columns")
    program.type(" \u202eok" + ENTER)
    until_shown(program, "Read.")
    assert prompts(server) == [f"漢字e\u0301 می\u200cخواهم{PASTE} \u202eok"]
    leave(program, at)


@pytest.mark.report("PANEL-07", "PANEL-08")
def test_a_cancel_keeps_queue_and_draft_and_a_message_right_behind_it_is_taken_once(
    at: Home, start: Start, server: ScriptedServer
) -> None:
    server.add(call("bash_exec", {"command": DEAF}), say("The first."), say("The second."))
    program = start("--mode", "yolo", "Run it")
    until_shown(program, "    up")
    program.type(f"queued before{ENTER}")
    until_shown(program, "queued  queued before")
    program.type(f"{ESC_ALONE}sent behind it{ENTER}half a draft")
    until_shown(program, "Cancelled.", "The first.", "The second.", "ready")
    assert draft(program).startswith("› half a draft")
    assert prompts(server) == ["Run it", "queued before", "sent behind it"]
    assert len(server.requests) == 3
    program.type(CTRL_C)
    until_shown(program, "Cleared; Ctrl-_ brings it back.")
    leave(program, at)
