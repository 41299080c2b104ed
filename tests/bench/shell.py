"""`bash_exec` with much output against a bare read of `cat` into a pipe, and what it costs in memory."""

import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.measure import Row, interleaved
from tests.fakes.shells import Shelled, shelled

SIZE = 100_000_000
LINE = b"x" * 99 + b"\n"
PEAK = "grep VmHWM /proc/$PPID/status"
"""Of the shell's parent, which is the process that reads."""


def rows() -> list[Row]:
    with _room() as (here, file):
        ours, floor = interleaved(9, lambda: _ours(here, file), lambda: _bare(file))
        much, little = interleaved(
            3, lambda: _peak(here, f"cat {file}"), lambda: _peak(here, f"tail -1 {file}")
        )
    return [
        Row(
            "a tool that prints 100 MB", 1000 * ours, 1000 * floor, "ms", 1.3, "floor: cat, read from a pipe"
        ),
        Row("the memory of who reads that", much, little, "MB", 1.3, "floor: a tool that prints one line"),
    ]


@contextmanager
def _room() -> Iterator[tuple[Shelled, Path]]:
    with tempfile.TemporaryDirectory(prefix="fido-b-") as folder:
        root = Path(folder) / "work"
        root.mkdir()
        file = root / "big"
        file.write_bytes(LINE * (SIZE // len(LINE)))
        with shelled(root, Path(folder) / "output" / "s") as here:
            yield here, file


def _ours(here: Shelled, file: Path) -> float:
    started = time.perf_counter()
    output = here.call(f"cat {file}")
    elapsed = time.perf_counter() - started
    assert output.ok, output.content
    return elapsed


def _bare(file: Path) -> float:
    started = time.perf_counter()
    with subprocess.Popen(["bash", "-c", f"cat {file}"], stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdout is not None
        size = 0
        while data := process.stdout.read(1 << 16):
            size += len(data)
    assert size == SIZE
    return time.perf_counter() - started


def _peak(here: Shelled, command: str) -> float:
    (kilobytes,) = re.findall(r"VmHWM:\s+(\d+) kB", here.run(f"{command}; {PEAK}"))
    return int(kilobytes) / 1000
