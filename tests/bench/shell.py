"""`bash_exec` with much output against a bare read of the same pipe."""

import asyncio
import subprocess
import tempfile
import time
from pathlib import Path

from actors.files.workspace import Workspace
from actors.tools.bash_exec import BashExec
from actors.tools.tool import Invocation
from tests.bench.measure import Row, interleaved
from tests.fakes.snapshots import NOTHING_KEPT

SIZE = 10_000_000
COMMAND = f"head -c {SIZE} /dev/zero | tr '\\0' 'x'"


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="fido-b-") as folder:
        tool = BashExec(Workspace(Path(folder)), NOTHING_KEPT)
        ours, floor = interleaved(5, lambda: asyncio.run(_ours(tool)), _bare)
    return [
        Row("a tool that prints 10 MB", 1000 * ours, 1000 * floor, "ms", 2.0, "floor: bare read of the pipe")
    ]


async def _ours(tool: BashExec) -> float:
    started = time.perf_counter()
    output = await tool.run(tool.input(command=COMMAND), Invocation("call"))
    elapsed = time.perf_counter() - started
    assert output.ok, output.content
    return elapsed


def _bare() -> float:
    started = time.perf_counter()
    with subprocess.Popen(["bash", "-c", COMMAND], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        size = 0
        while data := process.stdout.read(1 << 16):
            size += len(data)
    assert size == SIZE
    return time.perf_counter() - started
