"""Completion and history in the whole program: the files that are there, the prompts of every run."""

from pathlib import Path

from tests.fakes.chat_script import say
from tests.fakes.fido import Home, kill, wait_until
from tests.fakes.scene import Start, leave
from tests.fakes.scripted_server import ScriptedServer
from tests.fakes.terminal import CTRL_R, DOWN, ENTER, ESC, TAB, UP, TerminalProgram

COLUMNS = (120, 200, 80, 60, 40)


def until_shown(program: TerminalProgram, *texts: str) -> None:
    program.until(lambda: all(text in program.text for text in texts), f"{texts}")


def until_gone(program: TerminalProgram, text: str) -> None:
    program.until(lambda: text not in program.text, f"no {text}")


def composed(program: TerminalProgram) -> str:
    """What stands in the last row but one: in the composer, while it has one line."""
    return program.text.rstrip().split("\n")[-2].strip()


def test_files_and_commands_are_completed_at_every_width(
    at: Home, start: Start, server: ScriptedServer, tmp_path: Path
) -> None:
    for name in ("src/parser.py", "src/parse errors.txt", "built/parser.o", ".gitignore"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("built/\n", encoding="utf-8")
    server.add(say("Seen."))
    program = start()
    until_shown(program, "ready")
    for columns in COLUMNS:
        program.resize(columns, 24)
        program.type("look at @pars")
        until_shown(program, "› parser.py", "parse errors.txt", "src/")
        assert "parser.o" not in program.text
        program.type(ESC)
        until_gone(program, "Files")
        program.type("\x15")
        until_shown(program, "Ask Fido")
    program.type("look at @parseerr" + TAB + "now")
    program.until(lambda: composed(program) == '› look at @"src/parse errors.txt" now', "the quoted name")
    program.type(ENTER)
    until_shown(program, "Seen.")
    program.type("/")
    until_shown(program, "Commands", "/usage")
    program.type("us" + ENTER)
    until_shown(program, "Usage")
    program.type(ESC)
    until_gone(program, "Usage")
    leave(program, at)


def test_prompts_of_a_run_that_was_killed_are_there_in_the_next_one(
    at: Home, start: Start, server: ScriptedServer
) -> None:
    server.add(say("One."), say("Two."))
    first = start()
    until_shown(first, "ready")
    for prompt, answer in (("the first question", "One."), ("another one", "Two.")):
        first.type(prompt + ENTER)
        until_shown(first, answer)
    kill(first.process.pid)
    wait_until(lambda: not at.processes(), "everything to end")
    second = start()
    until_shown(second, "ready")
    second.type("\x15a draft" + UP)
    second.until(lambda: composed(second) == "› another one", "the newest")
    second.type(UP)
    second.until(lambda: composed(second) == "› the first question", "the one before")
    second.type(DOWN + DOWN)
    second.until(lambda: composed(second) == "› a draft", "the draft")
    second.type(CTRL_R + "quest")
    until_shown(second, "Earlier prompts", "1 of 2 match", "› the first question")
    second.type(ENTER)
    second.until(lambda: composed(second) == "› the first question", "what was found")
    assert "Earlier prompts" not in second.text
    second.type("\x15")
    leave(second, at)
