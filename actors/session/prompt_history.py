"""What was prompted in a workspace, in whatever session: a file of one prompt a line, shared by its runs."""

import contextlib
import fcntl
import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from threading import Thread
from typing import Final

import msgspec

from actors.clock import timestamp
from actors.directories import make_private
from actors.files.regular import open_regular

MOST: Final = 1_000
"""Prompts that are told, and that outlast a rewriting."""
LONGEST: Final = 128 * 1024
"""Bytes of a prompt; a longer one is a paste that nobody looks for."""
FULL: Final = 4 * 1024 * 1024
"""Bytes past which the file is written anew, and of which no more are read."""
KEPT: Final = FULL // 2
LOCK_WAIT_S: Final = 1.0
_LOCK_TRY_S: Final = 0.002

log = logging.getLogger(__name__)


class _Line(msgspec.Struct, frozen=True):
    at: str
    prompt: str


class PromptHistory:
    """One workspace's prompts. What fails here is logged, and costs no prompt its turn."""

    def __init__(self, path: Path, redact: Callable[[str], str]) -> None:
        """`redact` takes the secrets out of what is written, and out of what is told."""
        self._path = path
        self._redact = redact
        self._late: list[Thread] = []
        """Each writes down a prompt that met the lock of another run."""

    def add(self, prompt: str) -> None:
        """Write a prompt down; it outlasts the death of this process when this returns.

        Nobody waits for another run that is at it just then: a thread does, and writes it down in a moment.
        """
        prompt = self._redact(prompt).encode("utf-8", "replace").decode()
        line = msgspec.json.encode(_Line(timestamp(), prompt)) + b"\n"
        if len(line) <= LONGEST and not self._added(line, wait_s=0.0):
            self._late = [each for each in self._late if each.is_alive()]
            self._late.append(Thread(target=self._added, args=(line, LOCK_WAIT_S)))
            self._late[-1].start()

    def finish(self) -> None:
        """Wait until what other runs have held up is written down, a second at the most."""
        for late in self._late:
            late.join()

    def _added(self, line: bytes, wait_s: float) -> bool:
        """Append a line; return False when nobody is to wait for the lock. Who has it may be stopped."""
        try:
            make_private(self._path.parent)
            with _locked(self._path.with_name("lock"), wait_s) as alone:
                if not (alone or wait_s):
                    return False
                if _append(self._path, line) > FULL and alone:
                    self._write_anew()
        except OSError as error:
            log.warning("the prompt was not added to %s: %s", self._path, error.strerror)
        return True

    def told(self) -> tuple[str, ...]:
        """Return the prompts, each once, the newest first."""
        try:
            return tuple(dict.fromkeys(self._redact(line.prompt) for line in self._newest()))
        except FileNotFoundError:
            return ()
        except OSError as error:
            log.warning("%s can not be read: %s", self._path, error.strerror)
            return ()

    def _newest(self) -> list[_Line]:
        """Read the last lines, each prompt once, the newest first; what is damaged is passed over."""
        with open(open_regular(self._path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - FULL))
            lines = file.read().split(b"\n")
        once: dict[str, _Line] = {}
        for line in _decoded(reversed(lines)):
            once.setdefault(line.prompt, line)
            if len(once) == MOST:
                break
        return list(once.values())

    def _write_anew(self) -> None:
        kept: list[bytes] = []
        room = KEPT
        for line in self._newest():
            encoded = msgspec.json.encode(line) + b"\n"
            room -= len(encoded)
            if room < 0:
                break
            kept.append(encoded)
        fresh = self._path.with_suffix(".new")
        fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with open(fd, "wb") as file:
            file.writelines(reversed(kept))
        fresh.replace(self._path)


def _append(path: Path, line: bytes) -> int:
    """Append a line, behind a torn one too; return the size of the file."""
    fd = os.open(
        path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600
    )
    try:
        size = os.fstat(fd).st_size
        is_torn = size > 0 and os.pread(fd, 1, size - 1) != b"\n"
        os.write(fd, b"\n" + line if is_torn else line)
        return os.fstat(fd).st_size
    finally:
        os.close(fd)


def _decoded(lines: Iterable[bytes]) -> Iterator[_Line]:
    for line in lines:
        with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError):
            yield msgspec.json.decode(line, type=_Line)


@contextlib.contextmanager
def _locked(path: Path, wait_s: float) -> Iterator[bool]:
    """Hold the lock, which others hold for milliseconds; tell whether it is held."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        yield _lock(fd, time.monotonic() + wait_s)
    finally:
        os.close(fd)


def _lock(fd: int, until: float) -> bool:
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(_LOCK_TRY_S)
        else:
            return True
