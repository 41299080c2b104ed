"""Puts new content in a file's place in one step, and sweeps what a killed process left unfinished."""

import contextlib
import errno
import fcntl
import os
import re
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from actors.directories import make_private

_TEMPORARY = re.compile(r"\.fido-[0-9a-f]{16}\.tmp")
_TRIES = 3


class Changed(OSError):
    """Another program was quicker: the file is no longer the one that was to be replaced."""

    def __init__(self, path: Path) -> None:
        super().__init__(errno.EBUSY, "it was changed at this very moment", str(path))


class Replacements:
    """Writes beside the file, then renames; which file it writes is noted, for the case that it is killed."""

    def __init__(self, notes: Path | None = None) -> None:
        """`notes` is a folder where each process has its note; without one nothing is noted or swept."""
        self._notes = notes
        self._note = -1

    def replace(self, path: Path, data: bytes, like: os.stat_result | None) -> None:
        """Put `data` in place of a file: a reader sees the old or the new, never a part.

        `like` is the old file's status, whose mode, attributes and, where possible, owner are kept; null for
        a new file. Raises `OSError`, `Changed` when the file is another by now.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with self.beside(path) as temporary:
            opened = os.open(temporary, flags, 0o600 if like else 0o666)
            with open(opened, "wb") as file:
                file.write(data)
                if like:
                    _restore(opened, like, path)
                file.flush()
                os.fsync(opened)
            if not _is_still(path, like):
                raise Changed(path)
            temporary.replace(path)

    def sweep(self) -> None:
        """Remove what processes that are no more were writing when they were killed, and nothing else."""
        if self._notes is None:
            return
        with contextlib.suppress(OSError):
            for note in list(self._notes.iterdir()):
                with contextlib.suppress(OSError):
                    _sweep(note)

    @contextlib.contextmanager
    def beside(self, path: Path) -> Iterator[Path]:
        """A name for a file beside another, noted until the block ends; what then has the name is removed."""
        temporary = path.with_name(f".fido-{secrets.token_hex(8)}.tmp")
        with contextlib.suppress(OSError):
            self._write_note(os.fsencode(temporary))
        try:
            yield temporary
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
                self._write_note(b"")

    def _write_note(self, text: bytes) -> None:
        if self._note < 0 and self._notes is not None:
            self._note = _own_note(self._notes)
        if self._note >= 0:
            os.ftruncate(self._note, 0)
            os.pwrite(self._note, text, 0)


def _own_note(folder: Path) -> int:
    """A new note, locked as long as this process lives. Raises `OSError`."""
    make_private(folder)
    for _ in range(_TRIES):
        path = folder / secrets.token_hex(8)
        opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(opened, fcntl.LOCK_EX)
        if path.exists():  # else another process took it for one that is left, before it was locked
            return opened
        os.close(opened)
    raise FileNotFoundError(errno.ENOENT, "its note is swept again and again", str(folder))


def _sweep(note: Path) -> None:
    opened = os.open(note, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        named = Path(os.fsdecode(os.read(opened, 1 << 16)))
        if _TEMPORARY.fullmatch(named.name):
            with contextlib.suppress(FileNotFoundError):
                if stat.S_ISREG(named.lstat().st_mode):
                    named.unlink()
        note.unlink()
    finally:
        os.close(opened)


def _is_still(path: Path, like: os.stat_result | None) -> bool:
    """Whether the file is the one with that status, or still missing."""
    try:
        now = path.lstat()
    except FileNotFoundError:
        return like is None
    return like is not None and _identity(now) == _identity(like)


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _restore(opened: int, like: os.stat_result, path: Path) -> None:
    """Give a new file the owner, the attributes and the mode of the old one, as far as it may be done."""
    mode = stat.S_IMODE(like.st_mode)
    try:
        os.fchown(opened, like.st_uid, like.st_gid)
    except PermissionError:
        mode &= ~(stat.S_ISUID | stat.S_ISGID)  # they would act for another owner now
    for name in _attributes(path):
        with contextlib.suppress(OSError):
            os.setxattr(opened, name, os.getxattr(path, name))
    os.fchmod(opened, mode)


def _attributes(path: Path) -> list[str]:
    """Names of the extended attributes, the access list among them; none where there are no such things."""
    try:
        return os.listxattr(path)
    except OSError:
        return []
