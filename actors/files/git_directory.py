"""Where a repository keeps what is not in its tree, of linked worktrees and submodules, too."""

import os
from pathlib import Path

from actors.files.regular import open_regular


def git_directory(folder: Path) -> Path | None:
    """The directory that holds `info/exclude` for a folder with a `.git`; null when it is no repository.

    That of a worktree is its main repository's.
    """
    place = folder / ".git"
    if place.is_file():
        link = _first_line(place)
        if not link.startswith("gitdir:"):
            return None
        place = folder / link.removeprefix("gitdir:").strip()
    if not (place / "HEAD").is_file():
        return None
    common = _first_line(place / "commondir")
    return place / common if common else place


def _first_line(path: Path) -> str:
    try:
        with open(open_regular(path, os.O_RDONLY), encoding="utf-8", errors="surrogateescape") as file:
            return file.readline(4096).strip()
    except OSError:
        return ""
