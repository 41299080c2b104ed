"""A worker under watch: how its end is told, and what is silence."""

import asyncio
import signal
from typing import Any

import pytest

from actors.delegation.course import LEASE_S, Course
from actors.delegation.watch import SHORTEST_S, Watch


class Watched:
    """A worker that has ended with a status, or lives on and says nothing."""

    def __init__(self, status: int | None = None, *, lives: bool = False) -> None:
        self.exited: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._status = status
        if not lives:
            self.exited.set_result(None)

    async def status(self) -> int | None:
        return self._status

    def is_stopped(self) -> bool:
        return False


def watching(course: Course, worker: Any, idle_s: float = 60.0) -> "asyncio.Task[None]":
    course.advance("worker_ready")
    return asyncio.ensure_future(Watch(course, idle_s).until_lost(worker, asyncio.Event()))


@pytest.mark.parametrize("number", range(1, signal.NSIG))
def test_a_worker_that_ends_by_any_signal_there_is_is_lost_by_its_name(number: int) -> None:
    async def whole() -> str:
        course = Course()
        await watching(course, Watched(-number))
        assert course.problem is not None
        return course.problem.message

    named = {each.value: each.name for each in signal.Signals}
    assert f"killed by {named.get(number, f'signal {number}')} before" in asyncio.run(whole())


def test_a_sign_of_life_that_is_a_little_late_is_no_silence_whatever_idle_time_is_set() -> None:
    async def whole() -> None:
        course = Course()
        watch = watching(course, Watched(lives=True), idle_s=LEASE_S)
        await asyncio.wait({watch}, timeout=2 * LEASE_S)
        assert not course.ended.is_set()
        await asyncio.wait({watch}, timeout=2 * SHORTEST_S)
        assert course.problem is not None
        assert "silent" in course.problem.message

    asyncio.run(whole())
