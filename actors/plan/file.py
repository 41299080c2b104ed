"""The plan on disk: read with suspicion, replaced atomically, never written over an edit it has not seen."""

import errno
import os
import stat
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NoReturn

import msgspec

from actors.files.durable import sync_folder
from actors.plan.exchange import Unsupported, exchange, move_to_free
from actors.plan.rules import check_stored, normalize_plan
from ipc.messages import Plan

NAME: Final = ".fido-plan.json"
FORMAT: Final = 1
MAX_BYTES: Final = 1024 * 1024
"""Larger files are not read; a plan of 20 full items takes about 100 KB."""
_MAX_REVISION: Final = 2**53 - 1
Later = Callable[[Callable[[], None]], object]
_FRESH: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_REASON_SHOWN: Final = 300


class StoreFailed(Exception):
    """The plan was not stored; the file is as before."""


class StoreUncertain(Exception):
    """The plan is in the file, but the disk did not confirm that it will stay there."""


class ChangedOutside(Exception):
    """Somebody else has changed the file since it was last read or written here: load it again."""


class Loaded(msgspec.Struct, frozen=True):
    """What a read of the file brought."""

    plan: Plan
    """Normalized; the empty plan when there is no usable file."""
    found: bool = False
    """Whether the plan is the file's."""
    warning: str = ""
    """What was wrong with the file and where it is now, for a person."""


class _UnusableError(Exception):
    """The file is no plan; the text completes a sentence that begins with its path."""


class _Version(msgspec.Struct):
    version: int = FORMAT


_decode = msgspec.json.Decoder(Plan).decode
_decode_version = msgspec.json.Decoder(_Version).decode


def _at_once(work: Callable[[], None]) -> None:
    work()


class PlanFile:
    """The plan file of a workspace, as the one process that may write it sees it."""

    def __init__(self, workspace: Path) -> None:
        self.path = workspace / NAME
        self._folder = workspace
        self._temporary = workspace / f"{NAME}.tmp"
        self._known: bytes | None = None

    def load(self) -> Loaded:
        """Read the plan. What can not be used is set aside and told, never raised."""
        self._known = None
        _remove(self._temporary)
        try:
            content = _read(self.path)
            plan = _understand(content)
        except FileNotFoundError:
            return Loaded(Plan())
        except _UnusableError as reason:
            return Loaded(Plan(), warning=self._set_aside(str(reason)))
        except OSError as error:
            return Loaded(Plan(), warning=self._set_aside(f"can not be read ({error.strerror})"))
        self._known = content
        return Loaded(plan, found=True)

    def is_unchanged(self) -> bool:
        """Whether the file is as it was last read or written here. Raises `OSError` when nobody can tell.

        Compares the content: a time stamp does not see a second edit within one clock tick.
        """
        try:
            return _read(self.path) == self._known
        except FileNotFoundError:
            return self._known is None
        except _UnusableError:
            return False

    def store(self, plan: Plan, later: Later = _at_once) -> None:
        """Replace the file; durable when this returns.

        `later` is given what is left to do then: to remove the plan before. Raises `ChangedOutside` and
        `StoreFailed` (nothing was written), `StoreUncertain` (it was).
        """
        content = encode(plan)
        try:
            _write(self._temporary, content)
            replaced = self._replace(content)
        except OSError as error:
            self._reconcile(content, error)
        if not replaced:
            _remove(self._temporary)
            raise ChangedOutside(f"{self.path} was changed by another program")
        self._known = content
        try:
            sync_folder(self._folder)
        except OSError as error:
            self._reconcile(content, error)
        later(lambda: _remove(self._temporary))

    def _replace(self, content: bytes) -> bool:
        """Put the new content in its place, unless something unknown is there; also in the last moment."""
        try:
            if self._known is None:
                move_to_free(self._temporary, self.path)
                return True
            exchange(self._temporary, self.path)
        except (FileNotFoundError, FileExistsError):
            return False
        except Unsupported:
            if unchanged := self.is_unchanged():
                self._temporary.rename(self.path)
            return unchanged
        if _holds(self._temporary, self._known):
            return True
        exchange(self._temporary, self.path)
        return False

    def _reconcile(self, content: bytes, error: OSError) -> NoReturn:
        """Look what the file holds after an error, and say it."""
        try:
            arrived = _holds(self.path, content)
        except OSError:
            arrived = False
        if arrived:
            self._known = content
            raise StoreUncertain(f"{self.path} was written, but {error.strerror}") from error
        _remove(self._temporary)
        raise StoreFailed(f"{self.path} can not be written: {error.strerror}") from error

    def _set_aside(self, reason: str) -> str:
        """Move what is in the plan's place away, and say so."""
        kept = _free_name(self.path)
        what = f"{self.path} {reason[:_MAX_REASON_SHOWN]}."
        try:
            self.path.rename(kept)
        except OSError as error:
            return f"{what} It can not be moved away ({error.strerror}); no plan is stored until it is."
        return f"{what} It was kept as {kept.name}; the plan starts empty."


def peek(workspace: Path) -> Loaded:
    """Read the plan for a look; what can not be used stays where it is, and is told."""
    path = workspace / NAME
    try:
        return Loaded(_understand(_read(path)), found=True)
    except FileNotFoundError:
        return Loaded(Plan())
    except _UnusableError as reason:
        return Loaded(Plan(), warning=f"{path} {str(reason)[:_MAX_REASON_SHOWN]}.")
    except OSError as error:
        return Loaded(Plan(), warning=f"{path} can not be read ({error.strerror}).")


def encode(plan: Plan) -> bytes:
    """The file's content: same plan, same bytes."""
    return msgspec.json.format(msgspec.json.encode(plan), indent=2) + b"\n"


def _read(path: Path) -> bytes:
    """A regular file of bearable size, whole. Raises `_UnusableError`, `OSError`."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _UnusableError("is a symbolic link") from error
        if error.errno == errno.ENXIO:
            raise _UnusableError("is not a regular file") from error
        raise
    try:
        facts = os.fstat(fd)
        if not stat.S_ISREG(facts.st_mode):
            raise _UnusableError("is not a regular file")
        if facts.st_size > MAX_BYTES:
            raise _UnusableError(f"has {facts.st_size} bytes; a plan has at most {MAX_BYTES}")
        with open(fd, "rb", buffering=0, closefd=False) as file:
            return file.readall()
    finally:
        os.close(fd)


def _understand(content: bytes) -> Plan:
    try:
        version = _decode_version(content).version
        if version > FORMAT:
            raise _UnusableError(f"was written by a newer Fido (format {version}, this one knows {FORMAT})")
        plan = normalize_plan(_decode(content))
        if plan.updated_at:
            datetime.fromisoformat(plan.updated_at)
    except (ValueError, RecursionError) as error:
        raise _UnusableError(f"is damaged: {error}") from error
    if plan.version != FORMAT or not 0 <= plan.revision <= _MAX_REVISION:
        raise _UnusableError("is damaged: version or revision is out of range")
    if problems := check_stored(plan):
        raise _UnusableError(f"holds no legal plan: {problems[0].item}: {problems[0].message}")
    return plan


def _holds(path: Path, content: bytes) -> bool:
    try:
        return _read(path) == content
    except _UnusableError:
        return False


def _write(path: Path, content: bytes) -> None:
    """A fresh file of our own, on the disk; whatever was under that name is no longer."""
    try:
        fd = os.open(path, _FRESH, 0o600)
    except FileExistsError:
        path.unlink()
        fd = os.open(path, _FRESH, 0o600)
    try:
        written = os.write(fd, content)
        while written < len(content):
            written += os.write(fd, content[written:])
        os.fsync(fd)
    finally:
        os.close(fd)


def _remove(path: Path) -> None:
    try:
        path.unlink()
    except OSError:
        pass


def _free_name(path: Path) -> Path:
    stem = f"{path.name}.bad-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}"
    candidate, number = path.with_name(stem), 1
    while os.path.lexists(candidate):
        number += 1
        candidate = path.with_name(f"{stem}-{number}")
    return candidate
