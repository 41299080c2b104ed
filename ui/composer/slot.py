"""Where a screen keeps what is written and not sent: a folder of its own, locked for as long as it lives.

DRAFTS/w-<workspace>-<run>/     0700; a second screen of the run has one with `.2` behind it, and so on
  draft.json                    0600; replaced whole, so it is never half written
  paste-<n>                     0600; each folded paste, written once
  prompt-<pid>.md               0600; a draft that an editor has
"""

import contextlib
import fcntl
import logging
import os
import re
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from ipc.endpoints import workspace_key
from ui.composer import prompt_file
from ui.composer.draft import Draft, Paste, chips_in, folded, folded_again

log = logging.getLogger(__name__)

_FILE: Final = "draft.json"
_PASTE: Final = "paste-"
_SCREENS: Final = 9
"""Screens of a run that keep what is written on them."""


class Kept(NamedTuple):
    """What was not sent when it was written down."""

    session: str = ""
    """The session it was meant for; empty when none had opened."""
    draft: Draft = Draft()
    queue: tuple[Draft, ...] = ()
    sending: Draft | None = None
    """A message that was on its way and may have arrived."""
    turn: int = 0
    """The turn that was the last one when it was sent."""

    @property
    def is_empty(self) -> bool:
        return not (self.draft.text or self.queue or self.sending)

    @property
    def drafts(self) -> tuple[Draft, ...]:
        """All that is written in it."""
        return (self.draft, *self.queue, *(() if self.sending is None else (self.sending,)))


class _Text(NamedTuple):
    """A draft on disk: what is written, in between the numbers of its pastes."""

    parts: tuple[str | int, ...]
    pos: int


class _Written(msgspec.Struct, frozen=True):
    session: str
    draft: _Text
    queue: tuple[_Text, ...]
    sending: _Text | None
    turn: int


class Slot:
    """A folder that belongs to this screen alone."""

    def __init__(self, folder: Path, lock_fd: int) -> None:
        self.folder = folder
        self._lock_fd = lock_fd
        self._orphans: list[tuple[Path, int]] = []
        self._pastes: dict[str, int] = {}
        """The number of the file of each paste that is written down."""
        self._last = max((int(each.name.removeprefix(_PASTE)) for each in _paste_files(folder)), default=0)

    @classmethod
    def open(cls, drafts: Path, workspace: str, run_id: str) -> "Slot":
        """Take a slot of a run, the first that no other screen has. Raises `OSError`."""
        drafts.mkdir(mode=0o700, exist_ok=True)
        for number in range(1, _SCREENS + 1):
            suffix = f".{number}" if number > 1 else ""
            folder = drafts / f"{workspace_key(workspace)}-{run_id}{suffix}"
            folder.mkdir(mode=0o700, exist_ok=True)
            if (lock_fd := _lock(folder)) is not None:
                return cls(folder, lock_fd)
        raise OSError(0, "there are too many screens")

    def read(self) -> Kept:
        """Return what is kept here; nothing when it can not be read."""
        return _read(self.folder)

    def orphans(self, alive: Set[str]) -> list[Kept]:
        """Take over what dead screens of this workspace have left, oldest first. `alive`: ids of runs."""
        found = []
        prefix = self.folder.name.rpartition("-")[0]
        for folder in self.folder.parent.glob(f"{prefix}-*"):
            run_id = folder.name.removeprefix(f"{prefix}-").partition(".")[0]
            if folder == self.folder or run_id in alive:
                continue
            with contextlib.suppress(OSError):
                lock_fd = _lock(folder)
                if lock_fd is not None:
                    written = _written_at(folder)
                    found.append((written, folder, _read(folder), lock_fd))
        found.sort(key=lambda each: each[:2])
        self._orphans = [(folder, lock_fd) for _, folder, _, lock_fd in found]
        return [kept for _, _, kept, _ in found if not kept.is_empty]

    def forget_found(self) -> None:
        """Remove what was taken over: it is kept in `draft.json` now."""
        for folder, lock_fd in self._orphans:
            _remove(folder)
            os.close(lock_fd)
        self._orphans = []
        prompt_file.remove(self.folder)

    def write(self, kept: Kept) -> None:
        """Replace what is kept, each paste being written once. Raises `OSError`."""
        if not self.folder.is_dir():
            self._make_again()
        self._write_pastes({paste.text for draft in kept.drafts for paste in draft.chips.values()})
        written = _Written(
            kept.session,
            self._on_disk(kept.draft),
            tuple(map(self._on_disk, kept.queue)),
            None if kept.sending is None else self._on_disk(kept.sending),
            kept.turn,
        )
        fresh = self.folder / f"{_FILE}.new"
        _write(fresh, msgspec.json.encode(written))
        fresh.replace(self.folder / _FILE)
        for file in _paste_files(self.folder):
            if int(file.name.removeprefix(_PASTE)) not in self._pastes.values():
                file.unlink()

    def close(self) -> None:
        """Leave; a slot in which nothing is kept goes."""
        if self.read().is_empty:
            _remove(self.folder)
        self.release()

    def release(self) -> None:
        """Let another screen have what is kept here."""
        os.close(self._lock_fd)

    def _make_again(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True)
        lock_fd, before = _lock(self.folder), self._lock_fd
        if lock_fd is not None:
            self._lock_fd, self._pastes = lock_fd, {}
            os.close(before)

    def _write_pastes(self, texts: Set[str]) -> None:
        self._pastes = {text: number for text, number in self._pastes.items() if text in texts}
        for text in texts - self._pastes.keys():
            self._last += 1
            _write(self.folder / f"{_PASTE}{self._last}", text.encode())
            self._pastes[text] = self._last

    def _on_disk(self, draft: Draft) -> _Text:
        parts: list[str | int] = []
        at = 0
        for place, chip in chips_in(draft.text):
            parts += draft.text[at:place], self._pastes[draft.chips[chip].text]
            at = place + 1
        return _Text((*parts, draft.text[at:]), draft.pos)


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
        kept = _decoded(folder)
    except FileNotFoundError:
        kept = Kept()
    except (OSError, msgspec.DecodeError) as error:
        log.warning("a draft can not be read: %s", error)
        kept = Kept()
    saved = prompt_file.left_in(folder)
    return kept._replace(draft=folded_again(saved, kept.draft.chips)) if saved else kept


def _decoded(folder: Path) -> Kept:
    written = msgspec.json.decode((folder / _FILE).read_bytes(), type=_Written)
    sending = None if written.sending is None else _draft(folder, written.sending)
    queue = tuple(_draft(folder, each) for each in written.queue)
    return Kept(written.session, _draft(folder, written.draft), queue, sending, written.turn)


def _draft(folder: Path, written: _Text) -> Draft:
    chips: dict[str, Paste] = {}
    text = ""
    for part in written.parts:
        text += part if isinstance(part, str) else folded(_paste(folder, part), chips)
    return Draft(text, written.pos, chips)


def _paste(folder: Path, number: int) -> str:
    try:
        return (folder / f"{_PASTE}{number}").read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        log.warning("a paste can not be read: %s", error)
        return ""


def _paste_files(folder: Path) -> Iterator[Path]:
    return (file for file in folder.glob(f"{_PASTE}*") if re.fullmatch(f"{_PASTE}[0-9]+", file.name))


def _write(file: Path, data: bytes) -> None:
    fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with open(fd, "wb") as opened:
        opened.write(data)


def _written_at(folder: Path) -> float:
    with contextlib.suppress(OSError):
        return (folder / _FILE).stat().st_mtime
    return 0.0


def _remove(folder: Path) -> None:
    with contextlib.suppress(OSError):
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()
