"""A shell around the screen: it has its terminal as soon as Fido stops, however Fido ends then."""

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.fakes import an_editor
from tests.fakes.fido import GUARD, home, pid_of, wait_until
from tests.fakes.terminal import CTRL_G, CTRL_Z, TerminalProgram

SHELL = ["bash", "--norc", "--noprofile", "-i"]
EDITOR = f"{sys.executable} -I {an_editor.__file__}"


@pytest.mark.parametrize("where", ["screen", "editor", "from outside"])
def test_a_shell_keeps_its_terminal_when_what_it_has_stopped_is_ended(tmp_path: Path, where: str) -> None:
    start = tmp_path / "start"
    start.write_text("exec " + " ".join(f"'{word}'" for word in GUARD) + "\n", encoding="utf-8")
    with home() as at:
        environment = at.environment(PS1="ready> ", TERM="xterm-256color", EDITOR=EDITOR)
        with TerminalProgram(SHELL, environment=environment, cwd=tmp_path) as terminal:
            terminal.until(lambda: "ready>" in terminal.text)
            terminal.type(f"sh {start}\r")
            terminal.until(lambda: "Enter send" in terminal.text)
            if where == "editor":
                terminal.type("a draft")
                terminal.until(lambda: "› a draft" in terminal.text)
                terminal.type(CTRL_G)
                terminal.until(lambda: "editing <a draft>" in terminal.text)
            if where == "from outside":
                os.kill(pid_of(at, 0, "ui"), signal.SIGTSTP)
            else:
                terminal.type(CTRL_Z)
            terminal.until(lambda: "Stopped" in terminal.text, "the shell's word")
            before = len(terminal.written)
            terminal.type("kill %1\r")
            wait_until(
                lambda: not terminal.take() and not fido(at.processes(), terminal), "everything to end"
            )
            terminal.type("echo $((6*7))\r")
            terminal.until(lambda: "42" in terminal.text, "the shell's answer")
            assert b"\x1b[2J" not in terminal.written[before:], "the shell's screen was cleared"
            terminal.type("exit\r")
            terminal.until(lambda: terminal.ended, "the shell's end")


def fido(processes: list[int], terminal: TerminalProgram) -> list[int]:
    """Those of the processes that are not the shell."""
    return [pid for pid in processes if pid != terminal.process.pid]
