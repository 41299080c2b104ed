"""What the ignore rules leave out: nothing of it is kept, but what a command changes there is named.

It is known by status alone, and of no more than a bound: a folder that is left out may hold 100,000 files.
"""

import contextlib
import os
import stat
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from heapq import nsmallest
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from actors.undo.path_text import folder_of

LEFT_OUT: Final = "left out by the ignore rules"
SPECIAL: Final = "no regular file"
NEW: Final = "new, "
CHANGED_INSIDE: Final = "changed inside, "
_PART: Final = 10
"""One folder has at most this part of all that is watched."""


class Mark(NamedTuple):
    """Status of a file or folder; equal marks mean that nothing was made, removed or written there."""

    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    folder: bool


Differing = Mapping[str, Mark | None]
"""What is not as it was marked: its mark now, null when it is gone."""


def marks_of(root: Path, excluded: Collection[str], own: str, most: int) -> dict[str, Mark]:
    """Mark what was left out and what is in it: `most` entries, those nearest to the root first.

    Git's own is not watched, nor is `own`, which is a path below the root.
    """
    marks: dict[str, Mark] = {}
    waiting = deque(nsmallest(most, excluded, key=lambda path: (path.count("/"), path)))
    with _opened(root) as top:
        while waiting:
            path = waiting.popleft()
            mark = _mark_at(path, top) if path != own and not is_git(path) else None
            if mark is not None:
                marks[path] = mark
                room = min(most - len(marks) - len(waiting), most // _PART)
                waiting += _names_in(root, path, room) if mark.folder else ()
    return marks


def since(root: Path, marks: Mapping[str, Mark]) -> Differing:
    """Look again at what was marked."""
    with _opened(root) as top:
        return {path: now for path, mark in marks.items() if (now := _mark_at(path, top)) != mark}


def moved_to(root: Path, marks: Mapping[str, Mark], differing: Differing, new: Iterable[str]) -> set[str]:
    """Those of the new paths that were left out under another name: nothing else holds what is in them."""
    gone = {marks[path][:3] for path, now in differing.items() if now is None}
    if not gone:
        return set()  # a new name changes no more than `ctime_ns`
    with _opened(root) as top:
        return {path for path in new if (mark := _mark_at(path, top)) and mark[:3] in gone}


def made(root: Path, paths: Iterable[str]) -> Iterator[str]:
    """Those of the paths that are there, Git's own aside."""
    return (path for path in paths if not is_git(path) and os.path.lexists(root / path))


def is_special(root: Path, path: str) -> bool:
    """Whether a path is a pipe, a socket or a device: nothing of it can be kept."""
    with contextlib.suppress(OSError):
        mode = os.lstat(root / path).st_mode
        return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))
    return False


def changed(excluded: Collection[str], differing: Differing, kept: Iterable[str]) -> dict[str, str]:
    """What was left out and is not as it was, and what happened to it; of a folder with all in it the folder.

    A folder in which a path is `kept` has changed for that alone, as far as its own status tells.
    """
    explained = set(map(folder_of, kept))
    deeds: dict[str, str] = {}
    for path, now in differing.items():
        if now is not None and now.folder and path in explained:
            continue
        outer = path
        while outer not in excluded and "/" in outer:
            outer = folder_of(outer)
        inside = outer != path or (now is not None and now.folder)
        deeds[outer] = CHANGED_INSIDE if inside else "changed, "
    return deeds


def is_git(path: str) -> bool:
    return path.rpartition("/")[2] == ".git"


def _mark_at(path: str, top: int) -> Mark | None:
    try:
        status = os.lstat(path, dir_fd=top)
    except OSError:
        return None
    folder = stat.S_ISDIR(status.st_mode)
    if not folder and not stat.S_ISREG(status.st_mode):
        return None
    return Mark(status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, folder)


def _names_in(root: Path, path: str, most: int) -> list[str]:
    if most > 0:
        with contextlib.suppress(OSError), os.scandir(root / path) as inside:
            return [f"{path}/{each.name}" for each in islice(inside, most)]
    return []


@contextlib.contextmanager
def _opened(root: Path) -> Iterator[int]:
    top = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield top
    finally:
        os.close(top)
