"""Keys: help, a person's own ones, the mouse, to the background and back, and every way out."""

import os
import signal
from pathlib import Path

import pytest

from ipc.messages import CancelTurn, PlanChanged, ScreenConfigured, StartTurn, TurnStarted
from tests.fakes.facts import PLAN, finished, session
from tests.fakes.past import past
from tests.fakes.scene import played, say, scene
from tests.fakes.terminal import (
    CTRL_C,
    CTRL_D,
    DOWN,
    ENTER,
    ESC,
    F1,
    F2,
    TerminalProgram,
)
from tests.terminal.test_composer import draft
from tests.terminal.test_panel import steps
from ui import keys

WHEEL_UP, WHEEL_DOWN = 64, 65
NOT_OURS = ("Ctrl-B", "Ctrl-S", "Ctrl-Q")
"""tmux begins with the one, and terminals stop and go on with the others."""


@played
async def test_the_help_names_every_key_and_command_at_every_width(tmp_path: Path) -> None:
    named = {keys.DEFAULT.shown(binding.action) for binding in keys.BINDINGS} | set(keys.LOCAL_COMMANDS)
    async with scene(tmp_path, 100, 30) as (_, terminal):
        for columns in (40, 80, 120):
            await terminal.redraws(columns, 180 if columns == 40 else 90)
            terminal.type("?" if columns != 80 else F1)
            await terminal.shows("Esc close", "/quit")
            assert {name for name in named if name not in terminal.text} == set()
            assert not any(key in terminal.text for key in NOT_OURS)
            terminal.type(ESC)
            await terminal.shows("Enter send")


@played
async def test_keys_are_what_the_person_made_them(tmp_path: Path) -> None:
    wishes: dict[str, tuple[str, ...]] = {
        "plan": ("f9",),
        "help": ("f10",),
        "nonsense": ("f3",),
        "fold": ("no key",),
    }
    async with scene(tmp_path, 60, 24) as (run, terminal):
        run.store.tell(PlanChanged(plan=PLAN))
        run.parent.tell(ScreenConfigured(keys=wishes), session())
        await terminal.shows("nonsense", "no key")
        await terminal.becomes(lambda: "F9" in terminal.line_with("1/4"))
        terminal.type(F2)
        terminal.type("x")
        await terminal.shows("› x")
        assert "Survey the workspace" not in terminal.text
        assert "nonsense" in terminal.text, "what can not be met is read for as long as one likes"
        terminal.type("\x1b[20~")
        await terminal.shows("Survey the workspace")


@played
async def test_the_wheel_scrolls_what_is_under_it_and_a_click_writes(tmp_path: Path) -> None:
    async with scene(tmp_path, 120, 30) as (run, terminal):
        run.store.tell(PlanChanged(plan=steps(0, 40)))
        run.parent.tell(*past(300), say("The end."))
        await terminal.shows("The end.", "step-0")
        for _ in range(4):
            terminal.click(110, 20, WHEEL_DOWN)
        await terminal.becomes(lambda: "step-0\n" not in _ends(terminal) and "The end." in terminal.text)
        for _ in range(4):
            terminal.click(10, 12, WHEEL_UP)
        await terminal.becomes(lambda: "The end." not in terminal.text)
        terminal.click(5, 28)
        terminal.type("x")
        await terminal.shows("› x")


def _ends(terminal: TerminalProgram) -> str:
    return "\n".join(line.rstrip("│┃ ") for line in terminal.lines) + "\n"


@played
async def test_the_mouse_is_left_alone_where_the_person_wants_it_so(tmp_path: Path) -> None:
    async with scene(tmp_path) as (run, terminal):
        run.parent.tell(ScreenConfigured(mouse=False), session(), TurnStarted(turn=1, prompt="seen"))
        await terminal.shows("seen")
        on, off = (bytes(terminal.written).rfind(mode) for mode in (b"\x1b[?1000h", b"\x1b[?1000l"))
        assert off > on or on < 0


@played
async def test_one_escape_does_one_thing(tmp_path: Path) -> None:
    async with scene(tmp_path, 60) as (run, terminal):
        run.store.tell(PlanChanged(plan=PLAN))
        run.parent.tell(TurnStarted(turn=1, prompt="x"))
        await terminal.shows("working", "1/4")
        terminal.type(f"a draft{F2}")
        await terminal.shows("Survey the workspace")
        terminal.type(ESC)
        await terminal.becomes(lambda: "Survey the workspace" not in terminal.text)
        assert not any(isinstance(heard, CancelTurn) for heard in run.parent.heard)
        terminal.type(ESC)
        assert await run.parent.hears(CancelTurn) == [CancelTurn()]
        assert draft(terminal) == "a draft"


@pytest.mark.parametrize("way", ["ctrl-d", "ctrl-c", "/quit", "/exit"])
@played
async def test_every_way_out_gives_the_terminal_back(tmp_path: Path, way: str) -> None:
    async with scene(tmp_path, background="1e1e2e") as (_, terminal):
        if way == "ctrl-c":
            terminal.type(CTRL_C)
            await terminal.shows("again to leave")
            terminal.type(CTRL_C)
        elif way == "ctrl-d":
            terminal.type(f"x{CTRL_D}")
            await terminal.shows("› x")
            assert not terminal.ended
            terminal.type(f"\x7f{CTRL_D}")
            if not terminal.ended and "again" in terminal.text:
                terminal.type(CTRL_D)
        else:
            terminal.type(f"{way}{ENTER}")
        assert await terminal.ends() == 0
        assert terminal.is_given_back


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@played
async def test_a_signal_in_the_middle_of_a_turn_gives_the_terminal_back(
    tmp_path: Path, number: signal.Signals
) -> None:
    async with scene(tmp_path, background="1e1e2e") as (run, terminal):
        run.parent.tell(TurnStarted(turn=1, prompt="x"), say("and so on"))
        await terminal.shows("and so on")
        os.kill(terminal.process.pid, number)
        assert await terminal.ends() == 0
        assert terminal.is_given_back


@played
async def test_a_person_who_types_ahead_loses_nothing(tmp_path: Path) -> None:
    async with scene(tmp_path) as (run, terminal):
        terminal.process.send_signal(signal.SIGSTOP)
        terminal.type(f"first{ENTER}second")
        terminal.process.send_signal(signal.SIGCONT)
        assert await run.parent.hears(StartTurn) == [StartTurn(prompt="first")]
        run.parent.tell(TurnStarted(turn=1, prompt="first"), finished())
        await terminal.shows("› second", "ready")
        terminal.type(DOWN)
