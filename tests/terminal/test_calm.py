"""A screen that rests when nothing happens, and does no more than it must when something does."""

import asyncio
import itertools
from pathlib import Path

import pytest

from ipc.messages import Beat, CancelTurn, PlanChanged, ScreenConfigured, TurnStarted
from tests.fakes.facts import PLAN, approval, finished, session, usage
from tests.fakes.past import deltas, past
from tests.fakes.scene import played, say, scene
from tests.fakes.terminal import CTRL_C, DEADLINE_S, FOCUS_IN, FOCUS_OUT, FRAME_END, TerminalProgram

FRAMES_A_SECOND = 30
WATCHED_S = 1.5
SYNCHRONIZED = b"\x1b[?2026h", b"\x1b[?2026l"


async def watch(terminal: TerminalProgram, seconds: float = WATCHED_S) -> None:
    """Look at the terminal for a while."""
    with pytest.raises(AssertionError):
        await terminal.becomes(lambda: False, deadline_s=seconds)


@played
async def test_a_stream_is_drawn_thirty_times_a_second_at_most(tmp_path: Path) -> None:
    async with scene(tmp_path, 100) as (run, terminal):
        run.parent.tell(*past(2_000), TurnStarted(turn=1_000, prompt="Go on."))
        await terminal.shows("Go on.", "working")
        loop, answer = asyncio.get_running_loop(), deltas(1_000)
        telling = True

        def tell() -> None:
            run.parent.tell(*itertools.islice(answer, 4))
            if telling:
                loop.call_later(0.004, tell)

        tell()
        before = terminal.frames
        await watch(terminal)
        telling = False
        assert 5 <= terminal.frames - before <= FRAMES_A_SECOND * WATCHED_S + 2


@played
async def test_keys_beside_a_stream_make_no_frames_but_their_own(tmp_path: Path) -> None:
    async with scene(tmp_path, 100) as (run, terminal):
        run.parent.tell(*past(200), TurnStarted(turn=1_000, prompt="Go on."))
        await terminal.shows("Go on.", "working")
        loop, answer = asyncio.get_running_loop(), deltas(1_000)
        told = typed = 0
        telling = True

        def tell() -> None:
            nonlocal told, typed
            told += 1
            run.parent.tell(*itertools.islice(answer, 4))
            if told % 5 == 0:
                typed += 1
                terminal.type("x")
            if telling:
                loop.call_later(0.004, tell)

        tell()
        before, at = terminal.frames, len(terminal.written)
        began = loop.time()
        await watch(terminal)
        telling = False
        frames = terminal.frames - before
        # Keys come faster than frames of a stream: each takes along what was said.
        assert frames <= max(typed, FRAMES_A_SECOND * (loop.time() - began)) + 3
        drawn = bytes(terminal.written[at:])
        assert drawn.count(SYNCHRONIZED[0]) == frames
        assert "xxxx" in terminal.text


@played
async def test_what_changes_nothing_that_is_seen_writes_nothing(tmp_path: Path) -> None:
    async with scene(tmp_path, 100) as (run, terminal):
        run.store.tell(PlanChanged(plan=PLAN))
        run.parent.tell(TurnStarted(turn=1, prompt="x"), say("Done."), usage(), finished(text="Done."))
        await terminal.shows("Done.", "ready", "1/4")
        await watch(terminal, 0.5)
        before = len(terminal.written)
        run.parent.tell(Beat(), usage())
        run.store.tell(PlanChanged(plan=PLAN))
        await watch(terminal, 0.5)
        assert terminal.written[before:] == b""


@played
async def test_a_frame_writes_the_rows_that_changed_and_no_others(tmp_path: Path) -> None:
    async with scene(tmp_path, 120, 40) as (run, terminal):
        run.store.tell(PlanChanged(plan=PLAN))
        run.parent.tell(*past(200), say("That is for everything."))
        await terminal.shows("for everything", "1/4")
        await watch(terminal, 0.5)
        before = len(terminal.written)
        terminal.type("x")
        await terminal.shows("› x")
        assert len(terminal.written) - before < 400


@played
async def test_a_terminal_that_can_gets_whole_frames(tmp_path: Path) -> None:
    async with scene(tmp_path, background="1e1e2e") as (run, terminal):
        run.parent.tell(TurnStarted(turn=1, prompt="x"), say("one"))
        await terminal.shows("one")
        run.parent.tell(say(" and two"), finished())
        await terminal.shows("one and two", "ready")
        frames = bytes(terminal.written).split(SYNCHRONIZED[0])[1:]
        assert frames
        assert all(SYNCHRONIZED[1] in frame for frame in frames)
        assert FRAME_END in frames[-1].partition(SYNCHRONIZED[1])[0]


@played
async def test_a_terminal_that_reads_slowly_keeps_nobody_waiting(tmp_path: Path) -> None:
    async with scene(tmp_path, 120, 40) as (run, terminal):
        run.parent.tell(TurnStarted(turn=1, prompt="x"))
        await terminal.shows("working")
        loop, answer, full = asyncio.get_running_loop(), deltas(1, 40), asyncio.Event()

        def tell() -> None:  # nobody reads what is drawn of it
            run.parent.tell(*itertools.islice(answer, 50))
            if terminal.is_full:
                full.set()
            else:
                loop.call_later(0.02, tell)

        tell()
        async with asyncio.timeout(DEADLINE_S):
            await full.wait()
        terminal.type(CTRL_C)
        await run.parent.hears(CancelTurn)
        run.parent.tell(say("\n\nThe end."), finished(status="cancelled"))
        await terminal.shows("The end.", "ready")


@pytest.mark.parametrize(("notify", "sign"), [("auto", b"\x1b]9;"), ("bell", b"\x07"), ("off", b"")])
@played
async def test_who_looks_elsewhere_is_told_when_an_answer_or_a_question_waits(
    tmp_path: Path, notify: str, sign: bytes
) -> None:
    async with scene(tmp_path, 100) as (run, terminal):
        run.parent.tell(ScreenConfigured(notify=notify), session(workspace="/home/me/parcel"))  # type: ignore[arg-type]
        run.parent.tell(TurnStarted(turn=1, prompt="x"))
        await terminal.shows("working")
        terminal.type(FOCUS_IN)
        run.parent.tell(approval("make one", ask_id="ask-1"))
        await terminal.shows("make one")
        assert b"\x1b]9;" not in terminal.written
        terminal.type("\x1b[200~ \x1b[201~" + FOCUS_OUT)
        before = len(terminal.written)
        run.parent.tell(finished(text="Done."))
        await terminal.shows("ready")
        told = bytes(terminal.written[before:])
        assert sign in told
        if notify == "off":
            assert b"\x07" not in told.replace(b"\x1b]0;", b"").replace(b"\x1b]2;", b"")
