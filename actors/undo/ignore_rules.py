"""What the ignore rules let in, as rg reads them, and whether they have changed."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from actors.files.rg import WALK, run_rg
from actors.undo.bounds import Bounds, TooMuch, TooSlow

IGNORE_FILES: Final = frozenset({".gitignore", ".ignore", ".rgignore"})


async def list_files(root: Path, bounds: Bounds) -> set[str]:
    """Every regular file that the ignore rules do not exclude. Raises `TooMuch`, `ToolFailure`."""
    output = bytearray()
    count = 0

    def take(chunk: bytes) -> None:
        nonlocal count
        count += chunk.count(0)
        if count > bounds.workspace_entries:
            raise TooMuch(f"the workspace has more than {bounds.workspace_entries:,} files")
        output.extend(chunk)

    end = await run_rg([*WALK, "--no-config", "--files", "--null"], root, take, bounds.listing_s)
    if end.status is None:
        raise TooSlow("the workspace takes too long to list")
    return set(names_of(bytes(output)))


def marks_of_rules(root: Path, git_folders: Iterable[str]) -> tuple[tuple[int, ...], ...]:
    """Marks of the ignore rules outside the listed files; equal marks mean that they have not changed."""
    home = Path(os.environ.get("HOME", "/"))
    git = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "git"
    files = [home / ".gitconfig", git / "config", git / "ignore"]
    files += [folder / name for folder in root.parents for name in (*IGNORE_FILES, ".git/info/exclude")]
    files += [root / each / "info/exclude" for each in git_folders]
    return tuple(map(_mark, files))


def _mark(path: Path) -> tuple[int, ...]:
    try:
        status = os.lstat(path)
    except OSError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def names_of(joined: bytes) -> list[str]:
    """Names that a NUL ends or parts."""
    return [name for name in os.fsdecode(joined).split("\0") if name]
