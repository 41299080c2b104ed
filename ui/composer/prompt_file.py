"""The file in which a draft is given to an editor: written, read back, and found again after a crash."""

import contextlib
import os
from pathlib import Path
from typing import Final

from ui.composer.draft import received

_NAME: Final = "prompt-{pid}.md"
_NEVER_SAVED: Final = (0, 0)
"""Time of a file that no editor has saved yet."""


def in_folder(folder: Path) -> Path:
    """Return where this process gives its draft away; the folder is private."""
    return folder / _NAME.format(pid=os.getpid())


def write(file: Path, text: str) -> None:
    """Write a draft for an editor. Raises `OSError`."""
    fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with open(fd, "wb") as opened:
        opened.write(text.encode() + b"\n")
    os.utime(file, _NEVER_SAVED)


def saved(file: Path) -> str | None:
    """Return what an editor has left in the file; None when there is nothing that could be read."""
    try:
        data = file.read_bytes()
    except OSError:
        return None
    return received(data.decode("utf-8", "replace")).removesuffix("\n")


def left_in(folder: Path) -> str | None:
    """Return what an editor has saved last for a screen that died meanwhile; None when it saved nothing."""
    found: list[tuple[float, Path]] = []
    with contextlib.suppress(OSError):
        found = [(file.stat().st_mtime, file) for file in folder.glob(_NAME.format(pid="*"))]
    written_at, newest = max(found, default=(0.0, None))
    return saved(newest) if newest is not None and written_at > 0 else None


def remove(folder: Path) -> None:
    """Remove what was given away, and what editors have left beside it."""
    with contextlib.suppress(OSError):
        for file in folder.glob(f"*{_NAME.format(pid='*')}*"):
            file.unlink()
