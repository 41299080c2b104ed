"""What a worker, or a walled command, can still reach in the file system."""

import itertools
import os
import stat
import sysconfig
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

import actors
import ipc
from actors.files.git_directory import git_directory
from actors.files.rg import find_rg
from actors.sandbox.landlock import (
    CHANGE,
    CHANGE_FILE,
    EXECUTE,
    READ_DIR,
    READ_FILE,
    WRITE_FILE,
    Allowed,
)
from actors.tools.tool import ToolFailure

_READ: Final = READ_FILE | READ_DIR
_SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
_FILES_OF_ETC: Final = (
    "group", "ld.so.cache", "ld.so.preload", "locale.alias", "localtime", "nsswitch.conf", "os-release",
    "passwd",
)  # fmt: skip
_NOWHERE: Final = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_RANDOM: Final = ("/dev/urandom", "/dev/random", "/dev/zero")
_IGNORE_FILES: Final = (".gitignore", ".ignore", ".rgignore", ".git/info/exclude")
ENTRIES: Final = 4096
"""Most entries of one folder that are allowed one by one."""


def allowed(workspace: Path) -> Iterator[Allowed]:
    """To a worker: every exception outside of the workspace. Nothing but `/dev/null` can be written."""
    for path in map(Path, _SYSTEM):
        yield _folder(path, _READ | EXECUTE)
    yield from _program()
    for name in _FILES_OF_ETC:
        yield Allowed(Path("/etc") / name, READ_FILE)
    for name in _RANDOM:
        yield Allowed(Path(name), READ_FILE, stat.S_IFCHR)
    yield Allowed(Path("/dev/null"), READ_FILE | WRITE_FILE, stat.S_IFCHR)
    yield from _ignore_rules(workspace)


def writable(workspace: Path, private: Collection[Path], temporary: Path) -> Iterator[Allowed]:
    """To a command: to read what it may without a wall; to change the workspace and a folder for itself."""
    yield _folder(Path("/"), _READ | EXECUTE)
    for name in _NOWHERE:
        yield Allowed(Path(name), WRITE_FILE, stat.S_IFCHR)
    yield _folder(temporary, CHANGE)
    yield from inside(workspace, private, CHANGE, CHANGE_FILE)


def inside(
    workspace: Path, private: Collection[Path], of_folder: int = _READ, of_file: int = READ_FILE
) -> Iterator[Allowed]:
    """The workspace, but for what is private in it; names there can still be listed.

    Landlock can't take back what a folder above was given. So on the way to a private place all that lies
    beside the way is allowed by itself, as it is now: what is made later in one of these few folders stays
    out of reach of this worker. A symlink needs nothing, it leads where its target may be read.
    """
    if any(workspace.is_relative_to(place) for place in private):
        return
    closed = frozenset(map(str, private))
    ways = frozenset(str(parent) for place in private for parent in place.parents)
    yield _folder(workspace, READ_DIR)
    if str(workspace) in ways:
        for entry in _beside(str(workspace), closed, ways):
            if entry.is_dir(follow_symlinks=False):
                yield Allowed(Path(entry.path), of_folder, stat.S_IFDIR, follow=False)
            else:
                yield Allowed(Path(entry.path), of_file, follow=False)
    else:
        yield _folder(workspace, of_folder)


def _beside(folder: str, closed: frozenset[str], ways: frozenset[str]) -> "Iterator[os.DirEntry[str]]":
    """What a folder on a way holds."""
    for entry in _entries(folder):
        if entry.path in closed or entry.is_symlink():
            continue
        if entry.path in ways and entry.is_dir(follow_symlinks=False):
            yield from _beside(entry.path, closed, ways)
        else:
            yield entry


def _entries(folder: str) -> "list[os.DirEntry[str]]":
    try:
        with os.scandir(folder) as entries:
            return list(itertools.islice(entries, ENTRIES))
    except OSError:
        return []


def _folder(path: Path, rights: int = _READ) -> Allowed:
    return Allowed(path, rights, stat.S_IFDIR)


def _program() -> Iterator[Allowed]:
    """Fido itself, what it imports, and rg."""
    for name in ("stdlib", "platstdlib", "purelib", "platlib"):
        yield _folder(Path(sysconfig.get_path(name)))
    for folder in (*actors.__path__, *ipc.__path__):
        yield _folder(Path(folder))
    try:
        yield Allowed(Path(find_rg()), READ_FILE | EXECUTE)
    except ToolFailure:
        return  # searching then says so


def _ignore_rules(workspace: Path) -> Iterator[Allowed]:
    """Those outside of the workspace, as rg reads them; anybody may have put a symlink there."""
    if repository := git_directory(workspace):
        yield Allowed(repository / "info" / "exclude", READ_FILE, follow=False)
    for folder in workspace.parents:
        for name in _IGNORE_FILES:
            yield Allowed(folder / name, READ_FILE, follow=False)
