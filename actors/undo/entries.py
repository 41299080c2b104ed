"""What stands at a path of the workspace, its content kept; no link is ever followed."""

import hashlib
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

import msgspec

from actors.session.events import FileState
from actors.undo.blobs import Blobs
from actors.undo.bounds import Bounds
from actors.undo.path_text import folder_of, to_text

YOUNG_NS: Final = 50_000_000
"""File systems tell times in steps of up to 10 ms: a younger entry may change and look the same."""
FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_STEP: Final = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
OWN: Final = ".fido-"
SETTINGS: Final = ".fido-config.toml"


class Entry(msgspec.Struct, frozen=True, gc=False):
    """What was seen at a path; equal status means that nothing has changed."""

    kind: Literal["file", "folder", "link"]
    mode: int
    content: str = ""
    """As in `FileState`; of a file that was not read, empty."""
    inode: int = 0
    size: int = 0
    mtime_ns: int = 0
    ctime_ns: int = 0
    """0 when the entry was too young to be known again by its status."""
    unkept: str = ""
    """Why the content is not in the store."""

    def is_same(self, other: "Entry") -> bool:
        """Whether nothing has changed; of a content that was not read as far as the status tells."""
        if state_of(self) != state_of(other):
            return False
        read = self.kind != "file" or self.content
        return bool(read) or (self.inode, self.size, self.mtime_ns) == (
            other.inode,
            other.size,
            other.mtime_ns,
        )

    def is_as(self, status: os.stat_result) -> bool:
        """Whether a file's status is still the one that was seen."""
        return (
            self.ctime_ns == status.st_ctime_ns
            and self.mtime_ns == status.st_mtime_ns
            and self.size == status.st_size
            and self.inode == status.st_ino
        )

    def has_content_as(self, status: os.stat_result) -> bool:
        """Like `is_as`, for a file that can no longer be read: its mode may be another."""
        seen = self.mtime_ns, self.size, self.inode
        return bool(self.content) and seen == (status.st_mtime_ns, status.st_size, status.st_ino)


class Stopped(Exception):
    """A look has ended without a result."""


def state_of(entry: Entry | None) -> FileState | None:
    """The part that is recorded."""
    if entry is None:
        return None
    return FileState(kind=entry.kind, mode=entry.mode, content=entry.content)


def is_own(path: str) -> bool:
    """Whether an entry is Fido's own; a person's settings are theirs."""
    name = path.rpartition("/")[2]
    return name.startswith(OWN) and name != SETTINGS


class Entries:
    """Looks at the entries below one folder; remembers what it saw, so that a second look reads little."""

    def __init__(self, root: Path, blobs: Blobs, bounds: Bounds) -> None:
        self.root = root
        self.bounds = bounds
        self.seen: dict[str, Entry] = {}
        """Whose content is in the store."""
        self.stopping = False
        """Set while a look is to end without a result."""
        self._blobs = blobs

    def at(self, path: str) -> Entry | None:
        """What stands at a path below the root; null when nothing does. Raises `OSError`."""
        try:
            with self.open_folder(folder_of(path)) as folder:
                return self.look(path, folder)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def go_on(self) -> None:
        """Raise `Stopped` when nobody waits for the look any more."""
        if self.stopping:
            raise Stopped

    def look(self, path: str, folder: int) -> Entry | None:
        """Like `at`, with the folder of the path open."""
        try:
            status = os.lstat(path.rpartition("/")[2], dir_fd=folder)
        except FileNotFoundError:
            return None
        return self.understand(path, status, folder)

    def understand(self, path: str, status: os.stat_result, folder: int) -> Entry:
        """The entry with a status; its content is kept where that is possible."""
        mode = stat.S_IMODE(status.st_mode)
        if stat.S_ISREG(status.st_mode):
            return self._file(path, status, folder)
        if stat.S_ISDIR(status.st_mode):
            return Entry("folder", mode)
        if stat.S_ISLNK(status.st_mode):
            return Entry("link", 0, to_text(os.readlink(path.rpartition("/")[2], dir_fd=folder)))
        return Entry("file", mode, unkept="no regular file")

    @contextmanager
    def open_folder(self, path: str) -> Iterator[int]:
        """Reach a folder below the root, step by step. Raises `OSError`, also where a step is a link."""
        opened = os.open(self.root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for name in filter(None, path.split("/")):
                inner = os.open(name, _STEP, dir_fd=opened)
                os.close(opened)
                opened = inner
            yield opened
        finally:
            os.close(opened)

    def _file(self, path: str, status: os.stat_result, folder: int) -> Entry:
        seen = self.seen.get(path)
        if seen is not None and seen.is_as(status):
            return seen
        young = time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) < YOUNG_NS
        content, unkept = self._content(path, status, folder)
        entry = Entry(
            "file",
            stat.S_IMODE(status.st_mode),
            content,
            status.st_ino,
            status.st_size,
            status.st_mtime_ns,
            0 if young else status.st_ctime_ns,
            unkept,
        )
        if not (content and unkept):
            self.seen[path] = entry
        return entry

    def _content(self, path: str, status: os.stat_result, folder: int) -> tuple[str, str]:
        """Name of a file's content, and why it could not be kept."""
        limit = self.bounds.file_bytes
        if status.st_size > limit:
            return "", f"larger than {limit >> 20} MB"
        try:
            data = _read(path.rpartition("/")[2], folder, status.st_size, limit)
        except FileNotFoundError:
            raise
        except OSError:
            seen = self.seen.get(path)
            known = seen is not None and seen.has_content_as(status)
            return (seen.content, "") if seen and known else ("", "not readable")
        try:
            return self._blobs.keep(data), ""
        except OSError as error:
            return hashlib.sha256(data).hexdigest(), error.strerror or str(error)


def _read(name: str, folder: int, size: int, limit: int) -> bytes:
    """A file that may grow while it is read: not much more than `limit` bytes of it."""
    opened = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    try:
        data = os.read(opened, size + 1)
        while len(data) <= limit and (more := os.read(opened, limit)):
            data += more
        return data
    finally:
        os.close(opened)
