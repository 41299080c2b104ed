"""Snapshots around calls: what is there is kept and recorded before an effect, what differs behind it."""

import asyncio
import contextlib
import math
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, TypeVar

from actors.session.events import AnyEvent, FileChange, FilesChanged, FilesChanging
from actors.tools.tool import ToolFailure
from actors.undo.blobs import Blobs
from actors.undo.bounds import TooMuch, TooSlow
from actors.undo.entries import Entries, Entry, is_own, state_of
from actors.undo.ignore_rules import list_files
from actors.undo.left_out import marks_of
from actors.undo.log import UndoLog
from actors.undo.manifest import Manifest, Unkept, differences
from actors.undo.path_text import folder_of, to_name, to_text
from actors.undo.walk import look_at_listed, look_below

COMMANDS: Final = "what shell commands change"
MANIFEST: Final = "manifest-"

BEAT_S: Final = 2.0
"""Seconds between two marks that a command is running."""
FEW: Final = 100
"""Entries that are compared at once; a thread would cost more."""

T = TypeVar("T")
Look = Callable[[], Awaitable[Manifest]]


class FileSnapshots:
    """Records what calls do to files, one call at a time; whatever goes wrong with that fails no call.

    What a command leaves running in the background is not watched.
    """

    def __init__(
        self,
        entries: Entries,
        blobs: Blobs,
        log: UndoLog,
        record: Callable[[AnyEvent], None],
        tell: Callable[[str], None],
    ) -> None:
        """`tell` is given what the person should know, each sentence once."""
        self.lock = asyncio.Lock()
        """Held while a call may change files."""
        self._entries = entries
        self._blobs = blobs
        self._log = log
        self._record = record
        self._tell = tell
        self._told: set[str] = set()
        self._reasons: dict[str, str] = {}
        self._given_up: TooSlow | None = None
        self._remembered = False
        self._alive_until = math.inf
        state = Path(os.path.realpath(blobs.folder.parents[1]))
        self._own = str(state.relative_to(entries.root)) if state.is_relative_to(entries.root) else ""

    @contextlib.asynccontextmanager
    async def around(self, call_id: str, path: Path) -> AsyncIterator[None]:
        """Watch a resolved path and what is in it, and the folders that are made on the way to it."""
        place = self._first_missing(path.relative_to(self._entries.root).as_posix())
        if is_own(path.name):
            yield
            return
        what, look, turn = to_text(place), self._look_below(place), self._log.turn
        async with self.lock:
            before = await self._try(what, look)
            states = () if before is None else _states(place, before)
            self._record(FilesChanging(turn=turn, call_id=call_id, before=states))
            self._touch()
            try:
                yield
            finally:
                await to_end(self._close(turn, call_id, what, look, before))

    @contextlib.asynccontextmanager
    async def around_command(self, call_id: str) -> AsyncIterator[None]:
        """Watch everything that the ignore rules let in."""
        what, look, turn = COMMANDS, self._look_at_all, self._log.turn
        async with self.lock:
            before = await self._try(what, self._look_and_mark)
            manifest = "" if before is None else await self.in_thread(self._keep, before)
            self._record(FilesChanging(turn=turn, call_id=call_id, manifest=manifest))
            self._touch()
            beat = asyncio.ensure_future(self._beat())
            try:
                yield
            finally:
                beat.cancel()
                await to_end(self._close(turn, call_id, what, look, before))

    async def in_thread(self, work: Callable[..., T], *arguments: object) -> T:
        """Run what waits long for the disk; a look that is cancelled stops before this returns."""
        task = asyncio.ensure_future(asyncio.to_thread(work, *arguments))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            self._entries.stopping = True
            try:
                await to_end(asyncio.wait({task}))
            finally:
                self._entries.stopping = False
            if not task.cancelled():
                task.exception()  # nobody waits for it: an exception that is not asked for would be a crash
            raise

    async def recover(self) -> None:
        """Close what a crash has left open, by what is there now; what changed long behind it is not its."""
        async with self.lock:
            self._alive_until = self._blobs.touched() + 2 * BEAT_S
            for event in list(self._log.dangling.values()):
                if event.before:
                    what = event.before[0].path
                    look, before = self._look_below(to_name(what)), _manifest_of(event.before)
                    await self._close(event.turn, event.call_id, what, look, before)
                else:
                    kept = await self.in_thread(self._load, event.manifest)
                    await self._close(event.turn, event.call_id, COMMANDS, self._look_at_all, kept)
            self._alive_until = math.inf

    async def _close(self, turn: int, call_id: str, what: str, look: Look, before: Manifest | None) -> None:
        """Record what differs from before; where nothing was kept, that this is so."""
        after = None if before is None else await self._try(what, look)
        changes: list[FileChange] = []
        unkept = [Unkept(what, self._reasons.get(what, "not kept"))]
        if before is not None and after is not None:
            few = len(before.entries) + len(before.marks) < FEW
            both = (before, after, self._entries)
            changes, unkept = differences(*both) if few else await self.in_thread(differences, *both)
            late = {each.path for each in changes if self._is_late(each)}
            unkept += [Unkept(path, "changed after Fido was interrupted") for path in sorted(late)]
            changes = [each for each in changes if each.path not in late]
        lost = [each for each in unkept if not each.is_trace]
        self._record(
            FilesChanged(
                turn=turn,
                call_id=call_id,
                changes=tuple(changes),
                unkept=tuple(map(str, lost)),
                traces=tuple(str(each) for each in unkept if each.is_trace),
            )
        )
        for each in lost:
            self._tell_once(each.path, each.reason)

    def _is_late(self, change: FileChange) -> bool:
        """Whether what is there came about when no call ran; bringing back what is gone harms nothing."""
        if change.after is None or self._alive_until == math.inf:
            return False
        with contextlib.suppress(OSError):
            return os.lstat(self._entries.root / to_name(change.path)).st_ctime > self._alive_until
        return True

    async def _beat(self) -> None:
        """Leave marks as long as a command runs, so that its changes can be told from later ones."""
        while True:
            await asyncio.sleep(BEAT_S)
            self._touch()

    def _touch(self) -> None:
        with contextlib.suppress(OSError):
            self._blobs.touch()

    async def _try(self, what: str, look: Look) -> Manifest | None:
        """What is there; null where it can not be kept, which the person is told."""
        try:
            manifest = await look()
        except (OSError, TooMuch, ToolFailure) as error:
            self._reasons[what] = (isinstance(error, OSError) and error.strerror) or str(error).rstrip(".")
            self._tell_once(what, self._reasons[what])
            return None
        for entry in manifest.entries.values():
            if entry.content and entry.unkept:
                self._tell_once("everything", entry.unkept)
                break
        return manifest

    def _tell_once(self, what: str, reason: str) -> None:
        if reason not in self._told:
            self._told.add(reason)
            self._tell(f"/undo will not take back {what}: {reason}.")

    def _look_below(self, place: str) -> Look:
        async def look() -> Manifest:
            folder = self._entries.root / place
            if folder.is_dir() and not folder.is_symlink():
                return await self.in_thread(look_below, self._entries, place)
            return look_below(self._entries, place)  # one file: 0.3 ms, a thread would cost more

        return look

    async def _look_at_all(self) -> Manifest:
        if self._given_up is not None:
            raise self._given_up
        await self.in_thread(self.remember)
        try:
            listed = await list_files(self._entries.root, self._entries.bounds)
            return await self.in_thread(look_at_listed, self._entries, listed, self._own)
        except TooSlow as slow:
            self._given_up = slow
            raise

    async def _look_and_mark(self) -> Manifest:
        """Look at all, and mark what is left out, to know again where that changes."""
        manifest, entries = await self._look_at_all(), self._entries
        most = entries.bounds.left_out_entries
        manifest.marks = await self.in_thread(marks_of, entries.root, manifest.excluded, self._own, most)
        return manifest

    def _first_missing(self, path: str) -> str:
        """The outermost folder on the way to a path that is not there, or the path."""
        folders = [path]
        while folder := folder_of(folders[-1]):
            folders.append(folder)
        return next(
            (each for each in reversed(folders) if not os.path.lexists(self._entries.root / each)), path
        )

    def _keep(self, manifest: Manifest) -> str:
        """Write a list where only the next one replaces it; its name, empty when that fails."""
        data = manifest.encoded()
        name = f"{MANIFEST}{sha256(data).hexdigest()[:16]}"
        folder = self._blobs.folder
        try:
            self._blobs.hold()
            if not (folder / name).exists():
                write_private(folder / "writing", data)
                (folder / "writing").replace(folder / name)
            for other in folder.glob(f"{MANIFEST}*"):
                if other.name != name:
                    other.unlink()
        except OSError:
            return ""
        return name

    def _load(self, name: str) -> Manifest | None:
        try:
            return Manifest.decoded((self._blobs.folder / name).read_bytes())
        except (OSError, ValueError):
            return None

    def remember(self) -> None:
        """Know again, once, what an earlier life of this session saw, as far as it is still kept."""
        if self._remembered:
            return
        self._remembered = True
        for path in self._blobs.folder.glob(f"{MANIFEST}*"):
            if manifest := self._load(path.name):
                self._entries.seen |= {
                    path: entry
                    for path, entry in manifest.entries.items()
                    if entry.kind == "file" and (entry.unkept or self._blobs.has(entry.content))
                }


def _states(place: str, manifest: Manifest) -> tuple[FileChange, ...]:
    """What stands at a path and below; the path itself always."""
    paths = manifest.entries or (place,)
    return tuple(
        FileChange(path=to_text(path), before=state_of(manifest.entries.get(path))) for path in paths
    )


def _manifest_of(states: Iterable[FileChange]) -> Manifest:
    """A list again from its record; a file whose content is not known differs from every file."""
    entries = {}
    for each in states:
        if (state := each.before) is not None:
            unkept = "" if state.content or state.kind != "file" else "not kept"
            entries[to_name(each.path)] = Entry(state.kind, state.mode, state.content, unkept=unkept)
    return Manifest(entries)


def write_private(path: Path, data: bytes) -> None:
    """Write a file that its owner alone can read."""
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(opened, "wb") as file:
        file.write(data)


async def to_end(work: Coroutine[Any, Any, T]) -> T:
    """Wait until something is done, also when cancelled meanwhile."""
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            cancelled = True
    result = task.result()
    if cancelled:
        raise asyncio.CancelledError
    return result
