"""When what nobody needs is looked for: in quiet moments, and never beside a key."""

import gc
import weakref
from collections.abc import Callable, Iterator

import pytest

from ui import sweeping
from ui.sweeping import Sweeping


class Knot:
    """Only a sweep through cycles finds it."""

    def __init__(self) -> None:
        self.itself = self


class Timer:
    """Calls back when a test lets its time run out."""

    def __init__(self, seconds: float, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class Clock:
    """Timers in the order in which they were asked for."""

    def __init__(self) -> None:
        self.timers: list[Timer] = []

    def __call__(self, seconds: float, callback: Callable[[], None]) -> Timer:
        self.timers.append(Timer(seconds, callback))
        return self.timers[-1]

    def quiet(self) -> None:
        """Let time pass in which no frame is drawn."""
        for timer in self.timers:
            if timer.callback is not None:
                timer.callback()


@pytest.fixture
def clock() -> Iterator[Clock]:
    yield Clock()
    gc.unfreeze()
    gc.enable()


def knot() -> "weakref.ref[Knot]":
    return weakref.ref(Knot())


def test_nothing_is_swept_unasked_once_it_has_begun(clock: Clock) -> None:
    made = Sweeping(clock)
    assert gc.isenabled()
    made.begin()
    assert not gc.isenabled()


def test_a_frame_sweeps_what_is_young(clock: Clock) -> None:
    made = Sweeping(clock)
    made.begin()
    young = knot()
    made.drawn()
    assert young() is None


def test_what_has_grown_old_goes_in_a_quiet_moment(clock: Clock) -> None:
    made = Sweeping(clock)
    made.begin()
    old = knot()
    made.set_aside()
    for _ in range(sweeping._ALL_FRAMES):
        made.drawn()
    assert old() is not None
    clock.quiet()
    assert old() is None


def test_a_frame_puts_the_quiet_moment_off(clock: Clock) -> None:
    made = Sweeping(clock)
    made.begin()
    for _ in range(sweeping._ALL_FRAMES + 1):
        made.drawn()
    first, second = clock.timers
    assert first.callback is None
    assert second.callback is not None


def test_a_stream_without_a_quiet_moment_is_swept_all_the_same(clock: Clock) -> None:
    made = Sweeping(clock)
    made.begin()
    for _ in range(sweeping._MOST_FRAMES - 1):
        made.drawn()
    new = knot()
    gc.collect(1)  # it is none of the young ones
    made.drawn()
    assert new() is None
    assert all(timer.callback is None for timer in clock.timers)
