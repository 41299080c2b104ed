"""Looks at a whole workspace, or at all that is in one folder: through descriptors, no link is followed."""

import contextlib
import os
import stat
import time
from collections.abc import Collection, Iterator
from typing import Final

from actors.undo.bounds import TooMuch, TooSlow
from actors.undo.entries import FOLDER, OWN, Entries, Entry, is_own
from actors.undo.ignore_rules import marks_of_rules
from actors.undo.manifest import Manifest
from actors.undo.path_text import folders_of, to_text

DEEPEST: Final = 100
"""Folders in folders without a listed file, before the outermost counts as excluded."""


def look_at_listed(entries: Entries, listed: set[str], own: str) -> Manifest:
    """Look at every listed file, and at the folders and links beside them. Raises `OSError`, `TooMuch`.

    `own` is a folder that is left out, relative to the root; empty is none.
    """
    return _Walk(entries, listed - {path for path in listed if OWN in path and is_own(path)}, own).run()


def look_below(entries: Entries, path: str) -> Manifest:
    """Look at a path and at all that is in it, ignored or not. Raises `OSError`, `TooMuch`."""
    top = entries.at(path)
    if top is None:
        return Manifest({})
    found, size, bounds = {path: top}, 0, entries.bounds
    if top.kind == "folder":
        for inner, entry in _everything_in(entries, path):
            found[inner] = entry
            size += entry.size
            if len(found) > bounds.workspace_entries or size > bounds.workspace_bytes:
                raise TooMuch(f"{to_text(path)} holds more than is kept")
    return Manifest(found)


def _everything_in(entries: Entries, path: str) -> Iterator[tuple[str, Entry]]:
    with entries.open_folder(path) as opened:
        for below, folders, files, folder in os.fwalk(".", dir_fd=opened, onerror=_raise):
            entries.go_on()
            for name in (*folders, *files):
                inner = os.path.normpath(f"{path}/{below}/{name}")
                if entry := entries.look(inner, folder):
                    yield inner, entry


def _raise(error: OSError) -> None:
    raise error


class _Walk:
    """One pass over the folders, then another over the files that have to be read."""

    def __init__(self, entries: Entries, listed: Collection[str], own: str) -> None:
        self._entries = entries
        self._bounds = entries.bounds
        self._listed = listed
        self._holding = folders_of(listed)
        self._own = own
        self._bytes = 0
        self._stale: dict[str, list[tuple[str, os.stat_result]]] = {}
        """Files that are not as they were seen last, by folder."""
        self.found: dict[str, Entry] = {}
        self.excluded: set[str] = set()
        self.unseen: set[str] = set()

    def run(self) -> Manifest:
        top = os.open(self._entries.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self._enter_all(top)
        finally:
            os.close(top)
        self._read()
        self._entries.seen = dict(self.found)
        git_folders = [path for path in self.excluded if path.rpartition("/")[2] == ".git"]
        rules = marks_of_rules(self._entries.root, sorted(git_folders))
        return Manifest(self.found, self.excluded, self.unseen, rules)

    def _enter_all(self, top: int) -> None:
        began = time.monotonic()
        waiting = [""]
        while waiting:
            folder = waiting.pop()
            with self._failures(folder):
                waiting += self._enter(folder, top)
            self._refuse_too_much()
            _refuse_too_slow(began, self._bounds.listing_s)
            self._entries.go_on()

    @contextlib.contextmanager
    def _failures(self, path: str) -> Iterator[None]:
        """Remember what could not be looked at; what is gone by now never was."""
        try:
            yield
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError:
            if not path:
                raise
            self.unseen.add(path)

    def _enter(self, folder: str, top: int) -> list[str]:
        """Look at one folder's entries; those of them that are to be entered, too."""
        prefix = f"{folder}/" if folder else ""
        listed = self._listed
        inner, stale = [], []
        with _opened(folder or ".", top) as opened, os.scandir(opened) as entries:
            for each in entries:
                path = prefix + each.name
                try:
                    if path in listed and each.is_file(follow_symlinks=False):
                        status = each.stat(follow_symlinks=False)
                        if not self._is_known(path, status):
                            stale.append((path, status))
                    elif path != self._own and not is_own(path) and self._judge(path, each, opened):
                        inner.append(path)
                except FileNotFoundError:
                    continue
                except OSError:
                    self.unseen.add(path)
        if stale:
            self._stale[folder] = stale
        return inner

    def _is_known(self, path: str, status: os.stat_result) -> bool:
        """Take in a file that is as it was seen last."""
        if status.st_size <= self._bounds.file_bytes:
            self._bytes += status.st_size
        entry = self._entries.seen.get(path)
        if entry is None or not entry.is_as(status):
            return False
        self.found[path] = entry
        return True

    def _judge(self, path: str, entry: "os.DirEntry[str]", folder: int) -> bool:
        """Take in or leave out what is no listed file; whether it is to be entered."""
        if entry.is_symlink():
            self.found[path] = _link(entry.name, folder)
        elif path in self._holding and entry.is_dir(follow_symlinks=False):
            self.found[path] = _folder(entry)
            return True
        elif _is_plain_folder(entry):
            self._judge_folder(path, entry, folder)
        else:
            self.excluded.add(path)
        return False

    def _judge_folder(self, path: str, entry: "os.DirEntry[str]", folder: int) -> None:
        """Take in a folder without listed files, unless something else is in it."""
        try:
            quiet = _quiet(path, entry, folder, DEEPEST)
        except PermissionError:
            self.found[path] = _folder(entry)
            self.unseen.add(path)
        else:
            self.found.update(quiet)
            if not quiet:
                self.excluded.add(path)

    def _refuse_too_much(self) -> None:
        most = self._bounds.workspace_entries
        if len(self.found) + len(self.excluded) > 2 * most:
            raise TooMuch(f"the workspace has more than {most:,} folders, links and ignored files")
        if self._bytes > self._bounds.workspace_bytes:
            raise TooMuch(f"the workspace has more than {self._bounds.workspace_bytes >> 20} MB of files")

    def _read(self) -> None:
        began = time.monotonic()
        for folder, files in self._stale.items():
            _refuse_too_slow(began, self._bounds.reading_s)
            with self._failures(folder), self._entries.open_folder(folder) as opened:
                for path, status in files:
                    self._entries.go_on()
                    with self._failures(path):
                        self.found[path] = self._entries.understand(path, status, opened)


def _refuse_too_slow(began: float, most: float) -> None:
    if time.monotonic() - began > most:
        raise TooSlow(f"looking at the workspace takes more than {most:.0f} s")


def _quiet(path: str, entry: "os.DirEntry[str]", folder: int, depth: int) -> dict[str, Entry]:
    """A folder without listed files, the folders and links in it; nothing when it holds anything else."""
    found = {path: _folder(entry)}
    with _opened(entry.name, folder) as opened, os.scandir(opened) as inside:
        entries = list(inside)
        if depth == 0 or not all(each.is_symlink() or _is_plain_folder(each) for each in entries):
            return {}
        for each in entries:
            inner = f"{path}/{each.name}"
            if each.is_symlink():
                found[inner] = _link(each.name, opened)
            elif below := _quiet(inner, each, opened, depth - 1):
                found.update(below)
            else:
                return {}
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
