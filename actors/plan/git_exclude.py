"""Keeps Fido's own files out of Git through the repository's private exclude file, never a tracked one."""

import os
from pathlib import Path
from typing import Final

from actors.files.regular import open_regular

PATTERN: Final = ".fido-*"
_MAX_BYTES: Final = 1024 * 1024


def exclude(workspace: Path) -> bool:
    """Add `.fido-*` to `.git/info/exclude` of the repository around a folder; tell whether that was needed.

    False as well when there is no repository, or one that can not be written.
    """
    directory = _git_directory(workspace)
    if directory is None:
        return False
    path = directory / "info" / "exclude"
    try:
        path.parent.mkdir(exist_ok=True)
        fd = open_regular(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW)
        with open(fd, "r+b", buffering=0) as file:
            content = file.read(_MAX_BYTES) or b""
            if PATTERN.encode() in map(bytes.strip, content.splitlines()) or len(content) == _MAX_BYTES:
                return False
            start = b"" if not content or content.endswith(b"\n") else b"\n"
            file.write(start + b"# Fido's plan and settings of this workspace\n" + PATTERN.encode() + b"\n")
    except OSError:
        return False
    return True


def _git_directory(workspace: Path) -> Path | None:
    """The directory that holds `info/exclude`; a worktree's is that of its main repository."""
    for folder in (workspace, *workspace.parents):
        found = _resolved(folder / ".git")
        if found is not None:
            return found
    return None


def _resolved(place: Path) -> Path | None:
    """Follow a `.git` file as worktrees and submodules have one; None when this is no repository."""
    if place.is_file():
        link = _first_line(place)
        if not link.startswith("gitdir:"):
            return None
        place = place.parent / link.removeprefix("gitdir:").strip()
    if not (place / "HEAD").is_file():
        return None
    common = _first_line(place / "commondir")
    return place / common if common else place


def _first_line(path: Path) -> str:
    try:
        with open(open_regular(path), encoding="utf-8", errors="surrogateescape") as file:
            return file.readline(4096).strip()
    except OSError:
        return ""
