"""An actor's life as a whole process: how each way to fail ends."""

import logging
import os
import signal
import sys
from collections.abc import Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from ipc.actor import Actor, run
from ipc.endpoints import RunPlace
from tests.fakes.launch import script
from tests.fakes.places import run_place, short_directory
from tests.fakes.watching import DEADLINE_S


class Failing(Actor):
    """Raises in the hook it is told; otherwise stops as soon as it is bound."""

    name = "parent"

    def __init__(self, place: RunPlace, hook: str, error: type[Exception]) -> None:
        super().__init__(place)
        self._hook = hook
        self._error = error

    async def on_start(self) -> None:
        self._fail("on_start")

    async def on_bound(self) -> None:
        self._fail("on_bound")
        self.stop("done")

    async def on_stop(self, reason: str) -> None:
        self._fail("on_stop")

    def _fail(self, hook: str) -> None:
        if hook == self._hook:
            raise self._error("planted")


class Waiting(Actor):
    """Waits to be stopped."""

    name = "parent"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[RunPlace]:
    with run_place(tmp_path) as made:
        yield made


def end(place: RunPlace, hook: str, error: type[Exception] = RuntimeError) -> tuple[int | str, str]:
    """The status, or the name of what was raised, and the log; in a process of its own."""
    context = get_context("fork")
    here, there = context.Pipe()
    log = place.directory / "log"
    process = context.Process(target=_live, args=(place, hook, error, log, there), daemon=True)
    process.start()
    assert here.poll(DEADLINE_S)
    status = here.recv()
    process.join(DEADLINE_S)
    return status, log.read_text(encoding="utf-8")


def _live(place: RunPlace, hook: str, error: type[Exception], log: Path, told: Connection) -> None:
    logging.basicConfig(filename=log, force=True)
    try:
        told.send(run(Failing(place, hook, error)))
    except (RuntimeError, TimeoutError) as raised:
        told.send(type(raised).__name__)


def test_an_actor_that_fails_nowhere_ends_well(place: RunPlace) -> None:
    assert end(place, "nowhere") == (0, "")


@pytest.mark.parametrize("hook", ["on_bound", "on_stop"])
def test_an_exception_of_a_hook_ends_with_70_and_its_traceback(place: RunPlace, hook: str) -> None:
    status, log = end(place, hook)
    assert status == 70
    assert "Traceback" in log
    assert "planted" in log


def test_what_on_start_raises_is_for_the_caller(place: RunPlace) -> None:
    assert end(place, "on_start") == ("RuntimeError", "")


def test_a_timeout_of_a_start_is_not_taken_for_a_slow_stop(place: RunPlace) -> None:
    assert end(place, "on_start", TimeoutError) == ("TimeoutError", "")
    status, log = end(place, "on_bound", TimeoutError)
    assert status == 70
    assert "stopping took longer" not in log


SIGNALLED = """
import asyncio, os, signal, sys
from pathlib import Path
from ipc.actor import Actor, run
from ipc.endpoints import Run, create_run, new_id

class Brief(Actor):
    name = "supervisor"

    async def on_bound(self):
        asyncio.get_running_loop().add_signal_handler(signal.SIGCHLD, lambda: None)
        self.stop("at once")

root, actor = Path(sys.argv[1]), os.getpid()
place = create_run(root, Run(id=new_id(), session_id="s", workspace=str(root), pid=actor, front="none"))
child = os.fork()
if child == 0:
    while os.getppid() == actor:
        os.kill(actor, signal.SIGCHLD)
        signal.sigtimedwait([signal.SIGUSR1], 0.0001)  # without a pause the actor does nothing but hear
    os._exit(0)
for _ in range(40):
    run(Brief(place))
os.kill(child, signal.SIGKILL)
"""


def test_signals_that_come_while_an_actor_ends_leave_no_trace_on_stderr() -> None:
    with short_directory() as root:
        done = script(SIGNALLED, root)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_that_comes_before_an_actor_can_hear_it_stops_it_in_good_order(
    place: RunPlace, number: signal.Signals
) -> None:
    context = get_context("fork")
    process = context.Process(target=_live_with_a_signal, args=(place, number), daemon=True)
    process.start()
    process.join(DEADLINE_S)
    assert process.exitcode == 0


def _live_with_a_signal(place: RunPlace, number: signal.Signals) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {number})
    os.kill(os.getpid(), number)
    sys.exit(run(Waiting(place)))
