"""The host of workers, with lives made for the test; real processes."""

import os
from pathlib import Path

import pytest

from tests.fakes.launch import script

# --- the host, with lives of its own ------------------------------------------------------------------------

HOST = """
import os, signal, subprocess, sys
from pathlib import Path
from actors.worker_host import WorkerHost
directory, host = Path(sys.argv[1]), os.getpid()
def serve(address):
    number = int(address.rpartition("/")[2].split("-")[1])
    path = Path(address.removeprefix("ipc://"))
    print("worker", number, os.getpid(), flush=True)
{life}
print("ended", WorkerHost(directory, serve).run(), flush=True)
"""


def hosted(directory: Path, life: str) -> list[list[str]]:
    """Lines that the host and its workers printed; `life` is the body of a worker."""
    code = HOST.format(life="".join(f"    {line}\n" for line in life.splitlines()))
    run = script(code, directory, env={"PATH": os.environ["PATH"]})
    assert run.returncode == 0, run.stderr
    return [line.split() for line in run.stdout.splitlines()]


def test_a_host_whose_workers_only_fail_gives_up_after_three_restarts(tmp_path: Path) -> None:
    for life in ("return 1", "raise RuntimeError", "os.kill(os.getpid(), signal.SIGKILL)", "os.abort()"):
        lines = hosted(tmp_path, life)
        assert [line[0] for line in lines] == ["worker"] * 4 + ["ended"]
        assert lines[-1] == ["ended", "False"]


def test_a_worker_that_is_killed_at_work_is_no_fault(tmp_path: Path) -> None:
    life = (
        "path.touch()\n"
        "os.kill(*((host, signal.SIGTERM) if number == 8 else (os.getpid(), signal.SIGKILL)))\n"
        "signal.pause()"
    )
    lines = hosted(tmp_path, life)
    assert [line[1] for line in lines] == [*map(str, range(1, 9)), "True"]
    assert list(tmp_path.iterdir()) == []


def test_numbers_grow_past_every_socket_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "w-41-7.ipc").touch()
    (tmp_path / "w-x-7.ipc").touch()
    lines = hosted(tmp_path, "os.kill(host, signal.SIGTERM)\nsignal.pause()")
    assert lines[0][:2] == ["worker", "42"]


@pytest.mark.parametrize("number", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_a_host_that_is_told_to_stop_takes_everything_with_it(tmp_path: Path, number: str) -> None:
    life = (
        "child = subprocess.Popen(['sleep', '1000'], start_new_session=True)\n"
        f"print('child', child.pid, flush=True)\nos.kill(host, signal.{number})\nsignal.pause()"
    )
    lines = hosted(tmp_path, life)
    assert lines[-1] == ["ended", "True"]
    for _, *_, pid in lines[:-1]:
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)


def test_what_a_worker_leaves_behind_is_gone_before_the_next_one_lives(tmp_path: Path) -> None:
    life = (
        "if number == 1:\n"
        "    shell = 'trap \"\" TERM; setsid sleep 1000 & sleep 1001 & echo child $! ; wait'\n"
        "    shell = subprocess.Popen(['sh', '-c', shell], start_new_session=True, stdout=subprocess.PIPE)\n"
        "    print(shell.stdout.readline().decode().strip(), flush=True)\n"
        "    return 0\n"
        "left = Path(f'/proc/{host}/task/{host}/children').read_text().split()\n"
        "print('left', *left, flush=True)\n"
        "os.kill(host, signal.SIGTERM)\nsignal.pause()"
    )
    lines = hosted(tmp_path, life)
    assert [line[0] for line in lines] == ["worker", "child", "worker", "left", "ended"]
    assert lines[3][1:] == [lines[2][2]]
    with pytest.raises(ProcessLookupError):
        os.kill(int(lines[1][1]), 0)
