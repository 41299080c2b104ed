"""A clock that jumps, hardly any descriptors, processes or memory, and the end of everything at once."""

import os
import signal
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from actors.session.events import PromptTaken
from tests.fakes.eventful import TROUBLES
from tests.fakes.fault_table import LONG, Fault
from tests.fakes.jumping_clock import COMPILER, JumpingClock
from tests.fakes.nemesis import Scene, scene
from tests.fakes.session_events import check_log

HOUR_S = 3600
LOGOUT_S = 4.0
"""Two seconds, and as much again for a machine that does other things."""
SOMEBODY = 64_101
"""A user that nobody is, so that only our own processes count."""


@pytest.fixture
def on() -> Iterator[Scene]:
    with scene() as made:
        yield made


def prompted_at(on: Scene) -> list[datetime]:
    """When prompts were taken, as the session's log says."""
    log = on.at.folder / "state" / "fido" / "sessions" / f"{on.session}.jsonl"
    return [datetime.fromisoformat(event.at) for event in check_log(log) if isinstance(event, PromptTaken)]


@pytest.mark.skipif(COMPILER is None, reason="a C compiler makes the clock")
@pytest.mark.timeout(600 if LONG else 60)
@pytest.mark.fault(74, says="the clock jumps by an hour in a turn")
def test_no_deadline_follows_a_clock_that_jumps(on: Scene, tmp_path: Path, fault: Fault) -> None:
    clock = JumpingClock(tmp_path)
    for number in range(20 if LONG else 1):
        jump = HOUR_S if number % 2 else -HOUR_S
        clock.jump(-jump)
        with on.life(f"jump {number}", **clock.environment) as life, fault.attempt():
            life.works()
            clock.jump(jump)
            life.goes_on(fault)
        assert on.last_turn == "completed"
        wrong_s = abs((prompted_at(on)[-1] - datetime.now(UTC)).total_seconds())
        assert HOUR_S / 2 < wrong_s < HOUR_S * 2, "the clock did not jump for Fido"


@pytest.mark.skipif(COMPILER is None, reason="a C compiler makes the clock")
@pytest.mark.parametrize("jump", [-HOUR_S, HOUR_S] if LONG else [-HOUR_S])
@pytest.mark.fault(74, says="the clock jumps by an hour while a deadline runs")
def test_a_deadline_comes_in_time_while_the_clock_jumps(
    on: Scene, tmp_path: Path, fault: Fault, jump: int
) -> None:
    clock = JumpingClock(tmp_path)
    with on.life(f"stall {jump}", **clock.environment) as life, fault.attempt():
        life.works(TROUBLES["the server stalls within its answer"])
        clock.jump(jump)
        assert life.goes_on(fault) < 10.0


def as_somebody() -> list[str]:
    """A command that runs another one as a user whose processes can be counted, whatever root may read."""
    if os.geteuid() != 0:
        return []
    user = [f"--reuid={SOMEBODY}", f"--regid={SOMEBODY}", "--clear-groups"]
    return ["setpriv", *user, "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]


def give_to_somebody(folder: Path) -> None:
    if os.geteuid() == 0:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, SOMEBODY, SOMEBODY)


LIMITS = {
    "32 descriptors": ["prlimit", "--nofile=32"],
    "64 descriptors": ["prlimit", "--nofile=64"],
    "256 MB of address space": ["prlimit", f"--as={256 << 20}"],
    "20 processes": [*as_somebody(), "prlimit", "--nproc=20"],
    "5 processes": [*as_somebody(), "prlimit", "--nproc=5"],
}


@pytest.mark.fault(75, says="hardly any descriptors, processes or memory")
@pytest.mark.parametrize("front", ["ui", "headless"] if LONG else ["ui"])
@pytest.mark.parametrize("limit", LIMITS)
def test_where_hardly_anything_is_allowed_fido_works_or_says_why_not(
    on: Scene, fault: Fault, limit: str, front: str
) -> None:
    give_to_somebody(on.at.folder)
    with on.life(limit, front=front, under=LIMITS[limit]) as life, fault.attempt(f"no more than {limit}"):
        life.goes_on(fault)
        if on.last_turn != "completed":
            assert life.status > 0
            assert "fido: " in life.told


@pytest.mark.fault(75, says="no more than 16 descriptors, but the limit may be raised")
def test_a_soft_limit_of_descriptors_is_raised_where_it_may_be(on: Scene, fault: Fault) -> None:
    with on.life("soft", front="headless", under=["prlimit", "--nofile=16:"]) as life, fault.attempt():
        life.goes_on(fault)
    assert on.last_turn == "completed"


@pytest.mark.fault(76, says="SIGTERM to everything at once")
@pytest.mark.timeout(600 if LONG else 60)
def test_a_logout_ends_everything_in_good_order(on: Scene, fault: Fault) -> None:
    """The tool's own processes, which ignore it, get the signal, too."""
    for number in range(20 if LONG else 1):
        with on.life(f"logout {number}", front=("headless", "ui")[number % 2]) as life, fault.attempt():
            life.works()
            life.everybody(signal.SIGTERM)
            assert life.goes_on(fault) < LOGOUT_S
            assert life.status == 128 + signal.SIGTERM or (life.status, on.last_turn) == (0, "completed")
