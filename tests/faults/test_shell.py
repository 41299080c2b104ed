"""What a command may do to get away, to take its watchers along, to drown them or to find the key."""

import asyncio
import os
import pty
import re
import select
import shlex
import signal
import statistics
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.shell.runner import DRAIN_S, GRACE_S
from actors.tools.bash_exec import BashExecInput
from actors.tools.tool import Invocation
from tests.fakes import bombs
from tests.fakes.fault_table import LONG, Fault
from tests.fakes.fido import GUARD, Finished, Home, Run, home, openai_environment, wait_until
from tests.fakes.launch import ROOT
from tests.fakes.scripted_server import ScriptedServer, say
from tests.fakes.scripted_server import call as answer
from tests.fakes.shells import Shelled, shelled

pytestmark = pytest.mark.timeout(1800 if LONG else 60)
KEY = "sk-canary-4711"
STRANGER = 64_322
"""A user that nobody is; root lets bombs go off as that one."""
SLACK = 1 if LONG else 3
"""The short form runs beside others: it allows times what the long form, which is alone, does not."""
DAEMONS = r"""
trap "" TERM HUP INT
setsid sh -c 'trap "" TERM HUP; echo $$ >> pids; sleep 1000 & echo $! >> pids; exec sleep 1001' &
(setsid setsid sh -c 'sleep 1002 & echo $! >> pids' &)
nohup sleep 1003 >/dev/null 2>&1 & echo $! >> pids; disown
sh -c 'sh -c "sleep 1004 & echo \$! >> pids" & exit 0'
sleep 1005 & echo $! >> pids; kill -STOP $!
while [ "$(wc -l < pids)" -lt 6 ]; do sleep 0.01; done
echo $$ >> pids; echo ready > ready
sleep 1006
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shelled]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with shelled(tmp_path, head=1000, tail=1000) as made:
        made.shell.start()
        yield made


def pids(path: Path) -> list[int]:
    return [int(line) for line in path.read_text(encoding="utf-8").split() if line.isdigit()]


def alive(numbers: list[int]) -> list[int]:
    return [pid for pid in numbers if Path(f"/proc/{pid}").exists()]


# --- getting away ------------------------------------------------------------------------------------------


@pytest.mark.fault(59, says="a background child keeps the output open")
def test_a_background_child_that_keeps_the_pipe_holds_nobody_up(here: Shelled, fault: Fault) -> None:
    took = []
    here.run("true")
    for _ in range(50 if LONG else 5):
        with fault.attempt():
            started = time.monotonic()
            text = here.run("sleep 30 & echo x")
            took.append(time.monotonic() - started)
            fault.took(took[-1])
            assert text.startswith("x\n")
    assert statistics.median(took) < DRAIN_S + 0.1 * SLACK


@pytest.mark.fault(60, says="daemons of every kind, and a cancel")
def test_on_a_cancel_every_process_of_a_command_is_dead(here: Shelled, tmp_path: Path, fault: Fault) -> None:
    took = []
    for number in range(100 if LONG else 4):
        folder = tmp_path / str(number)
        folder.mkdir()
        with fault.attempt():
            took.append(cancelled_when_ready(here, DAEMONS, folder))
            fault.took(took[-1])
            left = alive(pids(folder / "pids"))
            fault.note(orphans=len(left))
            assert len(pids(folder / "pids")) == 7
            assert not left
    assert statistics.median(took) < GRACE_S + 0.11 * SLACK


def cancelled_when_ready(here: Shelled, command: str, folder: Path) -> float:
    """Cancel a command as soon as it has opened the pipe `ready`; seconds until that was over."""

    async def whole() -> float:
        os.mkfifo(folder / "ready")
        (folder / "ready").chmod(0o666)
        given = BashExecInput(command=command, cwd=str(folder))
        task = asyncio.ensure_future(here.tool.run(given, Invocation("1")))
        await asyncio.to_thread(first_byte, folder / "ready")
        started = time.monotonic()
        task.cancel()
        assert "[status cancelled" in (await task).content
        return time.monotonic() - started

    return here.runner.run(whole())


def first_byte(pipe: Path) -> bytes:
    with pipe.open("rb", buffering=0) as file:
        return file.read(1)


@pytest.mark.parametrize(
    ("bomb", "limit_s"),
    [
        pytest.param("hopper", 0.05, marks=pytest.mark.fault(61, says="a process that is always another")),
        pytest.param("forks", 0.15, marks=pytest.mark.fault(61, says="a fork bomb")),
        pytest.param("sessions", 1.5, marks=pytest.mark.fault(61, says="a fork bomb of sessions")),
    ],
)
def test_a_bomb_is_dead_soon(here: Shelled, tmp_path: Path, fault: Fault, bomb: str, limit_s: float) -> None:
    uid = STRANGER if os.geteuid() == 0 else 0
    command = shlex.join([sys.executable, "-I", "-S", bombs.__file__, bomb, str(uid)]) + "; sleep 1000"
    took = []
    for number in range(20 if LONG else 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        with fault.attempt():
            took.append(cancelled_when_ready(here, command, folder))
            fault.took(took[-1])
            left = owned_by(uid) if uid else []
            fault.note(orphans=len(left))
            assert not left
    assert statistics.median(took) < GRACE_S + limit_s * SLACK


def owned_by(uid: int) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if path.stat().st_uid == uid:
                found.append(path.name)
        except FileNotFoundError:
            continue
    return found


# --- turning on its watchers -------------------------------------------------------------------------------


@pytest.mark.parametrize("victims", ["$PPID", "$(ps -o ppid= $PPID)", "$(ps -o ppid= $PPID) $PPID"])
@pytest.mark.fault(62, says="a command kills what watches it")
def test_a_command_that_kills_its_watchers_fails_and_the_next_one_runs(
    here: Shelled, tmp_path: Path, victims: str
) -> None:
    command = f"echo $$ > pid; kill -9 {victims}; exec sleep 1000"
    assert here.refusal(command, timeout_ms=5000).code == "runner_lost"
    (pid,) = pids(tmp_path / "pid")
    assert here.call("true").ok
    if victims == "$PPID":
        wait_until(lambda: not alive([pid]), "the command to end")
    for each in alive([pid]):  # with all watchers gone it is up to the supervisor
        os.kill(each, signal.SIGKILL)


@pytest.mark.fault(62, says="a command kills all its watchers in a run")
def test_in_a_run_nothing_is_left_of_a_command_that_kills_all_its_watchers(
    at: Home, tmp_path: Path, fault: Fault
) -> None:
    kills = "setsid sleep 1000 & nohup sleep 1001 >/dev/null 2>&1 & kill -9 $(ps -o ppid= $PPID) $PPID"
    steps = [
        answer("bash_exec", {"command": f"{kills}; exec sleep 1002"}),
        answer("bash_exec", {"command": "ps -eo args | grep -c '[s]leep 100[012]'"}),
        say("Over."),
    ]
    with ScriptedServer(steps) as server:
        environment = openai_environment(server.base_url)
        told = Run(at, tmp_path, "go", FIDO_MODE="yolo", **environment).finish()
        server.assert_done()
        results = [m["content"] for m in server.requests[-1].messages if m["role"] == "tool"]
    assert told.status == 0, told
    assert "runner_lost" in results[0]
    left = at.processes()
    fault.note(orphans=len(left))
    assert not left


@pytest.mark.fault(62, says="a command signals its own group")
def test_a_command_that_signals_its_own_group_ends_only_itself(here: Shelled) -> None:
    assert "killed by SIGTERM" in here.run("kill 0; sleep 1000", timeout_ms=5000)
    assert "killed by SIGKILL" in here.run("kill -9 0; sleep 1000", timeout_ms=5000)
    assert here.call("true").ok


# --- drowning its reader -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    ["yes", "yes | tr -d '\\n'", "cat /dev/zero", "cat /dev/urandom"],
    ids=["lines", "one line", "NUL", "noise"],
)
@pytest.mark.report("SH-06")
@pytest.mark.fault(63, says="a command floods")
def test_a_flood_keeps_its_ends_flat_in_memory_and_fast(here: Shelled, fault: Fault, source: str) -> None:
    size = 1_000_000_000 if LONG else 60_000_000
    peak = "grep VmHWM /proc/$PPID/status"  # the shell's parent is the process that reads
    command = f"{peak}; ({source}) | head -c {size}; echo; echo last words; {peak}"
    started = time.monotonic()
    text = here.run(command, timeout_ms=60_000)
    took = time.monotonic() - started
    fault.took(took)
    before, after = (int(kb) for kb in re.findall(r"VmHWM:\s+(\d+) kB", text))
    assert after - before < 20_000
    assert "last words" in text
    assert re.search(rf"of {size:,}"[:6], text)
    assert len(text) < 12_000
    if source == "yes":
        assert size / took > (100e6 if LONG else 10e6)


# --- terminal, key, start ----------------------------------------------------------------------------------

AT_A_TERMINAL = """
import asyncio, os, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from actors.files.workspace import Workspace
from actors.tools.bash_exec import BashExecInput
from actors.tools.tool import Invocation
from tests.fakes.shells import bash_exec

async def main():
    tool = bash_exec(Path(sys.argv[2]))
    for command in sys.argv[3:]:
        output = await tool.run(BashExecInput(command=command, timeout_ms=5000), Invocation("1"))
        print("SAID", output.content.replace(chr(10), "|"), flush=True)

assert os.isatty(0)
os.close(os.open("/dev/tty", os.O_RDWR))
asyncio.run(main())
"""


@pytest.mark.report("SH-03")
@pytest.mark.fault(64, says="a command wants the terminal")
def test_a_command_gets_no_terminal_and_the_screens_stays_as_it_was(tmp_path: Path) -> None:
    commands = [
        "stty raw -echo < /dev/tty || echo none",
        "stty raw; stty -F /dev/tty raw; tty",
        "(read x < /dev/tty) || echo none",
        "cat; read x || echo end",
        "echo hidden > /dev/tty || echo none",
        "kill -TTIN $$ & kill -TTOU $$; echo never; wait",
    ]
    pid, terminal = pty.fork()
    if pid == 0:
        arguments = ["-I", "-c", AT_A_TERMINAL, str(ROOT), str(tmp_path), *commands]
        os.execv(sys.executable, [sys.executable, *arguments])
    before = termios.tcgetattr(terminal)
    seen = read_until_end(terminal)
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, seen
    said = [line for line in seen.splitlines() if line.startswith("SAID")]
    assert len(said) == len(commands), seen
    assert "hidden" not in seen.replace("echo hidden", "")
    assert all("none" in said[number] for number in (0, 2, 4)), said
    assert "end" in said[3]
    assert "never|[exit status 0]" in said[5], "signals of job control stop nobody"
    assert before == AS_IT_WAS[0]


AS_IT_WAS: list[list[object]] = []


def read_until_end(terminal: int) -> str:
    """All that is written to a terminal; its state is noted while it is still open."""
    seen = b""
    while select.select([terminal], [], [], 30)[0]:
        AS_IT_WAS[:] = [termios.tcgetattr(terminal)]
        try:
            seen += os.read(terminal, 65536)
        except OSError:  # the other side is closed
            break
    return seen.decode().replace("\r\n", "\n")


@pytest.fixture
def at() -> Iterator[Home]:
    with home() as made:
        yield made


@pytest.mark.fault(65, says="a command looks for the key")
def test_no_key_is_in_sight_of_a_command(here: Shelled) -> None:
    text = here.run("env; cat /proc/$PPID/environ; tr '\\0' '\\n' < /proc/self/environ; echo TERM=$TERM")
    assert "TERM=dumb" in text
    assert KEY not in text


@pytest.mark.fault(65, says="a command of a user looks for the key in every process")
def test_no_process_that_a_user_may_look_into_has_the_key(at: Home) -> None:
    """Root may look into everything; the documentation says so."""
    looks = (
        "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -c '[s]k-canary'"
    )
    workspace = at.folder / "w"
    workspace.mkdir()
    with ScriptedServer([answer("bash_exec", {"command": looks}), say("Over.")]) as server:
        done = subprocess.run(
            [*as_somebody(at), *GUARD, "run", "go"],
            cwd=workspace,
            env=at.environment(FIDO_MODE="yolo", **openai_environment(server.base_url, KEY)),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert done.returncode == 0, Finished(done.returncode, done.stdout, done.stderr)
        server.assert_done()
        (result,) = [m["content"] for m in server.requests[-1].messages if m["role"] == "tool"]
    assert result.startswith("0\n"), result


def as_somebody(at: Home) -> list[str]:
    """What makes a command not be root's; a Python that lies behind closed doors is brought along."""
    if os.geteuid() != 0:
        return []
    for path in (at.folder, *at.folder.rglob("*")):
        os.chown(path, STRANGER, STRANGER)
    needed = {Path(place).resolve() for place in (sys.prefix, sys.base_prefix, ROOT)}
    doors = {door: place for place in needed for door in place.parents if not door.stat().st_mode & 0o001}
    moves = "".join(
        f"t=$(mktemp -d); mount --bind {place} $t; mount -t tmpfs -o mode=755 none {door}; "
        f"mkdir -p {place}; mount --bind $t {place}; "
        for door, place in doors.items()
    )
    # A place that is closed itself is opened with all that is in it.
    moves += "".join(
        f"t=$(mktemp -d); mount --bind {place} $t; mount -t tmpfs -o mode=755 none {place}; "
        f'for e in $t/*; do n={place}/${{e##*/}}; if [ -d "$e" ]; then mkdir $n; else : > $n; fi; '
        f"mount --bind $e $n; done; "
        for place in needed
        if not place.stat().st_mode & 0o001
    )
    somebody = f'exec setpriv --reuid {STRANGER} --regid {STRANGER} --clear-groups "$@"'
    return ["unshare", "-m", "sh", "-ec", moves + somebody, "sh"]


@pytest.mark.fault(66, says="a command without a PATH, a folder, a format, or with too many arguments")
def test_what_can_not_start_is_a_result(here: Shelled, tmp_path: Path) -> None:
    (tmp_path / "broken").write_bytes(b"\x7fELF not really")
    (tmp_path / "broken").chmod(0o755)
    (tmp_path / "gone").mkdir()
    assert "[exit status 126]" in here.run("./broken")
    assert "[exit status 127]" in here.run("no-such-program")
    assert "[exit status 127]" in here.run("PATH=; ls")
    assert "Argument list too long" in here.run("/bin/echo $(head -c 3000000 /dev/zero | tr '\\0' x)")
    assert here.call("cd gone && rmdir ../gone && pwd; /bin/true").ok
    here.shell.program = "/nowhere/bash"
    assert here.run("true") == "The command was not started: No such file or directory.\n[exit status 127]"


@pytest.mark.fault(66, says="the workspace itself is gone")
def test_a_workspace_that_is_gone_is_a_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PATH")
    workspace = tmp_path / "w"
    workspace.mkdir()
    with shelled(workspace) as here:
        assert here.call("ls").ok, "without a PATH the shell has one of its own"
        workspace.rmdir()
        assert here.refusal("ls").code == "not_found"
