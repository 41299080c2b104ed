"""The screen that people look at all day: how soon a key is drawn, what a frame, rest and a long day cost."""

import gc
import os
import random
import select
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Final

import psutil

from ipc.messages import AnyFact, MessageDelta, PlanChanged, TurnStarted
from tests.bench.measure import Row, percentile
from tests.fakes.facts import PLAN, finished, session
from tests.fakes.fido import GUARD, Home, home
from tests.fakes.past import deltas, past
from tests.fakes.screen import Desktop
from tests.fakes.streaming import BURST, streaming
from tests.fakes.terminal import TerminalProgram
from ui.state import apply, rebuild

LINES: Final = 50_000
RATE: Final = 1_000
IN_A_FRAME: Final = RATE // 30
NOW: Final = 1_000_000
"""A turn behind all turns of the past."""
KEYS: Final = 400
KEY_MS: Final = 16.0
"""One frame of a display at 60 Hz."""
FRAMES: Final = 300
FRAME_MS: Final = 5.0
OPENED_MS: Final = 500.0
LONG_LINE: Final = 15_000
IDLE_S: Final = 30.0
IDLE_PERCENT: Final = 0.3
ALL_IDLE_PERCENT: Final = 1.0
"""Of all processes together, which tell one another five times a second that they live."""
DELTAS: Final = 1_000_000
SETTLED: Final = 400_000
"""Deltas after which the transcript holds as much as it ever does."""
LETTERS: Final = "абвгдежзийклмнопрстуфхцчшщъыьэюяαβγδεζηθικλμνξπρστυφχψω"
"""Nothing else on the screen holds one of these."""
FRAME_END: Final = b"\x1b[?25h"
"""The cursor is shown last."""
DEADLINE_S: Final = 20.0
LONG_S: Final = 120.0


def rows() -> Iterable[Row]:
    yield from _keys()
    yield from _frames()
    yield from _rest()
    yield _long_day()


# --- from a key to its frame


def _keys() -> list[Row]:
    """Type while an answer streams into a long transcript."""
    with _before_others(), streaming(LINES) as (run, terminal):
        run.stream(RATE)
        _look_on(2.0, terminal)
        used, began = _used(terminal.process.pid), time.perf_counter()
        taken = _typed(terminal)
        share = (_used(terminal.process.pid) - used) / (time.perf_counter() - began)
        run.stream(0)
    note = f"{RATE:,} deltas a second into {LINES:,} lines, {share:.0%} of a core"
    return [
        Row("key to drawn, p50", 1000 * percentile(taken, 0.5), KEY_MS, "ms", 1.0, note),
        Row("key to drawn, p99", 1000 * percentile(taken, 0.99), KEY_MS, "ms", 1.0, f"of {len(taken)} keys"),
    ]


@contextmanager
def _before_others() -> Iterator[None]:
    """Let what is measured, and what measures, run before all else where the system allows it."""
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    try:
        yield
    finally:
        os.sched_setscheduler(0, *before)


def _typed(terminal: TerminalProgram) -> list[float]:
    chance, taken = random.Random(1), []
    while len(taken) < KEYS:
        for letter in LETTERS:
            taken.append(_key(terminal, letter))
            _look_on(chance.uniform(0.02, 0.08), terminal)
        terminal.type("\x7f" * len(LETTERS))
        _look_on(0.5, terminal)
    return taken


def _key(terminal: TerminalProgram, letter: str) -> float:
    """Seconds until the frame that shows a letter is whole."""
    sign, drawn = letter.encode(), b""
    started = time.perf_counter()
    os.write(terminal.fd, sign)
    while sign not in drawn or FRAME_END not in drawn.partition(sign)[2]:
        ready, _, _ = select.select([terminal.fd], [], [], DEADLINE_S)
        assert ready, f"{letter} was not drawn within {DEADLINE_S} s"
        drawn += os.read(terminal.fd, 65_536)
    return time.perf_counter() - started


def _look_on(seconds: float, *terminals: TerminalProgram) -> None:
    """Take what is drawn for a while, without an emulator."""
    end = time.perf_counter() + seconds
    while (left := end - time.perf_counter()) > 0:
        for fd in select.select([each.fd for each in terminals], [], [], left)[0]:
            os.read(fd, 65_536)


# --- what a frame costs


def _frames() -> list[Row]:
    """Draw without a terminal: facts in, canvas out."""
    begin = TurnStarted(turn=NOW, prompt="Begin.")
    facts = (session(), *past(LINES), begin)
    desk = Desktop(120, 40).tell(PlanChanged(plan=PLAN))
    opened = _timed(lambda: rebuild(desk.view.state, "parent", facts, desk.now), desk)
    gc.freeze()  # as the screen does
    gc.disable()
    pieces, more = deltas(NOW), MessageDelta(turn=NOW, kind="text", text="and so on ")
    streamed = [_timed(lambda: _tell(desk, islice(pieces, IN_A_FRAME)), desk) for _ in range(FRAMES)]
    desk.tell(finished(NOW), begin, *[more] * (LONG_LINE // len(more.text)))
    long_line = [_timed(lambda: _tell(desk, [more] * IN_A_FRAME), desk) for _ in range(FRAMES)]
    desk.tell(finished(NOW), begin)
    back = [_timed(lambda: desk.screen.transcript.scroll("page up"), desk) for _ in range(FRAMES)]
    gc.enable()
    gc.unfreeze()
    return [
        _row(f"{LINES:,} lines told and drawn", [opened], OPENED_MS),
        _row(f"a frame of a stream into {LINES:,} lines", streamed, FRAME_MS),
        _row("a frame of a stream into one long line", long_line, FRAME_MS),
        _row(f"a page back in {LINES:,} lines", back, KEY_MS),
    ]


def _row(name: str, taken: list[float], goal_ms: float) -> Row:
    worst = f"p99 {1000 * percentile(taken, 0.99):.1f} ms" if len(taken) > 1 else ""
    return Row(name, 1000 * statistics.median(taken), goal_ms, "ms", 1.0, worst)


def _timed(happens: Callable[[], object], desk: Desktop) -> float:
    """Seconds of a core until what happens is drawn."""
    started = time.process_time()
    happens()
    desk.screen.changed()
    desk.draw()
    return time.process_time() - started


def _tell(desk: Desktop, facts: Iterable[AnyFact]) -> None:
    for fact in facts:
        apply(desk.view.state, fact, desk.now)


# --- what rest costs


def _rest() -> list[Row]:
    """Leave a screen alone that has worked, and the whole program."""
    with streaming(LINES) as (run, screen), _whole_program() as (at, fido):
        _await(screen, run.burst())
        run.stream(0)
        _await(screen, "ready")
        pids = [screen.process.pid, *at.processes()]
        before = list(map(_used, pids))
        _look_on(IDLE_S, screen, fido)
        shares = [100 * (_used(pid) - used) / IDLE_S for pid, used in zip(pids, before, strict=True)]
    note = f"of a core, over {IDLE_S:.0f} s"
    return [
        Row("the screen at rest", shares[0], IDLE_PERCENT, "%", 1.0, note),
        Row("all of Fido at rest", sum(shares[1:]), ALL_IDLE_PERCENT, "%", 1.0, note),
    ]


@contextmanager
def _whole_program() -> Iterator[tuple[Home, TerminalProgram]]:
    with home() as at, tempfile.TemporaryDirectory(prefix="fido-b-") as folder:
        environment = at.environment(TERM="xterm-256color")
        with TerminalProgram(GUARD, 120, 40, environment, Path(folder)) as terminal:
            terminal.until(lambda: "ready" in terminal.text, "the screen")
            yield at, terminal


def _used(pid: int) -> float:
    """Seconds of a core that a process has taken."""
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


# --- what a long day costs


def _long_day() -> Row:
    """Memory of the screen after a million deltas, against that after a fifth of them."""
    with streaming(0) as (run, terminal):
        work, sizes = psutil.Process(terminal.process.pid), []
        for _ in range(DELTAS // BURST):
            _await(terminal, run.burst())
            sizes.append(work.memory_info().rss / 1e6)
    settled = sizes[SETTLED // BURST - 1]
    return Row(f"memory after {DELTAS:,} deltas", sizes[-1], settled, "MB", 1.1, f"floor: after {SETTLED:,}")


def _await(terminal: TerminalProgram, sign: str) -> None:
    """Read until something is written, without an emulator."""
    drawn = b""
    while sign.encode() not in drawn:
        ready, _, _ = select.select([terminal.fd], [], [], LONG_S)
        assert ready, f"{sign!r} was not drawn within {LONG_S} s"
        drawn = drawn[-len(sign) :] + os.read(terminal.fd, 65_536)
