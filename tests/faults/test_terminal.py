"""What can happen to a terminal and to those who draw on it: the real program in a real pty."""

import json
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from actors.saved_terminal import RESET
from actors.session.events import TurnEnded
from ipc.messages import TurnStarted
from tests.fakes.chat_script import Step, call, gate, parent, say, subagent
from tests.fakes.facts import activity
from tests.fakes.fault_table import LONG, SEED, Fault
from tests.fakes.fido import GUARD, Home, home, kill, openai_environment, wait_until
from tests.fakes.launch import ROOT, command
from tests.fakes.player import DAEMONS
from tests.fakes.scene import Whole, leave, played, scene, whole
from tests.fakes.scene import say as tell
from tests.fakes.scripted_server import ScriptedServer
from tests.fakes.session_events import check_log
from tests.fakes.terminal import CTRL_C, CTRL_Z, ENTER, TerminalProgram

ROUNDS = 34 if LONG else 1
AGAIN = 3 if LONG else 2
"""Kills of the screen in one program: after more within half a minute it gives up."""
LINES = 2_000
GIVEN_BACK_S = 1.0
CLOSED_S = 2.0
STOPPED_S = 10.0 if LONG else 1.5
"""How long a screen is suspended; a peer that says nothing for 0.6 s counts as gone."""
RESIZES = 1_000
"""About the speed of them: somebody drags the corner of the window for three seconds."""
RESULT = json.dumps({"status": "completed", "summary": "It prints one.", "findings": []})
BROKEN_WIDGET = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from ui import app
from ui.widgets import header
drawn = header.header
def broken(view, columns):
    if view.state.conversation.running:
        raise RuntimeError("planted")
    return drawn(view, columns)
header.header = broken
sys.exit(app.main(sys.argv[1:]))
"""
BROKEN_SCREEN = """
import sys
sys.path.insert(0, sys.argv[1])
from actors import guard, processes
commands = processes._commands()
processes._commands = lambda: commands | {"ui": [sys.executable, "-I", "-c", sys.argv[2], sys.argv[1]]}
sys.exit(guard.main(sys.argv[3:]))
"""


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as made:
        yield made


def flood() -> Step:
    """An answer that keeps the screen drawing."""
    lines = [f"line {number} {'of an answer ' * 4}\n" for number in range(LINES)]
    return say([*lines, gate("end"), "the end"])


def delegation() -> list[Step]:
    """A turn with one delegation, which waits at the gate `subagent`."""
    return [
        call("delegate", {"task": "What does a.py print?"}, when=parent),
        say(["I look. ", gate("subagent"), RESULT], when=subagent),
        say("It prints one.", when=parent),
    ]


def has_ended(at: Home, turns: int = 1) -> bool:
    """Whether so many turns have come to their end in the session's log."""
    (log,) = (at.folder / "state" / "fido" / "sessions").glob("*.jsonl")
    return log.read_bytes().count(b"TurnEnded") >= turns


def asleep(at: Home) -> list[int]:
    """The processes of a command that would sleep for long."""
    return [pid for pid in at.processes() if b"sleep" in _command(pid)]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def stop_reading(run: Whole, chance: random.Random) -> None:
    """Read up to some byte in the midst of what is drawn; what comes behind it stays in the terminal."""
    run.terminal.until(lambda: "of an answer" in run.terminal.text, "the answer to begin")
    stop = len(run.terminal.written) + chance.randrange(1, 15_000)
    deadline = time.monotonic() + 0.3  # by then it may have been drawn to its end
    while len(run.terminal.written) < stop and time.monotonic() < deadline:
        run.terminal.take(chance.randrange(1, 512))


@pytest.mark.fault(4, says="the screen is killed while drawing")
@pytest.mark.timeout(1200 if LONG else 60)
def test_a_screen_that_is_killed_while_drawing_comes_back_on_a_terminal_in_order(
    fault: Fault, server: ScriptedServer, tmp_path: Path
) -> None:
    for number in range(ROUNDS):
        chance = random.Random(f"{SEED} screen {number}")
        server.add(flood())
        with whole(server, tmp_path, "go") as run:
            for _ in range(AGAIN):
                stop_reading(run, chance)
                killed, before = run.pid_of("ui"), len(run.terminal.written)
                with fault.attempt():
                    struck = time.monotonic()
                    kill(killed)
                    run.terminal.until(lambda at=before: RESET in run.terminal.written[at:], "the reset")
                    fault.took(time.monotonic() - struck)
                    wait_until(lambda at=killed: run.pid_of("ui") != at, "another screen")
                    before = len(run.terminal.written)
                    run.terminal.until(lambda at=before: len(run.terminal.written) > at, "a frame")
            server.open("end")
            run.shows("the end", "ready")
            leave(run.terminal, run.at)
            assert run.terminal.is_given_back


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("supervisor", marks=pytest.mark.fault(4, says="the supervisor is killed while drawing")),
        pytest.param("guard", marks=pytest.mark.fault(5, says="the guard is killed while drawing")),
    ],
)
@pytest.mark.timeout(1200 if LONG else 60)
def test_the_terminal_is_given_back_when_the_process_above_the_screen_is_killed(
    fault: Fault, server: ScriptedServer, tmp_path: Path, name: str
) -> None:
    for number in range(AGAIN * ROUNDS if LONG else 1):
        server.add(flood())
        with whole(server, tmp_path, "go") as run, fault.attempt():
            victim = run.pid_of(name)
            stop_reading(run, random.Random(f"{SEED} {name} {number}"))
            struck = time.monotonic()
            kill(victim)
            wait_until(
                lambda: not run.terminal.take() and run.terminal.is_given_back, "the terminal", GIVEN_BACK_S
            )
            run.all_end()
            fault.took(time.monotonic() - struck)
            fault.note(orphans=len(run.at.processes()))
            wait_until(lambda: not run.terminal.take() and "killed" in run.terminal.text, "a word")
            assert run.terminal.is_given_back


@pytest.mark.report("TERM-08")
@pytest.mark.fault(6, says="the terminal's window is closed in a delegation")
@pytest.mark.timeout(1200 if LONG else 60)
def test_closing_the_window_ends_everything_and_the_log_with_a_record(
    fault: Fault, server: ScriptedServer, tmp_path: Path
) -> None:
    for _ in range(ROUNDS):
        server.add(*delegation())
        with whole(server, tmp_path, "What does it print?") as run, fault.attempt():
            run.shows("SUBAGENT", "reviewing")
            run.pid_of("worker")
            struck = time.monotonic()
            run.terminal.hang_up()
            wait_until(lambda: not run.at.processes(), "everything to end", CLOSED_S)
            fault.took(time.monotonic() - struck)
            fault.note(orphans=len(run.at.processes()))
            (log,) = (run.at.folder / "state" / "fido" / "sessions").glob("*.jsonl")
            assert isinstance(check_log(log)[-1], TurnEnded)


@pytest.mark.report("TERM-03")
@pytest.mark.fault(7, says="the screen is suspended in a delegation")
def test_a_screen_that_was_suspended_shows_what_happened_meanwhile(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.add(*delegation())
    with home() as at:
        start = command("tests.fakes.job_control", *GUARD, "What does it print?")
        environment = at.environment(TERM="xterm-256color", **openai_environment(server.base_url))
        with TerminalProgram(start, 120, 32, environment, tmp_path) as terminal:
            terminal.until(lambda: "reviewing" in terminal.text, "the delegation")
            terminal.type(CTRL_Z)
            terminal.until(lambda: "stopped, tty as before" in terminal.text, "the shell")
            server.open("subagent")
            wait_until(lambda: has_ended(at), "the turn to end behind the suspended screen")
            threading.Event().wait(STOPPED_S)  # what is tested is that nothing comes of the time
            terminal.screen.reset()
            terminal.resize(100, 30)
            terminal.type("fg\n")
            terminal.until(
                lambda: all(text in terminal.text for text in ("completed", "It prints one.", "ready")),
                "what happened meanwhile",
            )
            terminal.type("/quit" + ENTER)
            terminal.until(lambda: "ended, tty as before" in terminal.text, "the end")
            assert not [word for word in ("reached", "timeout", "cancelled") if word in terminal.text]


@pytest.mark.fault(8, says="the terminal takes no more output")
def test_the_agent_goes_on_while_nobody_reads_the_terminal(
    fault: Fault, server: ScriptedServer, tmp_path: Path
) -> None:
    server.add(flood(), flood())
    server.open("end")
    with whole(server, tmp_path) as run:
        run.shows("ready")
        screen = psutil.Process(run.pid_of("ui"))
        before = screen.memory_info().rss
        with fault.attempt():
            run.terminal.type("go" + ENTER)
            wait_until(lambda: has_ended(run.at), "the turn to end")
            run.terminal.take()
            assert "the end" not in run.terminal.text, "the screen was not kept from drawing"
            assert screen.memory_info().rss - before < 20_000_000
            run.shows("the end", "ready")
        with fault.attempt("the end while the terminal takes no output"):
            run.terminal.type("go" + ENTER)
            wait_until(lambda: has_ended(run.at, 2), "the turn to end")
            run.terminal.fill()
            struck = time.monotonic()
            kill(run.terminal.process.pid, signal.SIGTERM)
            wait_until(lambda: not run.at.processes(), "everything to end")
            fault.took(time.monotonic() - struck)
            fault.note(orphans=len(run.at.processes()))
            assert run.terminal.modes == run.terminal.modes_before
            while run.terminal.take():
                pass
            assert run.terminal.is_given_back


@pytest.mark.fault(9, says="a widget raises")
def test_a_screen_that_breaks_each_time_it_draws_is_given_up_with_its_traceback_in_the_log(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.add(say(["Well, ", gate("never")]))
    start = [sys.executable, "-I", "-c", BROKEN_SCREEN, str(ROOT), BROKEN_WIDGET]
    with home() as at:
        environment = at.environment(TERM="xterm-256color", **openai_environment(server.base_url))
        with TerminalProgram(start, 120, 32, environment, tmp_path) as terminal:
            terminal.until(lambda: "ready" in terminal.text, "the screen")
            terminal.type("go" + ENTER)
            terminal.until(lambda: terminal.ended, "the end")
            wait_until(lambda: not terminal.take() and not at.processes(), "everything to end")
            assert terminal.process.returncode == 1
            assert terminal.is_given_back
            assert "the ui process kept ending (status 70), so Fido stopped." in terminal.text
            assert "RuntimeError: planted" in at.log_text()
            assert "Traceback" not in terminal.text


@pytest.mark.fault(10, says="a thousand changes of the window's size, down to one cell")
@played
async def test_a_storm_of_sizes_ends_in_the_right_picture(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    async with scene(tmp_path) as (run, terminal):
        run.parent.tell(TurnStarted(turn=1, prompt="x"), activity("reading"))
        for number in range(RESIZES):
            terminal.resize(
                *chance.choice([(1, 1), (2, 1), (5, 2), (chance.randint(1, 250), chance.randint(1, 80))])
            )
            terminal.type(chance.choice("a漢"))
            run.parent.tell(tell(f"piece {number} 漢字\n"))
            terminal.take()
        terminal.resize(100, 30)
        run.parent.tell(tell("the end"))
        await terminal.shows("the end", f"piece {RESIZES - 1} 漢字", "SUBAGENT")
        with TerminalProgram(command("ui.app", run.place.directory, os.getpid()), 100, 30) as other:
            await other.shows("the end", "SUBAGENT")
            assert _end_of_answer(other) == _end_of_answer(terminal)


def _end_of_answer(terminal: TerminalProgram) -> list[str]:
    """Some rows right above the composer, which holds a draft in one of two screens."""
    rows = terminal.text.splitlines()
    rule = max(number for number, row in enumerate(rows) if row.startswith("──"))
    return [row.partition("│")[0].rstrip(" ┃") for row in rows[rule - 8 : rule]]


@pytest.mark.timeout(1200 if LONG else 60)
@pytest.mark.fault(11, says="Ctrl-C while a command does all to get away")
def test_ctrl_c_is_acknowledged_at_once_and_what_it_stopped_is_dead_soon(
    fault: Fault, server: ScriptedServer, tmp_path: Path
) -> None:
    server.add(*[call("bash_exec", {"command": DAEMONS})] * ROUNDS)
    with whole(server, tmp_path, "--mode", "yolo") as run:
        run.shows("ready")
        for _ in range(ROUNDS):
            run.terminal.type("go" + ENTER)
            run.terminal.until(
                lambda: "● bash_exec" in run.terminal.text or "○ bash_exec" in run.terminal.text
            )
            wait_until(lambda: len(asleep(run.at)) >= 5, "the daemons")
            with fault.attempt():
                struck = time.monotonic()
                run.terminal.type(CTRL_C)
                run.terminal.until(
                    lambda: "stopping" in run.terminal.text or "Cancelled" in run.terminal.text
                )
                assert time.monotonic() - struck < 0.5
                wait_until(lambda: not asleep(run.at), "the daemons' end", 1.0)
                fault.took(time.monotonic() - struck)
            run.shows("Cancelled", "ready")
        run.terminal.type(CTRL_C)
        run.shows("again to leave")
        run.terminal.type(CTRL_C)
        run.all_end()
        assert run.terminal.is_given_back
