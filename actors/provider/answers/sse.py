"""Server-sent events out of bytes, however the network cuts them. Pure."""

from typing import Final

EVENT_LIMIT: Final = 4 << 20
"""Bytes of one event; a server that sends more is not answering a prompt."""


class EventTooLargeError(Exception):
    """A single event is larger than `EVENT_LIMIT`."""


class EventDecoder:
    """Takes bytes, gives the data of each event. Comments and fields other than `data` carry nothing."""

    __slots__ = ("_after_return", "_data", "_line", "_size")

    def __init__(self) -> None:
        self._after_return = False
        self._line = bytearray()
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the data of the events that this piece completes. Raises `EventTooLargeError`."""
        if self._after_return or b"\r" in piece:
            piece = self._with_line_feeds(piece)
        self._line += piece
        end = piece.rfind(b"\n")
        if end < 0:
            self._check_size()
            return []
        end += len(self._line) - len(piece)
        lines = bytes(self._line[:end]).split(b"\n")
        del self._line[: end + 1]
        events = [event for line in lines if (event := self._take(line)) is not None]
        self._check_size()
        return events

    def finish(self) -> list[bytes]:
        """Return what the last event holds when the stream ended without its blank line."""
        self._take(bytes(self._line))
        self._line.clear()
        event = self._take(b"")
        return [] if event is None else [event]

    def _with_line_feeds(self, piece: bytes) -> bytes:
        """The piece with each end of a line as one line feed; CR LF may be cut in two."""
        if self._after_return:
            piece = piece.removeprefix(b"\n")
        self._after_return = piece.endswith(b"\r")
        return piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _take(self, line: bytes) -> bytes | None:
        if line.startswith(b"data:"):
            self._data.append(line[6:] if line[5:6] == b" " else line[5:])
            self._size += len(line)
        elif not line and self._data:
            event = b"\n".join(self._data)
            self._data.clear()
            self._size = 0
            return event
        return None

    def _check_size(self) -> None:
        if self._size + len(self._line) > EVENT_LIMIT:
            raise EventTooLargeError
