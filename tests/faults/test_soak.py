"""Delegations without end, and everything at random for long: nothing grows, is left or is lost."""

import asyncio
import contextlib
import itertools
import os
import random
import signal
import time
from pathlib import Path

import pytest

from ipc.endpoints import RunPlace
from tests.fakes.eventful import TROUBLES
from tests.fakes.fault_table import LONG, SEED, Fault
from tests.fakes.fido import GUARD, Home, home, kill, openai_environment, pid_of, wait_until
from tests.fakes.nemesis import Life, Scenes
from tests.fakes.scripted_server import ScriptedServer
from tests.fakes.soaking import LIMIT_S, Client, DelegatingModel, Held, becomes_still
from tests.fakes.terminal import CTRL_C, ENTER, ESC, F1, PAGE_UP, TerminalProgram

DELEGATIONS = 1000 if LONG else 24
WARM = 100 if LONG else 8
"""Delegations after which everything has been loaded and cached that ever will be."""
EVERY = 100 if LONG else 8
"""Delegations between two looks."""
SPAN = 200 if LONG else 16
"""Delegations in which nothing may grow; what the conversation itself takes is in `GROWTH`."""
GROWTH = 0.05
"""Of the memory of all processes together."""
OUTCOMES = {"in peace": "completed", "cancelled": "cancelled", "killed": "failed"}
SHARES = (85, 10, 5)
SETTINGS = "context_window = 1000000\n"


NEMESIS_S = 600.0 if LONG else 0.0
LEAST_LIVES = 2


class Soak:
    """One Fido that delegates, and what it held from time to time."""

    def __init__(
        self, at: Home, program: TerminalProgram, server: ScriptedServer, model: DelegatingModel
    ) -> None:
        self.looks: list[Held] = []
        self._at = at
        self._guard = program.process.pid
        self._model = model
        self._server = server
        (directory,) = (path.parent for path in at.folder.rglob("parent.ipc"))
        self._client = Client(RunPlace.open(directory))

    async def play(self, chance: random.Random, fault: Fault) -> None:
        """Delegate again and again; some are cancelled, and of some the worker is killed."""
        for number in range(DELEGATIONS + 1):
            if number >= WARM and number % EVERY == 0:
                self.looks.append(await becomes_still(self._at, self._guard))
                print(number, self.looks[-1])
            kind = chance.choices(list(OUTCOMES), SHARES)[0]
            if (number + 1) % EVERY == 0:
                kind = "in peace"  # the connection to the server is then as at the other looks
            with fault.attempt(f"a delegation {kind}"):
                begun = asyncio.get_running_loop().time()
                await self._delegate(number, kind)
                fault.took(asyncio.get_running_loop().time() - begun)
        self._client.close()

    async def _delegate(self, number: int, kind: str) -> None:
        gate = self._model.gate = "" if kind == "in peace" else f"held {number}"
        self._model.asked.clear()
        await self._client.prompt()
        if gate:
            assert await asyncio.to_thread(self._model.asked.wait, LIMIT_S)
            if kind == "killed":
                kill(pid_of(self._at, self._guard, "worker"))
            else:
                await self._client.cancel()
        await self._client.turn_ends()
        self._server.open(gate)
        assert self._client.outcome == OUTCOMES[kind], number


def drained(program: TerminalProgram) -> None:
    """Take what is drawn; nobody looks at it."""
    with contextlib.suppress(OSError):
        os.read(program.fd, 1 << 16)


@pytest.mark.timeout(1800 if LONG else 90)
@pytest.mark.fault(77, says="delegations in a row")
def test_delegations_in_a_row_leave_nothing_behind(tmp_path: Path, fault: Fault) -> None:
    model = DelegatingModel()
    (tmp_path / "a.py").write_text("print(1)\n", encoding="utf-8")
    with home() as at, ScriptedServer(otherwise=model.answer) as server:
        (at.folder / "config" / "fido").mkdir()
        (at.folder / "config" / "fido" / "config.toml").write_text(SETTINGS, encoding="utf-8")
        environment = at.environment(TERM="xterm-256color", **openai_environment(server.base_url))
        with TerminalProgram([*GUARD], 100, 30, environment, tmp_path) as program:
            wait_until(lambda: bool(list(at.folder.rglob("parent.ipc"))), "the parent")

            async def soak() -> list[Held]:
                asyncio.get_running_loop().add_reader(program.fd, drained, program)
                made = Soak(at, program, server, model)
                await made.play(random.Random(SEED), fault)
                return made.looks

            looks = asyncio.run(soak())
            wait_until(lambda: len(list(at.folder.rglob("workers/*"))) == 1, "the one next worker")
        assert server.violations == []
    for first, last in zip(looks, looks[SPAN // EVERY :], strict=False):
        assert (first.roles, first.threads) == (last.roles, last.threads)
        assert first.descriptors == last.descriptors
        assert last.kilobytes.total() <= first.kilobytes.total() * (1 + GROWTH), f"{first}\n{last}"


def kill_some(life: Life) -> None:
    life.kill(life.chance.randint(1, 3))


def let_one_stand_still(life: Life) -> None:
    life.stand_still(signal.SIGCONT)


def stop_and_kill_one(life: Life) -> None:
    life.stand_still(signal.SIGKILL)


def break_an_answer(life: Life) -> None:
    life.breaks_next(TROUBLES[life.chance.choice(sorted(TROUBLES))])


def type_something(life: Life) -> None:
    life.types(life.chance.choice([ESC, CTRL_C, CTRL_C + CTRL_C, "more" + ENTER, PAGE_UP, F1 + ESC]))


def change_the_window(life: Life) -> None:
    life.resizes()


def close_the_window(life: Life) -> None:
    life.hangs_up()


def log_out(life: Life) -> None:
    life.everybody(signal.SIGTERM)


STRIKES = 3 * [kill_some, let_one_stand_still, break_an_answer, type_something] + [
    stop_and_kill_one,
    change_the_window,
    close_the_window,
    log_out,
]


def nemesis(life: Life) -> str:
    """One to four strikes, one soon after the other."""
    life.starts() if life.chance.random() < 0.2 else life.works()
    for strike in life.chance.choices(STRIKES, k=life.chance.randint(1, 4)):
        print(strike.__name__)
        strike(life)
        life.passes(life.chance.uniform(0, 0.2))
    return "everything at random"


@pytest.mark.timeout(2 * NEMESIS_S if LONG else 90)
@pytest.mark.fault(78, says="everything at random")
def test_the_nemesis_takes_nothing_that_was_promised(fault: Fault) -> None:
    end = time.monotonic() + NEMESIS_S
    with contextlib.closing(Scenes()) as scenes:
        for number in itertools.count():
            if number >= LEAST_LIVES and time.monotonic() >= end:
                break
            scenes.play(nemesis, number, fault)
