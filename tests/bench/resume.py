"""How long a person waits for a session of 10,000 events: to the first frame, and to its last words."""

import json
import os
import pty
import select
import tempfile
import termios
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from actors.session.history import History
from actors.session.log import read_log
from actors.session.replay import Replay
from actors.session.summaries import summaries
from tests.bench.measure import Row, interleaved
from tests.fakes.fido import GUARD, Home, home
from tests.fakes.session_events import HEADER, long_session, written

ROUNDS = 5
EVENTS = 10_000
SESSIONS = 200


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="fido-b-") as folder, home() as at:
        workspace = Path(folder).resolve()
        logs = at.folder / "state" / "fido" / "sessions"
        header = msgspec.structs.replace(HEADER, workspace=str(workspace))
        log = written(logs, *long_session(EVENTS), header=header)
        last = f"done {_fold(log).turns}".encode()
        fold, decode = interleaved(ROUNDS, _timed(lambda: _fold(log)), _timed(lambda: _decode(log)))
        frame, words, empty = interleaved(
            ROUNDS,
            lambda: _open(at, workspace, b"Fido", HEADER.session_id),
            lambda: _open(at, workspace, last, HEADER.session_id),
            lambda: _open(at, workspace, b"Fido"),
        )
        for number in range(SESSIONS):
            one = msgspec.structs.replace(header, session_id=f"s-many-{number}")
            written(logs, *long_session(200), header=one)
        listed, read = interleaved(
            ROUNDS,
            _timed(lambda: summaries(logs, str(workspace), ())),
            _timed(lambda: sum(len(path.read_bytes()) for path in logs.glob("s-*.jsonl"))),
        )
    return [
        Row("10,000 events: fold and replay", fold, decode, "ms", 1.5, "floor: lines read, JSON decoded"),
        Row("10,000 events: resume to first frame", frame, empty, "ms", 1.2, "floor: a new session's"),
        Row(
            "10,000 events: resume to the last words", words, empty, "ms", 1.8, "floor: a new session's frame"
        ),
        Row(f"list {SESSIONS} sessions", listed, read, "ms", 4.0, "floor: the logs' bytes read"),
    ]


def _timed(act: Callable[[], object]) -> Callable[[], float]:
    """Measure in milliseconds of this process's time."""

    def measure() -> float:
        started = time.process_time()
        act()
        return 1000 * (time.process_time() - started)

    return measure


def _fold(log: Path) -> History:
    history, replay = History(), Replay()
    read_log(log, history.apply, replay.apply)
    assert history.messages
    assert list(replay.facts())
    return history


def _decode(log: Path) -> None:
    with open(log, "rb") as file:
        for line in file:
            json.loads(line)


def _open(at: Home, workspace: Path, expected: bytes, session_id: str = "") -> float:
    """Milliseconds from the start to the bytes that draw something expected."""
    command = [*GUARD, *(["--session", session_id] if session_id else [])]
    environment = at.environment(TERM="xterm-256color", OPENAI_BASE_URL="http://127.0.0.1:9/v1")
    started = time.monotonic()
    pid, terminal = pty.fork()
    if pid == 0:
        termios.tcsetwinsize(0, (32, 120))
        os.chdir(workspace)
        os.execve(command[0], command, environment)
    seen = b""
    while expected not in seen:
        ready, _, _ = select.select([terminal], [], [], 30)
        assert ready, f"no {expected!r} within 30 s: {seen[-2000:]!r}"
        seen += os.read(terminal, 65536)
    elapsed = 1000 * (time.monotonic() - started)
    os.close(terminal)
    os.waitpid(pid, 0)
    return elapsed
