"""A front that ends at an awkward moment, under a supervisor in a process of its own."""

import asyncio
import os
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from actors.processes import Processes
from actors.saved_terminal import SavedTerminal
from actors.supervisor import Supervisor, run
from ipc.endpoints import RunPlace
from tests.fakes.places import run_place
from tests.fakes.watching import DEADLINE_S


class EarlyEnd(Supervisor):
    """Has a front that ends before the supervisor has bound anything."""

    async def on_start(self) -> None:
        await super().on_start()
        front = self._processes.start("headless")
        await asyncio.to_thread(os.waitid, os.P_PID, front, os.WEXITED | os.WNOWAIT)
        for _ in range(5):  # the loop's chances to hear of it
            await asyncio.sleep(0)


def supervisor(kind: type[Supervisor], place: RunPlace) -> Supervisor:
    log = place.directory / "log"
    log.touch()
    processes = Processes(place, {"headless": ["/bin/true"]}, log)
    return kind(place, "headless", processes, SavedTerminal())


def ends_before_anything_is_bound(place: RunPlace) -> object:
    return run(supervisor(EarlyEnd, place))


def ends_between_two_looks(place: RunPlace) -> object:
    made = supervisor(Supervisor, place)
    os.waitpid(made._processes.start("headless"), 0)
    made._follow_front()
    return made._processes.pid_of("headless") is not None


def played(tmp_path: Path, scene: Callable[[RunPlace], object]) -> object:
    """What a scene returns, which may reap and kill whatever is below its process."""
    context = get_context("fork")
    here, there = context.Pipe(duplex=False)
    with run_place(tmp_path) as place:
        process = context.Process(target=_play, args=(scene, place, there))
        process.start()
        there.close()
        try:
            assert here.poll(DEADLINE_S)
            return here.recv()
        finally:
            process.join(DEADLINE_S)


def _play(scene: Callable[[RunPlace], object], place: RunPlace, told: Connection) -> None:
    told.send(scene(place))


def test_a_front_that_ends_before_anything_is_bound_ends_the_run_well(tmp_path: Path) -> None:
    assert played(tmp_path, ends_before_anything_is_bound) == 0


def test_a_front_that_ends_between_two_looks_is_left_to_the_next(tmp_path: Path) -> None:
    assert played(tmp_path, ends_between_two_looks) is True
