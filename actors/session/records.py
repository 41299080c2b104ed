"""What stands in a session's log: every line checked, every event handed on as it is read, nothing kept.

A line that a power cut, a bad disk or a foreign program left behind costs itself alone.
"""

import json
import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final
from zlib import crc32

import msgspec

from actors.session.events import AnyEvent, SessionStarted
from actors.session.log_failed import LogFailed, failed

Fold = Callable[[AnyEvent], None]

_BUFFER: Final = 1024 * 1024
_READ: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
_RANGES_TOLD: Final = 8
_MARK: Final = b'{"seq":'
_HEAD: Final = re.compile(rb'\{"seq":(\d{1,15}),"crc":(\d{1,10}),"event":')
_KNOWN: Final = frozenset(cls.__name__ for cls in AnyEvent.__args__)


class _Tag(msgspec.Struct):
    type: str


_encode_event = msgspec.json.Encoder().encode
_decode_event = msgspec.json.Decoder(AnyEvent).decode
_decode_tag = msgspec.json.Decoder(_Tag).decode


class Skipped(msgspec.Struct, frozen=True):
    """A place of the log that could not be used."""

    line: int
    """Counted from 1."""
    reason: str
    """What is wrong with it."""
    records: int = 1
    """How many records are lost there."""


class Recovery(msgspec.Struct, frozen=True):
    """What a log file held."""

    events: tuple[AnyEvent, ...] = ()
    """In order, unless folds took them; the first is `SessionStarted` unless that line is damaged."""
    skipped: tuple[Skipped, ...] = ()
    """Damaged lines; they stay in the file as they are."""
    torn_bytes: int = 0
    """Length of an unfinished last line, which was never acknowledged."""

    def notice(self) -> str:
        """Tell a person what was left out, with the numbers of the lines; empty when all was read."""
        if not self.skipped:
            return ""
        count = sum(skipped.records for skipped in self.skipped)
        ranges = list(_ranges(self.skipped))
        told = "; ".join(ranges[:_RANGES_TOLD])
        if len(ranges) > _RANGES_TOLD:
            told += f"; and {len(ranges) - _RANGES_TOLD} more places"
        records = "1 record" if count == 1 else f"{count:,} records"
        return f"{records} of the session log could not be read and {_were(count)} left out: {told}."


class Content(msgspec.Struct, frozen=True):
    """What a writer has to know to go on."""

    recovery: Recovery
    next_seq: int
    size: int
    """Bytes of the finished lines."""


def read_log(path: Path, *folds: Fold) -> Recovery:
    """Read a session without taking it over, also while another process writes it. Raises `LogFailed`.

    With `folds` each event goes to all of them as it is read; without, they are returned.
    """
    fd = open_regular(path, _READ)
    try:
        return recover(fd, path, folds).recovery
    except OSError as error:
        raise failed(error, f"The session log {path} can not be read") from error
    finally:
        os.close(fd)


def session_started(path: Path) -> SessionStarted | None:
    """The beginning of a session; None when its first line is damaged. Raises `LogFailed`."""
    with open_to_read(path) as file:
        try:
            event = event_in(file.readline(_BUFFER))
        except OSError as error:
            raise failed(error, f"The session log {path} can not be read") from error
    return event if isinstance(event, SessionStarted) else None


def open_to_read(path: Path) -> BinaryIO:
    """Open a log for whoever needs a part of it only. Raises `LogFailed`."""
    return os.fdopen(open_regular(path, _READ), "rb", _BUFFER)


def event_in(line: bytes) -> AnyEvent | None:
    """The event of one line; None when there is none that can be understood."""
    parsed = _parse(line)
    return _understand(parsed[1]) if parsed else None


def recover(fd: int, path: Path, folds: tuple[Fold, ...]) -> Content:
    """Read all of an open log. Raises `LogFailed` when it holds no event, `OSError`."""
    events: list[AnyEvent] = []
    reader = _Reader(folds or (events.append,))
    with os.fdopen(os.dup(fd), "rb", _BUFFER) as file:
        file.seek(0)
        for line in file:
            reader.take(line)
    if not reader.understood:
        raise LogFailed(
            "log_unreadable", f"{path} holds no readable event of a session.", "The file was left as it is."
        )
    recovery = Recovery(tuple(events), tuple(reader.skipped), reader.torn)
    return Content(recovery, reader.expected, reader.size)


class _Reader:
    """Takes one line after the other."""

    def __init__(self, folds: tuple[Fold, ...]) -> None:
        self.skipped: list[Skipped] = []
        self.understood = 0
        self.expected = self.size = self.torn = 0
        self._folds = folds
        self._number = 0
        self._after_damage = False

    def take(self, line: bytes) -> None:
        self._number += 1
        record = _parse(line)
        if record is None:
            record = self._save(line)
            if record is None:
                return
        self.size += len(line)
        seq, body = record
        if seq != self.expected:
            if seq < self.expected:
                self._skip("repeats an earlier record")
                return
            if not self._after_damage:
                self._skip(f"{seq - self.expected} missing before it", seq - self.expected)
        self.expected, self._after_damage = seq + 1, False
        event = _understand(body)
        if event is not None:
            self.understood += 1
            for fold in self._folds:
                fold(event)
        elif _is_known(body):
            self._skip("an event of another shape")

    def _save(self, line: bytes) -> tuple[int, bytes] | None:
        """What a damaged line still holds: the one behind it, when what is damaged is the line break."""
        if not line.endswith(b"\n"):
            self.torn = len(line)
            self._skip("unfinished")
            return None
        self._skip("damaged")
        self._after_damage = True
        record = _parse(line[max(line.rfind(_MARK), 0) :])
        if record is None:
            self.size += len(line)
        return record

    def _skip(self, reason: str, records: int = 1) -> None:
        self.skipped.append(Skipped(self._number, reason, records))


def _parse(line: bytes) -> tuple[int, bytes] | None:
    """Number and event of a line whose checksum holds."""
    head = _HEAD.match(line)
    if head is None or not line.endswith(b"}\n"):
        return None
    seq = int(head[1])
    body = line[head.end() : -2]
    return (seq, body) if crc32(body, seq) == int(head[2]) else None


def _understand(body: bytes) -> AnyEvent | None:
    try:
        return _decode_event(body)
    except (msgspec.DecodeError, RecursionError):
        return _understand_surrogates(body) if b"\\ud" in body else None


def _understand_surrogates(body: bytes) -> AnyEvent | None:
    """An event with a half of a surrogate pair, such as a file name that is no UTF-8; only json reads it."""
    try:
        event: AnyEvent = msgspec.convert(json.loads(body), AnyEvent)
    except (ValueError, msgspec.ValidationError, RecursionError):
        return None
    return event


def encode_event(event: AnyEvent) -> bytes:
    """The event as one line of JSON that comes back equal. Raises `ValueError` when a message has several."""
    try:
        body = _encode_event(event)
    except UnicodeEncodeError:
        body = json.dumps(msgspec.to_builtins(event), separators=(",", ":")).encode()
    if b"\n" in body:
        raise ValueError("a message of several lines can not be logged")
    return body


def _is_known(body: bytes) -> bool:
    try:
        return _decode_tag(body).type in _KNOWN
    except (msgspec.DecodeError, RecursionError):
        return True


def open_regular(path: Path, flags: int) -> int:
    """Open a log that exists and is a file. Raises `LogFailed`."""
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
        raise failed(error, f"The session log {path} can not be opened") from error
    raise LogFailed("log_unreadable", f"{path} is not a regular file.", "Move it away.")


def _ranges(skipped: tuple[Skipped, ...]) -> Iterator[str]:
    """Neighbouring lines with one reason as one range."""
    first = last = skipped[0]
    for one in (*skipped[1:], None):
        if one is not None and one.reason == last.reason and one.line == last.line + 1:
            last = one
            continue
        lines = f"line {first.line}" if first is last else f"lines {first.line}-{last.line}"
        yield f"{lines} ({first.reason})"
        if one is not None:
            first = last = one


def _were(count: int) -> str:
    return "was" if count == 1 else "were"
