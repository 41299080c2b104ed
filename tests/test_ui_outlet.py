"""What is written to a terminal that reads slowly, or not at all."""

import os
import tty
from collections.abc import Callable, Iterator

import pytest

from ui.outlet import Outlet

LONG = "x" * 300_000
"""More than a pipe holds."""


class Loop:
    """Calls back when it is told to."""

    def __init__(self) -> None:
        self.watched: Callable[[], None] | None = None
        self.room = 0

    def watch(self, fd: int, callback: Callable[[], None]) -> None:
        self.watched = callback

    def unwatch(self, fd: int) -> None:
        self.watched = None

    def on_room(self) -> None:
        self.room += 1


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    read, write = os.pipe()
    os.set_blocking(write, False)
    os.set_blocking(read, False)
    yield read, write
    for fd in (read, write):
        try:
            os.close(fd)
        except OSError:
            pass


def everything(fd: int) -> bytes:
    found = bytearray()
    try:
        while piece := os.read(fd, 1 << 20):
            found += piece
    except BlockingIOError:
        pass
    return bytes(found)


def test_what_is_not_flushed_makes_nobody_wait(pipe: tuple[int, int]) -> None:
    loop = Loop()
    outlet = Outlet(pipe[1], loop.watch, loop.unwatch, loop.on_room)
    outlet.write("mouse off")
    assert not outlet.full
    outlet.flush()
    assert everything(pipe[0]) == b"mouse off"
    assert not outlet.full


def test_a_slow_terminal_gets_everything_in_order_and_then_there_is_room(pipe: tuple[int, int]) -> None:
    loop = Loop()
    outlet = Outlet(pipe[1], loop.watch, loop.unwatch, loop.on_room)
    outlet.write(LONG)
    outlet.flush()
    outlet.write("a word")
    outlet.flush()
    got = b""
    while outlet.full:
        assert loop.watched is not None
        got += everything(pipe[0])
        loop.watched()
    got += everything(pipe[0])
    assert got.decode() == LONG + "a word"
    assert loop.watched is None
    assert loop.room == 1


def test_the_end_does_not_wait_for_a_terminal_that_reads_nothing(pipe: tuple[int, int]) -> None:
    loop = Loop()
    outlet = Outlet(pipe[1], loop.watch, loop.unwatch, loop.on_room)
    outlet.write(LONG)
    outlet.flush()
    outlet.finish("the end")
    assert not outlet.full


def test_a_terminal_that_reads_again_gets_the_end_and_no_frame_before_it() -> None:
    master, slave = os.openpty()
    tty.setraw(slave)
    os.set_blocking(slave, False)
    os.set_blocking(master, False)
    loop = Loop()
    outlet = Outlet(slave, loop.watch, loop.unwatch, loop.on_room)
    outlet.write(LONG)
    outlet.flush()
    assert outlet.full
    assert outlet.finish("the end")
    got = everything(master)
    assert got.endswith(b"the end")
    assert len(got) < 10_000  # what the terminal's driver had taken already
    for fd in (master, slave):
        os.close(fd)


def test_an_end_that_found_no_room_is_told(pipe: tuple[int, int]) -> None:
    loop = Loop()
    outlet = Outlet(pipe[1], loop.watch, loop.unwatch, loop.on_room)
    outlet.write(LONG)
    outlet.flush()
    assert not outlet.finish("the end")  # a pipe throws nothing away


def test_the_end_comes_behind_what_a_terminal_reads_in_time(pipe: tuple[int, int]) -> None:
    loop = Loop()
    outlet = Outlet(pipe[1], loop.watch, loop.unwatch, loop.on_room)
    outlet.write("a frame, ")
    assert outlet.finish("the end")
    assert everything(pipe[0]) == b"a frame, the end"


def test_a_terminal_that_is_gone_takes_what_is_written_and_raises_nothing(pipe: tuple[int, int]) -> None:
    loop = Loop()
    outlet = Outlet(pipe[1], loop.watch, loop.unwatch, loop.on_room)
    os.close(pipe[0])
    outlet.write("x")
    outlet.flush()
    outlet.write("y")
    outlet.flush()
    assert outlet.finish("z")
