"""Contents that were kept: one append-only file a session, each content once, found by its SHA-256.

One file and not thousands: keeping 20,000 files is one sequential write, dropping them one unlink.
A record is the digest, the length and the bytes; what a crash leaves unfinished at the end is cut off.
"""

import contextlib
import errno
import hashlib
import os
import shutil
import struct
from pathlib import Path
from typing import Final

from actors.directories import make_private
from actors.files.held import hold, is_held
from actors.undo.bounds import Bounds

CONTENTS: Final = "contents"
_OPEN: Final = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
_HEAD: Final = struct.Struct("<32sQ")


class ContentLost(Exception):
    """A content is not in the store, or not as it was kept."""


class StoreFull(OSError):
    """The session has kept as much as it may."""


class Blobs:
    """The store of one session; its folder is made when the first content is kept."""

    def __init__(self, folder: Path, bounds: Bounds) -> None:
        """`folder` is the session's own; its neighbours are those of other sessions."""
        self.folder = folder
        self._bounds = bounds
        self._fd = -1
        self._size = 0
        self._at: dict[str, int] = {}

    def has(self, digest: str) -> bool:
        self._open_existing()
        return digest in self._at

    def keep(self, data: bytes) -> str:
        """Keep a content and return its name. Raises `OSError`, after which the store is as before."""
        digest = hashlib.sha256(data)
        name = digest.hexdigest()
        self.hold()
        if name in self._at:
            return name
        record = _HEAD.pack(digest.digest(), len(data)) + data
        if self._size + len(record) > self._bounds.session_bytes:
            raise StoreFull(f"more than {self._bounds.session_bytes >> 20} MB were kept in this session")
        try:
            _write_all(self._fd, record)
        except OSError:
            os.ftruncate(self._fd, self._size)
            raise
        self._at[name] = self._size
        self._size += len(record)
        return name

    def get(self, digest: str) -> bytes:
        """A content that was kept. Raises `ContentLost`, also when the disk gives back something else."""
        self._open_existing()
        if digest not in self._at:
            raise ContentLost(digest)
        offset = self._at[digest]
        try:
            _, length = _HEAD.unpack(os.pread(self._fd, _HEAD.size, offset))
            data = os.pread(self._fd, length, offset + _HEAD.size)
        except (OSError, struct.error) as error:
            raise ContentLost(digest) from error
        if hashlib.sha256(data).hexdigest() != digest:
            raise ContentLost(digest)
        return data

    def touch(self) -> None:
        """Leave the mark that a call is running now. Raises `OSError`."""
        self.hold()
        os.utime(self._fd)

    def touched(self) -> float:
        """When the last mark was left, seconds since 1970; 0 when there is none."""
        try:
            return (self.folder / CONTENTS).stat().st_mtime
        except OSError:
            return 0.0

    def close(self) -> None:
        """Give the file free; the next use opens it again."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            self._at.clear()

    def hold(self) -> None:
        """Have the folder and hold it: one that is held is never swept. Raises `OSError`."""
        if self._fd >= 0:
            return
        make_private(self.folder)
        self._take(_OPEN | os.O_CREAT)
        sweep(self.folder, self._bounds)

    def _open_existing(self) -> None:
        if self._fd < 0:
            with contextlib.suppress(OSError):
                self._take(_OPEN)

    def _take(self, flags: int) -> None:
        """Open, hold and read what was kept; with an `OSError` nothing is open."""
        path = self.folder / CONTENTS
        fd = os.open(path, flags, 0o600)
        try:
            hold(fd)
            if not os.path.samestat(os.fstat(fd), path.stat()):
                raise FileNotFoundError(errno.ENOENT, "it was swept at this very moment", str(path))
            self._at, self._size = _read_index(fd)
        except OSError:
            os.close(fd)
            raise
        self._fd = fd


def _read_index(fd: int) -> tuple[dict[str, int], int]:
    """Where each content stands, and where the next one goes; an unfinished end is cut off."""
    at: dict[str, int] = {}
    end, offset = os.fstat(fd).st_size, 0
    while offset + _HEAD.size <= end:
        digest, length = _HEAD.unpack(os.pread(fd, _HEAD.size, offset))
        if offset + _HEAD.size + length > end:
            break
        at[digest.hex()] = offset
        offset += _HEAD.size + length
    if offset < end:
        os.ftruncate(fd, offset)
    return at, offset


def sweep(newest: Path, bounds: Bounds) -> None:
    """Remove the oldest sessions' folders beside `newest`, past the number and the bytes that are kept."""
    found = [_age_and_size(folder) for folder in newest.parent.iterdir() if folder != newest]
    total = 0
    for number, (_, size, folder) in enumerate(sorted(found, reverse=True), 2):
        total += size
        if (number > bounds.sessions or total > bounds.sessions_bytes) and not is_held(folder / CONTENTS):
            shutil.rmtree(folder, ignore_errors=True)


def _age_and_size(folder: Path) -> tuple[int, int, Path]:
    try:
        status = (folder / CONTENTS).lstat()
    except OSError:
        status = folder.lstat()
    return status.st_mtime_ns, status.st_size, folder


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
