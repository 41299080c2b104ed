"""Where the whole output of commands is kept: a folder of the session, bounded; the oldest goes first."""

import contextlib
import os
import re
import shutil
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from actors.directories import make_private
from actors.files.held import hold, is_held

_NAME: Final = re.compile(r"(\d{4,9})\.txt")
_CHUNK: Final = 1 << 20
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_UNCLEAN: Final = ".unclean"
"""Lies in a folder from its first file on until a session has ended in good order."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bytes and numbers."""

    session_bytes: int = 256 << 20
    """Of one session."""
    sessions: int = 20
    sessions_bytes: int = 512 << 20
    """Of all sessions, the running one aside."""


class Outputs:
    """The folder of one session; it is made when the first command runs, and held while the session does."""

    def __init__(self, folder: Path, secrets: Iterable[str] = (), bounds: Bounds | None = None) -> None:
        """`folder` is the session's own; its neighbours are those of other sessions.

        `secrets` are texts, in every form they may take, that no file is to hold.
        """
        self.folder = folder
        self._secrets = tuple(os.fsencode(secret) for secret in secrets)
        self._bounds = bounds or Bounds()
        self._held = -1
        self._number = 0
        self._clean_at: dict[str, int] = {}
        """How many bytes each file had when it was cleaned last."""

    def mend(self) -> None:
        """Clean what sessions that were killed have left; once, before the first command."""
        for mark in self.folder.parent.glob(f"*/{_UNCLEAN}") if self._secrets else ():
            with contextlib.suppress(OSError):
                if not is_held(mark.parent):
                    for _, entry in _kept(mark.parent):
                        self.clean(entry.path)
                    mark.unlink()
        self._clean_at.clear()

    def place(self) -> str:
        """Path for the next command's output, not there yet; empty when the folder can not be had."""
        try:
            self._hold()
            self._drop_oldest()
        except OSError:
            return ""
        self._number += 1
        file = str(self.folder / f"{self._number:04}.txt")
        self._clean_at[file] = 0
        return file

    def temporary(self) -> Path:
        """A folder for the temporary files of commands, until the session ends. Raises `OSError`."""
        self._hold()
        folder = self.folder / "tmp"
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def clean(self, file: str) -> None:
        """Blot out the secrets in a file, in their place: who still writes it goes on where it was."""
        if self._secrets and file:
            with contextlib.suppress(OSError):
                size = Path(file).lstat().st_size
                _blot_out(file, self._secrets)
                self._clean_at[file] = size

    def close(self) -> None:
        """Let go of the folder, when nothing writes to it any more; what only a session needs is removed."""
        if self._held >= 0:
            shutil.rmtree(self.folder / "tmp", ignore_errors=True)
            with contextlib.suppress(OSError):
                self._clean_rest()
                (self.folder / _UNCLEAN).unlink(missing_ok=True)
                self.folder.rmdir()
            os.close(self._held)
            self._held = -1

    def _hold(self) -> None:
        if self._held >= 0:
            return
        make_private(self.folder)
        held = os.open(self.folder, _FOLDER)
        try:
            hold(held)
            if self._secrets:
                (self.folder / _UNCLEAN).touch(mode=0o600)
            self._number = max((number for number, _ in _kept(self.folder)), default=0)
        except OSError:
            os.close(held)
            raise
        self._held = held
        shutil.rmtree(self.folder / "tmp", ignore_errors=True)
        _sweep(self.folder, self._bounds)

    def _clean_rest(self) -> None:
        """Clean what has grown since it was cleaned: the output of a job that ends with the session."""
        sizes = {entry.path: entry.stat(follow_symlinks=False).st_size for _, entry in _kept(self.folder)}
        for file, size in self._clean_at.items():
            if sizes.get(file, size) != size:
                self.clean(file)

    def _drop_oldest(self) -> None:
        total = 0
        for _, entry in sorted(_kept(self.folder), reverse=True, key=lambda kept: kept[0]):
            total += entry.stat(follow_symlinks=False).st_size
            if total > self._bounds.session_bytes:
                Path(entry.path).unlink()


def _kept(folder: Path) -> "list[tuple[int, os.DirEntry[str]]]":
    """Number and entry of every output in a folder."""
    with os.scandir(folder) as entries:
        named = [(_NAME.fullmatch(entry.name), entry) for entry in entries]
    return [(int(name[1]), entry) for name, entry in named if name]


def _blot_out(file: str, secrets: Collection[bytes]) -> None:
    overlap = max(map(len, secrets))
    at = 0
    with open(os.open(file, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC), "r+b", buffering=0) as opened:
        while chunk := os.pread(opened.fileno(), _CHUNK, at):
            for secret in secrets:
                found = chunk.find(secret)
                while found >= 0:
                    os.pwrite(opened.fileno(), b"*" * len(secret), at + found)
                    found = chunk.find(secret, found + len(secret))
            at += max(len(chunk) - overlap, 1) if len(chunk) == _CHUNK else len(chunk)


def _sweep(newest: Path, bounds: Bounds) -> None:
    """Remove the oldest sessions' folders beside `newest`, past the number and the bytes that are kept."""
    total = 0
    found = [(entry.stat().st_mtime_ns, entry) for entry in newest.parent.iterdir() if entry != newest]
    for number, (_, folder) in enumerate(sorted(found, reverse=True), 2):
        with contextlib.suppress(OSError):
            total += sum(entry.stat(follow_symlinks=False).st_size for _, entry in _kept(folder))
        if (number > bounds.sessions or total > bounds.sessions_bytes) and not is_held(folder):
            shutil.rmtree(folder, ignore_errors=True)
