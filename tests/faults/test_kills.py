"""Kill processes of a whole run at random moments, with a tool at work that does all to get away.

Every round is seeded by `FIDO_SEED` and its number. Processes are found by a tag in their environment,
whatever became of their parents. `FIDO_FAULTS=long` plays many rounds.
"""

import json
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.chat_script import call
from tests.fakes.fido import Home, Run, home, kill, openai_environment, wait_until
from tests.fakes.player import DAEMONS
from tests.fakes.scripted_server import ScriptedServer

LONG = os.environ.get("FIDO_FAULTS") == "long"
SEED = int(os.environ.get("FIDO_SEED", "1"))
SETTLE_S = 5.0
"""Until everything has to be gone; what it takes is printed."""
START_UP_S = 0.3
EVERYBODY = 14
"""Guard, supervisor, headless, parent, plan store, shell host, two runners, and the tool's processes."""


@pytest.fixture
def at() -> Iterator[Home]:
    with home() as made:
        yield made


class Nemesis:
    """Plays rounds in one home, and notes how long each end took."""

    def __init__(self, at: Home, workspace: Path) -> None:
        self.took_ms: list[float] = []
        self._home = at
        self._workspace = workspace

    def at_work(self, number: int, kills: int) -> None:
        """Kill while a tool runs."""
        with ScriptedServer([call("bash_exec", {"command": DAEMONS})], strict=False) as server:
            running = self._start(server)
            server.wait_for_requests(1, 30)
            self._strike(running, random.Random(f"{SEED} {number}"), kills, 0.3)

    def starting(self, number: int, kills: int) -> None:
        """Kill in the first moments."""
        with ScriptedServer([call("bash_exec", {"command": DAEMONS})], strict=False) as server:
            self._strike(self._start(server), random.Random(f"{SEED} {number}"), kills, START_UP_S)

    def _start(self, server: ScriptedServer) -> Run:
        environment = openai_environment(server.base_url)
        return Run(self._home, self._workspace, "go", "--allow", "bash_exec", **environment)

    def _strike(self, running: Run, chance: random.Random, kills: int, within_s: float) -> None:
        threading.Event().wait(chance.uniform(0, within_s))
        alive = sorted(self._home.processes())
        for pid in chance.sample(alive, min(kills, len(alive))):
            kill(pid)
        started = time.monotonic()
        kill(running.process.pid, signal.SIGTERM)  # a run that goes on after the kill is ended in good order
        running.process.communicate(timeout=SETTLE_S)
        wait_until(lambda: not self._home.processes(), "everything to end", SETTLE_S)
        self.took_ms.append(1000 * (time.monotonic() - started))


@pytest.mark.timeout(7200 if LONG else 60)
@pytest.mark.parametrize(
    ("moment", "kills", "rounds"),
    [
        ("at_work", 1, 1000 if LONG else 3),
        ("at_work", 2, 500 if LONG else 3),
        ("starting", 1, 500 if LONG else 4),
        ("starting", 2, 500 if LONG else 2),
    ],
)
def test_nobody_is_left_whoever_is_killed_when(
    at: Home, tmp_path: Path, moment: str, kills: int, rounds: int
) -> None:
    nemesis = Nemesis(at, tmp_path)
    for number in range(rounds):
        print(f"FIDO_SEED={SEED}, round {number}")
        getattr(nemesis, moment)(number, kills)
    took = sorted(nemesis.took_ms)
    print(f"{moment}, {kills} killed: median {took[len(took) // 2]:.0f} ms, longest {took[-1]:.0f} ms")


def test_a_logout_ends_everything_in_good_order(at: Home, tmp_path: Path) -> None:
    """SIGTERM to all processes at once, the tool's own included."""
    with ScriptedServer([call("bash_exec", {"command": DAEMONS})], strict=False) as server:
        environment = openai_environment(server.base_url)
        running = Run(at, tmp_path, "go", "--allow", "bash_exec", **environment)
        server.wait_for_requests(1, 30)
        wait_until(lambda: len(at.processes()) >= EVERYBODY, "the tool's daemons")
        started = time.monotonic()
        for pid in at.processes():
            kill(pid, signal.SIGTERM)
        done = running.finish()
        wait_until(lambda: not at.processes(), "everything to end", SETTLE_S)
        assert time.monotonic() - started < 4.0
        assert done.status == 128 + signal.SIGTERM
        assert "Traceback" not in done.err
        (log,) = (at.folder / "state" / "fido" / "sessions").glob("*.jsonl")
        assert all(json.loads(line) for line in log.read_text(encoding="utf-8").splitlines())
