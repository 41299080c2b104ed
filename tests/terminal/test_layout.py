"""Where everything stands, at the sizes people have."""

import itertools
from pathlib import Path

import pytest

from ipc.messages import PlanChanged, ToolFinished, ToolStarted, TurnStarted
from tests.fakes.facts import PLAN, activity, finished, session, usage
from tests.fakes.past import deltas
from tests.fakes.run import PlayedRun
from tests.fakes.scene import played, say, scene
from tests.fakes.terminal import ESC, F2, TerminalProgram

WIDTHS = [40, 60, 80, 120, 200]
VIOLET = "a78bfa"
DRAFT = "a draft"


async def work(run: PlayedRun, terminal: TerminalProgram) -> None:
    """A turn in which a tool has run, a subagent works, and the person writes the next message."""
    run.store.tell(PlanChanged(plan=PLAN))
    run.parent.tell(
        session(workspace="/home/me/parcel"),
        TurnStarted(turn=1, prompt="What is risky?"),
        ToolStarted(call_id="1", name="list_files", summary="src"),
        ToolFinished(call_id="1", name="list_files", status="ok", duration_ms=12, display=""),
        say("The loader."),
        usage(),
        ToolStarted(call_id="2", name="delegate", summary="Inspect"),
        activity("read_file", "app.py"),
    )
    terminal.type(DRAFT)
    await terminal.shows("read_file", DRAFT, "1/4")


@played
async def test_all_parts_stand_in_their_order_at_every_width(tmp_path: Path) -> None:
    async with scene(tmp_path, 100) as (run, terminal):
        await work(run, terminal)
        for columns in WIDTHS:
            await terminal.redraws(columns, 24)
            header, bar = terminal.lines[0], terminal.lines[1]
            assert "Fido" in header
            assert "parcel" in header
            assert "working" in header
            assert "SUBAGENT" in bar
            assert {cell.bg for cell in terminal.cells("SUBAGENT")} == {VIOLET}
            rows = [terminal.row_of(text) for text in ("The loader.", DRAFT, "Esc stop")]
            assert rows == sorted(rows)
            assert rows[-1] == 23
            assert "list_files src" in terminal.text


@played
async def test_the_plan_stands_beside_the_transcript_or_in_one_row_above_it(tmp_path: Path) -> None:
    async with scene(tmp_path, 100) as (run, terminal):
        await work(run, terminal)
        panels = {}
        for columns in (200, 120, 110, 109, 80):
            await terminal.redraws(columns, 24)
            row = terminal.line_with("Plan 1/4")
            panels[columns] = columns - row.index("Plan 1/4")
            assert terminal.row_of("Plan 1/4") > terminal.row_of("SUBAGENT")
            assert "Inspect the provider" in terminal.text
        assert panels[200] >= panels[120] >= panels[110] > panels[80]
        for columns in (79, 60, 40):
            await terminal.redraws(columns, 24)
            strip = terminal.line_with("1/4")
            assert "Inspect the provider" in strip
            assert "F2" in strip
            assert "Survey the workspace" not in terminal.text
            terminal.type(F2)
            await terminal.shows("Survey the workspace")
            terminal.type(ESC)
            await terminal.becomes(lambda: "Survey the w" not in terminal.text and DRAFT in terminal.text)


@pytest.mark.report("TERM-04")
@played
async def test_forty_by_ten_still_works_and_less_says_so_and_loses_nothing(tmp_path: Path) -> None:
    async with scene(tmp_path, 100) as (run, terminal):
        await work(run, terminal)
        await terminal.redraws(40, 10)
        for text in ("Fido", "SUBAGENT", "1/4", "delegate", DRAFT, "Esc stop"):
            assert text in terminal.text
        for columns, rows in ((20, 5), (39, 24), (80, 9)):
            terminal.resize(columns, rows)
            await terminal.shows("too small")
        terminal.type(" and more")
        run.parent.tell(say(" And this."))
        await terminal.redraws(80, 24)
        await terminal.shows("a draft and more", "And this.", "working")


@pytest.mark.report("TERM-04")
@played
async def test_no_size_in_the_middle_of_a_stream_breaks_anything(tmp_path: Path) -> None:
    sizes = [(20, 5), (5, 2), (1, 1), (2, 1), (200, 50), (41, 11), (3, 40)]
    async with scene(tmp_path, 100) as (run, terminal):
        await work(run, terminal)
        answer = deltas(1, 20)
        for lap in range(4):
            for columns, rows in sizes:
                terminal.resize(columns, rows)
                run.parent.tell(*itertools.islice(answer, 40), activity("search", f"lap {lap}"))
                terminal.take()
            run.parent.tell(*itertools.islice(answer, 40))
            await terminal.redraws(80 + lap, 24)
            await terminal.shows(f"lap {lap}", DRAFT)
        run.parent.tell(say("\n\nThe end."), finished())
        await terminal.redraws(100, 30)
        await terminal.shows("The end.", "ready", DRAFT)
        assert not terminal.ended


@played
async def test_nothing_jumps_while_a_turn_runs(tmp_path: Path) -> None:
    """The line one writes in, and the ends of all rows but those that are told anew, stay where they are."""
    async with scene(tmp_path, 120, 30) as (run, terminal):
        await work(run, terminal)
        composer, panel = terminal.row_of(DRAFT), terminal.line_with("Plan 1/4").index("Plan")
        answer = deltas(1, 30)
        for step in range(12):
            run.parent.tell(
                *itertools.islice(answer, 12),
                activity("search", f"step {step}"),
                ToolStarted(call_id=f"t{step}", name="read_file", summary=f"{step}.py"),
                ToolFinished(
                    call_id=f"t{step}", name="read_file", status="ok", duration_ms=9**step, display=""
                ),
            )
            await terminal.shows(f"read_file {step}.py", f"step {step} ")
            assert terminal.row_of(DRAFT) == composer
            assert terminal.line_with("Plan 1/4").index("Plan") == panel
        run.parent.tell(finished())
        await terminal.shows("ready")
        assert terminal.row_of(DRAFT) == composer


@played
async def test_times_end_in_one_column(tmp_path: Path) -> None:
    times = {7: "7 ms", 812: "812 ms", 4_200: "4.2 s", 61_000: "1m01s", 3_723_000: "1h02m"}
    async with scene(tmp_path, 100, 30) as (run, terminal):
        run.parent.tell(TurnStarted(turn=1, prompt="x"))
        for at, took in enumerate(times):
            run.parent.tell(
                ToolStarted(call_id=str(at), name="bash_exec", summary=f"make {at}"),
                ToolFinished(call_id=str(at), name="bash_exec", status="ok", duration_ms=took, display=""),
            )
        await terminal.shows(*times.values())
        rows = [terminal.line_with(f"make {at}") for at in range(len(times))]
        assert (
            len({row.index(shown) + len(shown) for row, shown in zip(rows, times.values(), strict=True)}) == 1
        )
