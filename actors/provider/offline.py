"""The built-in model's server: Chat Completions on loopback, so that the real SDK and loop run.

It is no language model. It listens on 127.0.0.1 and answers only who has its random key, which nobody but
this process knows.
"""

import asyncio
import hmac
import logging
import re
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, Self

import msgspec

from actors.provider.survey.steps import decide
from actors.provider.survey.turn import Reply, read_turn
from actors.settings.settings import OFFLINE_MODEL

PATH: Final = "/v1/chat/completions"
BODY_LIMIT: Final = 256 << 20
PACE_S: Final = 0.012
"""Pause behind each piece of text, so that a person can follow."""
LONGEST_S: Final = 0.9
"""Most time one answer takes, whatever its length."""
WORDS_A_PIECE: Final = 3

_encode = msgspec.json.Encoder().encode

log = logging.getLogger(__name__)


class OfflineModel:
    """The running server: `base_url` and `api_key` are what a client needs."""

    def __init__(self, pace_s: float) -> None:
        self.base_url = ""
        self.api_key = secrets.token_urlsafe(24)
        self._pace_s = pace_s
        self._writers: set[asyncio.StreamWriter] = set()

    @classmethod
    @asynccontextmanager
    async def serve(cls, pace_s: float = PACE_S) -> AsyncIterator[Self]:
        """Serve while the context is open; `pace_s` of 0 answers at once."""
        model = cls(pace_s)
        server = await asyncio.start_server(model._serve, "127.0.0.1", 0)
        model.base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        try:
            yield model
        finally:
            server.close()
            for writer in model._writers:
                writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while await self._answer_one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        except Exception:
            log.exception("the survey failed")  # the connection ends, and with it the turn, not the parent
        except asyncio.CancelledError:
            # The end of the server; asyncio's own callback would report it as a fault before Python 3.12.
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _answer_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; False when the connection must end."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {
            name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])
        }
        if not hmac.compare_digest(
            headers.get("authorization", "").encode(), f"Bearer {self.api_key}".encode()
        ):
            return _refuse(writer, 401, "this server belongs to another process")
        length = headers.get("content-length", "")
        if head[0].split(" ")[:2] != ["POST", PATH] or not length.isascii() or not length.isdigit():
            return _refuse(writer, 404, f"POST {PATH} with a content length is all there is")
        if int(length) > BODY_LIMIT:
            return _refuse(writer, 413, "the request is too large")
        body = await reader.readexactly(int(length))
        try:
            turn = read_turn(body)
        except msgspec.DecodeError as error:
            return _refuse(writer, 400, f"the request can not be read: {error}")
        # Nobody sees a subagent's text come.
        await self._stream(writer, decide(turn), len(body), 0.0 if turn.is_subagent else self._pace_s)
        return True

    async def _stream(self, writer: asyncio.StreamWriter, reply: Reply, asked: int, pace_s: float) -> None:
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        pieces = _pieces(reply.text)
        pause_s = min(pace_s, LONGEST_S / max(1, len(pieces)))
        for piece in pieces:
            _send(writer, _chunk({"content": piece}))
            await writer.drain()
            if pause_s:
                await asyncio.sleep(pause_s)
        for index, call in enumerate(reply.calls):
            function = {"name": call.name, "arguments": call.arguments}
            _send(writer, _chunk({"tool_calls": [{"index": index, "id": call.id, "function": function}]}))
        _send(writer, _chunk({}, "tool_calls" if reply.calls else "stop"))
        _send(writer, _usage(asked, reply))
        writer.write(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
        await writer.drain()


def _pieces(text: str) -> list[str]:
    """The text a few words at a time; joined they are the text."""
    words = re.findall(r"\s*\S+\s*", text.encode(errors="replace").decode())
    return ["".join(words[i : i + WORDS_A_PIECE]) for i in range(0, len(words), WORDS_A_PIECE)]


def _chunk(delta: Mapping[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}


def _usage(asked: int, reply: Reply) -> dict[str, Any]:
    """An estimate: four bytes a token."""
    answered = len(reply.text.encode()) + sum(len(call.arguments.encode()) for call in reply.calls)
    counts = {"prompt_tokens": asked // 4, "completion_tokens": answered // 4}
    return {"choices": [], "usage": counts | {"total_tokens": sum(counts.values())}}


def _send(writer: asyncio.StreamWriter, chunk: Mapping[str, Any]) -> None:
    whole = {
        "id": OFFLINE_MODEL,
        "object": "chat.completion.chunk",
        "created": 0,
        "model": OFFLINE_MODEL,
        **chunk,
    }
    event = b"data: " + _encode(whole) + b"\n\n"
    writer.write(b"%x\r\n%b\r\n" % (len(event), event))


def _refuse(writer: asyncio.StreamWriter, status: int, message: str) -> bool:
    body = _encode({"error": {"message": message, "type": "invalid_request_error", "code": None}})
    head = f"HTTP/1.1 {status} Refused\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    writer.write(head.encode() + b"Connection: close\r\n\r\n" + body)
    return False
