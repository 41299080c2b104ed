"""What a server may flood a client with, and what reading it costs this process; printed a line for each."""

import asyncio
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from actors.provider.interface import ProviderError
from actors.provider.retry import RetryPolicy
from actors.settings.tables import Timeouts
from tests.fakes.asking import conversation, make
from tests.fakes.fault_table import LONG
from tests.fakes.raw_server import SSE, RawServer

PIECE = 65_536
MANY = 1_600 if LONG else 400
"""Pieces: a hundred megabytes, or a quarter of that."""
ONE_CALL = (
    b'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"%b"}}]}}]}\n\n'
)
ONE_TEXT = b'data: {"choices":[{"delta":{"content":"%b"}}]}\n\n'


def one_line() -> Iterator[bytes]:
    yield SSE + b"data: "
    for _ in range(MANY):
        yield b"x" * PIECE


def brackets() -> Iterator[bytes]:
    yield SSE + b'data: {"choices":[' + b"[]," * 1_300_000 + b"[]]}\n\n"


def small_pieces() -> Iterator[bytes]:
    yield SSE
    for _ in range(200):
        yield ONE_TEXT % b"xy" * 1_000
    yield b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n'


def large_pieces() -> Iterator[bytes]:
    yield SSE
    for _ in range(MANY):
        yield ONE_TEXT % (b"x" * PIECE)


def arguments() -> Iterator[bytes]:
    yield SSE
    for _ in range(MANY):
        yield ONE_CALL % (b"x" * PIECE)


def comments() -> Iterator[bytes]:
    yield SSE
    for _ in range(MANY):
        yield b": " + b"x" * PIECE + b"\n\n"


def header() -> Iterator[bytes]:
    yield SSE[:-2] + b"X: "
    for _ in range(MANY):
        yield b"x" * PIECE


def plain_body() -> Iterator[bytes]:
    yield SSE.replace(b"text/event-stream", b"application/json")
    for _ in range(MANY):
        yield b"x" * PIECE


FLOODS = (one_line, brackets, small_pieces, large_pieces, arguments, comments, header, plain_body)


async def drink(flood: Callable[[], Iterator[bytes]]) -> str:
    """Ask once; how it ended, and the kilobytes that it took at most."""
    with RawServer(lambda _: flood()) as server:
        provider = make(server.base_url, timeouts=Timeouts(idle_s=5, total_s=30), retry=RetryPolicy(1))
        provider.prepare()
        await provider._sender()
        before = _begin_anew()
        outcome = "answer"
        try:
            async for _ in provider.stream(conversation()):
                pass
        except ProviderError as error:
            outcome = error.code
        await provider.aclose()
        return f"{flood.__name__} {outcome} {_peak_kb() - before}"


def _begin_anew() -> int:
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    return _peak_kb()


def _peak_kb() -> int:
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text(encoding="utf-8"))
    assert found
    return int(found[1])


def main() -> None:
    for flood in FLOODS:
        print(asyncio.run(drink(flood)))
