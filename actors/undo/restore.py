"""Puts paths of the workspace into another state, all or none: written aside first, then moved into place."""

import contextlib
import errno
import json
import os
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from actors.session.events import FileChange, FileState
from actors.undo.blobs import ContentLost
from actors.undo.effects import FEW, USABLE, Effects
from actors.undo.entries import OWN, Entries, Entry, state_of
from actors.undo.path_text import folder_of, from_the_root, to_name, to_text


class Step(NamedTuple):
    """One path from what it is to what it shall be."""

    path: str
    now: FileState | None
    then: FileState | None

    def back(self) -> "Step":
        return Step(self.path, self.then, self.now)


class Checked(NamedTuple):
    """What a look at every path says about a restore."""

    to_do: list[Step]
    """What is not already as it shall be."""
    changed: list[Step]
    """What somebody has changed since."""


class RestoreFailed(Exception):
    """A restore stopped before its end."""

    def __init__(self, path: str, reason: str, *, taken_back: bool) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason
        self.taken_back = taken_back
        """Whether everything is as it was before."""


class _Stopped(Exception):
    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason


def steps_of(changes: Iterable[FileChange], *, back: bool) -> list[Step]:
    """The steps that take changes back, or make them again; folders before what is in them."""
    steps = [Step(to_name(change.path), change.before, change.after) for change in changes]
    steps.sort(key=lambda step: from_the_root(step.path))
    return [step.back() for step in steps] if back else steps


class Restorer:
    """Checks and carries out steps."""

    def __init__(self, entries: Entries, effects: Effects, journal: Path) -> None:
        """`journal` names, while a restore runs, what it writes aside."""
        self._entries = entries
        self._effects = effects
        self._journal = journal

    def check(self, steps: Sequence[Step]) -> Checked:
        """Look at every path, touch none."""
        to_do: list[Step] = []
        changed: list[Step] = []
        made = {step.path for step in steps if step.then is not None and step.then.kind == "folder"}
        for step in steps:
            try:
                present = self._entries.at(step.path)
                if _is_done(present, step):
                    continue
                ready = _is_as(present, step) and self._has_folder(step, made)
            except OSError:
                ready = False
            (to_do if ready else changed).append(step)
        return Checked(to_do, changed)

    def carry_out(self, steps: Sequence[Step]) -> list[str]:
        """Do all steps, folders before what is in them, or none. Raises `RestoreFailed`.

        Gives the folders that stay because more is in them.
        """
        try:
            return self._carry_out(steps)
        except _Stopped as stopped:
            taken_back = self._take_back(steps)
            raise RestoreFailed(stopped.path, stopped.reason, taken_back=taken_back) from stopped

    def clear(self) -> bool:
        """Remove what a restore that was killed has left beside the files it was to write; tell of one."""
        with contextlib.suppress(OSError, ValueError):
            for aside in json.loads(self._journal.read_text(encoding="utf-8")):
                self._discard(to_name(aside))
            self._journal.unlink()
            return True
        return False

    def _take_back(self, steps: Iterable[Step]) -> bool:
        """Put what was done back; what was not needs no room on a disk that may be full."""
        try:
            self._carry_out(self.check([step.back() for step in steps]).to_do)
        except _Stopped:
            return False
        return True

    def _carry_out(self, steps: Sequence[Step]) -> list[str]:
        outward, inward = steps, steps[::-1]
        stayed: set[str] = set()
        aside = self._places_aside(outward)
        try:
            self._note(aside.values())
            for step in outward:
                with _doing(step):
                    self._open_up(step)
            self._write_aside(outward, aside)
            if changed := self.check(outward).changed:  # while thousands of files were written
                raise _Stopped(changed[0].path, "it was changed at this very moment")
            for step in inward:
                with _doing(step):
                    if not self._made_way(step):
                        stayed.add(step.path)
            for step in outward:
                with _doing(step):
                    self._put(step, aside.get(step.path))
            for step in inward:
                with _doing(step):
                    self._close_up(step, stayed)
        finally:
            for path in aside.values():
                self._discard(path)
            with contextlib.suppress(OSError):
                self._journal.unlink()
        self._effects.sync({folder_of(step.path) for step in steps})
        return sorted(stayed)

    def _places_aside(self, steps: Iterable[Step]) -> dict[str, str]:
        """Where each file and link is made ready: on the same disk as its place."""
        token = secrets.token_hex(4)
        places = {}
        for number, step in enumerate(steps):
            if _is_written(step):
                with _doing(step):
                    folder = self._effects.nearest_folder(step.path)
                places[step.path] = f"{folder}/{OWN}{token}-{number}.tmp".lstrip("/")
        return places

    def _write_aside(self, steps: Iterable[Step], aside: Mapping[str, str]) -> None:
        few = len(aside) <= FEW
        for step in steps:
            if step.path in aside and step.then is not None:
                with _doing(step):
                    self._effects.write_aside(step.path, aside[step.path], step.then, sync=few)
        if not few:
            os.sync()

    def _note(self, places: Iterable[str]) -> None:
        with contextlib.suppress(OSError):
            self._journal.write_text(json.dumps([to_text(place) for place in places]), encoding="utf-8")

    def _open_up(self, step: Step) -> None:
        """Let a folder's entries be changed."""
        if step.now is not None and step.now.kind == "folder" and step.now.mode & USABLE != USABLE:
            with contextlib.suppress(FileNotFoundError):
                self._effects.set_mode(step.path, step.now.mode | USABLE)

    def _made_way(self, step: Step) -> bool:
        """Remove what is not to be there; false for a folder that holds what nobody recorded."""
        if step.now is None or (step.then is not None and not _turns_kind(step)):
            return True
        try:
            self._effects.remove(step.path, folder=step.now.kind == "folder")
        except OSError as error:
            if step.then is None and error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                return False
            raise
        return True

    def _put(self, step: Step, aside: str | None) -> None:
        if aside is not None:
            self._effects.move(aside, step.path)
        elif step.then is not None and step.then.kind == "folder":
            self._effects.make_folder(step.path)
        elif step.then is not None:
            self._effects.set_mode(step.path, step.then.mode)

    def _close_up(self, step: Step, stayed: Collection[str]) -> None:
        """Give a folder its mode, when everything is in it."""
        state = step.now if step.path in stayed else step.then
        if state is not None and state.kind == "folder":
            self._effects.set_mode(step.path, state.mode)

    def _discard(self, aside: str) -> None:
        with contextlib.suppress(OSError):
            self._effects.remove(aside, folder=False)

    def _has_folder(self, step: Step, made: Collection[str]) -> bool:
        """Whether what is to be there has, or will have, a folder to be in."""
        folder = folder_of(step.path)
        if step.then is None or not folder or folder in made:
            return True
        entry = self._entries.at(folder)
        return entry is not None and entry.kind == "folder"


@contextlib.contextmanager
def _doing(step: Step) -> Iterator[None]:
    try:
        yield
    except ContentLost:
        raise _Stopped(step.path, "its earlier content is no longer kept") from None
    except OSError as error:
        raise _Stopped(step.path, error.strerror or str(error)) from error


def _is_as(present: Entry | None, step: Step) -> bool:
    """Whether a path is as recorded, or as a restore that stopped half-way has left it."""
    if present is None:
        return step.now is None or _turns_kind(step)
    if present.kind == "folder":
        return (
            state_of(present) == step.now
            or _is_half_made(present, step.now)
            or _is_half_made(present, step.then)
        )
    return state_of(present) == step.now


def _is_done(present: Entry | None, step: Step) -> bool:
    """Whether a path is as it shall be; a folder to be made is, whatever its mode."""
    if present is None or step.then is None:
        return present is None and step.then is None
    if present.kind == step.then.kind == "folder" and (step.now is None or _turns_kind(step)):
        return not _is_half_made(present, step.then)
    return state_of(present) == step.then


def _is_half_made(folder: Entry, state: FileState | None) -> bool:
    """Whether a folder is only short of its mode."""
    if state is None or state.kind != "folder":
        return False
    return folder.mode != state.mode and folder.mode in (USABLE, state.mode | USABLE)


def _is_written(step: Step) -> bool:
    """Whether a file's content or a link has to be written, and not a mode alone changed."""
    if step.then is None or step.then.kind == "folder":
        return False
    same = step.now is not None and (step.now.kind, step.now.content) == (step.then.kind, step.then.content)
    return step.then.kind == "link" or not same


def _turns_kind(step: Step) -> bool:
    """Whether a folder is to take the place of something else, or the other way round."""
    if step.now is None or step.then is None:
        return False
    return (step.now.kind == "folder") != (step.then.kind == "folder")
