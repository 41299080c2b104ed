"""The real screen in a real terminal; the test plays the other processes."""

import asyncio
import os
import random
import signal
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from ipc.messages import (
    AskSettled,
    CancelTurn,
    ClearPlan,
    GetPlan,
    MessageDelta,
    NoticeRaised,
    PlanChanged,
    ProcessExited,
    ProcessStarted,
    Refused,
    SettleAsk,
    StartTurn,
    Stop,
    StopJob,
    TurnStarted,
)
from tests.fakes.facts import PLAN, activity, approval, finished, jobs, session, usage
from tests.fakes.launch import command
from tests.fakes.run import PlayedParent, PlayedSupervisor
from tests.fakes.scene import played, say, scene
from tests.fakes.terminal import (
    ALT_ENTER,
    ALT_UP,
    CTRL_C,
    CTRL_J,
    CTRL_O,
    ENTER,
    ESC,
    F2,
    F3,
    PAGE_UP,
    TerminalProgram,
)

IDLE_S = 6.0
WIDTHS = [40, 60, 80, 120, 200]


@pytest.mark.parametrize("columns", WIDTHS)
@played
async def test_a_turn_is_drawn_as_it_happens_without_a_key(tmp_path: Path, columns: int) -> None:
    async with scene(tmp_path, columns) as (run, terminal):
        run.store.tell(PlanChanged(plan=PLAN))
        await terminal.shows("1/4")
        run.parent.tell(TurnStarted(turn=1, prompt="What is risky?"), activity("read_file", "a.py"))
        await terminal.shows("› What is risky?", "SUBAGENT 7f3a", "read_file  a.py", "working")
        assert "SUBAGENT" in terminal.screen.display[1]
        for row in range(1, 2 if columns >= 80 else 3):
            assert {terminal.screen.buffer[row][at].bg for at in range(columns)} == {"a78bfa"}
        run.parent.tell(say("Hello "))
        await terminal.shows("Hello")
        run.parent.tell(say("world"), usage(), finished(text="Hello world"))
        await terminal.shows("Hello world", "ready", *(["10%"] if columns > 40 else []))


@played
async def test_what_is_typed_is_sent_and_the_tty_is_as_before(tmp_path: Path) -> None:
    async with scene(tmp_path) as (run, terminal):
        terminal.type(f"first{CTRL_J}second{ALT_ENTER}third{ENTER}")
        assert await run.parent.hears(StartTurn) == [StartTurn(prompt="first\nsecond\nthird")]
        terminal.type(f"/quit{ENTER}")
        assert await terminal.ends() == 0
        assert terminal.modes == terminal.modes_before
        assert run.supervisor.heard == []


@played
async def test_a_screen_of_a_supervised_run_ends_the_run_when_it_is_left(tmp_path: Path) -> None:
    async with scene(tmp_path) as (run, terminal):
        run.supervisor.tell(ProcessStarted(actor="ui", pid=terminal.process.pid))
        run.supervisor.tell(NoticeRaised(level="info", message="seen"))
        await terminal.shows("seen")
        terminal.type(CTRL_C)
        await terminal.shows("again to leave")
        terminal.type(CTRL_C)
        assert await run.supervisor.hears(Stop) == [Stop(reason="quit")]
        assert await terminal.ends() == 0


@played
async def test_an_impatient_person_leaves_once_and_without_a_word_of_it(tmp_path: Path) -> None:
    async with scene(tmp_path) as (run, terminal):
        run.supervisor.tell(ProcessStarted(actor="ui", pid=terminal.process.pid))
        run.supervisor.tell(NoticeRaised(level="info", message="seen"))
        await terminal.shows("seen")
        terminal.type(CTRL_C)
        await terminal.shows("again to leave")
        terminal.type(CTRL_C * 8)
        assert await terminal.ends() == 0
        assert run.supervisor.heard == [Stop(reason="quit")]
        assert b"Exception" not in terminal.written
        assert b"Traceback" not in terminal.written


@played
async def test_a_screen_stays_and_says_so_when_the_supervisor_does_not_take_the_end(tmp_path: Path) -> None:
    async with scene(tmp_path) as (run, terminal):
        run.supervisor.tell(ProcessStarted(actor="ui", pid=terminal.process.pid))
        run.supervisor.tell(NoticeRaised(level="info", message="seen"))
        await terminal.shows("seen")
        await run.stop(run.supervisor)
        terminal.type(f"a draft{CTRL_C}")
        await terminal.shows("again leaves")
        terminal.type(CTRL_C)
        await terminal.shows("does not answer. Wait and leave again", f"kill -9 {os.getpid()}", "› a draft")
        run.supervisor = PlayedSupervisor(run.place)
        await run.start(run.supervisor)
        terminal.type(CTRL_C)
        await terminal.shows("again leaves")
        terminal.type(CTRL_C)
        await run.supervisor.hears(Stop)
        assert await terminal.ends() == 0


@played
async def test_a_paste_is_kept_whole_between_what_is_typed(tmp_path: Path) -> None:
    lines = "\n".join(f"line {number}: [/x] \\d+ 漢字" for number in range(50))
    async with scene(tmp_path) as (run, terminal):
        terminal.type("Explain:")
        terminal.paste(f"\n{lines}\n")
        terminal.type(f"please{ENTER}")
        assert await run.parent.hears(StartTurn) == [StartTurn(prompt=f"Explain:\n{lines}\nplease")]


@played
async def test_cancel_stops_the_turn_once_and_keeps_queue_and_draft(tmp_path: Path) -> None:
    async with scene(tmp_path) as (run, terminal):
        run.parent.tell(TurnStarted(turn=1, prompt="x"))
        await terminal.shows("working")
        terminal.type(f"the next one{ENTER}half a dra")
        await terminal.shows("queued  the next one", "half a dra")
        terminal.type(ESC)
        await terminal.shows("stopping")
        assert await run.parent.hears(CancelTurn) == [CancelTurn()]
        run.parent.tell(finished(status="cancelled"))
        assert await run.parent.hears(StartTurn) == [StartTurn(prompt="the next one")]
        await terminal.shows("Cancelled.", "half a dra")
        assert "queued" not in terminal.text


@played
async def test_ctrl_c_is_a_key_and_no_signal(tmp_path: Path) -> None:
    async with scene(tmp_path) as (run, terminal):
        run.parent.tell(TurnStarted(turn=1, prompt="x"))
        await terminal.shows("working")
        terminal.type(CTRL_C)
        await run.parent.hears(CancelTurn)
        await terminal.shows("stopping")


@played
async def test_a_message_refused_by_a_busy_parent_is_sent_again(tmp_path: Path) -> None:
    async with scene(tmp_path) as (run, terminal):
        run.parent.answers[StartTurn] = Refused(code="turn_running", message="a turn is running")
        terminal.type(f"hello{ENTER}")
        await run.parent.hears(StartTurn)
        await terminal.shows("queued  hello")
        del run.parent.answers[StartTurn]
        await run.parent.hears(StartTurn, 2)
        run.parent.tell(TurnStarted(turn=1, prompt="hello"))
        await terminal.becomes(lambda: "› hello" in terminal.text and "queued" not in terminal.text)


@played
async def test_an_approval_is_asked_and_answered_in_the_screen(tmp_path: Path) -> None:
    async with scene(tmp_path) as (run, terminal):
        run.parent.tell(TurnStarted(turn=1, prompt="x"), approval("make test"))
        await terminal.shows("bash_exec asks", "make test", "1 Allow once", "1-4 answer")
        terminal.type("2")
        await terminal.shows("Deny, and say why:")
        terminal.type(f"not now{ENTER}")
        expected = SettleAsk(ask_id="ask-1", decision="deny", text="not now")
        assert await run.parent.hears(SettleAsk) == [expected]
        run.parent.tell(AskSettled(ask_id="ask-1", outcome="deny"))
        await terminal.becomes(lambda: "asks" not in terminal.text)


@played
async def test_thoughts_fold_and_unfold_with_a_key_that_terminals_like_to_keep(tmp_path: Path) -> None:
    async with scene(tmp_path) as (run, terminal):
        thought = MessageDelta(turn=1, kind="reasoning", text="First this.\nThen that.")
        run.parent.tell(TurnStarted(turn=1, prompt="x"), thought)
        await terminal.shows("thinking", "    First this.", "    Then that.")
        run.parent.tell(say("It is so."))
        await terminal.shows("∴ thought First this. Then that.", "It is so.")
        terminal.type(CTRL_O)
        await terminal.shows("    First this.", "    Then that.")
        terminal.type(F3)
        await terminal.becomes(lambda: "    Then that." not in terminal.text)


@played
async def test_a_job_is_listed_and_stopped_in_the_screen(tmp_path: Path) -> None:
    async with scene(tmp_path) as (run, terminal):
        run.parent.tell(jobs("npm run dev", "npm run watch"))
        await terminal.shows("2 jobs")
        terminal.type(f"/jobs{ENTER}")
        await terminal.shows("1  npm run dev", "2  npm run watch", "process 4712")
        terminal.type(ESC)
        await terminal.becomes(lambda: "npm" not in terminal.text)
        terminal.type(f"/jobs stop 2{ENTER}")
        assert await run.parent.hears(StopJob) == [StopJob(pid=4712)]
        run.parent.tell(jobs("npm run dev"))
        await terminal.shows("1 job")
        run.parent.answers[StopJob] = Refused(code="no_such_job", message="There is no such job any more.")
        terminal.type(f"/jobs stop 1{ENTER}")
        await terminal.shows("There is no such job any more.")


@played
async def test_keys_typed_ahead_of_an_approval_do_not_answer_it(tmp_path: Path) -> None:
    async with scene(tmp_path) as (run, terminal):
        run.parent.tell(TurnStarted(turn=1, prompt="x"))
        await terminal.shows("working")
        run.parent.tell(approval())
        terminal.type(f"1{ENTER}")
        await terminal.shows("1 Allow once", "queued  1")
        assert not [heard for heard in run.parent.heard if isinstance(heard, SettleAsk)]
        await terminal.shows("1-4 answer")
        terminal.type("3")
        assert await run.parent.hears(SettleAsk) == [SettleAsk(ask_id="ask-1", decision="allow_session")]


@played
async def test_the_plan_is_shown_and_cleared_without_a_model(tmp_path: Path) -> None:
    async with scene(tmp_path, columns=60) as (run, terminal):
        run.store.plan = PLAN
        run.store.tell(PlanChanged(plan=PLAN))
        terminal.type(f"/plan{ENTER}")
        await terminal.shows(
            "Survey the workspace", "✓ verified list_files: 212 files", "next wait for the subagent"
        )
        await run.store.hears(GetPlan)
        terminal.type(ESC)
        await terminal.becomes(lambda: "verified" not in terminal.text)
        terminal.type(F2)
        await terminal.shows("verified")
        terminal.type(f"{F2}/plan clear{ENTER}")
        await run.store.hears(ClearPlan)
        await terminal.shows("The plan is empty.")
        await terminal.becomes(lambda: "1/4" not in terminal.text)
        assert run.parent.heard == []


@played
async def test_a_restarted_parent_is_drawn_anew_from_its_snapshot(tmp_path: Path) -> None:
    async with scene(tmp_path) as (run, terminal):
        run.parent.tell(TurnStarted(turn=1, prompt="x"), say("before"))
        await terminal.shows("before")
        terminal.type("a draft")
        await run.stop(run.parent)
        run.supervisor.tell(ProcessExited(actor="parent", pid=1, status=-9, restarting=True))
        await terminal.shows("restarting")
        run.parent = PlayedParent(run.place)
        await run.start(run.parent)
        run.supervisor.tell(ProcessStarted(actor="parent", pid=2))
        run.parent.tell(session(), TurnStarted(turn=1, prompt="x"), say("after"), finished(text="after"))
        await terminal.shows("after", "ready", "a draft")
        assert "before" not in terminal.text


@played
async def test_a_parent_that_is_gone_without_a_word_is_noticed(tmp_path: Path) -> None:
    async with scene(tmp_path) as (run, terminal):
        await run.stop(run.parent)
        await terminal.shows("agent does not answer", "Wait, or press", "Ctrl-C twice to leave.")


@played
async def test_a_second_screen_shows_the_same(tmp_path: Path) -> None:
    async with scene(tmp_path) as (run, terminal):
        run.store.tell(PlanChanged(plan=PLAN))
        run.parent.tell(
            TurnStarted(turn=1, prompt="x"), say("one\n\ntwo"), activity("done", active=False), usage()
        )
        run.parent.tell(finished(text="one\n\ntwo"))
        await terminal.shows("two", "ready", "10%", "1/4")
        with TerminalProgram(command("ui.app", run.place.directory, os.getpid())) as other:
            await other.becomes(lambda: other.text == terminal.text, "the same screen")


@pytest.mark.report("URW-01")
@played
async def test_every_burst_is_drawn_without_a_key_while_the_person_types(tmp_path: Path) -> None:
    chance = random.Random(1)
    async with scene(tmp_path) as (run, terminal):
        run.parent.tell(TurnStarted(turn=1, prompt="x"))
        await terminal.shows("working")
        for number in range(40):
            for _ in range(chance.randint(1, 100)):
                run.parent.tell(say("a "))
            run.parent.tell(say(f"\nburst {number}.\n"))
            terminal.type(f"{number % 10}{ENTER}")
            await terminal.shows(f"burst {number}.", deadline_s=5)
        await terminal.shows(f"and {number - 1} more")


@played
async def test_a_screen_that_stood_still_through_fifty_thousand_deltas_shows_what_another_shows(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path) as (run, terminal):
        run.parent.tell(TurnStarted(turn=1, prompt="x"), say("before\n"))
        await terminal.shows("before")
        terminal.process.send_signal(signal.SIGSTOP)
        for number in range(50_000):
            run.parent.tell(say(f"piece {number}\n" if number % 10 == 0 else "more "))
            if number % 1_000 == 0:
                await asyncio.sleep(0)  # the loop has its turn, as it has between the deltas of a model
        terminal.process.send_signal(signal.SIGCONT)
        run.parent.tell(say("the end"), finished(text=""))
        await terminal.shows("piece 49990", "the end", "ready")
        with TerminalProgram(command("ui.app", run.place.directory, os.getpid())) as other:
            await other.becomes(lambda: other.text == terminal.text, "the same screen")


@played
async def test_wide_characters_in_a_tiny_window_do_not_spin(tmp_path: Path) -> None:
    async with scene(tmp_path) as (_, terminal):
        terminal.type("漢字を書く")
        for columns in (7, 4, 2, 1):
            terminal.resize(columns, 24)
            terminal.type("漢")
        terminal.resize(80, 24)
        await terminal.shows("漢字を書く漢漢漢漢")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@played
async def test_a_signal_ends_the_screen_and_gives_the_tty_back(
    tmp_path: Path, number: signal.Signals
) -> None:
    async with scene(tmp_path) as (_, terminal):
        terminal.process.send_signal(number)
        assert await terminal.ends() == 0
        assert terminal.modes == terminal.modes_before
        assert b"\x1b[?1049l" in terminal.written
        assert b"\x1b[?2004l" in terminal.written


@played
async def test_a_run_that_is_not_there_is_said_in_a_line(tmp_path: Path) -> None:
    with TerminalProgram(command("ui.app", tmp_path / "nothing", 0)) as terminal:
        assert await terminal.ends() == 1
        assert "holds no run" in terminal.text.replace("\n", "")
        assert "Traceback" not in terminal.text


@pytest.mark.report("URW-03")
@played
async def test_an_idle_screen_costs_nothing(tmp_path: Path) -> None:
    async with scene(tmp_path) as (_, terminal):
        terminal.type("x")
        await terminal.shows("› x")
        await _watch(terminal, 1.0)
        before, written = _costs(terminal.process.pid), len(terminal.written)
        await _watch(terminal, IDLE_S)
        after = _costs(terminal.process.pid)
        assert len(terminal.written) == written
        # Three publishers beat each second; a ping of each of three links every 0.4 s wakes twice.
        assert after.wakeups - before.wakeups <= 18 * IDLE_S
        assert after.ticks - before.ticks <= 2  # of 10 ms: it is 0.3 % of 6 s


class Costs(NamedTuple):
    """What a process has taken so far: how often one of its threads was woken, and clock ticks."""

    wakeups: int
    ticks: int


def _costs(pid: int) -> Costs:
    wakeups = 0
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        (line,) = (
            each for each in status.read_text(encoding="utf-8").splitlines() if each.startswith("voluntary")
        )
        wakeups += int(line.split()[1])
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return Costs(wakeups, int(fields[11]) + int(fields[12]))


async def _watch(terminal: TerminalProgram, seconds: float) -> None:
    """Look at the terminal for a while."""
    with pytest.raises(AssertionError):
        await terminal.becomes(lambda: False, deadline_s=seconds)


@played
async def test_a_screen_that_stays_open_past_midnight_says_yesterday(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    today = (now.hour * 60 + now.minute) * 60 + now.second
    zone = f"XXX{west(today - (86_400 - 6))}"
    async with scene(tmp_path, TZ=zone) as (run, terminal):
        written = now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        run.store.tell(PlanChanged(plan=msgspec.structs.replace(PLAN, session="other", updated_at=written)))
        await terminal.shows("carried over from")
        await terminal.shows("carried over from yesterday")


def west(seconds: int) -> str:
    """A time west of Greenwich as `TZ` wants it."""
    return (
        f"{'-' if seconds < 0 else '+'}{abs(seconds) // 3600}:{abs(seconds) // 60 % 60}:{abs(seconds) % 60}"
    )


@pytest.mark.report("TERM-09")
@pytest.mark.parametrize(
    "locale", [{"LC_ALL": "C"}, {"LC_ALL": "en_US.ISO-8859-1"}, {"LANG": "C"}, {"LANG": "POSIX"}]
)
@played
async def test_a_terminal_without_utf8_gets_ascii(tmp_path: Path, locale: dict[str, str]) -> None:
    async with scene(tmp_path, **locale) as (run, terminal):
        run.parent.tell(TurnStarted(turn=1, prompt="größer"), say("→ 漢字 ✓"), activity("reading"))
        await terminal.shows("> gr??er", "> ???? +", "SUBAGENT")
        assert terminal.written.isascii()


@played
async def test_no_color_is_honoured(tmp_path: Path) -> None:
    async with scene(tmp_path, NO_COLOR="1") as (run, terminal):
        run.parent.tell(TurnStarted(turn=1, prompt="x"), activity("reading"))
        await terminal.shows("SUBAGENT")
        colours = {(cell.fg, cell.bg) for row in terminal.screen.buffer.values() for cell in row.values()}
        assert colours == {("default", "default")}
        assert terminal.screen.buffer[1][3].reverse


@played
async def test_a_queued_message_is_taken_back_with_a_key(tmp_path: Path) -> None:
    async with scene(tmp_path) as (run, terminal):
        run.parent.tell(TurnStarted(turn=1, prompt="x"))
        await terminal.shows("working")
        terminal.type(f"oops{ENTER}")
        await terminal.shows("queued  oops")
        terminal.type(ALT_UP)
        await terminal.becomes(lambda: "queued" not in terminal.text and "› oops" in terminal.text)


@played
async def test_scrolled_back_the_view_stays_while_the_answer_streams(tmp_path: Path) -> None:
    async with scene(tmp_path) as (run, terminal):
        run.parent.tell(TurnStarted(turn=1, prompt="x"), say("\n".join(f"line {at}" for at in range(100))))
        await terminal.shows("line 99")
        terminal.type(PAGE_UP)
        await terminal.becomes(lambda: "line 99" not in terminal.text)
        seen = terminal.line_with("line")
        run.parent.tell(say("\nline 100"), NoticeRaised(level="info", message="x"), usage())
        await terminal.shows("10%")
        assert terminal.line_with("line") == seen
