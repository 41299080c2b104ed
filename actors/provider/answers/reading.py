"""Reading an answer off the wire, with its deadlines; knows bytes and chunks, no SDK."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from typing import Any, Final, Protocol

import msgspec

from actors.provider import errors
from actors.provider.answers.sse import EVENT_LIMIT, EventDecoder, EventTooLargeError
from actors.provider.interface import ProviderError
from actors.provider.wires.wire import Answering
from actors.settings.tables import Timeouts
from ipc.messages import StreamEvent

DONE: Final = b"[DONE]"
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
DRAIN_S: Final = 0.2
"""How long the end of a body may lag behind `[DONE]` before its connection is given up."""
DENSE: Final = 1 << 16
"""Bytes from which an event that is little but brackets is refused: decoded it is twenty times as large."""
BEGINNING: Final = 200
"""Bytes of a body that are quoted when it is no answer."""
AFTER_FINISH_S: Final = 5.0
"""How long usage and `[DONE]` may lag behind the finish reason."""


class Decoder(Protocol):
    def feed(self, piece: bytes) -> list[bytes]: ...
    def finish(self) -> list[bytes]: ...


class BodyDecoder:
    """Takes a body for what its first character says: servers label JSON as events, and events as JSON."""

    def __init__(self) -> None:
        self._decoder: Decoder | None = None
        self._beginning = b""

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the data of the events that this piece completes. Raises `EventTooLargeError`."""
        if self._decoder is None:
            piece = (self._beginning + piece).lstrip().removeprefix(BYTE_ORDER_MARK).lstrip()
            if BYTE_ORDER_MARK.startswith(piece):
                self._beginning = piece
                return []
            self._decoder = PlainDecoder() if piece.startswith((b"{", b"[")) else EventDecoder()
        return self._decoder.feed(piece)

    def finish(self) -> list[bytes]:
        """Return what the last event holds when the stream ended without its blank line."""
        return self._decoder.finish() if self._decoder else []


class PlainDecoder:
    """Takes a whole JSON body for one event, from servers that do not stream."""

    def __init__(self) -> None:
        self._body = bytearray()

    def feed(self, piece: bytes) -> list[bytes]:
        self._body += piece
        if len(self._body) > EVENT_LIMIT:
            raise EventTooLargeError
        return []

    def finish(self) -> list[bytes]:
        return [bytes(self._body), DONE] if self._body.strip() else []


class AnswerReader:
    """Reads one response. `pieces` raises `ConnectionError` when the connection ends too early."""

    def __init__(
        self,
        url: str,
        pieces: AsyncIterator[bytes],
        answering: Answering,
        timeouts: Timeouts,
        ends_at: float,
    ) -> None:
        self._url = url
        self._pieces = pieces
        self._decoder = BodyDecoder()
        self._timeouts = timeouts
        self._ends_at = ends_at
        self._loop = asyncio.get_running_loop()
        self._heard_at = self._loop.time()
        self._assembly = answering
        self._done = False
        self._beginning = b""
        """Of what is no event."""

    async def events(self) -> AsyncGenerator[StreamEvent, None]:
        """Yield the answer as it comes, the `ModelAnswer` last. Raises `ProviderError`."""
        while not self._done and (piece := await self._next()):
            self._take(piece)
            for event in self._assembly.take():
                yield event
        if self._done:
            await self._drain()
        else:
            self._finish()
        self._check_kind()
        for event in self._assembly.take():
            yield event
        answer = self._assembly.answer(done=self._done)
        for event in self._assembly.take():
            yield event
        yield answer

    async def _next(self) -> bytes:
        """The next bytes; empty at the end of the answer."""
        finished = bool(self._assembly.finish_reason)
        limit_s = min(self._timeouts.idle_s, AFTER_FINISH_S) if finished else self._timeouts.idle_s
        try:
            async with asyncio.timeout_at(min(self._heard_at + limit_s, self._ends_at)):
                return await anext(self._pieces, b"")
        except TimeoutError:
            if finished:
                return b""
            raise timeout_error(self._url, self._timeouts, self._ends_at) from None
        except ConnectionError:
            return b""

    def _take(self, piece: bytes) -> None:
        size = self._assembly.size
        if not size and len(self._beginning) < BEGINNING:
            self._beginning += piece[:BEGINNING]
        try:
            self._feed(self._decoder.feed(piece))
        except EventTooLargeError:
            raise self._bad(f"an event of more than {EVENT_LIMIT >> 20} MiB") from None
        except ValueError as error:
            raise self._bad(f"an event is no JSON ({error})") from None
        if self._assembly.size > size:
            self._heard_at = self._loop.time()

    def _finish(self) -> None:
        """Take what came without its end; what is no JSON was cut off."""
        try:
            self._feed(self._decoder.finish())
        except ValueError:
            pass

    def _check_kind(self) -> None:
        """Tell what came when it was no answer at all: a login page, a greeting, another API's JSON."""
        if self._assembly.size or self._assembly.finish_reason:
            return
        beginning = self._beginning.lstrip()
        if beginning and not beginning.startswith((b"data:", b"event:", b"id:", b"retry:", b":")):
            is_cut = beginning.startswith((b"{", b"[")) and not self._done
            if not is_cut:
                raise self._bad(f"it began with {_quoted(beginning)}")

    def _feed(self, events: Iterable[bytes]) -> None:
        for data in events:
            if data.startswith(DONE):
                self._done = True
                return
            if data:
                decoded = _decode(data)
                is_list = isinstance(decoded, list) and len(decoded) == 1  # as Gemini wraps its errors
                self._assembly.feed(decoded[0] if is_list else decoded)

    async def _drain(self) -> None:
        """Read to the end of the body, so that the connection can be used again."""
        try:
            async with asyncio.timeout(DRAIN_S):
                async for _ in self._pieces:
                    pass
        except (TimeoutError, ConnectionError):
            pass

    def _bad(self, reason: str) -> ProviderError:
        return errors.bad_stream(self._url, reason)


def _quoted(beginning: bytes) -> str:
    """The beginning of a body on one line; of a page its title, if that is there."""
    text = beginning[:BEGINNING].decode("utf-8", "replace")
    if text.startswith("<"):
        title = re.search(r"<title[^>]*>([^<]{1,80})", text, re.IGNORECASE)
        return f"an HTML page, {title[1].strip()!r}" if title else "an HTML page"
    return repr(" ".join(text.split())[:80])


def timeout_error(url: str, timeouts: Timeouts, ends_at: float) -> ProviderError:
    """The error for the deadline that was reached: the total one, or silence."""
    if asyncio.get_running_loop().time() >= ends_at:
        return errors.total_timeout(url, timeouts.total_s)
    return errors.idle_timeout(url, timeouts.idle_s)


def _decode(data: bytes) -> Any:
    """Decode one event; broken UTF-8 and lone surrogates are replaced. Raises `ValueError`."""
    if len(data) > DENSE and data.count(b"[") + data.count(b"{") > len(data) // 8:
        raise ValueError("little but brackets")
    try:
        return msgspec.json.decode(data)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except msgspec.DecodeError:
        pass
    try:
        loaded = json.loads(data.decode("utf-8", "replace"))
        return json.loads(json.dumps(loaded, ensure_ascii=False).encode("utf-8", "replace"))
    except RecursionError:
        raise ValueError("nested too deeply") from None
