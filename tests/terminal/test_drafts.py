"""Drafts on a real terminal: a paste in one piece, an editor for a while, ends that lose nothing."""

import sys
from pathlib import Path

import pytest

from ipc.messages import StartTurn
from tests.fakes import an_editor
from tests.fakes.chat_script import gate
from tests.fakes.chat_script import say as answer
from tests.fakes.fido import GUARD, Home, kill, openai_environment, pid_of, wait_until
from tests.fakes.launch import command
from tests.fakes.scene import Start, played, say, scene
from tests.fakes.scripted_server import ScriptedServer
from tests.fakes.terminal import CTRL_C, CTRL_G, CTRL_U, CTRL_Z, ENTER, TerminalProgram

EDITOR = f"{sys.executable} -I {an_editor.__file__}"
PASTE = "".join(f"line {number} of it\n" for number in range(10_000))


def leave_with_draft(program: TerminalProgram) -> None:
    """Leave where `/quit` would stand behind other words."""
    program.type(CTRL_C)
    program.until(lambda: "Ctrl-C again leaves" in program.text, "the hint")
    program.type(CTRL_C)
    program.until(lambda: program.ended, "the end")


@played
async def test_a_paste_of_ten_thousand_lines_is_sent_in_full_in_its_place(tmp_path: Path) -> None:
    async with scene(tmp_path) as (run, terminal):
        terminal.type("Explain: ")
        await terminal.shows("Explain:")
        frames = terminal.frames
        terminal.paste(PASTE)
        await terminal.shows("Explain: [paste #1: 10,000 lines]")
        assert terminal.frames - frames < 100  # one a read of the terminal would be twice as many
        terminal.type(" briefly" + ENTER)
        assert await run.parent.hears(StartTurn) == [StartTurn(prompt=f"Explain: {PASTE} briefly")]
        await terminal.shows("Ask Fido")


@played
async def test_an_editor_has_draft_and_terminal_while_the_rest_goes_on(tmp_path: Path) -> None:
    async with scene(tmp_path, EDITOR=EDITOR) as (run, terminal):
        terminal.type("a draft" + CTRL_G)
        await terminal.shows("editing <a draft>")
        modes = terminal.modes
        assert modes == terminal.modes_before
        run.parent.tell(say("Said meanwhile."))
        terminal.type("put changed\r")
        await terminal.shows("saved <changed>")
        terminal.type("end 0\r")
        await terminal.shows("› changed", "Said meanwhile.")
        terminal.type("!" + ENTER)
        assert await run.parent.hears(StartTurn) == [StartTurn(prompt="changed!")]
        assert not list(run.place.directory.glob("prompt-*"))


@pytest.mark.parametrize(("status", "left"), [(0, "Ask Fido to do something"), (3, "a draft")])
@played
async def test_a_file_that_an_editor_has_emptied_is_what_is_wanted_unless_it_failed(
    tmp_path: Path, status: int, left: str
) -> None:
    async with scene(tmp_path, EDITOR=EDITOR) as (_, terminal):
        terminal.type("a draft" + CTRL_G)
        await terminal.shows("editing <a draft>")
        terminal.type("empty\r")
        await terminal.shows("saved <>")
        terminal.type(f"end {status}\r")
        await terminal.shows(f"› {left}")


@played
async def test_an_editor_that_fails_loses_nothing_and_its_failure_is_said(tmp_path: Path) -> None:
    async with scene(tmp_path, EDITOR=EDITOR) as (_, terminal):
        terminal.type("a draft" + CTRL_G)
        await terminal.shows("editing <a draft>")
        terminal.type("end 3\r")
        await terminal.shows("› a draft", "ended with status 3")
    async with scene(tmp_path, EDITOR="/no/such/editor") as (_, terminal):
        terminal.type("a draft" + CTRL_G)
        await terminal.shows("› a draft", "could not be started")


def test_a_draft_begins_before_the_first_frame_and_outlives_a_screen_killed_while_an_editor_has_it(
    at: Home, tmp_path: Path, server: ScriptedServer
) -> None:
    environment = at.environment(TERM="xterm-256color", EDITOR=EDITOR, **openai_environment(server.base_url))
    with TerminalProgram([*GUARD], 100, 24, environment, tmp_path) as program:
        program.type("a dr")  # before anybody reads it
        program.until(lambda: "ready" in program.text, "the screen")
        program.type("aft" + CTRL_G)
        program.until(lambda: "editing <a draft>" in program.text, "the editor")
        screen = pid_of(at, program.process.pid, "ui")
        kill(screen)
        program.until(lambda: "› a draft" in program.text, "the draft")
        program.type(" and more")
        program.until(lambda: "› a draft and more" in program.text, "what is typed")
        leave_with_draft(program)
        assert program.modes == program.modes_before


def test_what_is_written_and_queued_survives_everything_being_killed_and_is_not_sent_unasked(
    at: Home, start: Start, server: ScriptedServer
) -> None:
    server.add(answer(["Let me ", gate("never"), "think"]))
    program = start("go")
    program.until(lambda: "Let me" in program.text, "the answer to begin")
    program.type("queued" + ENTER)
    program.until(lambda: "queued  queued" in program.text, "the queue")
    program.type("a draft")
    drafts = at.folder / "state" / "fido" / "drafts"
    wait_until(lambda: b"a draft" in b"".join(map(Path.read_bytes, drafts.rglob("*.json"))), "it to be kept")
    for pid in at.processes():
        kill(pid)
    wait_until(lambda: not at.processes(), "everything to end")
    program = start()
    program.until(lambda: "› queued" in program.text and "a draft" in program.text, "queue and draft")
    assert len(server.requests) == 1
    leave_with_draft(program)


def test_an_editor_that_was_stopped_and_continued_in_the_background_leaves_the_shell_its_terminal(
    at: Home, tmp_path: Path, server: ScriptedServer
) -> None:
    environment = at.environment(TERM="xterm-256color", EDITOR=EDITOR, **openai_environment(server.base_url))
    shell = command("tests.fakes.job_control", *GUARD)
    with TerminalProgram(shell, 100, 24, environment, tmp_path) as program:
        program.until(lambda: "ready" in program.text, "the screen")
        program.type("a draft" + CTRL_G)
        program.until(lambda: "editing <a draft>" in program.text, "the editor")
        program.type(CTRL_Z)
        program.until(lambda: "stopped, tty as before" in program.text, "the shell")
        program.screen.reset()
        program.type("bg\n")
        program.until(lambda: "stopped, tty as before" in program.text, "the job to stop again")
        program.type("fg\nput changed\nend 0\n")
        program.until(lambda: "› changed" in program.text, "the draft")
        program.type(CTRL_U + "/quit" + ENTER)
        program.until(lambda: "ended, tty as before" in program.text, "the end")
