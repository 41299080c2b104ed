"""A run in a process of its own that streams an answer: who measures the screen has its hands free."""

import asyncio
import multiprocessing
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from ipc.messages import PlanChanged, TurnStarted
from tests.fakes.facts import PLAN, finished
from tests.fakes.launch import command
from tests.fakes.past import deltas, past
from tests.fakes.run import PlayedRun, played_run
from tests.fakes.terminal import TerminalProgram

BATCH_S: Final = 0.005
"""Deltas of so many seconds are told at a time: a network brings several in a packet, too."""
BURST: Final = 10_000
"""Deltas that a burst tells in one turn, as fast as it can."""
TOLD: Final = 200
"""Of a burst, so many go out before the loop has its turn."""


class Streaming:
    """Asks the other process to tell something."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    def stream(self, rate: int) -> None:
        """Have a turn stream `rate` deltas a second from now on; 0 ends the turn."""
        self._pipe.send(rate)

    def burst(self) -> str:
        """Have a turn tell `BURST` deltas and then end; return the prompt of the turn that begins then."""
        self._pipe.send("burst")
        prompt: str = self._pipe.recv()
        return prompt


@contextmanager
def streaming(
    lines: int, columns: int = 120, rows: int = 40, **environment: str
) -> Iterator[tuple[Streaming, TerminalProgram]]:
    """A screen over a run with a past of so many lines, once the end of it is drawn."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    with tempfile.TemporaryDirectory(prefix="fido-b-") as folder:
        player = context.Process(target=_play, args=(there, folder, lines))
        player.start()
        there.close()
        try:
            start = command("ui.app", here.recv(), os.getpid())
            with TerminalProgram(start, columns, rows, environment) as terminal:
                terminal.until(lambda: "Begin." in terminal.text and "1/4" in terminal.text, "the past", 60)
                yield Streaming(here), terminal
        finally:
            here.close()
            player.join(20)


def _play(pipe: Connection, workspace: str, lines: int) -> None:
    asyncio.run(_tell(pipe, Path(workspace), lines))


async def _tell(pipe: Connection, workspace: Path, lines: int) -> None:
    async with played_run(workspace) as run:
        run.store.tell(PlanChanged(plan=PLAN))
        run.parent.tell(*past(lines), _begin(turn := 1_000_000))
        pipe.send(str(run.place.directory))
        while True:
            order = await asyncio.to_thread(_next, pipe)
            if order == "burst":
                await _burst(run, turn)
                run.parent.tell(finished(turn), TurnStarted(turn=turn + 1, prompt=f"Go on {turn + 1}."))
                turn += 1
                pipe.send(f"Go on {turn}.")
            elif order == 0:
                run.parent.tell(finished(turn))
            elif isinstance(order, int):
                await _stream(run, pipe, turn, order)
            elif order is None:
                return


def _begin(turn: int) -> TurnStarted:
    return TurnStarted(turn=turn, prompt="Begin.")


def _next(pipe: Connection) -> object:
    try:
        return pipe.recv()
    except EOFError:
        return None


async def _burst(run: PlayedRun, turn: int) -> None:
    pieces = deltas(turn, 8)
    for _ in range(BURST // TOLD):
        run.parent.tell(*islice(pieces, TOLD))
        await asyncio.sleep(0)


async def _stream(run: PlayedRun, pipe: Connection, turn: int, rate: int) -> None:
    """Stream until something else is asked for."""
    loop, pieces, told = asyncio.get_running_loop(), deltas(turn), 0
    began = loop.time()
    while not pipe.poll():
        due = int((loop.time() - began) * rate)
        run.parent.tell(*islice(pieces, due - told))
        told = due
        await asyncio.sleep(BATCH_S)
