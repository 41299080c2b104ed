"""Keeps Fido's own files out of Git through the repository's private exclude file, never a tracked one."""

import os
from pathlib import Path
from typing import Final

from actors.files.git_directory import git_directory
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
    return next(filter(None, map(git_directory, (workspace, *workspace.parents))), None)
