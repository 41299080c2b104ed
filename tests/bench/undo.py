"""What it costs to keep what a call may change, against what looking and writing cost without."""

import asyncio
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

from actors.files.rg import WALK, find_rg
from actors.files.workspace import Workspace
from actors.session.log import SessionLog
from actors.tools.patch import Patch
from actors.tools.snapshots import Snapshots
from actors.tools.tool import Invocation
from actors.undo.log import UndoLog
from actors.undo.undo import Undo
from tests.bench.measure import Row, interleaved
from tests.fakes.session_events import HEADER
from tests.fakes.snapshots import NOTHING_KEPT

FILES = 2000
FILE_BYTES = 4096
PATCHED = "x = 1\n" * 3000


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="fido-b-") as name:
        base = Path(name)
        root = base / "work"
        for number in range(FILES):
            path = root / f"p{number // 100}" / f"q{number % 100 // 10}" / f"f{number % 10}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(os.urandom(FILE_BYTES))
        (root / "patched.py").write_text(f"{PATCHED}last = 0\n", encoding="utf-8")
        log = SessionLog.create(base / "sessions", "s-1", HEADER)
        undo = Undo(root, base / "state" / "undo" / "s-1", UndoLog(), log.append, print)
        first = timed(lambda: asyncio.run(_around_command(undo.snapshots)))
        bare_first = timed(lambda: _copy(root, base / "copy"))
        again, looks = interleaved(
            7,
            lambda: timed(lambda: asyncio.run(_around_command(undo.snapshots))),
            lambda: timed(lambda: [_look(root) for _ in range(2)]),
        )
        numbers = count()
        kept, bare = interleaved(
            40,
            lambda: asyncio.run(_patch(root, undo.snapshots, next(numbers))),
            lambda: asyncio.run(_patch(root, NOTHING_KEPT, next(numbers))),
        )
        undo.close()
        log.close()
    return [
        Row(
            f"around a first command, {FILES:,} files", *_ms(first, bare_first), "ms", 2.0, "floor: one copy"
        ),
        Row(
            f"around a later command, {FILES:,} files",
            *_ms(again, looks),
            "ms",
            2.0,
            "floor: rg, scandir, lstat",
        ),
        Row("patch of 18 KB that can be taken back", *_ms(kept, bare), "ms", 1.5, "floor: without"),
    ]


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


async def _around_command(snapshots: Snapshots) -> None:
    async with snapshots.around_command("call"):
        pass


async def _patch(root: Path, snapshots: Snapshots, number: int) -> float:
    tool = Patch(Workspace(root), snapshots)
    edit = {"path": "patched.py", "old_text": f"last = {number}", "new_text": f"last = {number + 1}"}
    given = tool.input.model_validate(edit)
    started = time.perf_counter()
    await tool.run(given, Invocation("call"))
    return time.perf_counter() - started


def _look(root: Path) -> None:
    """The ignore rules' list, and the status of every entry."""
    subprocess.run([find_rg(), *WALK, "--files", "--null"], cwd=root, stdout=subprocess.PIPE, check=True)
    waiting = [os.fspath(root)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for each in entries:
                each.stat(follow_symlinks=False)
                if each.is_dir(follow_symlinks=False):
                    waiting.append(each.path)


def _copy(root: Path, target: Path) -> None:
    """Every file's bytes into one file, and a look on each side of it."""
    _look(root)
    with target.open("wb") as file:
        for path in root.rglob("*.py"):
            file.write(path.read_bytes())
    _look(root)


def _ms(ours: float, floor: float) -> tuple[float, float]:
    return 1000 * ours, 1000 * floor
