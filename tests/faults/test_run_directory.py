"""The run directory: removed under a running Fido, no place for it, and what dead runs have left."""

import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.fault_table import LONG, Fault
from tests.fakes.fido import GUARD, Finished, Home, Run, home, kill, openai_environment, wait_until
from tests.fakes.scripted_server import ScriptedServer, call, gate, say

OWN_MOUNTS = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-Urm"]
pytestmark = pytest.mark.timeout(1800 if LONG else 60)
DEADLINE_S = 30.0
STEP = {"id": "a", "title": "Look", "status": "in_progress", "next_action": "look"}


@pytest.fixture
def at() -> Iterator[Home]:
    with home() as made:
        yield made


def directory_of(at: Home) -> Path:
    (found,) = (at.folder / "run" / "fido").glob("r-*")
    return found


@pytest.mark.fault(54, says="the run directory is removed during a turn")
def test_a_turn_goes_on_without_its_run_directory_and_what_needs_it_says_so(
    at: Home, tmp_path: Path, fault: Fault
) -> None:
    steps = [
        say(["Now.", gate("removed"), ""], calls=call("bash_exec", {"command": "echo alive"}).calls),
        call("update_plan", {"reason": "r", "items": [STEP]}),
        call("delegate", {"task": "look"}),
        say("Over."),
    ]
    with ScriptedServer(steps) as server:
        running = Run(
            at,
            tmp_path,
            "go",
            "--output-format",
            "stream-json",
            FIDO_MODE="yolo",
            **openai_environment(server.base_url),
        )
        server.wait_for_requests(1, DEADLINE_S)
        shutil.rmtree(directory_of(at))
        server.open("removed")
        told = running.finish()
        server.assert_done()
    assert told.status == 0, told
    statuses = {event["name"]: event["status"] for event in told.events("tool_finished")}
    assert statuses == {"bash_exec": "ok", "update_plan": "ok", "delegate": "error"}
    (took_ms,) = (e["duration_ms"] for e in told.events("tool_finished") if e["name"] == "delegate")
    fault.took(took_ms / 1000)
    assert took_ms < (1000 if LONG else 3000)
    assert "was removed by another program" in server.requests[-1].messages[-1]["content"]
    assert told.events("turn_finished")[0]["final_text"] == "Over."


@pytest.mark.fault(54, says="an actor has to come back to a run directory that is gone")
def test_an_actor_that_has_no_run_directory_to_come_back_to_ends_the_run_in_words(
    at: Home, tmp_path: Path
) -> None:
    with ScriptedServer([say(["Now.", gate("never")])]) as server:
        running = Run(at, tmp_path, "go", **openai_environment(server.base_url))
        server.wait_for_requests(1, DEADLINE_S)
        store = running.pid_of("plan_store")
        shutil.rmtree(directory_of(at))
        kill(store)
        told = running.finish()
    assert told.status == 1
    assert told.err.strip().endswith("was removed. Start Fido again.")
    assert "Traceback" not in told.err + at.log_text()
    assert not at.processes()


# --- no place ----------------------------------------------------------------------------------------------


def one_prompt(at: Home, workspace: Path, before: str, **environ: str) -> Finished:
    """`fido run` behind some shell commands, with mounts of its own; an empty variable is not set."""
    with ScriptedServer([say("Fine.")]) as server:
        wanted = at.environment(**openai_environment(server.base_url), **environ)
        done = subprocess.run(
            [*OWN_MOUNTS, "sh", "-ec", f'{before}\nexec "$@"', "sh", *GUARD, "run", "go"],
            cwd=workspace,
            env={name: value for name, value in wanted.items() if value},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
    return Finished(done.returncode, done.stdout, done.stderr)


@pytest.mark.fault(56, says="XDG_RUNTIME_DIR can not be written, and TMPDIR has 200 bytes")
def test_places_that_can_not_be_used_are_passed_over(at: Home, tmp_path: Path) -> None:
    long = at.folder / ("d" * 100) / ("e" * 100)
    long.mkdir(parents=True)
    place = shlex.quote(str(at.folder / "run"))
    told = one_prompt(at, tmp_path, f"mount -t tmpfs -o ro none {place}", TMPDIR=str(long))
    assert (told.status, told.out) == (0, "Fine.\n"), told
    assert "Traceback" not in at.log_text()
    assert not list(long.iterdir())


@pytest.mark.fault(56, says="the file system of XDG_RUNTIME_DIR is full")
def test_a_full_place_for_sockets_is_told_with_the_way_out(at: Home, tmp_path: Path) -> None:
    place = shlex.quote(str(at.folder / "run"))
    filled = f"mount -t tmpfs -o size=16k,mode=700 none {place}; head -c 1M /dev/zero 2>&- > {place}/x || :"
    told = one_prompt(at, tmp_path, filled)
    assert told.status == 2
    assert "No space left on device. Make room there, or set XDG_RUNTIME_DIR" in told.err
    assert len(told.err.splitlines()) == 1
    assert not at.processes()


# --- what is left ------------------------------------------------------------------------------------------


@pytest.mark.fault(3, says="all processes of a run are killed, one run after the other")
def test_runs_that_were_killed_leave_no_pile_and_take_nobody_elses_files_along(
    at: Home, tmp_path: Path, fault: Fault
) -> None:
    root = at.folder / "run" / "fido"
    root.mkdir(mode=0o700)
    (root / "r-notes").mkdir()
    (root / "r-notes" / "mine.txt").write_text("mine", encoding="utf-8")
    with ScriptedServer(otherwise=lambda _: say(["Now.", gate("never")])) as server:
        for number in range(50 if LONG else 2):
            with fault.attempt():
                running = Run(at, tmp_path, "go", **openai_environment(server.base_url))
                server.wait_for_requests(number + 1, DEADLINE_S)
                for pid in at.processes():
                    kill(pid, signal.SIGKILL)
                struck = time.monotonic()
                running.finish()
                wait_until(lambda: not at.processes(), "everything to end")
                fault.took(time.monotonic() - struck)
                runs = [path.name for path in root.glob("r-*")]
                assert len(runs) == 2, f"what the last one left, and what is not ours: {runs}"
    assert (root / "r-notes" / "mine.txt").exists()
    assert len(list(root.glob("w-*"))) == 1
