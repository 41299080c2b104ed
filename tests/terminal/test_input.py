"""Whatever a terminal sends, by itself or because somebody has asked it, types nothing and ends nothing."""

import os
import random
from pathlib import Path

import pytest

from ipc.messages import TurnStarted
from tests.fakes.facts import finished
from tests.fakes.launch import command
from tests.fakes.run import played_run
from tests.fakes.scene import played, say, scene
from tests.fakes.terminal import CTRL_U, TerminalProgram
from tests.terminal.test_composer import draft

ANSWERS = (
    "\x1b[5;10R",
    "\x1b[1;1R",
    "\x1b[?5;10R",
    "\x1b[0n",
    "\x1b[?62;22c",
    "\x1b[>0;276;0c",
    "\x1b[8;24;80t",
    "\x1b[?2026;2$y",
    "\x1b[?997;1n",
    "\x1b[?0u",
    "\x1b]10;rgb:ffff/ffff/ffff\x07",
    "\x1b]4;1;rgb:ff/00/00\x1b\\",
    "\x1b]52;c;aGVsbG8=\x07",
    "\x1b]lTitle\x1b\\",
    "\x1bP1$r0m\x1b\\",
    "\x1bP>|xterm(370)\x1b\\",
    "\x1b_Gi=1;OK\x1b\\",
)
"""To the questions that programs ask, about cursor, size, modes, colours, clipboard, name and pictures."""
ATOMS = [
    *(
        "\x1b",
        "[",
        "]",
        "O",
        "P",
        "_",
        "?",
        "<",
        ">",
        ";",
        ":",
        "1",
        "2",
        "5",
        "9",
        "200",
        "~",
        "R",
        "c",
        "n",
    ),
    *(
        "t",
        "u",
        "y",
        "M",
        "m",
        "A",
        "Z",
        "I",
        "\x07",
        "\x1b\\",
        "a",
        "漢",
        "$",
        "\x7f",
        "\t",
        "\n",
        "\x0e",
        "\0",
    ),
    *(
        "\x06",
        "\x12",
        " ",
        "\x1b[<0;5;5M",
        "\x1b[M   ",
        "\x1b[200~",
        "\x1b[201~",
        "\x1bOP",
        "\x1b[15~",
        "\x1b]11;",
    ),
]
"""Of which keys, answers, mouse and pastes are made; none of them leaves."""
ROUNDS = 400


@pytest.mark.parametrize("background", ["", "1e1e2e"])
@played
async def test_answers_to_what_another_program_has_asked_type_nothing(
    tmp_path: Path, background: str
) -> None:
    async with scene(tmp_path, background=background, EDITOR="/no/such/editor") as (run, terminal):
        terminal.type("".join(f"x{answer}" for answer in ANSWERS) + "y")
        await terminal.becomes(lambda: draft(terminal).endswith("y"), "the last key")
        assert draft(terminal) == "x" * len(ANSWERS) + "y"
        assert run.parent.heard == []
        assert "editor" not in terminal.text


@played
async def test_an_answer_that_is_there_before_the_screen_ends_nothing(tmp_path: Path) -> None:
    async with played_run(tmp_path) as run:
        with TerminalProgram(command("ui.app", run.place.directory, os.getpid())) as terminal:
            terminal.type("\x1b[5;10Rab")
            await terminal.shows("› ab", "ready")


@played
async def test_an_answer_that_was_cut_off_costs_no_key(tmp_path: Path) -> None:
    async with scene(tmp_path) as (_, terminal):
        terminal.type("\x1b]11;rgb:1e1e/1e")
        terminal.type("\x1b[Hhello")
        await terminal.shows("› hello")


@played
async def test_any_bytes_whatever_leave_a_screen_that_works(tmp_path: Path) -> None:
    chance = random.Random(5)
    async with scene(tmp_path, EDITOR="true") as (run, terminal):
        run.parent.tell(TurnStarted(turn=1, prompt="x"), say("hello\n\nworld\n" * 30), finished(text="hi"))
        for _ in range(ROUNDS):
            terminal.type("".join(chance.choice(ATOMS) for _ in range(chance.randint(1, 6))))
            terminal.take()
        terminal.type("\x1b[201~\x1b\x1b\x1b" + CTRL_U)
        run.parent.tell(say("\n\nThe end."))
        await terminal.becomes(lambda: not terminal.ended and "Fido" in terminal.lines[0])
        terminal.type("\x1b[99;5u" + "still here")
        await terminal.shows("still here")
