"""Reading, listing and searching in a tree of 50,000 files against the least that this can cost."""

import asyncio
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from actors.files.rg import WALK, find_rg
from actors.files.workspace import Workspace
from actors.invocation import AnyTool
from actors.tools.list_files import ListFiles
from actors.tools.read_file import ReadFile
from actors.tools.ripgrep import Ripgrep
from actors.tools.tool import Invocation
from tests.bench.measure import Row, interleaved

FOLDERS = 500
FILES_IN_ONE = 100
TEXT = "".join(f"def function_{number}(argument):\n    return argument + {number}\n" for number in range(20))
READS = 200
LARGE = 15 << 20
ROUNDS = 5
GOAL = 1.3


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="fido-b-") as name, tempfile.TemporaryDirectory() as small:
        root = Path(name)
        _plant(root)
        for folder in (root, Path(small)):
            (folder / "one.py").write_text(TEXT, encoding="utf-8")
            (folder / "large.py").write_text(TEXT * (LARGE // len(TEXT)), encoding="utf-8")
        workspace = Workspace(root)
        listing, search, read = ListFiles(workspace), Ripgrep(workspace), ReadFile(workspace)
        alone = ReadFile(Workspace(Path(small)))
        last = LARGE // len(TEXT) * TEXT.count("\n") - 100
        return [
            _row(
                "list_files", _call(listing), lambda: _scan(os.fspath(root)), "os.scandir with stat, sorted"
            ),
            _row("ripgrep, 1 match", _call(search, pattern="needle"), lambda: _rg(root, "needle"), "rg"),
            _row("ripgrep, 50,000 matches", _call(search, pattern="_7"), lambda: _rg(root, "_7"), "rg"),
            _row("200 x read_file", lambda: _read(read), lambda: _read(alone), "in a folder of two files"),
            _row(
                "read_file at the end of 15 MB",
                _call(read, path="large.py", offset=last),
                lambda: _bare(root / "large.py", last),
                "read, decode, split",
            ),
        ]


def _row(name: str, ours: Callable[[], object], bare: Callable[[], object], floor: str) -> Row:
    taken, least = interleaved(ROUNDS, lambda: _timed(ours), lambda: _timed(bare))
    return Row(f"{name}, in 50,000 files", 1000 * taken, 1000 * least, "ms", GOAL, f"floor: {floor}")


def _plant(root: Path) -> None:
    for folder in range(FOLDERS):
        (root / f"p{folder}").mkdir()
        for number in range(FILES_IN_ONE):
            (root / f"p{folder}" / f"f{number}.py").write_text(TEXT, encoding="utf-8")
    (root / "p7" / "f7.py").write_text(f"{TEXT}needle\n", encoding="utf-8")


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _call(tool: AnyTool, **arguments: object) -> Callable[[], object]:
    given = tool.input.model_validate(arguments)
    return lambda: asyncio.run(tool.run(given, Invocation("call")))


def _scan(root: str) -> list[tuple[str, int]]:
    """Name and size of every file, in order."""
    found: list[tuple[str, int]] = []
    waiting = [root]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for each in entries:
                if each.is_dir(follow_symlinks=False):
                    waiting.append(each.path)
                else:
                    found.append((each.path, each.stat(follow_symlinks=False).st_size))
    return sorted(found)


def _rg(root: Path, pattern: str) -> bytes:
    line = [find_rg(), *WALK, "--line-number", "--column", "--with-filename", pattern]
    return subprocess.run(line, cwd=root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True).stdout


def _read(tool: ReadFile) -> None:
    given = tool.input.model_validate({"path": "one.py"})

    async def again_and_again() -> None:
        for _ in range(READS):
            await tool.run(given, Invocation("call"))

    asyncio.run(again_and_again())


def _bare(path: Path, first: int) -> str:
    lines = path.read_bytes().decode().split("\n")[first - 1 :]
    return "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, first))
