"""What was there at one moment, and what differs between two."""

import os
from collections.abc import Mapping
from typing import Final

import msgspec

from actors.session.events import FileChange
from actors.undo.entries import Entries, Entry, state_of
from actors.undo.path_text import folder_of, from_the_root, to_text

IGNORE_FILES: Final = frozenset({".gitignore", ".ignore", ".rgignore"})


class Manifest:
    """What was there at one moment."""

    def __init__(self, entries: dict[str, Entry], excluded: set[str]) -> None:
        self.entries = entries
        self.excluded = excluded
        """Entries that were left out, of a folder with all in it the folder alone."""

    def git_folders(self) -> list[str]:
        return sorted(path for path in self.excluded if path.rpartition("/")[2] == ".git")

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
        return cls(dict(zip(names_of(listed), entries, strict=True)), set(names_of(excluded)))


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
    if any(path.rpartition("/")[2] in IGNORE_FILES for path in (*old, *new)):
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


def names_of(joined: bytes) -> list[str]:
    """Names that a NUL ends or parts."""
    return [name for name in os.fsdecode(joined).split("\0") if name]
