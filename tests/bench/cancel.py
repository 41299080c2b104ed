"""From the key that cancels to no process of the delegation and a free composer, in the whole program."""

import os
import select
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from actors.process_tree import descendants
from actors.session.invariants import CHECK
from tests.bench.measure import Row, percentile
from tests.fakes.chat_request import Request
from tests.fakes.chat_script import Step, call, stall
from tests.fakes.fido import GUARD, Home, home, openai_environment, pid_of, wait_until
from tests.fakes.launch import command
from tests.fakes.scripted_server import ScriptedServer
from tests.fakes.terminal import ENTER, ESC, TerminalProgram

CANCELS = 30
P50_MS, P99_MS, HARD_MS = 100.0, 300.0, 700.0
SETTLED_S = 0.3
"""What a fresh worker is given to come to rest, as any real turn gives it."""
DEADLINE_S = 5.0


def rows() -> list[Row]:
    with _program(GUARD) as (at, terminal):
        cooperating = [_cancelled(at, terminal) for _ in range(CANCELS)]
        still = [_cancelled(at, terminal, stand_still=True) for _ in range(CANCELS)]
    with _program(command("tests.fakes.deaf_worker")) as (at, terminal):
        deaf = [_cancelled(at, terminal) for _ in range(CANCELS)]
    return [
        _row("a key cancels a delegation: p50", cooperating, 0.5, P50_MS),
        _row("a key cancels a delegation: p99", cooperating, 0.99, P99_MS),
        _row("a key cancels a deaf worker: p99", deaf, 0.99, HARD_MS),
        _row("a key cancels a worker that stands still: p99", still, 0.99, HARD_MS),
    ]


def _row(name: str, samples: list[float], share: float, goal_ms: float) -> Row:
    return Row(name, 1000 * percentile(samples, share), goal_ms, "ms", 1.0, f"of {len(samples)}")


def _answer(request: Request) -> Step:
    return stall("I look. ") if request.is_subagent else call("delegate", {"task": "What is risky?"})


@contextmanager
def _program(start: list[str]) -> Iterator[tuple[Home, TerminalProgram]]:
    with ExitStack() as stack:
        server = stack.enter_context(ScriptedServer(otherwise=_answer))
        at = stack.enter_context(home())
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="fido-b-"))
        at.environ.pop(CHECK)  # looks at each record again, for the tests' sake
        environment = at.environment(TERM="xterm-256color", **openai_environment(server.base_url))
        terminal = stack.enter_context(TerminalProgram(start, 100, 30, environment, Path(folder)))
        terminal.until(lambda: "ready" in terminal.text, "the screen")
        yield at, terminal


def _cancelled(at: Home, terminal: TerminalProgram, *, stand_still: bool = False) -> float:
    """Seconds from the key to the end of all processes of the delegation and of the turn on the screen."""
    terminal.type("go" + ENTER)
    terminal.until(lambda: "reviewing" in terminal.text, "the delegation")
    worker = pid_of(at, terminal.process.pid, "worker")
    working = [worker, *descendants(worker)]
    threading.Event().wait(SETTLED_S)
    if stand_still:
        for pid in working:
            os.kill(pid, signal.SIGSTOP)
    alive = {os.pidfd_open(pid) for pid in working}
    drawn = b""
    started = time.perf_counter()
    os.write(terminal.fd, ESC.encode())
    while alive or b"ready" not in drawn:
        ended, _, _ = select.select([terminal.fd, *alive], [], [], DEADLINE_S)
        assert ended, f"not cancelled within {DEADLINE_S} s: {drawn!r}"
        if terminal.fd in ended:
            drawn += os.read(terminal.fd, 65_536)
        for fd in alive.intersection(ended):
            alive.discard(fd)
            os.close(fd)
    elapsed = time.perf_counter() - started
    terminal.feed(drawn)  # not before: the emulator takes longer than what is measured
    wait_until(lambda: pid_of(at, terminal.process.pid, "worker") != worker, "the next worker")
    return elapsed
