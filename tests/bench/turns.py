"""The gap between the end of a response and the next request, and what a session costs in memory.

The floor is a bare script: it sends ready bytes on one kept connection and runs the same tool.
"""

import gc
import http.client
import json
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

from actors.conversation import encode_assistant, encode_head, encode_system, encode_tool_result, encode_user
from actors.files.workspace import Workspace
from actors.session.invariants import CHECK
from actors.tools.read_file import ReadFile
from actors.tools.tool import Invocation
from ipc.messages import ToolCall
from tests.bench.measure import Row
from tests.fakes.chat_request import Request
from tests.fakes.chat_script import call, say
from tests.fakes.fido import Home, Run, home, openai_environment
from tests.fakes.scripted_server import ScriptedServer

SHORT, LONG = 10, 300
ROUNDS = 3
FILE_BYTES = 4096


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="fido-b-") as folder, home() as at:
        workspace = Path(folder)
        (workspace / "big.txt").write_text(("x" * 63 + "\n") * (FILE_BYTES // 64), encoding="utf-8")
        _as_a_user(at)
        gaps: dict[tuple[str, int], list[float]] = {}
        gc.disable()  # the server keeps every request; collecting them would be measured, too
        for _ in range(ROUNDS):
            for turns in (SHORT, LONG):
                gaps.setdefault(("fido", turns), []).append(_fido_gap(at, workspace, turns))
                gaps.setdefault(("bare", turns), []).append(_bare_gap(workspace, turns))
        gc.enable()
        memory = [_memory_row(at, workspace, turns, goal) for turns, goal in ((30, 100.0), (LONG, 110.0))]
    median = {key: 1000 * statistics.median(values) for key, values in gaps.items()}
    return [
        Row(f"gap at {SHORT} tool turns of 4 KB", median["fido", SHORT], median["bare", SHORT], "ms", 4.0),
        Row(f"gap at {LONG} tool turns of 4 KB", median["fido", LONG], median["bare", LONG], "ms", 2.5),
        Row(f"gap at {LONG} turns against {SHORT}", median["fido", LONG], median["fido", SHORT], "ms", 1.5),
        *memory,
    ]


def _as_a_user(at: Home) -> None:
    """Without the checks of the tests, and with a window that is never full: nothing is compacted."""
    at.environ.pop(CHECK, None)
    config = at.folder / "config" / "fido" / "config.toml"
    config.parent.mkdir()
    config.write_text("context_window = 100000000\n", encoding="utf-8")


def _script(server: ScriptedServer, turns: int) -> None:
    for number in range(turns):
        server.add(call("read_file", {"path": "big.txt"}, id=f"call_{number}"))
    server.add(say("Done."))


def _gap(requests: Sequence[Request]) -> float:
    """Median seconds from the end of a response to the first byte of the next request."""
    gaps = [later.began_at - earlier.finished_at for earlier, later in pairwise(requests)]
    return statistics.median(gaps[len(gaps) // 2 :])


def _fido_gap(at: Home, workspace: Path, turns: int) -> float:
    with ScriptedServer() as server:
        _script(server, turns)
        arguments = ["go", "--max-turns", str(turns + 1), "--output-format", "json"]
        done = Run(at, workspace, *arguments, **openai_environment(server.base_url)).finish(180)
        assert done.status == 0, done
        server.assert_done()
        return _gap(server.requests)


def _memory_row(at: Home, workspace: Path, turns: int, goal_mb: float) -> Row:
    """PSS of all processes while the last request waits for its answer; the floor is the goal itself."""
    with ScriptedServer() as server:
        _script(server, turns)
        running = Run(
            at, workspace, "go", "--max-turns", str(turns + 1), "--output-format", "json",
            **openai_environment(server.base_url),
        )  # fmt: skip
        measured: list[float] = []
        last = threading.Thread(target=lambda: _measure_at(server, turns, at, measured))
        last.start()
        running.finish(180)
        last.join()
    return Row(f"PSS of all processes after {turns} turns", measured[0], goal_mb, "MB", 1.0)


def _measure_at(server: ScriptedServer, turns: int, at: Home, measured: list[float]) -> None:
    server.wait_for_requests(turns, 180)
    measured.append(sum(_pss_kb(pid) for pid in at.processes()) / 1024)


def _pss_kb(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return 0
    return int(next(line.split()[1] for line in text.splitlines() if line.startswith("Pss:")))


def _bare_gap(workspace: Path, turns: int) -> float:
    with ScriptedServer() as server:
        _script(server, turns)
        script = [
            sys.executable,
            "-m",
            "tests.bench.turns",
            server.base_url,
            str(workspace / "big.txt"),
            str(turns),
        ]
        subprocess.run(script, check=True, timeout=180)
        server.assert_done()
        return _gap(server.requests)


def bare(base_url: str, path: str, turns: int) -> None:
    """The floor: bodies are made beforehand, a turn reads the response, runs the tool, sends."""
    tool = ReadFile(Workspace(Path(path).parent))
    bodies = _ready_bodies(tool, path, turns)
    parts = urlsplit(base_url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
    headers = {"Content-Type": "application/json", "Authorization": "Bearer k"}
    for body in bodies:
        connection.request("POST", f"{parts.path}/chat/completions", body, headers)
        connection.getresponse().read()
        _run(tool, path)
    connection.close()


def _run(tool: ReadFile, path: str) -> str:
    """The same tool, called as a function: it never waits for anything."""
    call = tool.run(tool.input(path=path), Invocation("call"))
    try:
        call.send(None)
    except StopIteration as done:
        return str(done.value.content)
    raise AssertionError("the tool waits")


def _ready_bodies(tool: ReadFile, path: str, turns: int) -> list[bytes]:
    head = encode_head("m", _tools(), {"stream": True, "stream_options": {"include_usage": True}})
    messages = [encode_system("s" * 4000), encode_user("go")]
    bodies = []
    for number in range(turns + 1):
        bodies.append(head + b",".join(messages) + b"]}")
        made = ToolCall(id=f"call_{number}", name="read_file", arguments='{"path": "big.txt"}')
        messages += [encode_assistant("", [made]), encode_tool_result(made.id, _run(tool, path))]
    return bodies


def _tools() -> bytes:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    function = {"name": "read_file", "description": "d" * 6000, "parameters": schema}
    return json.dumps([{"type": "function", "function": function}]).encode()


if __name__ == "__main__":
    bare(sys.argv[1], sys.argv[2], int(sys.argv[3]))
