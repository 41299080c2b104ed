"""The append-only file of a session: one event a line, one write a line, one writer.

A line is `{"seq":N,"crc":C,"event":{...}}`; the checksum covers the number and the event's bytes. What a
power cut or a bad disk leaves behind costs the lines it hit and no others. On a full disk lines wait, in
order, until there is room.
"""

import contextlib
import errno
import fcntl
import os
from collections import deque
from pathlib import Path
from typing import Final
from zlib import crc32

from actors.directories import make_private
from actors.files.durable import sync_folder
from actors.session.events import AnyEvent, SessionStarted
from actors.session.log_failed import NO_SPACE, LogFailed, failed
from actors.session.records import Fold, Recovery, Skipped, encode_event, open_regular, read_log, recover
from ipc.endpoints import SESSION_ID

__all__ = ["LogFailed", "Recovery", "SessionLog", "Skipped", "read_log"]

_OPEN: Final = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW


class SessionLog:
    """The one writer of one session's log; made by `create` or `open`."""

    __slots__ = ("_broken", "_fd", "_identity", "_seq", "_size", "_waiting", "path")

    def __init__(self, path: Path, fd: int, seq: int, size: int) -> None:
        self.path = path
        self._fd = fd
        self._seq = seq
        self._size = size
        self._waiting: deque[bytes] = deque()
        """Lines that found no room, oldest first; the conversation holds most of these bytes anyway."""
        self._broken: LogFailed | None = None
        self._identity = _identity(os.fstat(fd))

    @classmethod
    def create(
        cls, directory: Path, session_id: str, header: SessionStarted, *events: AnyEvent
    ) -> "SessionLog":
        """Begin the log of a new session, durable when this returns. Raises `LogFailed`.

        An empty file is what a power cut leaves of a session that was about to begin.
        """
        if not SESSION_ID.fullmatch(session_id):
            raise ValueError(f"not a session id: {session_id!r}")
        path = directory / f"{session_id}.jsonl"
        try:
            make_private(directory)
            fd = os.open(path, _OPEN | os.O_CREAT, 0o600)
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(fd).st_size:
                os.close(fd)
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        except OSError as error:
            raise failed(error, f"The session log {path} can not be created") from error
        log = cls(path, fd, 0, 0)
        try:
            for event in (header, *events):
                log.append(event)
            log.sync()
            sync_folder(directory)
        except OSError as error:
            log.close()
            raise failed(error, f"The session log {path} can not be made durable") from error
        except LogFailed:
            log.close()
            path.unlink(missing_ok=True)
            raise
        return log

    @classmethod
    def open(cls, path: Path, *folds: Fold) -> tuple["SessionLog", Recovery]:
        """Take an earlier session's log over for writing. Raises `LogFailed`.

        With `folds` each event goes to all of them as it is read; without, the recovery holds them.
        """
        fd = open_regular(path, _OPEN)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            content = recover(fd, path, folds)
            if content.recovery.torn_bytes:
                os.ftruncate(fd, content.size)
                os.fsync(fd)
        except BlockingIOError:
            os.close(fd)
            raise LogFailed(
                "session_in_use",
                f"Session {path.stem} is running in another Fido process.",
                "Use that one, or end it first.",
            ) from None
        except OSError as error:
            os.close(fd)
            raise failed(error, f"The session log {path} can not be read") from error
        except LogFailed:
            os.close(fd)
            raise
        return cls(path, fd, content.next_seq, content.size), content.recovery

    def append(self, event: AnyEvent) -> None:
        """Write one event; it survives the death of this process when this returns.

        Raises `LogFailed`; with `log_full` the event waits for the next call that finds room.
        """
        if self._broken:
            raise self._broken
        body = encode_event(event)
        self._waiting.append(b'{"seq":%d,"crc":%d,"event":%b}\n' % (self._seq, crc32(body, self._seq), body))
        self._seq += 1
        self._write_waiting()

    def sync(self) -> None:
        """Make everything written survive a power cut, too. Raises `LogFailed`."""
        if self._broken:
            raise self._broken
        self._write_waiting()
        try:
            os.fdatasync(self._fd)
        except OSError as error:
            # A second fsync on this descriptor may report success for pages that were lost.
            raise self._break(
                failed(error, f"The session log {self.path} can not be made durable")
            ) from error

    def close(self) -> None:
        """Give the session free for another process; may be called twice."""
        if self._fd >= 0:
            with contextlib.suppress(LogFailed):
                self._write_waiting()
            os.close(self._fd)
            self._fd = -1
            self._broken = LogFailed("log_failed", f"The session log {self.path} is closed.", "")

    def _write_waiting(self) -> None:
        self._check_still_there()
        while self._waiting:
            try:
                _write_all(self._fd, self._waiting[0])
            except OSError as error:
                self._take_back(error)
            self._size += len(self._waiting.popleft())

    def _check_still_there(self) -> None:
        try:
            if _identity(os.lstat(self.path)) == self._identity:
                return
        except OSError:
            pass
        raise self._break(
            LogFailed(
                "log_gone",
                f"The session log {self.path} was deleted or replaced while the session was running; "
                "nothing more of this session is recorded.",
                "Start a new session to have one that can be resumed.",
            )
        )

    def _take_back(self, error: OSError) -> None:
        """Remove what a failed write left of its line, then raise."""
        failure = failed(error, f"The session log {self.path} can not be written")
        try:
            os.ftruncate(self._fd, self._size)
        except OSError:
            raise self._break(failure) from error
        if error.errno not in NO_SPACE:
            self._break(failure)
        raise failure from error

    def _break(self, failure: LogFailed) -> LogFailed:
        self._broken = failure
        self._waiting.clear()
        return failure


def _write_all(fd: int, line: bytes) -> None:
    written = os.write(fd, line)
    while written < len(line):
        written += os.write(fd, line[written:])


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
