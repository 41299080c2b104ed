"""Where a screen keeps what is written and not sent: a folder of its own, locked for as long as it lives.

DRAFTS/w-<workspace>-<run>/     0700
  draft.json                    0600; replaced whole, so it is never half written
"""

import contextlib
import fcntl
import logging
import os
from collections.abc import Set
from pathlib import Path
from typing import Final

import msgspec

from ipc.endpoints import workspace_key
from ui.composer.draft import Draft

log = logging.getLogger(__name__)

_FILE: Final = "draft.json"


class Kept(msgspec.Struct, frozen=True):
    """What was not sent when it was written down."""

    session: str = ""
    """The session it was meant for; empty when none had opened."""
    draft: Draft = Draft()
    queue: tuple[Draft, ...] = ()
    sending: Draft | None = None
    """A message that was on its way and may have arrived."""
    turn: int = 0
    """The turn that was the last one when it was sent."""

    def __bool__(self) -> bool:
        return bool(self.draft.text or self.queue or self.sending)


class Slot:
    """A folder that belongs to this screen alone."""

    def __init__(self, folder: Path, lock_fd: int) -> None:
        self._folder = folder
        self._lock_fd = lock_fd
        self._orphans: list[tuple[Path, int]] = []

    @classmethod
    def open(cls, drafts: Path, workspace: str, run_id: str) -> "Slot | None":
        """Take the slot of a run; None when another screen has it, or nothing can be kept there."""
        folder = drafts / f"{workspace_key(workspace)}-{run_id}"
        try:
            drafts.mkdir(mode=0o700, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
            lock_fd = _lock(folder)
        except OSError as error:
            log.warning("drafts are not kept: %s", error)
            return None
        return None if lock_fd is None else cls(folder, lock_fd)

    def read(self) -> Kept:
        """Return what is kept here; nothing when it can not be read."""
        return _read(self._folder)

    def orphans(self, alive: Set[str]) -> list[Kept]:
        """Take over what dead screens of this workspace have left, oldest first. `alive`: ids of runs."""
        found = []
        prefix = self._folder.name.rpartition("-")[0]
        for folder in self._folder.parent.glob(f"{prefix}-*"):
            if folder == self._folder or folder.name.removeprefix(f"{prefix}-") in alive:
                continue
            with contextlib.suppress(OSError):
                lock_fd = _lock(folder)
                if lock_fd is not None:
                    written = _written_at(folder)
                    found.append((written, folder, _read(folder), lock_fd))
        found.sort(key=lambda each: each[:2])
        self._orphans = [(folder, lock_fd) for _, folder, _, lock_fd in found]
        return [kept for _, _, kept, _ in found if kept]

    def forget_orphans(self) -> None:
        """Remove what was taken over: it is kept here now."""
        for folder, lock_fd in self._orphans:
            _remove(folder)
            os.close(lock_fd)
        self._orphans = []

    def write(self, kept: Kept) -> None:
        """Replace what is kept. Raises `OSError`."""
        fresh = self._folder / f"{_FILE}.new"
        fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with open(fd, "wb") as file:
            file.write(msgspec.json.encode(kept))
        fresh.replace(self._folder / _FILE)

    def close(self) -> None:
        """Leave; a slot in which nothing is kept goes."""
        if not self.read():
            _remove(self._folder)
        self.release()

    def release(self) -> None:
        """Let another screen have what is kept here."""
        os.close(self._lock_fd)


def _lock(folder: Path) -> int | None:
    """Lock a folder; None when somebody has it, or it has gone meanwhile."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    with contextlib.suppress(OSError):
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(fd), folder.stat()):
            return fd
    os.close(fd)
    return None


def _read(folder: Path) -> Kept:
    try:
        return msgspec.json.decode((folder / _FILE).read_bytes(), type=Kept)
    except FileNotFoundError:
        return Kept()
    except (OSError, msgspec.DecodeError) as error:
        log.warning("a draft can not be read: %s", error)
        return Kept()


def _written_at(folder: Path) -> float:
    with contextlib.suppress(OSError):
        return (folder / _FILE).stat().st_mtime
    return 0.0


def _remove(folder: Path) -> None:
    with contextlib.suppress(OSError):
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()
