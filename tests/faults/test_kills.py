"""Kills, stops and network faults at random moments of a start and of a turn that touches everything.

Behind each: nobody is left, every call has its one result, the log can be read, no acknowledged plan update
is lost, no command has run twice, and the terminal is as before. Moments and victims follow from `FIDO_SEED`;
`FIDO_FAULTS=long` plays more than a thousand.
"""

import signal
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.fakes.eventful import TROUBLES
from tests.fakes.fault_table import LONG, Fault
from tests.fakes.nemesis import Life, Scenes, Strike


@pytest.fixture(scope="module")
def scenes() -> Iterator[Scenes]:
    with closing(Scenes()) as made:
        yield made


def kill_one(life: Life) -> str:
    life.works()
    return f"killed: {life.kill(1)}"


def kill_two(life: Life) -> str:
    life.works()
    life.kill(2)
    return "killed: any two at once"


def kill_one_early(life: Life) -> str:
    life.starts()
    life.kill(1)
    return "killed while starting: any one"


def kill_two_early(life: Life) -> str:
    life.starts()
    life.kill(2)
    return "killed while starting: any two at once"


def stop_one(life: Life) -> str:
    life.works()
    return f"stopped for a while: {life.stand_still(signal.SIGCONT)}"


def stop_and_kill_one(life: Life) -> str:
    life.works()
    life.stand_still(signal.SIGKILL)
    return "stopped, then killed: any one"


def break_the_wire(life: Life) -> str:
    name = life.chance.choice(sorted(TROUBLES))
    life.works(TROUBLES[name])
    return name


def struck(strike: Strike, fault: pytest.MarkDecorator, long: int, short: int = 1) -> object:
    return pytest.param(strike, long if LONG else short, marks=fault, id=strike.__name__)


@pytest.mark.timeout(7200 if LONG else 90)
@pytest.mark.parametrize(
    ("strike", "rounds"),
    [
        struck(kill_one, pytest.mark.fault(1, says="killed: any one"), long=400, short=3),
        struck(kill_two, pytest.mark.fault(3, says="killed: any two at once"), long=200),
        struck(kill_one_early, pytest.mark.fault(2, says="killed while starting: any one"), long=150),
        struck(kill_two_early, pytest.mark.fault(2, 3, says="killed while starting: any two"), long=100),
        struck(stop_one, pytest.mark.fault(12, says="stopped for a while: any one"), long=100),
        struck(stop_and_kill_one, pytest.mark.fault(1, 12, says="stopped, then killed: any one"), long=50),
        struck(break_the_wire, pytest.mark.fault(16, 17, says="the server fails"), long=150),
    ],
)
def test_nobody_and_nothing_is_lost_whoever_is_struck_when(
    strike: Strike, rounds: int, fault: Fault, scenes: Scenes
) -> None:
    for number in range(rounds):
        scenes.play(strike, number, fault)
