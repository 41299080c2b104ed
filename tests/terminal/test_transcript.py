"""What was said and done, as a person reads, unfolds, searches and copies it."""

import base64
import itertools
import os
from pathlib import Path

import pytest

from ipc.messages import MessageDelta, ToolFinished, ToolStarted, TurnStarted
from tests.fakes.facts import finished, session
from tests.fakes.past import ANSWER, deltas, past
from tests.fakes.run import PlayedRun
from tests.fakes.scene import played, say, scene
from tests.fakes.terminal import (
    CTRL_END,
    CTRL_F,
    CTRL_HOME,
    ENTER,
    ESC,
    F3,
    F5,
    PAGE_UP,
    SHIFT_TAB,
    UP,
    TerminalProgram,
)

WIDTHS = [40, 60, 80, 120, 200]
WHEEL_UP, WHEEL_DOWN = 64, 65
CODE = "while piece := file.read(size):"


def tool(
    call: str, name: str, summary: str, display: str = "", status: str = "ok"
) -> tuple[ToolStarted, ToolFinished]:
    """A call that has run."""
    return (
        ToolStarted(call_id=call, name=name, summary=summary),
        ToolFinished(call_id=call, name=name, status=status, duration_ms=1_200, display=display),  # type: ignore[arg-type]
    )


def words(terminal: TerminalProgram) -> str:
    """What is drawn left of the panel, without line ends."""
    panel = terminal.line_with("│ Plan").find("│ Plan")
    lines = [line[:panel] if panel > 0 else line for line in terminal.lines]
    return " ".join(" ".join(lines).replace("┃", " ").replace("│", " ").split())


async def turn(run: PlayedRun, terminal: TerminalProgram) -> None:
    """A turn that has thought, run a command, and answered."""
    output = "\n".join(f"line {number}" for number in range(1, 21))
    run.parent.tell(
        TurnStarted(turn=1, prompt="Why is it slow?"),
        MessageDelta(turn=1, kind="reasoning", text="First this.\nThen that."),
        *tool("1", "bash_exec", "make test", output),
        *tool("2", "ripgrep", "pieces", "a.py:1"),
        say("It reads **twice**."),
        finished(text="It reads **twice**."),
    )
    await terminal.shows("It reads twice.", "ready")


@played
async def test_markdown_is_read_as_it_is_meant_at_every_width(tmp_path: Path) -> None:
    async with scene(tmp_path, 100, 60) as (run, terminal):
        run.parent.tell(
            TurnStarted(turn=1, prompt="x"), *itertools.islice(deltas(1, 7), len(ANSWER) // 7 + 1)
        )
        for columns in WIDTHS:
            await terminal.redraws(columns, 60)
            await terminal.shows("What I found", "app.py")
            seen = words(terminal)
            assert "reads every file twice: once to count its lines" in seen
            assert "1. read_pieces opens the file again" in seen
            assert "so a renamed file is read again" in seen
            assert CODE in seen
            assert not {"**", "`", "##", "|---"} & {
                sign for sign in ("**", "`", "##", "|---") if sign in seen
            }
            assert terminal.line_with("app.py").replace("│", " ").split()[:3] == ["app.py", "212", "twice"]
            assert {cell.bold for cell in terminal.cells("What I found")} == {True}
            assert "see the notes" in seen
            assert "https://example.org/notes" in seen.replace(" ", "")


@played
async def test_code_has_the_colours_of_its_language(tmp_path: Path) -> None:
    async with scene(tmp_path, 100, 40) as (run, terminal):
        run.parent.tell(TurnStarted(turn=1, prompt="x"), say(ANSWER), finished(text=ANSWER))
        await terminal.shows(CODE)
        # The language is loaded while the code is seen already.
        await terminal.becomes(
            lambda: terminal.cells("while piece")[0].fg != terminal.cells("piece :=")[0].fg
        )
        assert terminal.cells('"rb"')[0].fg != terminal.cells("with open")[0].fg


@played
async def test_links_go_where_they_say(tmp_path: Path) -> None:
    async with scene(tmp_path, 100) as (run, terminal):
        run.parent.tell(
            TurnStarted(turn=1, prompt="x"),
            say(
                "[the notes](https://example.org/notes)\n\n[https://bank.example](https://evil.example/x)\n\n"
            ),
            say("[run](javascript:alert) <https://plain.example>\n\n"),
            finished(),
        )
        await terminal.shows("the notes", "evil.example/x", "https://plain.example", "ready")
        written = bytes(terminal.written).split(b"\x1b]8;")[1:]
        targets = {part.partition(b"\x1b\\")[0].rpartition(b";")[2] for part in written}
        assert b"https://example.org/notes" in targets
        assert not any(target.startswith(b"javascript") for target in targets)


@pytest.mark.parametrize("columns", [60, 120])
@played
async def test_a_call_is_one_line_that_unfolds_and_folds(tmp_path: Path, columns: int) -> None:
    async with scene(tmp_path, columns, 40) as (run, terminal):
        await turn(run, terminal)
        assert "line 1" not in terminal.text
        assert "∴ thought First this. Then that." in terminal.text
        row = terminal.line_with("bash_exec make test")
        assert "20 lines" in row or columns < 80
        assert "1.2 s" in row
        terminal.type(SHIFT_TAB + UP * 2)
        await terminal.shows("Enter unfold")
        terminal.type(ENTER)
        await terminal.shows("line 1\n" if columns < 80 else "line 1 ", "line 20")
        terminal.type(ENTER)
        await terminal.becomes(lambda: "line 20" not in terminal.text)
        terminal.type("and so")
        await terminal.shows("› and so", "Enter send")
        terminal.type(F3)
        await terminal.shows("line 20", "    First this.", "    Then that.", "› and so")


@played
async def test_a_click_chooses_and_a_second_one_unfolds(tmp_path: Path) -> None:
    async with scene(tmp_path, 100, 40) as (run, terminal):
        await turn(run, terminal)
        row = terminal.row_of("bash_exec make test")
        terminal.click(6, row)
        await terminal.shows("Enter unfold")
        terminal.click(6, row)
        await terminal.shows("line 20")


@played
async def test_a_search_finds_what_is_folded_and_goes_from_one_to_the_next(tmp_path: Path) -> None:
    async with scene(tmp_path, 100, 30) as (run, terminal):
        run.parent.tell(*past(300))
        await turn(run, terminal)
        terminal.type(CTRL_F)
        await terminal.shows("Esc close")
        terminal.type("LINE 17")
        await terminal.shows("no match")
        terminal.type("\x7f" * 7 + "line 17")
        await terminal.shows("1/1", "  line 17")
        terminal.type("\x7f" * 7 + "renamed file")
        await terminal.becomes(lambda: "renamed file" in terminal.line_with("/ ") and "/1" in terminal.text)
        count = int(terminal.line_with("/ renamed file").split("/")[-1].split()[0])
        assert count >= 8
        assert terminal.cells("renamed file")[0].bg != "default"
        terminal.type(ENTER)
        await terminal.shows("n, N match")
        terminal.type("NN")
        await terminal.shows(f"{count - 2}/{count}")
        terminal.type("n")
        await terminal.shows(f"{count - 1}/{count}")
        terminal.type(ESC)
        await terminal.becomes(lambda: "n, N match" not in terminal.text)
        terminal.type(ESC)
        await terminal.shows("Enter send")


@played
async def test_the_last_answer_and_a_block_are_copied_as_they_were_written(tmp_path: Path) -> None:
    async with scene(tmp_path, 100, 30) as (run, terminal):
        await turn(run, terminal)
        terminal.type(f"/copy{ENTER}")
        await terminal.shows("Copied")
        assert copied(terminal)[-1] == "It reads **twice**."
        terminal.type(SHIFT_TAB + UP * 2)
        await terminal.shows("Enter unfold")
        terminal.type(ENTER)
        await terminal.shows("line 20")
        terminal.type("c")
        await terminal.becomes(lambda: len(copied(terminal)) == 2)
        assert "line 20" in copied(terminal)[-1]


@pytest.mark.parametrize("status", [0, 1])
@played
async def test_inside_tmux_a_copy_goes_through_tmux_which_hands_it_on(tmp_path: Path, status: int) -> None:
    tmux = tmp_path / "bin" / "tmux"
    tmux.parent.mkdir()
    tmux.write_text(f'#!/bin/sh\ncat > "{tmp_path}/$1 $2 $3"\nexit {status}\n', encoding="utf-8")
    tmux.chmod(0o755)
    path = f"{tmux.parent}:{os.environ['PATH']}"
    async with scene(tmp_path, 100, 30, TMUX="/tmp/tmux-1/default,1,0", PATH=path) as (run, terminal):
        await turn(run, terminal)
        terminal.type(f"/copy{ENTER}")
        await terminal.shows("in tmux" if status == 0 else "tmux did not take it")
        assert (tmp_path / "load-buffer -w -").read_text("utf-8") == "It reads **twice**."
        assert copied(terminal) == ([] if status == 0 else ["It reads **twice**."])


def copied(terminal: TerminalProgram) -> list[str]:
    """What the terminal was asked to put into its clipboard."""
    asked = bytes(terminal.written).split(b"\x1b]52;c;")[1:]
    return [base64.b64decode(each.partition(b"\x07")[0].partition(b"\x1b")[0]).decode() for each in asked]


@played
async def test_for_the_terminals_own_selection_there_is_nothing_but_the_text(tmp_path: Path) -> None:
    async with scene(tmp_path, 100, 30) as (run, terminal):
        await turn(run, terminal)
        terminal.type(F5)
        await terminal.becomes(lambda: "Fido" not in terminal.lines[0])
        assert "It reads **twice**." in terminal.lines
        assert not any(sign in terminal.text for sign in ("│", "┃", "Enter send"))
        assert bytes(terminal.written).rfind(b"\x1b[?1000l") > bytes(terminal.written).rfind(b"\x1b[?1000h")
        terminal.type("x")
        await terminal.shows("Enter send", "Fido")
        assert bytes(terminal.written).rfind(b"\x1b[?1000h") > bytes(terminal.written).rfind(b"\x1b[?1000l")


@played
async def test_who_reads_above_stays_there_and_is_told_of_what_is_new(tmp_path: Path) -> None:
    async with scene(tmp_path, 100, 30) as (run, terminal):
        run.parent.tell(*past(300), TurnStarted(turn=50, prompt="And now?"))
        await terminal.shows("And now?")
        terminal.type(PAGE_UP * 2)
        await terminal.becomes(lambda: "And now?" not in terminal.text)
        row = next(row for row, line in enumerate(terminal.lines) if "The loader reads" in line)
        run.parent.tell(say("One.\n\nTwo.\n\nThree."), finished(50))
        await terminal.shows("new below", "ready")
        assert "The loader reads" in terminal.lines[row]
        await terminal.redraws(140, 40)
        await terminal.shows("The loader reads")
        terminal.type(CTRL_END)
        await terminal.shows("Three.")
        assert "below" not in terminal.text
        terminal.click(4, 10, WHEEL_UP)
        await terminal.shows("below")
        for _ in range(9):
            terminal.click(4, 10, WHEEL_DOWN)
        await terminal.becomes(lambda: "below" not in terminal.text)


@played
async def test_an_old_conversation_of_fifty_thousand_lines_opens_and_scrolls_at_once(tmp_path: Path) -> None:
    async with scene(tmp_path, 100, 30) as (run, terminal):
        run.parent.tell(*past(50_000), TurnStarted(turn=5_000, prompt="And now?"))
        await terminal.shows("And now?", deadline_s=10)
        terminal.type(CTRL_HOME)
        await terminal.shows("Question 1", deadline_s=5)
        terminal.type(CTRL_END)
        await terminal.shows("And now?", deadline_s=5)
        await terminal.redraws(60, 20)
        await terminal.shows("And now?", deadline_s=5)


@played
async def test_a_question_typed_is_shown_as_it_was_typed(tmp_path: Path) -> None:
    typed = "# no head\n* no list `no code` <b>no tag</b> [no](link)"
    async with scene(tmp_path, 100, 30) as (run, terminal):
        run.parent.tell(session(), TurnStarted(turn=1, prompt=typed))
        await terminal.shows(*typed.split("\n"))
