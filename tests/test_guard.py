"""The guard: statuses and signals pass through it, the terminal comes back, nothing stays behind."""

import contextlib
import os
import re
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.guard import PATIENCE_S
from actors.saved_terminal import RESET
from tests.fakes.fido import parent_of, wait_until
from tests.fakes.launch import ROOT, script
from tests.fakes.play import WELL, Stage, left_on, stage
from tests.fakes.terminal import TerminalProgram

START = "import os, signal, subprocess, sys, time\nfrom actors.guard import guard\n"
SCREEN = {"ui": "screen", **WELL}
JOB_SHELL = ["bash", "--norc", "--noprofile", "-i"]


@pytest.fixture
def on() -> Iterator[Stage]:
    with stage() as made:
        yield made


def guarded(work: str, patience_s: float = PATIENCE_S) -> "subprocess.CompletedProcess[str]":
    """Guard a piece of work."""
    lines = "\n".join(f"    {line}" for line in work.strip().split("\n"))
    return script(f"{START}def work():\n{lines}\nsys.exit(guard(work, {patience_s}))")


# --- without a terminal ------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [0, 1, 2, 3, 130])
def test_the_status_of_the_work_passes_through(status: int) -> None:
    ran = guarded(f"print('done')\nreturn {status}")
    assert (ran.returncode, ran.stdout, ran.stderr) == (status, "done\n", "")


@pytest.mark.parametrize("way", ["sys.exit(5)", "os._exit(5)"])
def test_work_may_end_as_it_likes(way: str) -> None:
    assert guarded(way).returncode == 5


def test_a_daemon_that_the_work_leaves_is_ended() -> None:
    ran = guarded(
        """
daemon = subprocess.Popen("trap '' TERM HUP; setsid setsid sleep 1000 & echo $!; exec sleep 1001",
                          shell=True, start_new_session=True, stdout=subprocess.PIPE)
print(daemon.pid, daemon.stdout.readline().decode())
return 0
"""
    )
    pids = [int(word) for word in ran.stdout.split()]
    assert len(pids) == 2
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def test_work_that_was_killed_is_told_in_one_line() -> None:
    ran = guarded("os.kill(os.getpid(), signal.SIGKILL)")
    assert ran.returncode == 1
    assert ran.stderr.startswith("fido: killed by SIGKILL; everything it had started was ended")
    assert ran.stderr.count("\n") == 1


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_to_the_guard_reaches_the_work(number: str) -> None:
    ran = guarded(
        f"""
signal.signal(signal.{number}, lambda number, _: sys.exit(40 + number))
os.kill(os.getppid(), signal.{number})
while True:
    signal.pause()
"""
    )
    assert ran.returncode == 40 + signal.Signals[number]


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_work_that_stands_still_is_resumed_to_end(number: str) -> None:
    ran = guarded(
        f"""
signal.signal(signal.{number}, lambda number, _: sys.exit(40 + number))
strike = f"kill -STOP {{os.getpid()}}; kill -{number[3:]} {{os.getppid()}}"
striker = subprocess.Popen(["sh", "-c", strike])
while True:
    signal.pause()
"""
    )
    assert ran.returncode == 40 + signal.Signals[number]


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_work_that_does_not_end_when_told_is_killed_with_all_it_has_started(number: str) -> None:
    """It hears nothing, and stands still again whenever it is resumed."""
    ran = guarded(
        f"""
signal.signal(signal.{number}, signal.SIG_IGN)
signal.signal(signal.SIGCONT, lambda *_: os.kill(os.getpid(), signal.SIGSTOP))
print(subprocess.Popen(["sleep", "1000"], stdout=subprocess.DEVNULL, start_new_session=True).pid, flush=True)
os.kill(os.getppid(), signal.{number})
while True:
    signal.pause()
""",
        patience_s=0.2,
    )
    assert ran.returncode == 1
    assert ran.stderr.startswith("fido: killed by SIGKILL; everything it had started was ended")
    assert not Path(f"/proc/{int(ran.stdout)}").exists()


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_work_that_a_signal_ended_needs_no_words(number: str) -> None:
    signals = f"signal.signal(signal.{number}, signal.SIG_DFL)\nos.kill(os.getpid(), signal.{number})"
    ran = guarded(signals)
    assert (ran.returncode, ran.stderr) == (128 + signal.Signals[number], "")


def test_ctrl_c_before_the_work_can_take_it_needs_no_words() -> None:
    ran = guarded("os.kill(os.getpid(), signal.SIGINT)\nwhile True:\n    signal.pause()")
    assert (ran.returncode, ran.stderr) == (128 + signal.SIGINT, "")


def test_work_gets_the_signal_mask_that_the_guard_was_started_with() -> None:
    assert guarded("print(signal.pthread_sigmask(signal.SIG_BLOCK, ()))\nreturn 0").stdout == "set()\n"


def test_the_memory_of_guard_and_work_is_hidden() -> None:
    ran = guarded(
        """
import ctypes
print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))
return 0
"""
    )
    assert ran.stdout == "0\n"  # PR_GET_DUMPABLE


# --- on a terminal -----------------------------------------------------------------------------------


def on_terminal(on: Stage, **players: str) -> TerminalProgram:
    return TerminalProgram(on.command("ui", **players), environment=on.environment)


@contextlib.contextmanager
def in_a_shell(on: Stage, tmp_path: Path) -> Iterator[TerminalProgram]:
    """A screen that bash has started as a job."""
    start = tmp_path / "start"
    words = " ".join(f"'{word}'" for word in on.command("ui", **SCREEN))
    start.write_text(f"exec {words}\n", encoding="utf-8")
    environment = on.environment | {"PS1": "ready> "}
    with TerminalProgram(JOB_SHELL, environment=environment) as terminal:
        terminal.until(lambda: "ready>" in terminal.text)
        terminal.type(f"sh {start}\r")
        yield terminal


def drawn(on: Stage, terminal: TerminalProgram, number: int = 1) -> int:
    """Wait for the nth screen; its process id."""
    pid = on.player("screen", number)
    terminal.until(lambda: "the screen" in terminal.text and not on_main_screen(terminal))
    assert terminal.modes != terminal.modes_before
    return pid


def given_back(terminal: TerminalProgram) -> bool:
    """Whether modes and screen are as before, after the end."""
    terminal.until(lambda: terminal.ended, "the end")
    while terminal.take():
        pass
    return terminal.modes == terminal.modes_before and on_main_screen(terminal)


def on_main_screen(terminal: TerminalProgram) -> bool:
    """Whether the alternate screen was left the last time it was entered."""
    return terminal.written.rfind(b"\x1b[?1049l") > terminal.written.rfind(b"\x1b[?1049h")


def test_a_screen_that_closes_itself_is_not_reset_again(on: Stage) -> None:
    with on_terminal(on, **SCREEN) as terminal:
        drawn(on, terminal)
        terminal.type("q")
        assert given_back(terminal)
        assert RESET not in terminal.written
        assert terminal.process.returncode == 0


def test_a_killed_screen_comes_back_on_a_terminal_in_order(on: Stage) -> None:
    with on_terminal(on, **SCREEN) as terminal:
        os.kill(drawn(on, terminal), signal.SIGKILL)
        on.player("screen", 2)
        terminal.until(lambda: RESET in terminal.written, "the reset")
        drawn(on, terminal, 2)
        terminal.type("q")
        assert given_back(terminal)


@pytest.mark.parametrize("name", ["supervisor", "guard"])
def test_the_terminal_comes_back_whoever_is_killed(on: Stage, name: str) -> None:
    with on_terminal(on, **SCREEN) as terminal:
        screen = drawn(on, terminal)
        supervisor = parent_of(screen)
        os.kill(supervisor if name == "supervisor" else parent_of(supervisor), signal.SIGKILL)
        wait_until(lambda: not left_on(on), "everything to end")
        assert given_back(terminal)
        assert re.search(r"fido:.*killed.*fidosessionslists", "".join(terminal.text.split()))


def test_a_person_whose_guard_is_killed_reads_so_and_gets_the_prompt(on: Stage, tmp_path: Path) -> None:
    with in_a_shell(on, tmp_path) as terminal:
        os.kill(parent_of(parent_of(drawn(on, terminal))), signal.SIGKILL)
        terminal.until(lambda: "PressEnterfortheprompt." in "".join(terminal.text.split()), "a word")
        assert on_main_screen(terminal)
        terminal.type("\recho $((6*7))\r")
        terminal.until(lambda: "42" in terminal.text, "the shell's answer")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_the_terminal_comes_back_from_a_supervisor_that_stands_still(
    on: Stage, number: signal.Signals
) -> None:
    with on_terminal(on, **SCREEN) as terminal:
        supervisor = parent_of(drawn(on, terminal))
        os.kill(supervisor, signal.SIGSTOP)
        os.kill(parent_of(supervisor), number)
        wait_until(lambda: not left_on(on), "everything to end", PATIENCE_S)
        assert given_back(terminal)
        assert terminal.process.returncode == 128 + number


def test_a_screen_that_keeps_breaking_ends_in_one_line_on_a_terminal_in_order(on: Stage) -> None:
    with on_terminal(on, **SCREEN) as terminal:
        for number in range(1, 5):
            os.kill(on.player("screen", number), signal.SIGKILL)
        assert given_back(terminal)
        assert terminal.process.returncode == 1
        assert "fido: the ui process kept ending (SIGKILL), so Fido stopped." in " ".join(
            terminal.text.split()
        )


@pytest.mark.report("TERM-08")
def test_everything_ends_when_the_terminal_is_closed(on: Stage) -> None:
    terminal = on_terminal(on, **SCREEN)
    try:
        drawn(on, terminal)
        os.close(terminal.fd)
        terminal.fd = os.open(os.devnull, os.O_RDWR)
        wait_until(lambda: not left_on(on), "everything to end")
        assert terminal.process.wait(10) == 129
    finally:
        terminal.close()


def fill(tty: int) -> None:
    """Write until a terminal takes nothing more."""
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(tty, b"x")


def test_a_terminal_that_takes_nothing_does_not_hold_the_end(on: Stage) -> None:
    with on_terminal(on, **SCREEN) as terminal:
        screen = drawn(on, terminal)
        flood = os.open(os.ttyname(terminal._tty), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
        while select.select([], [flood], [], 0.1)[
            1
        ]:  # the kernel makes room until the other side is full, too
            fill(flood)
        fill(flood)  # where there is little room, `select` tells of none
        os.close(flood)
        os.kill(parent_of(screen), signal.SIGKILL)
        assert terminal.process.wait(10) == 1
        while terminal.take():
            pass
        assert terminal.is_given_back


@pytest.mark.report("TERM-02")
@pytest.mark.parametrize("whom", ["screen", "group"])
def test_a_stopped_screen_gives_the_shell_its_terminal_and_comes_back(
    on: Stage, tmp_path: Path, whom: str
) -> None:
    with in_a_shell(on, tmp_path) as terminal:
        screen = drawn(on, terminal)
        guard = parent_of(parent_of(screen))
        (os.killpg if whom == "group" else os.kill)(guard if whom == "group" else screen, signal.SIGTSTP)
        terminal.until(lambda: "Stopped" in terminal.text, "the shell's word")
        terminal.type("echo $((6*7))\r")
        terminal.until(lambda: "42" in terminal.text, "the shell's answer")
        assert on_main_screen(terminal)
        terminal.type("fg\r")
        terminal.until(lambda: not on_main_screen(terminal), "the screen again")
        terminal.type("q")
        terminal.until(lambda: on_main_screen(terminal), "the shell again")
        terminal.type("echo status=$?\r")
        terminal.until(lambda: "status=0" in terminal.text, "the status")
        terminal.type("exit\r")
        terminal.until(lambda: terminal.ended)


# --- the command -------------------------------------------------------------------------------------


def test_the_command_starts_the_python_beside_it_isolated_whatever_links_lead_to_it(tmp_path: Path) -> None:
    """A stub stands for python and tells how it was called."""
    environment = tmp_path / "an environment" / "bin"
    environment.mkdir(parents=True)
    shutil.copy(ROOT / "actors" / "fido.sh", environment / "fido")
    (environment / "python").write_text('#!/bin/sh\necho "$0" "$@"\n', encoding="utf-8")
    for name in ("fido", "python"):
        (environment / name).chmod(0o755)
    links = tmp_path / "bin"
    links.mkdir()
    (links / "relative").symlink_to("../an environment/bin/fido")
    (links / "fido").symlink_to(links / "relative")
    for command in (environment / "fido", links / "relative", links / "fido"):
        told = subprocess.run(
            [command, "run", "a  b"], capture_output=True, text=True, timeout=10, check=True
        )
        assert re.fullmatch(r".*/bin/python -I -X utf8 -m actors\.guard run a  b\n", told.stdout), told


def test_a_command_without_a_python_beside_it_says_so(tmp_path: Path) -> None:
    shutil.copy(ROOT / "actors" / "fido.sh", tmp_path / "fido")
    told = subprocess.run(["sh", tmp_path / "fido"], capture_output=True, text=True, timeout=10, check=False)
    assert told.returncode == 127
    assert "no python beside" in told.stderr


def test_the_command_can_be_executed() -> None:
    assert os.access(ROOT / "actors" / "fido.sh", os.X_OK)
    assert sys.executable
