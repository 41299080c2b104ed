"""The line one writes in, and what waits behind it."""

from pathlib import Path

import pytest

from ipc.messages import (
    CancelTurn,
    ListPaths,
    ListPrompts,
    PathsListed,
    PromptsListed,
    StartTurn,
    ToolStarted,
    TurnStarted,
)
from tests.fakes.facts import finished, session
from tests.fakes.run import PlayedRun
from tests.fakes.scene import played, scene
from tests.fakes.terminal import (
    ALT_DELETE,
    ALT_ENTER,
    ALT_UP,
    ALT_V,
    BACKSPACE,
    CTRL_R,
    DOWN,
    ENTER,
    ESC,
    HOME,
    LEFT,
    TAB,
    UP,
    TerminalProgram,
)

WIDTHS = [40, 60, 80, 120, 200]
CTRL_A, CTRL_K, CTRL_W, CTRL_Y, UNDO = "\x01", "\x0b", "\x17", "\x19", "\x1f"
ALT_B, ALT_D = "\x1bb", "\x1bd"
PATHS = (
    *(f"src/part_{at}/file_{at}.py" for at in range(2_000)),
    "src/parcel/pieces.py",
    "docs/my notes.md",
    "tests/test_pieces.py",
)


def draft(terminal: TerminalProgram) -> str:
    """What one has written, on one line."""
    rows = terminal.lines
    first = max(row for row, line in enumerate(rows) if line.startswith("› "))
    return " ".join(line[2:] for line in rows[first:-1])


async def written(terminal: TerminalProgram, text: str) -> None:
    await terminal.becomes(lambda: draft(terminal) == text, f"the draft {text!r}")


@played
async def test_a_line_is_edited_as_in_a_shell(tmp_path: Path) -> None:
    async with scene(tmp_path) as (run, terminal):
        terminal.type(f"one two three{CTRL_W}")
        await written(terminal, "one two")
        terminal.type(f"{UNDO}")
        await written(terminal, "one two three")
        terminal.type(f"{ALT_B}{ALT_B}{ALT_D}")
        await terminal.becomes(lambda: draft(terminal).split() == ["one", "three"])
        terminal.type(f"{CTRL_A}{CTRL_K}")
        await written(terminal, "Ask Fido to do something")
        terminal.type(f"{CTRL_Y}{HOME}zero {ALT_ENTER}")
        await terminal.becomes(lambda: draft(terminal).split() == ["zero", "one", "three"])
        terminal.type(ENTER)
        sent = await run.parent.hears(StartTurn)
        assert sent[0].prompt.split() == ["zero", "one", "three"]
        assert "\n" in sent[0].prompt


@pytest.mark.report("TERM-05")
@played
async def test_wide_characters_and_marks_are_one_character_to_the_cursor(tmp_path: Path) -> None:
    family, accent = "👨\u200d👩\u200d👧", "e\u0301"
    async with scene(tmp_path, 80) as (run, terminal):
        terminal.type(f"漢字{accent}{family}")
        await terminal.shows("漢字")
        terminal.type(BACKSPACE)
        await terminal.becomes(lambda: "👨" not in terminal.text and "👧" not in terminal.text)
        assert terminal.screen.cursor.x == 2 + 2 + 2 + 1
        terminal.type(BACKSPACE)
        await terminal.becomes(lambda: terminal.screen.cursor.x == 6)
        terminal.type(LEFT + LEFT)
        await terminal.becomes(lambda: terminal.screen.cursor.x == 2)
        terminal.type(f"x{ENTER}")
        assert (await run.parent.hears(StartTurn))[0].prompt == "x漢字"


@played
async def test_a_long_draft_keeps_the_cursor_in_sight_at_every_width(tmp_path: Path) -> None:
    async with scene(tmp_path, 100, 24) as (run, terminal):
        run.parent.tell(session())
        terminal.type("word " * 60 + "end")
        await terminal.shows("end")
        for columns in WIDTHS:
            await terminal.redraws(columns, 24)
            await terminal.shows("word end")
            row = terminal.screen.cursor.y
            assert "word end" in terminal.lines[row]
            assert terminal.row_of("ready") < row


@pytest.mark.report("TERM-07")
@played
async def test_a_long_paste_is_one_sign_that_can_be_removed_or_opened(tmp_path: Path) -> None:
    pasted = "\n".join(f"line {number}: [/x]" for number in range(1, 13))
    async with scene(tmp_path, 80) as (run, terminal):
        terminal.type("Explain: ")
        terminal.paste(pasted)
        terminal.type(" please")
        await written(terminal, "Explain: [paste #1: 12 lines] please")
        terminal.type(BACKSPACE * 8)
        await written(terminal, "Explain: ".strip())
        terminal.type(UNDO)
        await terminal.shows("[paste #1: 12 lines]")
        terminal.type(ALT_V)
        await terminal.shows("line 12: [/x]")
        terminal.type(ENTER)
        assert pasted in (await run.parent.hears(StartTurn))[0].prompt


@pytest.mark.parametrize("columns", [40, 80, 200])
@played
async def test_files_are_completed_behind_an_at(tmp_path: Path, columns: int) -> None:
    async with scene(tmp_path, columns) as (run, terminal):
        run.parent.answers[ListPaths] = PathsListed(paths=PATHS)
        terminal.type("look at @pie")
        await terminal.shows("Files", "pieces.py")
        assert terminal.row_of("› pieces.py") < terminal.row_of("look at")
        assert terminal.row_of("look at") == terminal.screen.lines - 2  # nothing has moved
        terminal.type(TAB)
        await terminal.shows("look at @src/parcel/pieces.py")
        assert "Files" not in terminal.text
        terminal.type("and @mynote")
        await terminal.shows("› my notes.md")
        terminal.type(ESC)
        await terminal.becomes(lambda: "Files" not in terminal.text)
        terminal.type("s")
        await terminal.becomes(lambda: draft(terminal).endswith("@mynotes"))
        assert "Files" not in terminal.text  # who closed it wants none for this word
        terminal.type(TAB)
        await terminal.shows("› my notes.md")
        terminal.type(ENTER)
        await terminal.becomes(lambda: "my notes.md" in draft(terminal) and "Files" not in terminal.text)
        terminal.type(ENTER)
        sent = (await run.parent.hears(StartTurn))[0].prompt
        assert sent.startswith("look at @src/parcel/pieces.py and @")
        assert "docs/my notes.md" in sent
        assert run.parent.heard.count(ListPaths()) == 1


@played
async def test_commands_are_completed_with_their_help(tmp_path: Path) -> None:
    async with scene(tmp_path, 100) as (run, terminal):
        terminal.type("/")
        await terminal.shows("Commands", "› /")
        terminal.type("usa")
        await terminal.shows("› /usage", "tokens and cost")
        terminal.type(f"{TAB}{ENTER}")
        await terminal.shows("Usage", "Esc close")
        terminal.type(ESC)
        await terminal.shows("Enter send")
        assert not any(isinstance(heard, StartTurn) for heard in run.parent.heard)


@played
async def test_earlier_prompts_come_back_and_are_searched(tmp_path: Path) -> None:
    prompts = ("fix the loader", "why is it slow?", "and now the docs")
    async with scene(tmp_path, 80) as (run, terminal):
        run.parent.answers[ListPrompts] = PromptsListed(prompts=prompts)
        terminal.type(UP)
        await terminal.becomes(lambda: draft(terminal) in prompts)
        newest = draft(terminal)
        terminal.type(UP + UP)
        await terminal.becomes(lambda: draft(terminal) in prompts and draft(terminal) != newest)
        terminal.type(DOWN * 3)
        await written(terminal, "Ask Fido to do something")
        terminal.type(f"half {CTRL_R}")
        await terminal.shows("Earlier prompts", "Esc close")
        terminal.type("load")
        await terminal.shows("1 of 3")
        terminal.type(ESC)
        await terminal.becomes(lambda: "Earlier prompts" not in terminal.text and draft(terminal) == "half")
        terminal.type(f"{CTRL_R}load")
        await terminal.shows("1 of 3")
        terminal.type(ENTER)
        await written(terminal, "fix the loader")


async def working(run: PlayedRun, terminal: TerminalProgram) -> None:
    run.parent.tell(
        TurnStarted(turn=1, prompt="x"), ToolStarted(call_id="1", name="bash_exec", summary="sleep 10")
    )
    await terminal.shows("working", "sleep 10")


@pytest.mark.report("PANEL-06", "PANEL-08")
@played
async def test_what_is_typed_meanwhile_waits_and_is_edited_and_removed(tmp_path: Path) -> None:
    async with scene(tmp_path, 80) as (run, terminal):
        await working(run, terminal)
        terminal.type(f"one{ENTER}two{ENTER}half a draft")
        await terminal.shows("queued  one", "queued  two", "half a draft")
        terminal.type(ALT_UP)
        await terminal.shows("editing two")
        terminal.type(f" and more{ENTER}")
        await terminal.shows("queued  two and more", "half a draft")
        terminal.type(ALT_DELETE)
        await terminal.becomes(lambda: "queued  two" not in terminal.text)
        assert not any(isinstance(heard, CancelTurn | StartTurn) for heard in run.parent.heard)
        terminal.type(ESC)
        assert await run.parent.hears(CancelTurn) == [CancelTurn()]
        await terminal.shows("queued  one", "half a draft", "stopping")
        run.parent.tell(finished(status="cancelled"))
        assert await run.parent.hears(StartTurn) == [StartTurn(prompt="one")]
        await terminal.shows("half a draft")


@pytest.mark.report("PANEL-07")
@played
async def test_a_message_right_behind_a_cancel_is_taken_once_and_the_screen_says_what_is_stopped(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path, 80) as (run, terminal):
        await working(run, terminal)
        terminal.type(ESC)
        await run.parent.hears(CancelTurn)
        terminal.type(f"and now this{ENTER}")
        await terminal.shows("queued  and now this")
        await terminal.shows("stopping", "sleep 10")
        assert not any(isinstance(heard, StartTurn) for heard in run.parent.heard)
        run.parent.tell(finished(status="cancelled"))
        assert await run.parent.hears(StartTurn) == [StartTurn(prompt="and now this")]
        run.parent.tell(TurnStarted(turn=2, prompt="and now this"), finished(2))
        await terminal.shows("› and now this", "ready")
        assert "queued" not in terminal.text
        assert [heard for heard in run.parent.heard if isinstance(heard, StartTurn)] == [
            StartTurn(prompt="and now this")
        ]
