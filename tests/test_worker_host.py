"""The host of workers, with lives made for the test; real processes without a wall: they turn on the host."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ipc.endpoints import RunPlace
from tests.fakes.launch import script
from tests.fakes.places import run_place

HOST = """
import os, signal, subprocess, sys
from pathlib import Path
from actors.worker_host import WorkerHost
from ipc.endpoints import RunPlace
place, host = RunPlace.open(sys.argv[1]), os.getpid()
def serve(quarters):
    number = int(quarters.folder.name.split("-")[1])
    print("life", number, os.getpid(), flush=True)
{life}
ended = WorkerHost(place, serve).run()
print("ended", ended, file=sys.stderr)
"""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[RunPlace]:
    with run_place(tmp_path) as made:
        made.no_wall.touch()
        yield made


def hosted(place: RunPlace, life: str) -> list[list[str]]:
    """Lines that the host and its workers wrote into the log; `life` is the body of a worker."""
    code = HOST.format(life="".join(f"    {line}\n" for line in life.splitlines()))
    run = script(code, place.directory, env={"PATH": os.environ["PATH"]})
    assert run.returncode == 0, run.stderr
    assert run.stdout == ""
    assert list(place.workers_directory.iterdir()) == []
    return [line.split() for line in run.stderr.splitlines()]


@pytest.mark.parametrize("life", ["return 1", "raise RuntimeError", "os.abort()"])
def test_a_host_whose_workers_only_fail_gives_up_after_three_restarts(place: RunPlace, life: str) -> None:
    lines = [line for line in hosted(place, life) if line[0] in ("life", "ended")]
    assert [line[0] for line in lines] == ["life"] * 4 + ["ended"]
    assert lines[-1] == ["ended", "False"]


def test_a_worker_that_is_killed_at_work_is_no_fault(place: RunPlace) -> None:
    life = (
        "os.kill(*((host, signal.SIGTERM) if number == 8 else (os.getpid(), signal.SIGKILL)))\nsignal.pause()"
    )
    lines = hosted(place, life)
    assert [line[1] for line in lines] == [*map(str, range(1, 9)), "True"]


def test_a_worker_that_is_killed_when_its_announcement_was_taken_away_is_no_fault(place: RunPlace) -> None:
    life = (
        "(quarters.folder / 'mail.ipc').unlink()\n"
        "os.kill(*((host, signal.SIGTERM) if number == 6 else (os.getpid(), signal.SIGKILL)))\nsignal.pause()"
    )
    assert hosted(place, life)[-1] == ["ended", "True"]


def test_numbers_grow_past_every_folder_that_is_there_and_those_are_removed(place: RunPlace) -> None:
    (place.workers_directory / "w-41-7").mkdir()
    (place.workers_directory / "w-41-7" / "mail.ipc").touch()
    lines = hosted(place, "os.kill(host, signal.SIGTERM)\nsignal.pause()")
    assert lines[0][:2] == ["life", "42"]


@pytest.mark.parametrize("number", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_a_host_that_is_told_to_stop_takes_everything_with_it(place: RunPlace, number: str) -> None:
    life = (
        "child = subprocess.Popen(['sleep', '1000'], start_new_session=True)\n"
        f"print('child', child.pid, flush=True)\nos.kill(host, signal.{number})\nsignal.pause()"
    )
    lines = hosted(place, life)
    assert lines[-1] == ["ended", "True"]
    for _, *_, pid in lines[:-1]:
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)


def test_what_a_worker_leaves_behind_is_gone_before_the_next_one_lives(place: RunPlace) -> None:
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
    lines = hosted(place, life)
    assert [line[0] for line in lines] == ["life", "child", "life", "left", "ended"]
    assert lines[3][1:] == [lines[2][2]]
    with pytest.raises(ProcessLookupError):
        os.kill(int(lines[1][1]), 0)


def test_what_a_worker_wrote_reaches_the_log_bounded_and_harmless(place: RunPlace) -> None:
    life = (
        "if number == 1:\n"
        "    print('x' * 200_000 + '\\x1b]52;c;ZXZpbA==\\x07', flush=True)\n"
        "    return 0\n"
        "os.kill(host, signal.SIGTERM)\nsignal.pause()"
    )
    (told, *_), *_, ended = hosted(place, life)
    assert ended == ["ended", "True"]
    assert told.startswith("x")
    assert told.endswith("\N{SYMBOL FOR ESCAPE}]52;c;ZXZpbA==\N{SYMBOL FOR BELL}")
    assert len(told) < 70_000


def test_a_file_that_a_worker_made_in_place_of_its_log_is_not_followed(place: RunPlace) -> None:
    secret = place.directory / "secret"
    secret.write_text("hidden", encoding="utf-8")
    life = (
        "if number == 1:\n"
        "    (quarters.folder / 'log').unlink()\n"
        f"    (quarters.folder / 'log').symlink_to({str(secret)!r})\n"
        "    return 0\n"
        "os.kill(host, signal.SIGTERM)\nsignal.pause()"
    )
    assert [line[0] for line in hosted(place, life)] == ["life", "ended"]
    assert secret.read_text(encoding="utf-8") == "hidden"
