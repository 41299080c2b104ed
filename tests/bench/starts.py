"""How long a person waits: to the first request, to the first frame, for a delegation to begin."""

import json
import os
import pty
import select
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

from tests.bench.measure import Row, interleaved
from tests.fakes.chat_script import call, parent, say, subagent
from tests.fakes.fido import GUARD, Home, Run, home, openai_environment
from tests.fakes.scripted_server import ScriptedServer

ROUNDS = 5
CLIENT = "import openai; openai.AsyncOpenAI(api_key='k', base_url='http://127.0.0.1:9/v1')"


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="fido-b-") as folder, home() as at:
        workspace = Path(folder)
        request, client = interleaved(ROUNDS, lambda: _first_request(at, workspace), lambda: _python(CLIENT))
        frame, urwid = interleaved(
            ROUNDS, lambda: _first_frame(at, workspace), lambda: _python("import urwid")
        )
        (delegation,) = interleaved(ROUNDS, lambda: _delegation(at, workspace))
    return [
        Row(
            "start to first request",
            1000 * request,
            1000 * client,
            "ms",
            1.3,
            "floor: SDK imported, client made",
        ),
        Row("start to first frame", 1000 * frame, 1000 * urwid, "ms", 1.5, "floor: urwid imported"),
        Row("delegate call to the worker's first request", 1000 * delegation, 30.0, "ms", 1.0),
    ]


def _python(code: str) -> float:
    started = time.monotonic()
    subprocess.run([sys.executable, "-I", "-c", code], check=True, timeout=60)
    return time.monotonic() - started


def _first_request(at: Home, workspace: Path) -> float:
    with ScriptedServer([say("Done.")]) as server:
        started = time.monotonic()
        done = Run(at, workspace, "go", **openai_environment(server.base_url)).finish()
        assert done.status == 0, done
        return server.requests[0].began_at - started


def _first_frame(at: Home, workspace: Path) -> float:
    """From the start to the first bytes that draw the header."""
    environment = at.environment(TERM="xterm-256color", OPENAI_BASE_URL="http://127.0.0.1:9/v1")
    started = time.monotonic()
    pid, terminal = pty.fork()
    if pid == 0:
        termios.tcsetwinsize(0, (32, 120))
        os.chdir(workspace)
        os.execve(GUARD[0], GUARD, environment)
    seen = b""
    while b"Fido" not in seen:
        ready, _, _ = select.select([terminal], [], [], 30)
        assert ready, f"no frame within 30 s: {seen!r}"
        seen += os.read(terminal, 65536)
    elapsed = time.monotonic() - started
    os.close(terminal)
    os.waitpid(pid, 0)
    return elapsed


def _delegation(at: Home, workspace: Path) -> float:
    result = json.dumps({"status": "completed", "summary": "ok", "findings": []})
    # The first tool calls give the worker the time that any real turn gives it.
    steps = [call("list_files", {}, when=parent) for _ in range(20)]
    steps += [
        call("delegate", {"task": "look"}, when=parent),
        say(result, when=subagent),
        say("Done.", when=parent),
    ]
    with ScriptedServer(steps) as server:
        done = Run(at, workspace, "go", **openai_environment(server.base_url)).finish()
        assert done.status == 0, done
        first = next(n for n, request in enumerate(server.requests) if request.is_subagent)
        return server.requests[first].began_at - server.requests[first - 1].finished_at
