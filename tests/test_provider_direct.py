"""The provider against a real HTTP server: the SDK, the connection, retries, deadlines, keys."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator

import pytest

from actors.conversation import Conversation, encode_head, encode_system, encode_user
from actors.provider.direct import DirectProvider
from actors.provider.interface import ProviderError
from actors.provider.retry import RetryPolicy
from actors.settings.tables import Timeouts
from ipc.messages import ModelAnswer, ReasoningDelta, RetryScheduled, StreamEvent, TextDelta, Usage
from tests.fakes.asking import KEY, QUICK, collect, conversation, fail, play, run
from tests.fakes.scripted_server import (
    ScriptedServer,
    Step,
    call,
    chunks,
    comment,
    drop,
    gate,
    say,
    stall,
    status,
)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(api_key=KEY) as started:
        yield started


# --- the answer ---------------------------------------------------------------------------------------------


def test_text_reasoning_calls_and_usage_arrive(server: ScriptedServer) -> None:
    server.add(say(["Hel", gate("go"), "lo"], reasoning="hm"), call("f", {"a": 1}, id="c1"))
    server.open("go")
    events = run(server.base_url, turns=2)
    usage = Usage(prompt_tokens=100, cached_tokens=60, completion_tokens=10)
    answers = [e for e in events if isinstance(e, ModelAnswer)]
    assert answers[0] == ModelAnswer(text="Hello", reasoning="hm", finish_reason="stop", usage=usage)
    assert answers[1].tool_calls[0].arguments == '{"a": 1}'
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == "Hello"
    assert "".join(e.text for e in events if isinstance(e, ReasoningDelta)) == "hm"
    server.assert_done()


def test_text_is_passed_on_while_the_response_is_open(server: ScriptedServer) -> None:
    server.add(say(["first", gate("go"), "second"]))

    async def work(provider: DirectProvider) -> list[StreamEvent]:
        stream = provider.stream(conversation())
        first = await anext(stream)
        server.open("go")
        return [first, *[event async for event in stream]]

    assert play(work, server.base_url)[:2] == [TextDelta(text="first"), TextDelta(text="second")]


def test_the_body_goes_out_as_the_very_bytes_of_the_conversation(server: ScriptedServer) -> None:
    server.add(say("x"))
    sent = conversation(encode_user("é 🐕 \u2028"))
    run(server.base_url, sent)
    assert server.requests[0].body == sent.body()


def test_requests_share_one_connection(server: ScriptedServer) -> None:
    server.add(say("a"), call("f", {}), status(500), say(["b", comment(), gate("go"), "c"]), say("d"))
    server.open("go")
    run(server.base_url, turns=4)
    assert {r.connection for r in server.requests} == {1}


def test_a_large_body_arrives_whole(server: ScriptedServer) -> None:
    server.add(say("x"))
    sent = conversation(*[encode_user("y" * 100_000)] * 40)
    run(server.base_url, sent)
    assert server.requests[0].body == sent.body()


def test_comments_and_broken_characters_do_no_harm(server: ScriptedServer) -> None:
    head, tail = b'data: {"choices":[{"delta":{"content":"a', b'"}}]}\n\n'
    end = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
    server.add(chunks(b": ping\n\n", head + b"\xff" + tail, head + b"\\ud83d" + tail, end))
    answer = run(server.base_url)[-1]
    assert isinstance(answer, ModelAnswer)
    assert answer.text.startswith("a\ufffda")


@pytest.mark.parametrize(
    ("kind", "body", "quoted"),
    [
        ("text/html", b"<!doctype html><html><title> Sign in </title><p>Who are you?", "'Sign in'"),
        ("text/html", b"<html>", "an HTML page"),
        ("application/json", b"<html>", "an HTML page"),
        ("text/plain", b"Ollama is\nrunning", "'Ollama is running'"),
        ("application/json", b'{"models": []}', '{"models": []}'),
    ],
)
def test_what_is_no_answer_is_quoted(server: ScriptedServer, kind: str, body: bytes, quoted: str) -> None:
    server.add(Step(status=201, headers={"Content-Type": kind}, body=body))
    error = fail(server.base_url)
    assert error.code == "bad_stream"
    assert quoted in error.message
    server.assert_done()


@pytest.mark.parametrize("body", [b"", b'{"choices":[{"mess', b'data: {"cho'])
def test_half_an_answer_is_a_lost_connection(server: ScriptedServer, body: bytes) -> None:
    server.add(*[Step(status=201, body=body)] * 2)
    assert fail(server.base_url).code == "connection_lost"


def test_a_model_that_is_not_there_is_answered_with_the_nearest_that_are() -> None:
    models = {"data": [{"id": "qwen3:8b"}, {"id": "llama3.3"}, {"id": "qwen3:32b"}, {"id": "embed"}]}
    said = {"error": {"message": "model 'm' not found, try pulling it first"}}
    pages = {"/v1/models": json.dumps(models).encode()}
    head = encode_head("qwen3", b"[]", {"stream": True})
    asked = Conversation(head, [encode_system("s"), encode_user("u")])
    with ScriptedServer([status(404, body=said)], pages=pages) as server:
        with pytest.raises(ProviderError) as caught:
            run(server.base_url, asked, key=None)
        server.assert_done()
    assert caught.value.code == "model_not_found"
    assert "It has qwen3:8b, qwen3:32b" in caught.value.next_step


@pytest.mark.report("PROV-19")
@pytest.mark.parametrize(
    "place", ["tools[1].function.parameters", "tools.1.function", '["body","tools",1,"function"]']
)
def test_a_schema_that_is_refused_names_its_tool(server: ScriptedServer, place: str) -> None:
    tools = [{"type": "function", "function": {"name": name}} for name in ("list_files", "patch")]
    head = encode_head("m", json.dumps(tools).encode(), {"stream": True})
    asked = Conversation(head, [encode_system("s"), encode_user("u")])
    server.add(status(400, body={"error": {"message": f"Invalid schema: {place}: unknown keyword"}}))
    with pytest.raises(ProviderError, match="about the tool patch") as caught:
        run(server.base_url, asked)
    assert caught.value.code == "bad_request"


def test_a_server_that_does_not_stream_is_understood(server: ScriptedServer) -> None:
    body = b'{"choices":[{"index":0,\n"message":{"content":"whole"},"finish_reason":"stop"}]}'
    server.add(Step(status=201, body=body))
    answer = run(server.base_url)[-1]
    assert isinstance(answer, ModelAnswer)
    assert answer.text == "whole"


# --- what goes wrong ----------------------------------------------------------------------------------------


@pytest.mark.fault(16, says="an error that passes, then a broken connection")
@pytest.mark.parametrize("code", [408, 409, 429, 500, 503])
def test_passing_troubles_are_retried_and_told(server: ScriptedServer, code: int) -> None:
    server.add(status(code), drop(), say("fine"))
    events = run(server.base_url)
    retries = [e for e in events if isinstance(e, RetryScheduled)]
    assert [r.attempt for r in retries] == [2, 3]
    assert str(code) in retries[0].reason
    assert isinstance(events[-1], ModelAnswer)
    server.assert_done()


@pytest.mark.report("PROV-15")
def test_retries_are_bounded_once(server: ScriptedServer) -> None:
    server.add(*[status(503, body={"error": {"message": "overloaded"}})] * 9)
    error = fail(server.base_url, retry=RetryPolicy(attempts=3, base_s=0.0))
    assert (error.code, len(server.requests)) == ("server_error", 3)
    assert "overloaded" in error.message


@pytest.mark.report("PROV-15")
@pytest.mark.fault(16, says="429 with Retry-After")
def test_retry_after_is_kept_to(server: ScriptedServer) -> None:
    server.add(status(429, {"Retry-After": "0.2"}), say("fine"))
    events = run(server.base_url)
    assert [e.delay_s for e in events if isinstance(e, RetryScheduled)] == [0.2]
    first, second = server.requests
    assert second.began_at - first.finished_at >= 0.19


@pytest.mark.report("PROV-15")
def test_a_server_that_asks_for_an_hour_is_not_waited_for(server: ScriptedServer) -> None:
    server.add(status(429, {"Retry-After": "3600"}))
    assert fail(server.base_url).code == "rate_limited"


def test_a_spent_quota_is_not_retried(server: ScriptedServer) -> None:
    server.add(status(429, body={"error": {"message": "no quota", "code": "insufficient_quota"}}))
    assert "no quota" in fail(server.base_url).message


@pytest.mark.fault(16, says="the connection is refused")
def test_a_refused_connection_names_the_url(server: ScriptedServer) -> None:
    server.close()
    error = fail(server.base_url)
    assert error.code == "unreachable"
    assert server.base_url in error.message


@pytest.mark.parametrize("said", [b"", b'{"error": {"message": "over'])
def test_an_error_whose_body_breaks_off_is_still_that_error(server: ScriptedServer, said: bytes) -> None:
    cut = drop(reset=False).after_part
    server.add(status(503, {"Content-Length": "1000"}, body=said, after_part=cut))
    server.add(status(404, {"Content-Length": "1000"}, body=said, after_part=cut))
    error = fail(server.base_url)
    assert (error.code, len(server.requests)) == ("not_found", 2)


def test_an_error_whose_body_can_not_be_decoded_is_a_lost_connection(server: ScriptedServer) -> None:
    server.add(*[status(400, {"Content-Encoding": "gzip"}, body=b"no gzip")] * 4)
    assert fail(server.base_url).code == "connection_lost"


def test_the_body_of_an_error_is_read_to_a_limit_alone(server: ScriptedServer) -> None:
    server.add(status(400, {"Content-Length": str(1 << 40)}, body=b"a long story " * 10_000))
    error = fail(server.base_url, timeouts=QUICK)
    assert error.code == "bad_request"
    assert "a long story" in error.message


def test_nothing_is_retried_after_the_first_byte(server: ScriptedServer) -> None:
    server.add(drop("half"), say("never"))
    error = fail(server.base_url)
    assert (error.code, len(server.requests)) == ("connection_lost", 1)


@pytest.mark.report("PROV-11")
@pytest.mark.fault(16, says="the stream is closed in the middle")
@pytest.mark.parametrize(
    "step",
    [
        drop("half", reset=False),
        drop("half"),
        say("half", finish_reason=None, done=False),
    ],
)
def test_a_cut_stream_is_no_answer(server: ScriptedServer, step: Step) -> None:
    server.add(step)
    assert fail(server.base_url).code == "connection_lost"
    server.assert_done()


UNSEEN = [
    drop(call("f", '{"path": "x', id="c")),
    drop(call("f", '{"path": "x', id="c"), reset=False),
    drop(say(reasoning="hm")),
    drop(""),
    stall(""),
    stall(call("f", '{"path": "x', id="c")),
    stall("", comment_every_s=0.02),
]


@pytest.mark.report("PROV-11")
@pytest.mark.report("PROV-16")
@pytest.mark.parametrize("step", UNSEEN)
def test_what_broke_off_before_a_person_saw_of_it_is_asked_for_once_more(
    server: ScriptedServer, step: Step
) -> None:
    server.add(step, call("f", '{"path": "x"}', id="c"))
    events = run(server.base_url, timeouts=QUICK)
    assert [event.attempt for event in events if isinstance(event, RetryScheduled)] == [2]
    answer = events[-1]
    assert isinstance(answer, ModelAnswer)
    assert [one.arguments for one in answer.tool_calls] == ['{"path": "x"}']
    server.assert_done()


@pytest.mark.report("PROV-11")
@pytest.mark.report("PROV-16")
@pytest.mark.parametrize("step", UNSEEN)
def test_what_breaks_off_twice_is_an_error(server: ScriptedServer, step: Step) -> None:
    server.add(step, step)
    assert fail(server.base_url, timeouts=QUICK).code in ("connection_lost", "idle_timeout")
    server.assert_done()


def test_a_connection_lost_behind_the_finish_reason_is_an_answer(server: ScriptedServer) -> None:
    end = {"choices": [{"index": 0, "delta": {"content": "all"}, "finish_reason": "stop"}]}
    server.add(Step(parts=chunks(end).parts, after_part=drop("").after_part))
    answer = run(server.base_url)[-1]
    assert isinstance(answer, ModelAnswer)
    assert answer.text == "all"


@pytest.mark.parametrize("event", [b"{nonsense", b"[1]", b"[" * 9999])
def test_what_is_no_chunk_is_a_bad_stream(server: ScriptedServer, event: bytes) -> None:
    server.add(chunks(b"data: " + event + b"\n\n"))
    assert fail(server.base_url).code == "bad_stream"


def test_an_error_inside_the_stream_is_told(server: ScriptedServer) -> None:
    server.add(*[chunks({"error": {"message": f"overloaded {KEY}", "code": 502}})] * 4)
    error = fail(server.base_url)
    assert error.code == "server_error"
    assert "overloaded" in error.message
    assert KEY not in error.message


@pytest.mark.report("PROV-16")
@pytest.mark.parametrize("every", [None, 0.02])
def test_silence_and_mere_comments_end_in_an_idle_timeout(
    server: ScriptedServer, every: float | None
) -> None:
    server.add(stall("half", comment_every_s=every))
    started = time.monotonic()
    error = fail(server.base_url, timeouts=QUICK)
    assert error.code == "idle_timeout"
    assert time.monotonic() - started < 3.0
    server.wait(lambda s: s.requests[0].aborted_at)


def test_an_answer_that_never_ends_meets_the_total_deadline(server: ScriptedServer) -> None:
    server.add(stall("half", comment_every_s=0.02))
    error = fail(server.base_url, timeouts=Timeouts(connect_s=1.0, idle_s=60.0, total_s=0.2))
    assert error.code == "total_timeout"


def test_a_wait_beyond_the_total_deadline_is_not_begun(server: ScriptedServer) -> None:
    server.add(status(503, {"Retry-After": "30"}))
    assert fail(server.base_url, timeouts=QUICK).code == "server_error"


def test_a_missing_end_behind_done_costs_the_connection_not_the_answer(server: ScriptedServer) -> None:
    whole = b'data: {"choices":[{"delta":{"content":"all"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    server.add(Step(parts=chunks(whole).parts, after_part=stall().after_part), say("next"))
    events = run(server.base_url, turns=2)
    assert [e.text for e in events if isinstance(e, ModelAnswer)] == ["all", "next"]
    assert [r.connection for r in server.requests] == [1, 2]


# --- cancelling ---------------------------------------------------------------------------------------------


async def cancel_task(provider: DirectProvider, server: ScriptedServer) -> None:
    task = asyncio.ensure_future(collect(provider))
    await asyncio.to_thread(server.wait_for_requests, 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def close_stream(provider: DirectProvider, _: ScriptedServer) -> None:
    stream = provider.stream(conversation())
    await anext(stream)
    await stream.aclose()


@pytest.mark.report("PROV-16")
@pytest.mark.parametrize("cancel", [cancel_task, close_stream])
def test_cancelling_aborts_the_request_at_once(
    server: ScriptedServer, cancel: Callable[[DirectProvider, ScriptedServer], Awaitable[None]]
) -> None:
    server.add(stall("half"), say("fine"))

    async def work(provider: DirectProvider) -> float:
        provider.prepare()
        await cancel(provider, server)
        cancelled_at = time.monotonic()
        await asyncio.to_thread(server.wait, lambda s: s.requests[0].aborted_at)
        assert (await collect(provider))[-1]
        return server.requests[0].aborted_at - cancelled_at

    assert play(work, server.base_url) < 0.1


@pytest.mark.report("PROV-15")
def test_a_wait_for_a_retry_can_be_cancelled(server: ScriptedServer) -> None:
    server.add(status(429, {"Retry-After": "50"}))

    async def work(provider: DirectProvider) -> None:
        stream = provider.stream(conversation())
        assert isinstance(await anext(stream), RetryScheduled)
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.wait([waiting], timeout=0.05)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    play(work, server.base_url)
    server.assert_done()
