"""What was there at one moment, and what differs between two."""

import contextlib
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from actors.session.events import FileChange
from actors.undo.entries import Entries, Entry, state_of
from actors.undo.ignore_rules import IGNORE_FILES, names_of
from actors.undo.left_out import (
    CHANGED_INSIDE,
    LEFT_OUT,
    NEW,
    SPECIAL,
    Mark,
    changed,
    is_git,
    is_special,
    made,
    moved_to,
    since,
)
from actors.undo.path_text import folder_of, folders_of, from_the_root, to_text


class Manifest:
    """What was there at one moment."""

    def __init__(
        self,
        entries: dict[str, Entry],
        excluded: Collection[str] = (),
        unseen: Collection[str] = (),
        rules: tuple[tuple[int, ...], ...] = (),
    ) -> None:
        self.entries = entries
        self.excluded = frozenset(excluded)
        """Entries that were left out by the ignore rules, of a folder with all in it the folder alone."""
        self.unseen = frozenset(unseen)
        """Entries that could not be looked at."""
        self.rules = rules
        """Marks of the ignore rules outside these entries."""
        self.marks: dict[str, Mark] = {}
        """Status of what was left out and of what is in it, as far as that is watched."""

    def encoded(self) -> bytes:
        every = self.entries, self.excluded, self.unseen, self.marks
        names = [os.fsencode("\0".join(each)) for each in every]
        return msgspec.msgpack.encode((*names, list(self.entries.values()), list(self.marks.values())))

    @classmethod
    def decoded(cls, data: bytes) -> "Manifest":
        """Raises `ValueError`."""
        shape = tuple[bytes, bytes, bytes, bytes, list[Entry], list[Mark]]
        listed, excluded, unseen, marked, entries, marks = msgspec.msgpack.decode(data, type=shape)
        kept = cls(dict(zip(names_of(listed), entries, strict=True)), names_of(excluded), names_of(unseen))
        kept.marks.update(zip(names_of(marked), marks, strict=True))
        return kept


class Unkept(NamedTuple):
    """What may have changed and was not kept."""

    path: str
    reason: str
    deed: str = ""
    """What is known to have happened, for a sentence that the reason ends."""

    @property
    def is_trace(self) -> bool:
        """Whether builds and tests leave this all the time; `/undo` names it, nothing else does."""
        return self.reason in (LEFT_OUT, SPECIAL) and self.deed in (NEW, CHANGED_INSIDE)

    def __str__(self) -> str:
        return f"{self.path} ({self.deed}{self.reason})"


def differences(before: Manifest, after: Manifest, entries: Entries) -> tuple[list[FileChange], list[Unkept]]:
    """What differs between two lists, and what differs and was not kept; folders before what is in them."""
    pairs = dict(_unequal(before, after, entries))
    rules = before.rules != after.rules or any(path.rpartition("/")[2] in IGNORE_FILES for path in pairs)
    for path, (old, new) in list(pairs.items()):
        if old is None and new is not None and _may_have_been_there(path, new, before, rules_changed=rules):
            del pairs[path]
    differing = since(entries.root, before.marks)
    added = [path for path, (old, _) in pairs.items() if old is None]
    moved = moved_to(entries.root, before.marks, differing, added)
    changes, unkept = [], []
    for path in sorted(pairs, key=from_the_root):
        old, new = pairs[path]
        if _lies_in(path, moved):
            continue
        if why := (old and old.unkept) or (new and not new.content and new.unkept):
            unkept.append(Unkept(to_text(path), why))
        else:
            changes.append(FileChange(path=to_text(path), before=state_of(old), after=state_of(new)))
    deeds = changed(before.excluded, differing, pairs) | dict.fromkeys(moved, "moved here from what was ")
    if not rules:
        deeds |= _made(before, after, entries.root)
    gone = {path for path in before.excluded - after.excluded if not os.path.lexists(entries.root / path)}
    deeds |= dict.fromkeys(gone, "")
    special = {path for path in deeds if is_special(entries.root, path)}
    if len(before.marks) < entries.bounds.left_out_entries:  # else a file, too, may have no mark
        special |= {path for path in gone if path not in before.marks and not is_git(path)}
    reasons = ((path, SPECIAL if path in special else LEFT_OUT) for path in sorted(deeds))
    return changes, [*unkept, *(Unkept(to_text(path), reason, deeds[path]) for path, reason in reasons)]


def _made(before: Manifest, after: Manifest, root: Path) -> dict[str, str]:
    """What is left out now and was not there, under rules that are the same."""
    new = after.excluded - before.excluded
    if not new:
        return {}
    held = folders_of(before.excluded) | folders_of(
        path for path, entry in before.entries.items() if entry.kind == "file"
    )
    places = before.excluded | before.unseen
    paths = [path for path in new if not _lies_in(path, places) and path not in held]
    return {path: CHANGED_INSIDE if path in before.entries else NEW for path in made(root, paths)}


def _may_have_been_there(path: str, new: Entry, before: Manifest, *, rules_changed: bool) -> bool:
    """Whether a path that is listed now need not be new, and so must never be removed.

    In a folder that was left out as a whole, a file that the same rules let in is new; a folder need not be.
    """
    if path in before.excluded or _lies_in(path, before.unseen):
        return True
    return (rules_changed or new.kind == "folder") and _lies_in(path, before.excluded)


def _lies_in(path: str, places: Collection[str]) -> bool:
    """Whether a path or a folder on its way is one of some."""
    while path and path not in places:
        path = folder_of(path)
    return bool(path)


def _unequal(
    before: Manifest, after: Manifest, entries: Entries
) -> Iterator[tuple[str, tuple[Entry | None, Entry | None]]]:
    for path, new in after.entries.items():
        old = before.entries.get(path)
        if old is not new and (old is None or not old.is_same(new)):
            yield path, (old, new)
    for path in before.entries.keys() - after.entries.keys():
        old = before.entries[path]
        with contextlib.suppress(OSError):  # in a folder that can no longer be looked into
            found = entries.at(path)
            if found is None or not old.is_same(found):
                yield path, (old, found)
