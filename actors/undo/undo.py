"""Undo: takes the file changes of a turn back, and makes them again."""

import contextlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import msgspec

from actors.session.events import AnyEvent, FilesRestored, FilesRestoring, RestoreTakenBack
from actors.undo import wording
from actors.undo.blobs import Blobs, ContentLost
from actors.undo.bounds import Bounds
from actors.undo.effects import Effects
from actors.undo.entries import Entries
from actors.undo.log import TurnChanges, UndoLog
from actors.undo.path_text import to_name, to_text
from actors.undo.restore import RestoreFailed, Restorer, Step, steps_of
from actors.undo.snapshots import FileSnapshots, to_end, write_private
from actors.undo.wording import Direction, names

DEFAULT: Final = Bounds()
EARLIER: Final = "earlier"
INTERRUPTED: Final = (
    "Taking files back, or making them again, did not come to its end: some may be half-way. The same "
    "command again goes on where it stopped."
)


class UndoRefused(Exception):
    """Told to the person; nothing was changed but with `partly_restored`.

    `code` is `nothing_to_undo`, `not_kept`, `nothing_to_redo`, `busy`, `changed_since`, `restore_failed` or
    `partly_restored`.
    """

    def __init__(self, code: str, message: str, next_step: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.next_step = next_step


class Restored(msgspec.Struct, frozen=True):
    """What was taken back, or made again."""

    turn: int
    """Whose changes."""
    paths: tuple[str, ...]
    """Every path that is now as it was, also one that needed nothing; as in the log."""
    message: str
    """For the person."""


class Undo:
    """The file changes of one session; `snapshots` is what the tools are given."""

    def __init__(
        self,
        workspace_root: Path,
        folder: Path,
        log: UndoLog,
        record: Callable[[AnyEvent], None],
        tell: Callable[[str], None],
        bounds: Bounds = DEFAULT,
    ) -> None:
        """`folder` is the session's own in `$XDG_STATE_HOME/fido/undo/`; `record` feeds `log`, too.

        `tell` is given, once each, sentences about what will not be kept.
        """
        self._folder = folder
        self._log = log
        self._tell = tell
        self._passed_over = 0
        """The newest turn of which nothing was kept, once the person was told."""
        self._record = record
        self._blobs = Blobs(folder, bounds)
        entries = Entries(Path(os.path.realpath(workspace_root)), self._blobs, bounds)
        self._restorer = Restorer(entries, Effects(entries, self._blobs), folder / "restoring")
        self.snapshots = FileSnapshots(entries, self._blobs, log, record, tell)

    async def recover(self) -> None:
        """Close what a crash has left open; before the first call and the first `undo`."""
        left = await self.snapshots.in_thread(self._restorer.clear)
        if left or self._log.interrupted:
            self._tell(INTERRUPTED)
        await self.snapshots.recover()

    async def undo(self) -> Restored:
        """Take back the newest turn whose changes stand. Raises `UndoRefused`."""
        changes = self._log.to_undo()
        if changes is None:
            unkept = self._log.unkept_since(0)
            missed = f" Not kept: {names(unkept)}." if unkept else ""
            raise UndoRefused(
                "nothing_to_undo",
                f"No turn of this session has file changes that could be taken back.{missed}",
                "Use your version control for what is older.",
            )
        newest = self._log.newest
        if newest != changes.turn and newest != self._passed_over:
            self._passed_over = newest
            raise UndoRefused(
                "not_kept",
                f"Turn {newest} may have changed what was not kept: {names(self._log.unkept_since(newest))}.",
                f"Look there yourself; /undo again takes back turn {changes.turn}, which came before it.",
            )
        return await self._restore(changes, "undo")

    async def redo(self) -> Restored:
        """Make the changes again that were taken back last. Raises `UndoRefused`."""
        changes = self._log.to_redo()
        if changes is None:
            raise UndoRefused(
                "nothing_to_redo",
                "Nothing was taken back since the last change.",
                "/undo takes the last turn's changes back.",
            )
        return await self._restore(changes, "redo")

    @property
    def interrupted(self) -> tuple[FilesRestoring, ...]:
        """Restores that did not come to their end, until a prompt tells the model of them."""
        return self._log.interrupted

    def close(self) -> None:
        """Give the kept contents free."""
        self._blobs.close()

    async def _restore(self, changes: TurnChanges, direction: Direction) -> Restored:
        if self.snapshots.lock.locked():
            raise UndoRefused(
                "busy", "A call is changing files right now.", "Wait until it has ended, or cancel the turn."
            )
        async with self.snapshots.lock:
            return await to_end(self._restore_and_record(changes, direction))

    async def _restore_and_record(self, changes: TurnChanges, direction: Direction) -> Restored:
        turn, in_thread = changes.turn, self.snapshots.in_thread
        steps = steps_of(changes.changes(), back=direction == "undo")
        to_do = await in_thread(self._check, turn, direction, steps)
        paths = tuple(sorted(to_text(step.path) for step in to_do))
        self._record(FilesRestoring(turn=turn, direction=direction, paths=paths))
        try:
            stayed = await in_thread(self._restorer.carry_out, to_do)
        except RestoreFailed as failure:
            if failure.taken_back:
                self._record(RestoreTakenBack(turn=turn, direction=direction))
            raise await in_thread(self._failed, turn, failure, steps) from failure
        restored = self._restored(changes, direction, stayed)
        self._record(FilesRestored(turn=turn, direction=direction, paths=restored.paths))
        return restored

    def _check(self, turn: int, direction: Direction, steps: list[Step]) -> list[Step]:
        """The steps that are to be done; none is done yet."""
        self.snapshots.remember()
        checked = self._restorer.check(steps)
        if checked.changed:
            raise self._changed_since(turn, direction, checked.changed)
        return checked.to_do

    def _restored(self, changes: TurnChanges, direction: Direction, stayed: list[str]) -> Restored:
        every = changes.changes()
        message = wording.restored(
            changes.turn,
            direction,
            every,
            stayed=stayed,
            mixed=sorted(changes.mixed),
            unkept=self._log.unkept_since(changes.turn),
        )
        paths = [change.path for change in every if to_name(change.path) not in stayed]
        return Restored(changes.turn, tuple(sorted(paths)), message)

    def _changed_since(self, turn: int, direction: Direction, changed: list[Step]) -> UndoRefused:
        what = names(to_text(step.path) for step in changed)
        has = "has" if len(changed) == 1 else "have"
        next_step = "Take your own change there back, then try again."
        if laid_out := self._lay_out(turn, direction, changed):
            next_step += f" What it would have written there is in {laid_out}."
        message = f"{what} {has} changed since turn {turn}, so nothing was touched."
        return UndoRefused("changed_since", message, next_step)

    def _lay_out(self, turn: int, direction: Direction, changed: Iterable[Step]) -> Path | None:
        """Write what is kept of the paths where a person can take it; the folder, when anything is in it."""
        folder = self._folder / EARLIER / f"{direction}-{turn}"
        written = False
        for step in changed:
            if step.then is not None and step.then.kind == "file":
                with contextlib.suppress(OSError, ContentLost):
                    data = self._blobs.get(step.then.content)
                    place = folder / step.path
                    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                    write_private(place, data)
                    written = True
        return folder if written else None

    def _failed(self, turn: int, failure: RestoreFailed, steps: list[Step]) -> UndoRefused:
        where = names([to_text(failure.path)])
        if failure.taken_back:
            message = f"{where}: {failure.reason}. Everything is as it was before."
            return UndoRefused("restore_failed", message, "Mend that, then try again.")
        left = [to_text(step.path) for step in self._restorer.check(steps).to_do]
        message = f"{where}: {failure.reason}. Of turn {turn} these are still to do: {names(left)}."
        return UndoRefused(
            "partly_restored", message, "Mend that, then try again: it goes on where it stopped."
        )
