"""Colours and signs on the terminals people have: whatever is drawn can be read there."""

from pathlib import Path

import pytest
from pyte.screens import Char

from ipc.messages import (
    MessageDelta,
    NoticeRaised,
    PlanChanged,
    ScreenConfigured,
    ToolFinished,
    ToolStarted,
    TurnStarted,
)
from tests.fakes.facts import PLAN, activity, approval, session, usage
from tests.fakes.past import ANSWER
from tests.fakes.run import PlayedRun
from tests.fakes.scene import played, say, scene
from tests.fakes.terminal import F3, TerminalProgram

NAMED = {"black", "red", "green", "brown", "blue", "magenta", "cyan", "white"}
DIFF = "@@ -1,2 +1,2 @@\n one\n-two\n+three\n"
LETTERS = "the letters of which one reads"


async def everything(run: PlayedRun, terminal: TerminalProgram, look: ScreenConfigured | None = None) -> None:
    """One of each that is drawn."""
    run.store.tell(PlanChanged(plan=PLAN))
    if look is not None:
        run.parent.tell(look, session())
    run.parent.tell(
        TurnStarted(turn=1, prompt="What is risky?"),
        MessageDelta(turn=1, kind="reasoning", text="I look first."),
        ToolStarted(call_id="1", name="patch", summary="a.py"),
        ToolFinished(call_id="1", name="patch", status="ok", duration_ms=12, display=DIFF),
        ToolStarted(call_id="2", name="bash_exec", summary="make"),
        ToolFinished(call_id="2", name="bash_exec", status="error", duration_ms=9, display="exit status 2"),
        NoticeRaised(level="error", message="The server is gone."),
        NoticeRaised(level="warning", message="It is slow."),
        say(ANSWER),
        usage(),
        ToolStarted(call_id="3", name="delegate", summary="Inspect"),
        activity("read_file", "app.py"),
        approval(),
    )
    await terminal.shows("Allow once", "What I found", "The server is gone.", "read_file", "1/4")


def letters(terminal: TerminalProgram) -> list[Char]:
    """All cells that hold something to read."""
    rows = terminal.screen.buffer.values()
    return [cell for row in rows for cell in row.values() if cell.data.isalnum()]


def contrast(one: str, other: str) -> float:
    """The ratio of WCAG, of two colours such as `ffffff`."""
    brighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize(
    ("background", "theme", "least"),
    [
        ("000000", "auto", 4.5),
        ("ffffff", "auto", 4.5),
        ("1e1e2e", "auto", 4.5),
        ("000000", "high-contrast", 7.0),
        ("ffffff", "high-contrast", 7.0),
    ],
)
@played
async def test_every_letter_can_be_read_on_the_background_that_the_terminal_has(
    tmp_path: Path, background: str, theme: str, least: float
) -> None:
    text = "000000" if background == "ffffff" else "ffffff"
    async with scene(tmp_path, 120, 60, background=background) as (run, terminal):
        await everything(run, terminal, ScreenConfigured(theme=theme))  # type: ignore[arg-type]
        for cell in letters(terminal):
            front, back = (
                text if cell.fg == "default" else cell.fg,
                background if cell.bg == "default" else cell.bg,
            )
            if cell.reverse:
                front, back = back, front
            if not cell.bg.startswith("a78bfa"):  # the subagents' violet is given
                assert contrast(front, back) >= least, cell


@played
async def test_a_terminal_that_does_not_tell_gets_tones_that_are_read_on_black_and_on_white(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path, 120, 60) as (run, terminal):
        await everything(run, terminal)
        tones = {cell.fg for cell in letters(terminal) if cell.bg == "default" and cell.fg != "default"}
        assert tones
        for tone in tones:
            assert min(contrast(tone, "000000"), contrast(tone, "ffffff")) >= 3.5, tone


@played
async def test_an_answer_of_the_terminal_that_is_late_or_split_is_never_taken_for_keys(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path, 80) as (run, terminal):
        terminal.type("my ")
        await terminal.shows("› my")
        for piece in ("\x1b]11;rgb:ff", "ff/ffff/", "ffff\x1b\\"):
            terminal.type(piece)
            run.parent.tell(NoticeRaised(level="info", message=f"behind {len(piece)}"))
            await terminal.shows(f"behind {len(piece)}")
        terminal.type("draft")
        await terminal.shows("› my draft")
        dark = (
            contrast(terminal.cells("F1")[0].fg, "ffffff") if terminal.cells("F1")[0].fg != "default" else 21
        )
        assert dark >= 4.5


@played
async def test_sixteen_colours_are_enough(tmp_path: Path) -> None:
    async with scene(tmp_path, 120, 60, TERM="xterm", COLORTERM="") as (run, terminal):
        await everything(run, terminal)
        used = {cell.fg.removeprefix("bright") for cell in letters(terminal)} - {"default"}
        assert used
        assert used <= NAMED
        assert b"38;5" not in terminal.written
        assert b"38;2" not in terminal.written


@pytest.mark.parametrize(("colorterm", "sign"), [("", b"48;5;"), ("truecolor", b"48;2;167;139;250")])
@played
async def test_as_many_colours_are_used_as_the_terminal_has(
    tmp_path: Path, colorterm: str, sign: bytes
) -> None:
    async with scene(tmp_path, TERM="xterm-256color", COLORTERM=colorterm) as (run, terminal):
        run.parent.tell(TurnStarted(turn=1, prompt="x"), activity("reading"))
        await terminal.shows("SUBAGENT")
        assert sign in terminal.written
        assert (b"38;2;" in terminal.written) == (colorterm == "truecolor")


@played
async def test_without_colours_everything_is_said_by_signs_and_words(tmp_path: Path) -> None:
    async with scene(tmp_path, 120, 70, NO_COLOR="1") as (run, terminal):
        await everything(run, terminal)
        terminal.type(F3)
        await terminal.shows("- two", "+ three")
        assert {(cell.fg, cell.bg) for cell in letters(terminal)} == {("default", "default")}
        assert "failed" in terminal.line_with("bash_exec make")
        for text in (
            "- two",
            "+ three",
            "✗ The server is gone.",
            "! It is slow.",
            "in progress",
            "1 blocked",
        ):
            assert text in terminal.text
        assert all(cell.reverse for cell in terminal.cells("SUBAGENT"))


@played
async def test_signs_are_ascii_where_the_person_wants_them(tmp_path: Path) -> None:
    async with scene(tmp_path, 120, 60) as (run, terminal):
        await everything(run, terminal, ScreenConfigured(glyphs="ascii"))
        await terminal.becomes(
            terminal.text.isascii, "a screen in ASCII"
        ) if terminal.text.isascii() else None
        await terminal.becomes(lambda: terminal.text.isascii(), "a screen in ASCII")
        assert "x bash_exec make" in terminal.text


@played
async def test_with_reduced_motion_nothing_moves_but_numbers(tmp_path: Path) -> None:
    async with scene(tmp_path, 100) as (run, terminal):
        run.parent.tell(ScreenConfigured(motion=False), session(), TurnStarted(turn=1, prompt="x"))
        run.parent.tell(ToolStarted(call_id="1", name="delegate", summary="x"), activity("reading"))
        await terminal.shows("reading", "working")
        seen = {_still(terminal)}
        for second in ("0:01", "0:02"):
            await terminal.becomes(lambda second=second: second in terminal.lines[0])
            seen.add(_still(terminal))
        assert len(seen) == 1


def _still(terminal: TerminalProgram) -> str:
    return "".join("0" if sign.isdigit() else sign for sign in terminal.text)
