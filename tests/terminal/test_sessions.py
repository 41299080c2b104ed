"""Earlier sessions, suspending and compaction on a real terminal; the test plays the other processes."""

import os
from pathlib import Path

import pytest

from ipc.messages import (
    CancelTurn,
    CompactConversation,
    CompactionFinished,
    CompactionStarted,
    ListSessions,
    NoticeRaised,
    OpenSession,
    ProcessExited,
    ProcessStarted,
    Refused,
    SessionsListed,
    SessionSummary,
    Stop,
    TurnStarted,
    UndoTurn,
)
from tests.fakes.facts import finished, session
from tests.fakes.launch import command
from tests.fakes.run import PlayedParent, PlayedRun, played_run
from tests.fakes.scene import played, say, scene
from tests.fakes.terminal import ENTER, ESC, TerminalProgram

WIDTHS = [40, 60, 80, 120, 200]
SUMMARY = SessionSummary(
    session_id="20250101-101112-aaaa",
    started_at="2025-01-01T10:11:12.000Z",
    model="gpt-5-mini",
    turns=3,
    running=False,
    first_prompt="Fix the parser",
)


async def open_another(run: PlayedRun) -> None:
    """Do what a parent does: accept, end, and come back with the other session."""
    chosen = SUMMARY.session_id
    assert await run.parent.hears(OpenSession) == [OpenSession(session_id=chosen)]
    await run.stop(run.parent)
    run.supervisor.tell(ProcessExited(actor="parent", pid=1, status=0, restarting=True))
    run.parent = PlayedParent(run.place)
    await run.start(run.parent)
    run.supervisor.tell(ProcessStarted(actor="parent", pid=2))
    run.parent.tell(session(session_id=chosen), TurnStarted(turn=1, prompt="Fix the parser"))
    run.parent.tell(say("It is fixed."), finished(text="It is fixed."))


@pytest.mark.parametrize("columns", WIDTHS)
@played
async def test_an_earlier_session_is_found_and_opened_and_the_draft_stays(
    tmp_path: Path, columns: int
) -> None:
    async with scene(tmp_path, columns) as (run, terminal):
        run.parent.answers[ListSessions] = SessionsListed(sessions=(SUMMARY,))
        run.parent.tell(TurnStarted(turn=1, prompt="The old prompt"), finished(text="The old answer"))
        await terminal.shows("The old answer", "ready")
        terminal.type(f"/recall{ENTER}parser")
        await terminal.shows("› parser", "Fix the p", "1 of 1")
        terminal.type(ENTER)
        await terminal.shows(f"Opening {SUMMARY.session_id}")
        terminal.type("a draft")
        await open_another(run)
        await terminal.shows("It is fixed.", "ready", "a draft")
        assert "The old answer" not in terminal.text
        assert "Opening" not in terminal.text


@played
async def test_a_list_that_is_refused_is_said_and_the_queue_stays(tmp_path: Path) -> None:
    async with scene(tmp_path) as (run, terminal):
        refusal = Refused(code="turn_running", message="A turn is running.", next_step="Cancel it first.")
        run.parent.answers |= dict.fromkeys((ListSessions, UndoTurn, CompactConversation), refusal)
        run.parent.tell(TurnStarted(turn=1, prompt="x"))
        await terminal.shows("working")
        terminal.type(f"queued one{ENTER}")
        for line, kind in (
            ("/recall", ListSessions),
            ("/undo", UndoTurn),
            ("/compact a", CompactConversation),
        ):
            terminal.type(line + ENTER)
            await run.parent.hears(kind)
            await terminal.shows("A turn is running. Cancel it first.", "queued  queued one")
            terminal.type("x\x7f")
            await terminal.becomes(lambda: "Cancel it first" not in terminal.text)


@played
async def test_a_run_that_was_started_to_choose_begins_with_the_list(tmp_path: Path) -> None:
    async with played_run(tmp_path, {"pick": True}) as run:
        run.parent.answers[ListSessions] = SessionsListed(sessions=(SUMMARY,))
        start = command("ui.app", run.place.directory, os.getpid())
        with TerminalProgram(start) as terminal:
            await terminal.shows("Earlier sessions", "Fix the parser")
            terminal.type(ENTER)
            await open_another(run)
            await terminal.shows("It is fixed.", "ready")
        with TerminalProgram(start) as again:
            await again.shows("It is fixed.", "ready")
            assert "Earlier sessions" not in again.text


@played
async def test_suspend_ends_a_run_that_is_ours_and_leaves_one_that_is_not(tmp_path: Path) -> None:
    async with scene(tmp_path) as (run, terminal):
        terminal.type(f"/suspend{ENTER}")
        assert await terminal.ends() == 0
        assert run.supervisor.heard == []
        start = command("ui.app", run.place.directory, os.getpid())
        with TerminalProgram(start) as ours:
            run.supervisor.tell(ProcessStarted(actor="ui", pid=ours.process.pid))
            run.supervisor.tell(NoticeRaised(level="info", message="seen"))
            await ours.shows("seen")
            ours.type(f"/suspend{ENTER}")
            assert await run.supervisor.hears(Stop) == [Stop(reason="suspend")]
            assert await ours.ends() == 0
            assert ours.modes == ours.modes_before


@played
async def test_a_compaction_is_the_same_for_a_screen_that_comes_late(tmp_path: Path) -> None:
    async with scene(tmp_path) as (run, terminal):
        run.parent.tell(CompactionStarted(automatic=False, context_tokens=96_000))
        await terminal.shows("compacting")
        terminal.type(ESC)
        assert await run.parent.hears(CancelTurn) == [CancelTurn()]
        with TerminalProgram(command("ui.app", run.place.directory, os.getpid())) as other:
            await other.shows("compacting")
            run.parent.tell(CompactionFinished(method="summary", before_tokens=96_000, after_tokens=4_000))
            for screen in (terminal, other):
                await screen.shows("Compacted: 96k → 4k tokens.", "ready")
        with TerminalProgram(command("ui.app", run.place.directory, os.getpid())) as late:
            await late.becomes(lambda: late.text == terminal.text, "the same screen")
