"""What commands leave running: it lives on, is listed, and ends with all that belongs to it."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.shell.runner import JOB_GRACE_S
from ipc.messages import Accepted, JobsChanged, Refused
from tests.fakes.launch import Watched
from tests.fakes.shells import Shelled, shelled

DAEMONS = r"""
setsid sh -c 'trap "" TERM HUP; echo $$ >> pids; sleep 1000 & echo $! >> pids; exec sleep 1001' &
(setsid setsid sh -c 'sleep 1002 & echo $! >> pids' &)
nohup sleep 1003 >/dev/null 2>&1 & echo $! >> pids
sh -c 'sh -c "sleep 1004 & echo \$! >> pids" & exit 0'
sleep 1005 & echo $! >> pids; kill -STOP $!
while [ "$(wc -l < pids)" -lt 6 ]; do sleep 0.01; done
"""


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Shelled]:
    with shelled(tmp_path) as made:
        yield made


@pytest.mark.report("SH-02")
def test_a_server_that_a_command_started_is_told_and_answers_the_next_command(here: Shelled) -> None:
    text = here.run("python3 -u -m http.server 0 --bind 127.0.0.1 > log 2>&1 & echo $! > pid")
    pid = int((here.root / "pid").read_text(encoding="utf-8"))
    assert f"still running in the background: {pid} (" in text
    assert "until you kill it, the user stops it with /jobs, or this session ends" in text
    fetch = "until grep -q port log; do sleep 0.01; done; port=$(grep -o 'port [0-9]*' log | cut -c6-)"
    assert "What it prints from now on is lost, unless it goes to a file.]" in text
    assert list(here.outputs.folder.glob("*.txt")) == []
    answered = here.run(f"{fetch}; curl -sS --max-time 10 http://127.0.0.1:$port/")
    assert "Directory listing" in answered, answered
    assert here.run(f"kill {pid}").endswith("[exit status 0]")
    here.until(lambda: here.listed == [])


def test_a_job_is_listed_with_its_command_until_it_ends(here: Shelled, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    here.run("read x < gate &\n echo $!")
    (told,) = [fact for fact in here.facts if isinstance(fact, JobsChanged)]
    (job,) = told.jobs
    assert job.command == "read x < gate & ⏎ echo $!"
    assert job.started_at.endswith("Z")
    assert here.listed == [job.pid]
    here.run("echo go > gate")
    here.until(lambda: here.listed == [])


def test_jobs_are_listed_the_oldest_first(here: Shelled) -> None:
    here.run("sleep 1000 &")
    first = here.listed
    here.run("sleep 1001 &")
    assert here.listed[:1] == first
    assert len(here.listed) == 2


def test_a_job_is_stopped_with_all_that_belongs_to_it_and_no_other(here: Shelled, tmp_path: Path) -> None:
    here.run("sleep 1000 &")
    here.run(DAEMONS)
    other, job = here.listed
    pids = [int(line) for line in (tmp_path / "pids").read_text(encoding="utf-8").split()]
    assert len(pids) == 6
    assert here.stop(job) == Accepted()
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
    assert here.listed == [other]
    assert Path(f"/proc/{other}").exists()


def test_a_job_may_bring_its_work_into_safety_when_it_is_stopped(here: Shelled, tmp_path: Path) -> None:
    server = "trap 'sleep 0.3; echo safe > saved; exit' TERM; echo up > up; while :; do sleep 0.01; done"
    here.run(f"({server}) & until [ -e up ]; do sleep 0.01; done")
    (job,) = here.listed
    started = time.monotonic()
    assert here.stop(job) == Accepted()
    assert (tmp_path / "saved").read_text(encoding="utf-8") == "safe\n"
    assert time.monotonic() - started < JOB_GRACE_S


def test_at_the_end_of_the_session_a_job_is_asked_before_it_is_killed(here: Shelled, tmp_path: Path) -> None:
    asked = "trap 'echo asked > asked; exit' TERM; echo up > up; while :; do sleep 0.01; done"
    here.run(f"({asked}) & until [ -e up ]; do sleep 0.01; done; trap '' TERM; sleep 1000 &")
    pids = here.descendants()
    here.jobs.close()
    here.shell.close()
    assert (tmp_path / "asked").exists()
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def test_what_is_no_job_is_not_stopped(here: Shelled) -> None:
    refused = here.stop(os.getpid())
    assert isinstance(refused, Refused)
    assert refused.code == "no_such_job"


def test_a_job_whose_watcher_was_killed_is_listed_no_more_and_runs_no_more(here: Shelled) -> None:
    here.run("sleep 1000 &")
    (job,) = here.listed
    runner = int(Path(f"/proc/{job}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
    with Watched(job) as watched:
        os.kill(runner, signal.SIGKILL)
        here.until(lambda: here.listed == [])
        assert watched.ends_within()


def test_what_a_job_prints_goes_on_in_a_file_that_the_result_names(here: Shelled, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    text = here.run("echo early; (read x < gate; echo late; echo done > gate) &")
    (file,) = [Path(word) for word in text.replace(",", "").split() if word.endswith(".txt")]
    assert file.read_text(encoding="utf-8") == "early\n"
    here.run("echo go > gate; cat gate")
    here.until(lambda: here.listed == [])
    assert file.read_text(encoding="utf-8") == "early\nlate\n"


def test_too_many_jobs_are_refused_before_anything_runs(tmp_path: Path) -> None:
    with shelled(tmp_path, most_jobs=1) as here:
        here.run("sleep 1000 &")
        assert here.refusal("echo ran > ran").code == "too_many_jobs"
        assert not (here.root / "ran").exists()
