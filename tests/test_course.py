"""A delegation's course: whatever comes in whatever order, it ends exactly once."""

import asyncio
import logging
import random
from typing import NamedTuple

import pytest

from actors.delegation.course import Course
from actors.delegation.problems import CANCELLED, FAULTY, OUT_OF_TIME
from ipc.lifecycle import DELEGATION, DelegationEvent
from ipc.messages import Problem
from tests.fakes.fault_table import LONG, SEED, Fault

SEEDS = 20_000 if LONG else 4_000
ENDS = ("refused", "finish", "cancel", "deadline", "worker_lost")


class Moment(NamedTuple):
    """Something that happens, so many milliseconds behind the start."""

    at: int
    order: float
    event: DelegationEvent
    problem: Problem | None


def story(chance: random.Random) -> list[Moment]:
    """What can happen to one delegation, in an order that can be."""

    def moment(at: int, event: DelegationEvent, problem: Problem | None = None) -> Moment:
        return Moment(at, chance.random(), event, problem)

    ready = chance.randint(0, 5)
    answered = ready + chance.randint(0, 10)
    finished = answered + chance.randint(0, 40)
    deadline = chance.randint(ready, 60)
    lost = Problem(code="worker_lost", message=f"It died at {chance.random()}.")
    told: list[Moment] = [
        moment(ready, "worker_ready"),
        moment(answered, chance.choice(["accepted", "accepted", "refused"]), lost),
        moment(finished, "finish", chance.choice([None, OUT_OF_TIME])),
        moment(deadline - chance.randint(0, 20), "hand_in"),
        moment(deadline, "deadline", OUT_OF_TIME),
    ]
    for event, problem in (
        ("cancel", CANCELLED),
        ("worker_lost", lost),
        ("finish", lost),
        ("cancel", CANCELLED),
    ):
        if chance.random() < 0.5:
            told.append(moment(chance.randint(0, 60), event, problem))  # type: ignore[arg-type]
    return sorted(told)


def take(course: Course, moment: Moment) -> bool:
    """Let it happen as the owner of a course does: nothing of a worker before there is one."""
    if (course.state, moment.event) not in DELEGATION:
        return False
    if moment.event in ENDS:
        course.end(moment.event, moment.problem)
    elif course.state != "ended":
        course.advance(moment.event)
    return True


@pytest.mark.fault(30, says="a cancel at any moment of a worker's life, simulated")
def test_a_delegation_ends_exactly_once_in_whatever_order_things_happen(fault: Fault) -> None:
    for seed in range(SEEDS):
        chance = random.Random(SEED * 1_000_000 + seed)
        with fault.attempt():
            course, ends = Course(), list[Moment]()
            for moment in story(chance):
                before = course.ended.is_set()
                taken = take(course, moment)
                if taken and not before and course.ended.is_set():
                    ends.append(moment)
                assert course.ended.is_set() == (course.state == "ended") == bool(ends), seed
            assert len(ends) == 1, seed
            assert course.problem is ends[0].problem, seed


def test_the_first_end_is_the_end() -> None:
    course = Course()
    course.advance("worker_ready")
    course.end("finish", None)
    course.end("cancel", CANCELLED)
    course.lose("It died.")
    assert (course.state, course.problem) == ("ended", None)


def test_a_task_that_fails_loses_the_delegation_and_its_log_has_where_but_no_word(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def failing() -> None:
        raise ValueError("canary")

    async def attended(*tasks: "asyncio.Task[None]") -> Course:
        course = Course()
        course.advance("worker_ready")
        for task in tasks:
            course.attend(task)
        await asyncio.wait(tasks)
        await asyncio.sleep(0)
        return course

    async def whole() -> None:
        course = await attended(asyncio.ensure_future(failing()))
        assert (course.state, course.problem) == ("ended", FAULTY)
        cancelled = asyncio.ensure_future(failing())
        cancelled.cancel()
        course = await attended(cancelled, asyncio.ensure_future(asyncio.sleep(0)))
        assert course.state == "starting"

    with caplog.at_level(logging.ERROR):
        asyncio.run(whole())
    assert "in failing" in caplog.text
    assert "ValueError" in caplog.text
    assert "canary" not in caplog.text.replace('raise ValueError("canary")', "")
