"""A model's server that refuses, stalls, drips, hangs up, floods and talks nonsense; real HTTP."""

import asyncio
import contextlib
import json
import random
import re
import select
import socket
import statistics
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from actors.provider.direct import DirectProvider
from actors.provider.interface import ProviderError
from actors.provider.retry import RetryPolicy
from actors.settings.tables import Timeouts
from ipc.messages import ModelAnswer, StreamEvent
from tests.fakes.asking import QUICK, collect, fail, play
from tests.fakes.fault_table import LONG, SEED, Fault
from tests.fakes.fido import Home, Run, home, openai_environment
from tests.fakes.launch import script
from tests.fakes.raw_server import SSE, RawServer
from tests.fakes.scripted_server import ScriptedServer, call, calls, chunks, drop, say, status

pytestmark = pytest.mark.timeout(1800 if LONG else 60)
ONCE = RetryPolicy(attempts=1)
IDLE_S = 0.4
SLACK = 1 if LONG else 3
"""The short form runs beside others: it allows times what the long form, which is alone, does not."""
IDLE = Timeouts(connect_s=1.0, idle_s=IDLE_S, total_s=20.0)


def event(**delta: object) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta}]}).encode() + b"\n\n"


# --- silence -----------------------------------------------------------------------------------------------


def silent(_: int) -> Iterator[bytes]:
    yield b""


def half_open(_: int) -> Iterator[bytes]:
    yield SSE + event(content="half")
    yield b""


def half_a_head(_: int) -> Iterator[bytes]:
    yield SSE[:40]
    yield b""


def half_an_event(_: int) -> Iterator[bytes]:
    yield SSE + b'data: {"choices":[{"delta":{"content":"ha'
    yield b""


def only_roles(_: int) -> Iterator[bytes]:
    yield SSE + event(role="assistant") + b": keep-alive\n\n" + event(content="")
    yield b""


@pytest.mark.fault(16, says="the server falls silent")
@pytest.mark.parametrize("respond", [silent, half_open, half_a_head, half_an_event, only_roles])
def test_silence_ends_at_the_idle_limit_and_not_long_after(respond: object, fault: Fault) -> None:
    async def late(provider: DirectProvider) -> list[float]:
        provider.prepare()
        await provider._sender()
        took = []
        for _ in range(20 if LONG else 2):
            with fault.attempt():
                started = time.monotonic()
                with pytest.raises(ProviderError) as caught:
                    await collect(provider)
                took.append(time.monotonic() - started)
                fault.took(took[-1])
                assert caught.value.code == "idle_timeout"
        return took

    with RawServer(respond) as server:  # type: ignore[arg-type]
        took = play(late, server.base_url, timeouts=IDLE, retry=ONCE)
    assert min(took) >= IDLE_S * 0.95
    assert statistics.median(took) <= IDLE_S + 0.05 * IDLE_S * SLACK


@pytest.mark.fault(16, says="the server drips, one byte at a time")
@pytest.mark.parametrize("where", ["head", "event", "comments"])
def test_a_drip_without_meaning_is_silence_too(where: str) -> None:
    def drip(_: int) -> Iterator[bytes]:
        if where != "head":
            yield SSE
        text = {"head": SSE[:-4] + b"x" * 999, "event": b"data: " + b"x" * 999, "comments": b":\n\n" * 333}
        for byte in text[where]:
            yield bytes([byte])
            select.select([], [], [], 0.01)

    with RawServer(drip) as server:
        assert fail(server.base_url, timeouts=QUICK, retry=ONCE).code == "idle_timeout"


@pytest.mark.fault(16, says="a slow answer, drop by drop")
def test_a_slow_answer_that_goes_on_is_no_silence() -> None:
    def slow(_: int) -> Iterator[bytes]:
        yield SSE
        for byte in b"".join(event(content=str(number)) for number in range(5)):
            yield bytes([byte])
            select.select([], [], [], 0.001)
        yield b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n'

    with RawServer(slow) as server:
        answer = play(collect, server.base_url, timeouts=IDLE)[-1]
    assert isinstance(answer, ModelAnswer)
    assert answer.text == "01234"


@pytest.mark.fault(16, says="a cancel while the server is silent")
@pytest.mark.parametrize("respond", [silent, half_open, half_a_head])
def test_a_cancel_in_a_stall_is_over_at_once(respond: object, fault: Fault) -> None:
    async def cancelled(provider: DirectProvider) -> None:
        provider.prepare()
        await provider._sender()
        for _ in range(20 if LONG else 3):
            with fault.attempt():
                task = asyncio.ensure_future(collect(provider))
                await asyncio.wait({task}, timeout=0.05)
                started = time.monotonic()
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                took = time.monotonic() - started
                fault.took(took)
                assert took < 0.1 * SLACK

    with RawServer(respond) as server:  # type: ignore[arg-type]
        play(cancelled, server.base_url)


# --- TLS ---------------------------------------------------------------------------------------------------


@pytest.mark.fault(16, says="the server speaks no TLS, breaks it off, or never answers to it")
@pytest.mark.parametrize("says", [b"HTTP/1.1 400 no TLS here\r\n\r\n", b"\x16\x03\x03\xff\xff", b"", None])
def test_what_is_no_tls_is_told_in_time(says: bytes | None) -> None:
    def handshake(_: int) -> Iterator[bytes]:
        yield b"" if says is None else says or b"\x15\x03\x03\0\2\2\x28"

    with RawServer(handshake, until=b"") as server:
        started = time.monotonic()
        timeouts = Timeouts(connect_s=0.5, idle_s=5.0, total_s=9.0)
        error = fail(server.base_url.replace("http:", "https:"), timeouts=timeouts, retry=ONCE)
    assert error.code in ("unreachable", "connection_lost")
    assert error.next_step
    assert time.monotonic() - started < 5.0


@pytest.mark.fault(16, says="the server takes no connection")
def test_a_server_that_takes_no_connection_is_unreachable_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=1) as full, contextlib.ExitStack() as queue:
        address = full.getsockname()
        for _ in range(4):
            waiting = queue.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(address)
        timeouts = Timeouts(connect_s=0.3, idle_s=5.0, total_s=5.0)
        error = fail(f"http://127.0.0.1:{address[1]}/v1", timeouts=timeouts, retry=ONCE)
    assert error.code == "unreachable"
    assert "no connection within 0.3 s" in error.message


# --- nonsense ----------------------------------------------------------------------------------------------

WHOLE = [
    event(content="text"),
    event(reasoning_content="hm"),
    event(tool_calls=[{"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"x":'}}]),
    event(tool_calls=[{"index": 0, "id": "a", "function": {"arguments": "1}"}}]),
    event(tool_calls=[{"index": 1, "id": "a", "function": {"name": "f", "arguments": "{"}}]),
    b'data: {"choices":[]}\n\n',
    b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n',
    b'data: {"error":{"message":"no"}}\n\n',
    b"data: [DONE]\n\n",
    b"data: \xff\xfe{\n\n",
    b"event: ping\nid: 7\n: x\n\n",
    b"HTTP/1.1 500 again\r\n\r\n",
    b"5\r\nhello\r\n0\r\n\r\n",
    b"\0" * 50,
]
HEADS = [
    SSE,
    SSE,
    SSE.replace(b"Connection: close", b"Transfer-Encoding: chunked"),
    SSE.replace(b"Connection: close", b"Content-Length: 90"),
    SSE.replace(b"Connection: close", b"Content-Encoding: gzip"),
    SSE.replace(b"text/event-stream", b"application/json"),
    b"HTTP/1.1 100 Continue\r\n\r\n" * 3 + SSE,
    b"HTTP/9.9 huh\r\n\r\n",
    b"",
]


def nonsense(chance: random.Random) -> bytes:
    """A response with some bytes changed, cut somewhere."""
    wire = bytearray(chance.choice(HEADS) + b"".join(chance.choices(WHOLE, k=chance.randrange(8))))
    for _ in range(chance.randrange(4) if wire else 0):
        wire[chance.randrange(len(wire))] = chance.randrange(256)
    return bytes(wire[: chance.randrange(len(wire) + 1)] if chance.random() < 0.3 else wire)


@pytest.mark.fault(17, says="the server talks nonsense")
def test_nonsense_is_an_error_or_an_answer_and_never_a_crash(fault: Fault) -> None:
    rounds = 10_000 if LONG else 200

    def respond(number: int) -> Iterable[bytes]:
        return (nonsense(random.Random(f"{SEED} {number}")),)

    async def ask(provider: DirectProvider) -> None:
        for number in range(rounds):
            with fault.attempt():
                end = await outcome(provider)
                if isinstance(end, ProviderError):
                    assert end.code in CODES, f"round {number}: {end.code}"
                    assert end.next_step, f"round {number}: {end.message}"
                else:
                    check_answer(end)

    with RawServer(respond) as server:
        play(ask, server.base_url, timeouts=IDLE, retry=ONCE)


async def outcome(provider: DirectProvider) -> StreamEvent | ProviderError:
    try:
        return (await collect(provider))[-1]
    except ProviderError as error:
        return error


CODES = {
    "bad_request", "bad_stream", "connection_lost", "idle_timeout", "incomplete", "not_found", "server_error"
}  # fmt: skip


def check_answer(answer: StreamEvent) -> None:
    assert isinstance(answer, ModelAnswer)
    ids = [one.id for one in answer.tool_calls]
    assert all(ids)
    assert len(set(ids)) == len(ids)


@pytest.mark.fault(17, says="the server floods")
def test_a_flood_takes_little_memory_and_ends_in_an_error(fault: Fault) -> None:
    told = script("from tests.fakes.floods import main; main()")
    assert told.stdout, told.stderr
    ends = dict(line.split(maxsplit=1) for line in told.stdout.splitlines())
    outcomes = {
        "one_line": "bad_stream",
        "brackets": "bad_stream",
        "small_pieces": "answer",
        "large_pieces": "bad_stream",
        "arguments": "bad_stream",
        "comments": "connection_lost",
        "header": "connection_lost",
        "plain_body": "bad_stream",
    }
    assert {name: end.split()[0] for name, end in ends.items()} == outcomes
    for name, end in ends.items():
        with fault.attempt():
            assert int(end.split()[1]) < 50_000, f"{name} took {end} kB"


# --- a whole run -------------------------------------------------------------------------------------------


@pytest.fixture
def at() -> Iterator[Home]:
    with home() as made:
        yield made


def go(at: Home, workspace: Path, server: ScriptedServer, prompt: str) -> dict[str, object]:
    """One prompt of one session; its `turn_finished`."""
    wanted = [prompt, "--session", "s-1", "--output-format", "stream-json"]
    told = Run(at, workspace, *wanted, FIDO_MODE="yolo", **openai_environment(server.base_url)).finish()
    (end,) = told.events("turn_finished")
    assert "Traceback" not in told.err + at.log_text()
    return end


@pytest.mark.fault(16, says="a turn fails because of the server, and the user goes on")
def test_after_a_turn_that_the_server_has_spoiled_the_session_goes_on(at: Home, tmp_path: Path) -> None:
    spoiled = [drop("half of it")]
    if LONG:
        spoiled += [status(401), chunks({"error": {"message": "overloaded", "code": 529}})]
    with ScriptedServer() as server:
        for number, step in enumerate(spoiled):
            server.add(step)
            end = go(at, tmp_path, server, f"prompt {number}")
            assert end["status"] == "failed"
            error = end["error"]
            assert isinstance(error, dict)
            assert error["next_step"]
        server.add(call("list_files", {}), say("Fine."))
        assert go(at, tmp_path, server, "once more")["final_text"] == "Fine."
        server.assert_done()
        said = [message["content"] for message in server.requests[-1].messages if message["role"] == "user"]
    assert "once more" in said[-1]


@pytest.mark.fault(17, says="calls that are cut, doubled or unknown, and an answer without a choice")
def test_calls_that_make_no_sense_get_results_that_say_so_and_the_turn_goes_on(
    at: Home, tmp_path: Path
) -> None:
    cut = call("bash_exec", '{"command": "echo cut', id="a")
    twins = calls([call("list_files", {}, id="b"), call("list_files", {}, id="b")], dialect="same_id")
    odd = calls([call("no_such_tool", {}), call("", {}), call("read_file", "[1]"), call("list_files", None)])
    with ScriptedServer([cut, twins, odd, chunks({"choices": []}), say("Fine.")]) as server:
        assert go(at, tmp_path, server, "go")["final_text"] == "Fine."
        server.assert_done()
        results = [m["content"] for m in server.requests[-1].messages if m["role"] == "tool"]
    refused = [bool(re.search(r'"error": ?{"code"', one)) for one in results]
    assert refused == [True, False, False, True, True, True, False]
