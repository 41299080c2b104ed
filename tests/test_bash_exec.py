"""bash_exec: bounded in time and output, nothing waits for a person; with real shells."""

import asyncio
import os
import re
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.process_tree import children
from actors.tools.bash_exec import BashExecInput
from actors.tools.tool import Invocation, ToolOutput
from tests.fakes.fido import wait_until
from tests.fakes.launch import Watched, script
from tests.fakes.shells import Shelled, shelled

KEY = "sk-canary-4711"
DAEMONS = r"""
trap "" TERM HUP INT
setsid sh -c 'trap "" TERM HUP; echo $$ >> pids; sleep 1000 & echo $! >> pids; exec sleep 1001' &
(setsid setsid sh -c 'sleep 1002 & echo $! >> pids' &)
nohup sleep 1003 >/dev/null 2>&1 & echo $! >> pids
sh -c 'sh -c "sleep 1004 & echo \$! >> pids" & exit 0'
sleep 1005 & echo $! >> pids; kill -STOP $!
while [ "$(wc -l < pids)" -lt 6 ]; do sleep 0.01; done
echo all >> pids; echo ready > ready
sleep 1006
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shelled]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with shelled(tmp_path, head=1000, tail=1000) as made:
        yield made


def pids(text: str) -> list[int]:
    return [int(line) for line in text.split() if line.isdigit()]


def test_output_and_errors_come_in_their_order_with_the_exit_status(here: Shelled) -> None:
    output = here.call("echo one; echo two >&2; echo three; exit 3")
    assert output.content == "one\ntwo\nthree\n[exit status 3]"
    assert not output.ok


def test_a_command_that_succeeds_is_ok(here: Shelled) -> None:
    output = here.call("true")
    assert output.ok
    assert output.content == "[no output]\n[exit status 0]"


def test_a_command_killed_by_a_signal_says_so(here: Shelled) -> None:
    assert here.run("kill -SEGV $$") == "[no output]\n[killed by SIGSEGV]"


def test_it_starts_in_the_workspace_or_in_a_folder_of_it(here: Shelled, tmp_path: Path) -> None:
    (tmp_path / "sub dir").mkdir()
    assert here.run("pwd").startswith(f"{tmp_path}\n")
    assert here.run("pwd", cwd="sub dir").startswith(f"{tmp_path}/sub dir\n")


def test_a_folder_outside_missing_or_no_folder_is_refused(here: Shelled, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert here.refusal("pwd", cwd="..").code == "outside_workspace"
    assert here.refusal("pwd", cwd="nowhere").code == "not_found"
    assert here.refusal("pwd", cwd="file").code == "not_a_folder"


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (" \n", "empty_command"),
        ("a\0b", "bad_command"),
        ("\ud800", "bad_command"),
        (":" * 200_000, "command_too_long"),
    ],
)
def test_what_can_not_be_started_is_refused_with_a_reason(here: Shelled, command: str, code: str) -> None:
    assert here.refusal(command).code == code


@pytest.mark.report("SH-07")
def test_at_its_deadline_a_command_ends_with_what_it_had_printed(here: Shelled, tmp_path: Path) -> None:
    output = here.call("echo $$ > pid; echo ready; sleep 1000", timeout_ms=300)
    assert output.content.startswith("ready\n[status timed_out: not done after 300 ms")
    assert not output.ok
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text(encoding='utf-8').strip()}").exists()


def test_a_command_that_has_closed_its_output_ends_at_its_deadline_too(here: Shelled) -> None:
    assert "status timed_out" in here.run("echo x; exec >&- 2>&-; sleep 1000", timeout_ms=300)


@pytest.mark.parametrize("squeeze", ["", "| tr -d '\\n'"], ids=["lines", "one line"])
def test_long_output_is_cut_in_the_middle_and_says_so(here: Shelled, squeeze: str) -> None:
    text = here.run(f"echo first; yes xxxxxxxxx {squeeze} | head -c 3000000; echo; echo last")
    assert text.startswith("first\n")
    assert text.endswith("last\n[exit status 0]")
    assert re.search(r"\[\.\.\. 2,99\d,\d{3} of 3,000,012 bytes left out", text)
    assert len(text) < 2500


def test_a_background_process_does_not_hold_the_call_and_goes_on(here: Shelled, tmp_path: Path) -> None:
    started = time.monotonic()
    text = here.run("sleep 1000 & echo $!")
    assert time.monotonic() - started < 5
    pid = pids(text)[0]
    assert f"still running in the background: {pid} (sleep)" in text
    assert here.run(f"kill -0 {pid} && echo alive").startswith("alive\n")


def test_background_processes_end_with_the_tool(here: Shelled) -> None:
    pid = pids(here.run("setsid nohup sleep 1000 >/dev/null 2>&1 & echo $!"))[0]
    with Watched(pid) as job:
        here.shell.close()
        assert job.ends_within()


async def cancelled_when_ready(here: Shelled, ready: Path) -> float:
    """Cancel a call as soon as its command has opened the pipe `ready`; seconds until it was over."""
    os.mkfifo(ready)
    task = asyncio.ensure_future(here.tool.run(BashExecInput(command=DAEMONS), Invocation("1")))
    await asyncio.to_thread(ready.read_bytes)
    started = time.monotonic()
    task.cancel()
    assert "[status cancelled" in (await task).content
    return time.monotonic() - started


@pytest.mark.report("SH-07")
def test_a_cancelled_command_hands_in_what_it_had_printed(here: Shelled, tmp_path: Path) -> None:
    prints = "echo one; echo two >&2; trap 'echo bye; exit' TERM; echo > ready; while :; do :; done"

    async def cancelled() -> ToolOutput:
        os.mkfifo(tmp_path / "ready")
        task = asyncio.ensure_future(here.tool.run(BashExecInput(command=prints), Invocation("1")))
        await asyncio.to_thread((tmp_path / "ready").read_bytes)
        task.cancel()
        return await task

    output = here.runner.run(cancelled())
    assert output.content.startswith("one\ntwo\nbye\n[status cancelled: stopped before its end")
    assert output.display == "one\ntwo\nbye"
    assert not output.ok


def test_cancelling_one_call_leaves_another_alone(here: Shelled, tmp_path: Path) -> None:
    pid = pids(here.run("sleep 1000 & echo $!"))[0]
    here.runner.run(cancelled_when_ready(here, tmp_path / "ready"))
    assert here.run(f"kill -0 {pid} && echo alive").startswith("alive\n")


def test_a_cancel_that_meets_stopped_watchers_does_not_hold_up_the_loop(
    here: Shelled, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stops = "kill -STOP $PPID $(ps -o ppid= $PPID); echo > ready; exec sleep 1000"

    async def cancelled() -> None:
        loop = asyncio.get_running_loop()
        loop.set_debug(True)  # it then logs whatever keeps it for longer than this
        loop.slow_callback_duration = 0.5
        os.mkfifo(tmp_path / "ready")
        task = asyncio.ensure_future(here.tool.run(BashExecInput(command=stops), Invocation("1")))
        await asyncio.to_thread((tmp_path / "ready").read_bytes)
        host = here.shell._host
        assert host is not None
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert host.returncode == -signal.SIGKILL

    here.runner.run(cancelled())
    assert not [each.message for each in caplog.records if "Executing" in each.message]
    assert here.call("true").ok


CONFLICT = """
git init -q -b main . && git config user.name a && git config user.email b
echo 1 > f; git add f; git commit -qm one; git checkout -qb side; echo 2 > f; git commit -qam two
git checkout -q main; echo 3 > f; git commit -qam three; git checkout -q side
git rebase main > /dev/null 2>&1; echo 4 > f; git add f
"""


@pytest.mark.report("SH-03")
def test_a_program_that_wants_an_editor_goes_on_without_one(here: Shelled) -> None:
    assert here.call(f"{CONFLICT} git rebase --continue && test ! -d .git/rebase-merge").ok
    assert here.run("git -c core.editor=vi commit --amend", timeout_ms=5000).endswith("[exit status 0]")


@pytest.mark.report("SH-03")
@pytest.mark.parametrize(
    "command",
    [
        "python3 -c 'open(\"/dev/tty\").read()'",
        "read -s password < /dev/tty",
        "python3 -c 'input()'",
        "python3 -c 'import getpass; getpass.getpass()'",
        "stty size",
        "GIT_ASKPASS= git -c credential.helper= credential fill <<< $'protocol=https\\nhost=example.org\\n'",
    ],
)
def test_who_wants_a_person_to_type_fails_at_once_and_is_told_so(here: Shelled, command: str) -> None:
    output = here.call(command, timeout_ms=20_000)
    assert not output.ok
    assert "timed_out" not in output.content
    assert "No command has a terminal or anything to read: use the non-interactive form" in output.content


@pytest.mark.report("SH-04")
@pytest.mark.parametrize(
    "command",
    ["cat", "read x || true", "python3", "python3 -", "bash", "sort", "tr a b | wc -c", "xargs echo"],
)
def test_who_reads_gets_the_end_at_once(here: Shelled, command: str) -> None:
    output = here.call(command, timeout_ms=20_000)
    assert output.ok, output.content


@pytest.mark.report("SH-03")
@pytest.mark.parametrize(
    ("program", "command"),
    [
        ("nano", "./nano 600"),
        ("vim.tiny", "./vim.tiny 600 | cat"),
        ("nvim", "./nvim 300 300"),
        ("watch", "bash -c 'echo first; ./watch 600 > /dev/null; true'"),
    ],
)
def test_a_program_that_wants_a_screen_is_ended_soon_and_told_by_its_name(
    here: Shelled, tmp_path: Path, program: str, command: str
) -> None:
    shutil.copy(shutil.which("sleep") or "", tmp_path / program)  # known by its file; it waits like one
    output = here.call(command, timeout_ms=60_000)
    assert f"[status full_screen: {program} draws on a screen and waits for keys" in output.content
    assert "Use patch to edit" in output.content
    assert not output.ok


@pytest.mark.parametrize(
    "command",
    [
        "script -qec './nano 1' /dev/null",
        "./nano 1 > log",
        "./vim.tiny -e nano.sh",
        "./vim.tiny nano.sh '%s/a/b/ | wq'",
        "./nano.sh",
        "exec ./less 1",
    ],
)
def test_what_has_a_screen_or_wants_none_is_left_alone(here: Shelled, tmp_path: Path, command: str) -> None:
    for program in ("nano", "less"):
        shutil.copy(shutil.which("sleep") or "", tmp_path / program)
    shutil.copy(shutil.which("bash") or "", tmp_path / "vim.tiny")
    (tmp_path / "nano.sh").write_text("#!/bin/sh\nsleep 1\n", encoding="utf-8")
    (tmp_path / "nano.sh").chmod(0o700)
    output = here.call(command)
    assert output.content.endswith("[exit status 0]")


def test_calls_can_run_side_by_side(here: Shelled, tmp_path: Path) -> None:
    async def both() -> list[str]:
        os.mkfifo(tmp_path / "meet")
        commands = ["echo hello > meet; echo sent", "cat meet"]
        given = [BashExecInput(command=each, timeout_ms=5000) for each in commands]
        calls = [here.tool.run(each, Invocation("1")) for each in given]
        return [output.content for output in await asyncio.gather(*calls)]

    assert here.runner.run(both()) == ["sent\n[exit status 0]", "hello\n[exit status 0]"]


def test_no_descriptor_but_the_standard_ones_reaches_a_command(here: Shelled) -> None:
    assert here.run("ls /proc/$$/fd").split("\n")[:3] == ["0", "1", "2"]


def test_a_writer_into_a_closed_pipe_ends_as_in_any_shell(here: Shelled) -> None:
    assert here.run("yes | head -1; echo ${PIPESTATUS[0]}") == "y\n141\n[exit status 0]"


def test_everything_ends_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    """The parent kills itself while a command runs and another one's daemon goes on."""
    ran = script(
        """
import asyncio, os, signal
from pathlib import Path
from actors.tools.bash_exec import BashExecInput
from actors.tools.tool import Invocation
from tests.fakes.shells import bash_exec

async def main():
    tool = bash_exec(Path(sys.argv[1]))
    first = await tool.run(BashExecInput(command="setsid sleep 1000 & echo $!"), Invocation("one"))
    print(first.content, flush=True)
    os.mkfifo(sys.argv[1] + "/ready")
    command = "setsid sleep 1001 & echo $! $$ > ready; sleep 1002"
    asyncio.ensure_future(tool.run(BashExecInput(command=command), Invocation("two")))
    print(await asyncio.to_thread(Path(sys.argv[1] + "/ready").read_text), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
""",
        tmp_path,
    )
    assert ran.returncode == -signal.SIGKILL, ran.stderr
    started = pids(ran.stdout.replace("[", " [").partition("[exit")[0]) + pids(ran.stdout.rpartition("]")[2])
    assert len(started) == 3
    for pid in started:
        try:
            with Watched(pid) as process:
                assert process.ends_within()
        except ProcessLookupError:
            continue


def test_the_summary_is_one_bounded_line(here: Shelled) -> None:
    assert here.tool.summary(BashExecInput(command="a\n\n  b")) == "a ⏎ ⏎ b"
    assert len(here.tool.summary(BashExecInput(command="x" * 9999))) == 200


def test_all_commands_have_one_host_with_one_waiting_runner(here: Shelled) -> None:
    assert here.call("true").ok
    host = here.shell._host
    assert host is not None
    assert here.call("true").ok
    assert here.shell._host is host
    # the runner of a command ends behind its result
    wait_until(lambda: len(children(host.pid)) <= 2, "the runners' ends")
