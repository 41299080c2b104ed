"""The append-only file of a session: one event a line, one write a line, one writer.

A line is `{"seq":N,"crc":C,"event":{...}}`; the checksum covers the number and the event's bytes. What a
power cut or a bad disk leaves behind costs the lines it hit and no others.
"""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from zlib import crc32

import msgspec

from actors.files.durable import sync_folder
from actors.session.events import AnyEvent, SessionStarted
from ipc.endpoints import SESSION_ID

NO_SPACE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_OPEN: Final = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
_MARK: Final = b'{"seq":'


class LogFailed(Exception):
    """The session can not be recorded or read; told to the person.

    `code` is `log_full` (the event is lost, the next one may be tried), `log_gone`, `log_failed` (nothing
    more will be written), `session_in_use`, `session_not_found`, `log_unreadable`.
    """

    def __init__(self, code: str, message: str, next_step: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.next_step = next_step


class Skipped(msgspec.Struct, frozen=True):
    """A place of the log that could not be used."""

    line: int
    """Counted from 1."""
    reason: str
    """What is wrong with it."""


class Recovery(msgspec.Struct, frozen=True):
    """What a log file held."""

    events: tuple[AnyEvent, ...]
    """In order; the first is `SessionStarted` unless that line is damaged."""
    skipped: tuple[Skipped, ...] = ()
    """Damaged lines; they stay in the file as they are."""
    torn_bytes: int = 0
    """Length of an unfinished last line, which was never acknowledged."""


class _Line(msgspec.Struct):
    seq: int
    crc: int
    event: msgspec.Raw


class _Tag(msgspec.Struct):
    type: str


_decode_line = msgspec.json.Decoder(_Line).decode
_decode_event = msgspec.json.Decoder(AnyEvent).decode
_decode_tag = msgspec.json.Decoder(_Tag).decode
_encode_event = msgspec.json.Encoder().encode
_KNOWN: Final = frozenset(cls.__name__ for cls in AnyEvent.__args__)


class SessionLog:
    """The one writer of one session's log; made by `create` or `open`."""

    __slots__ = ("_broken", "_fd", "_identity", "_seq", "_size", "path")

    def __init__(self, path: Path, fd: int, seq: int, size: int) -> None:
        self.path = path
        self._fd = fd
        self._seq = seq
        self._size = size
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
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            fd = os.open(path, _OPEN | os.O_CREAT, 0o600)
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(fd).st_size:
                os.close(fd)
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        except OSError as error:
            raise _failed(error, f"The session log {path} can not be created") from error
        log = cls(path, fd, 0, 0)
        try:
            for event in (header, *events):
                log.append(event)
            log.sync()
            sync_folder(directory)
        except OSError as error:
            log.close()
            raise _failed(error, f"The session log {path} can not be made durable") from error
        except LogFailed:
            log.close()
            path.unlink(missing_ok=True)
            raise
        return log

    @classmethod
    def open(cls, path: Path) -> tuple["SessionLog", Recovery]:
        """Take an earlier session's log over for writing. Raises `LogFailed`."""
        fd = _open_regular(path, _OPEN)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            recovery, seq, size = _recover(fd, path)
            if recovery.torn_bytes:
                os.ftruncate(fd, size)
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
            raise _failed(error, f"The session log {path} can not be read") from error
        except LogFailed:
            os.close(fd)
            raise
        return cls(path, fd, seq, size), recovery

    def append(self, event: AnyEvent) -> None:
        """Write one event; it survives the death of this process when this returns. Raises `LogFailed`."""
        if self._broken:
            raise self._broken
        self._check_still_there()
        body = _encode_event(event)
        if b"\n" in body:
            raise ValueError("a message of several lines can not be logged")
        line = b'{"seq":%d,"crc":%d,"event":%b}\n' % (self._seq, crc32(body, self._seq), body)
        try:
            _write_all(self._fd, line)
        except OSError as error:
            self._take_back(error)
        self._seq += 1
        self._size += len(line)

    def sync(self) -> None:
        """Make everything written survive a power cut, too. Raises `LogFailed`."""
        if self._broken:
            raise self._broken
        self._check_still_there()
        try:
            os.fdatasync(self._fd)
        except OSError as error:
            # A second fsync on this descriptor may report success for pages that were lost.
            raise self._break(
                _failed(error, f"The session log {self.path} can not be made durable")
            ) from error

    def close(self) -> None:
        """Give the session free for another process; may be called twice."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            self._broken = LogFailed("log_failed", f"The session log {self.path} is closed.", "")

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
        failure = _failed(error, f"The session log {self.path} can not be written")
        try:
            os.ftruncate(self._fd, self._size)
        except OSError:
            raise self._break(failure) from error
        if error.errno not in NO_SPACE:
            self._break(failure)
        raise failure from error

    def _break(self, failure: LogFailed) -> LogFailed:
        self._broken = failure
        return failure


def read_log(path: Path) -> Recovery:
    """Read a session without taking it over, also while another process writes it. Raises `LogFailed`."""
    fd = _open_regular(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        return _recover(fd, path)[0]
    except OSError as error:
        raise _failed(error, f"The session log {path} can not be read") from error
    finally:
        os.close(fd)


def _recover(fd: int, path: Path) -> tuple[Recovery, int, int]:
    """The file's content, the next sequence number, and the length of its finished lines."""
    events: list[AnyEvent] = []
    skipped: list[Skipped] = []
    expected = size = torn = 0
    damaged_before = False
    for number, line in enumerate(_lines(fd), 1):
        if not line.endswith(b"\n"):
            torn = len(line)
            break
        size += len(line)
        record = _parse(line)
        if record is None:
            skipped.append(Skipped(number, "damaged"))
            damaged_before = True
            record = _parse(line[max(line.rfind(_MARK), 0) :])
            if record is None:
                continue
        if record.seq < expected:
            skipped.append(Skipped(number, "repeats an earlier line"))
            continue
        if record.seq > expected and not damaged_before:
            skipped.append(Skipped(number, f"follows a gap of {record.seq - expected} lines"))
        expected, damaged_before = record.seq + 1, False
        event = _understand(record.event)
        if event is not None:
            events.append(event)
        elif _is_known(record.event):
            skipped.append(Skipped(number, "an event of another shape"))
    if not events:
        raise LogFailed(
            "log_unreadable", f"{path} holds no readable event of a session.", "The file was left as it is."
        )
    return Recovery(tuple(events), tuple(skipped), torn), expected, size


def _parse(line: bytes) -> _Line | None:
    """The record of a line whose checksum holds."""
    try:
        record = _decode_line(line)
    except (msgspec.DecodeError, RecursionError):
        return None
    return record if crc32(record.event, record.seq) == record.crc else None


def _understand(raw: msgspec.Raw) -> AnyEvent | None:
    try:
        return _decode_event(raw)
    except (msgspec.DecodeError, RecursionError):
        return None


def _is_known(raw: msgspec.Raw) -> bool:
    try:
        return _decode_tag(raw).type in _KNOWN
    except (msgspec.DecodeError, RecursionError):
        return False


def _lines(fd: int) -> Iterator[bytes]:
    with os.fdopen(os.dup(fd), "rb") as file:
        file.seek(0)
        yield from file


def _open_regular(path: Path, flags: int) -> int:
    try:
        fd = os.open(path, flags | os.O_NONBLOCK)
        if stat.S_ISREG(os.fstat(fd).st_mode):
            return fd
        os.close(fd)
    except FileNotFoundError as error:
        raise LogFailed(
            "session_not_found", f"There is no session log {path}.", "`fido sessions` lists what there is."
        ) from error
    except OSError as error:
        raise _failed(error, f"The session log {path} can not be opened") from error
    raise LogFailed("log_unreadable", f"{path} is not a regular file.", "Move it away.")


def _write_all(fd: int, line: bytes) -> None:
    written = os.write(fd, line)
    while written < len(line):
        written += os.write(fd, line[written:])


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _failed(error: OSError, what: str) -> LogFailed:
    if error.errno in NO_SPACE:
        return LogFailed("log_full", f"{what}: {error.strerror}.", "Make room on the disk.")
    return LogFailed(
        "log_failed",
        f"{what}: {error.strerror}.",
        "Check that folder and its disk, then start a new session.",
    )
