"""The list of a workspace around a shell command: every entry that the ignore rules do not exclude."""

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from actors.files.rg import WALK, run_rg
from actors.session.events import FileChange
from actors.undo.entries import FOLDER, MAX_FILE_BYTES, Entries, Entry, is_own, state_of
from actors.undo.path_text import folder_of, from_the_root, to_text

MOST_ENTRIES: Final = 20_000
MOST_BYTES: Final = 256 << 20
DEEPEST: Final = 100
"""Folders in folders that hold no listed file, before the outermost counts as excluded."""
_RULES: Final = (".gitignore", ".ignore", ".rgignore")


class TooMuch(Exception):
    """There is more than is kept, or it can not be listed in time; its message says so."""


class Manifest:
    """What was there at one moment."""

    def __init__(self, entries: dict[str, Entry], excluded: set[str]) -> None:
        self.entries = entries
        self.excluded = excluded
        """Entries that were left out, of a folder with all in it the folder alone."""

    def files(self) -> dict[str, Entry]:
        return {path: entry for path, entry in self.entries.items() if entry.kind == "file"}

    def excludes(self, path: str) -> bool:
        """Whether a path or a folder on its way was left out."""
        while path and path not in self.excluded:
            path = folder_of(path)
        return bool(path)

    def encoded(self) -> bytes:
        names = [os.fsencode("\0".join(each)) for each in (self.entries, self.excluded)]
        return msgspec.msgpack.encode((*names, list(self.entries.values())))

    @classmethod
    def decoded(cls, data: bytes) -> "Manifest":
        """Raises `ValueError`."""
        listed, excluded, entries = msgspec.msgpack.decode(data, type=tuple[bytes, bytes, list[Entry]])
        return cls(dict(zip(_names(listed), entries, strict=True)), set(_names(excluded)))


async def list_files(root: Path) -> set[str]:
    """Every regular file that the ignore rules do not exclude. Raises `TooMuch`, `ToolFailure`."""
    output = bytearray()
    count = 0

    def take(chunk: bytes) -> None:
        nonlocal count
        count += chunk.count(0)
        if count > MOST_ENTRIES:
            raise TooMuch(f"the workspace has more than {MOST_ENTRIES:,} files")
        output.extend(chunk)

    end = await run_rg([*WALK, "--no-config", "--files", "--null"], root, take)
    if end.status is None:
        raise TooMuch("the workspace takes too long to list")
    return set(_names(bytes(output)))


def take(entries: Entries, listed: set[str], own: str) -> Manifest:
    """Look at every listed file, and at every folder and link beside them. Raises `TooMuch`.

    `own` is a folder that is left out, relative to the root; empty is none.
    """
    walk = _Walk(entries.root, listed, own)
    walk.run()
    found = walk.found
    for folder, files in walk.files.items():
        with contextlib.suppress(OSError), entries.open_folder(folder) as opened:
            for path, status in files:
                with contextlib.suppress(OSError):
                    found[path] = entries.understand(path, status, opened)
    manifest = Manifest(found, walk.excluded)
    entries.seen = manifest.files()
    return manifest


def take_below(entries: Entries, path: str) -> dict[str, Entry]:
    """Look at a path and at all that is in it, ignored or not. Raises `OSError`, `TooMuch`."""
    top = entries.at(path)
    if top is None:
        return {}
    found = {path: top}
    if top.kind == "folder":
        with entries.open_folder(path) as opened:
            for below, folders, files, folder in os.fwalk(".", dir_fd=opened):
                for name in (*folders, *files):
                    inner = os.path.normpath(f"{path}/{below}/{name}")
                    if entry := entries.look(inner, folder):
                        found[inner] = entry
                if len(found) > MOST_ENTRIES or sum(entry.size for entry in found.values()) > MOST_BYTES:
                    raise TooMuch(f"{to_text(path)} holds more than is kept")
    return found


def differences(before: Manifest, after: Manifest, entries: Entries) -> tuple[list[FileChange], list[str]]:
    """What differs between two lists, and what differs and was not kept.

    Where the ignore rules themselves have changed, what they let in has not been made.
    """
    old = {path: entry for path, entry in before.entries.items() if after.entries.get(path) is not entry}
    new = {path: entry for path, entry in after.entries.items() if before.entries.get(path) is not entry}
    for path in old.keys() - new.keys():
        try:
            entry = entries.at(path)
        except OSError:
            del old[path]  # in a folder that can no longer be looked into
        else:
            if entry is not None:
                new[path] = entry
    if any(path.rpartition("/")[2] in _RULES for path in (*old, *new)):
        new = {path: entry for path, entry in new.items() if path in old or not before.excludes(path)}
    gone = sorted(
        path for path in before.excluded - after.excluded if not os.path.lexists(entries.root / path)
    )
    changes, unkept = compare(old, new)
    return changes, unkept + [f"{to_text(path)} (left out by the ignore rules)" for path in gone]


def compare(old: Mapping[str, Entry], new: Mapping[str, Entry]) -> tuple[list[FileChange], list[str]]:
    """Every path that differs, folders before what is in them; and what differs without having been kept."""
    changes, unkept = [], []
    for path in sorted(old.keys() | new.keys(), key=from_the_root):
        before, after = old.get(path), new.get(path)
        if before is not None and after is not None and before.is_same(after):
            continue
        why = (before and before.unkept) or (after and not after.content and after.unkept)
        if why:
            unkept.append(f"{to_text(path)} ({why})")
        else:
            changes.append(FileChange(path=to_text(path), before=state_of(before), after=state_of(after)))
    return changes, unkept


class _Walk:
    """One pass over the folders that hold listed files, through descriptors."""

    def __init__(self, root: Path, listed: set[str], own: str) -> None:
        self._root = root
        self._listed = listed
        self._own = own
        self._holding = _folders_of(listed)
        self._bytes = 0
        self.found: dict[str, Entry] = {}
        """Folders and links."""
        self.files: dict[str, list[tuple[str, os.stat_result]]] = {}
        """Listed files and their status, by folder."""
        self.excluded: set[str] = set()

    def run(self) -> None:
        top = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            waiting = [""]
            while waiting:
                waiting += self._enter(waiting.pop(), top)
                if len(self.found) + len(self.excluded) > MOST_ENTRIES:
                    raise TooMuch(
                        f"the workspace has more than {MOST_ENTRIES:,} folders, links and ignored files"
                    )
                if self._bytes > MOST_BYTES:
                    raise TooMuch(f"the workspace has more than {MOST_BYTES >> 20} MB of files")
        finally:
            os.close(top)

    def _enter(self, folder: str, top: int) -> list[str]:
        """Look at one folder's entries; the folders in it that hold listed files."""
        inner = []
        files = self.files[folder] = []
        with _opened(folder or ".", top) as opened, os.scandir(opened) as entries:
            for each in entries:
                path = f"{folder}/{each.name}" if folder else each.name
                if path == self._own or is_own(each.name):
                    continue
                if each.is_symlink():
                    self.found[path] = _link(each.name, opened)
                elif path in self._holding and each.is_dir(follow_symlinks=False):
                    self.found[path] = _folder(each)
                    inner.append(path)
                elif path in self._listed:
                    status = each.stat(follow_symlinks=False)
                    self._bytes += status.st_size if status.st_size <= MAX_FILE_BYTES else 0
                    files.append((path, status))
                elif each.name != ".git" and each.is_dir(follow_symlinks=False):
                    found = _quiet(path, each, opened, DEEPEST)
                    if found is None:
                        self.excluded.add(path)
                    else:
                        self.found.update(found)
                else:
                    self.excluded.add(path)
        return inner


def _quiet(path: str, entry: "os.DirEntry[str]", folder: int, depth: int) -> dict[str, Entry] | None:
    """A folder without listed files and what is in it, folders and links; null when it holds a file."""
    found = {path: _folder(entry)}
    try:
        with _opened(entry.name, folder) as opened, os.scandir(opened) as inside:
            entries = list(inside)
            if depth == 0 or any(not (each.is_symlink() or _is_plain_folder(each)) for each in entries):
                return None
            for each in entries:
                inner = f"{path}/{each.name}"
                if each.is_symlink():
                    found[inner] = _link(each.name, opened)
                else:
                    below = _quiet(inner, each, opened, depth - 1)
                    if below is None:
                        return None
                    found.update(below)
    except OSError:
        return None
    return found


def _is_plain_folder(entry: "os.DirEntry[str]") -> bool:
    return entry.name != ".git" and entry.is_dir(follow_symlinks=False)


@contextlib.contextmanager
def _opened(name: str, folder: int) -> Iterator[int]:
    opened = os.open(name, FOLDER, dir_fd=folder)
    try:
        yield opened
    finally:
        os.close(opened)


def _folder(entry: "os.DirEntry[str]") -> Entry:
    return Entry("folder", stat.S_IMODE(entry.stat(follow_symlinks=False).st_mode))


def _link(name: str, folder: int) -> Entry:
    return Entry("link", 0, to_text(os.readlink(name, dir_fd=folder)))


def _folders_of(paths: Iterable[str]) -> set[str]:
    """Every folder on the way to a path, the root aside."""
    found: set[str] = set()
    for path in paths:
        folder = folder_of(path)
        while folder and folder not in found:
            found.add(folder)
            folder = folder_of(folder)
    return found


def _names(joined: bytes) -> list[str]:
    return [name for name in os.fsdecode(joined).split("\0") if name]
