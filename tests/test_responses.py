"""The Responses API behind the same boundary, against a strict server that stores nothing."""

import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.catalog.builtin import TOOLS
from actors.catalog.surface import advertised
from actors.conversation import (
    Conversation,
    encode_head,
    encode_system,
    encode_user,
)
from actors.provider.answers.responses_reading import ResponsesAssembly
from actors.provider.direct import DirectProvider
from actors.provider.interface import ProviderError
from actors.provider.wires.responses import ResponsesWire
from actors.provider.wires.wire import PLAIN
from ipc.messages import ModelAnswer, ReasoningDelta, RetryScheduled, TextDelta, ToolCall, Usage
from tests.fakes.apis import RESPONSES
from tests.fakes.asking import KEY, QUICK, collect, fail, play, run
from tests.fakes.responses_rules import SEAL
from tests.fakes.scripted_server import (
    ScriptedServer,
    Step,
    call,
    calls,
    chunks,
    drop,
    gate,
    say,
    stall,
    status,
)

HEAD = encode_head("m", advertised(TOOLS), {"stream": True, "stream_options": {"include_usage": True}})
KINDS = [
    f"response.{kind}"
    for kind in (
        *("output_item.added", "output_item.done", "output_text.delta", "function_call_arguments.delta"),
        *(
            "reasoning_summary_text.delta",
            "reasoning_summary_part.added",
            "completed",
            "incomplete",
            "failed",
        ),
    )
]
MEMBERS = st.sampled_from(
    (
        *("item", "item_id", "output_index", "delta", "response", "output", "content", "summary", "text"),
        *("usage", "type", "name", "call_id", "arguments", "encrypted_content", "status", "error", "id"),
    )
)
USAGE = Usage(prompt_tokens=100, cached_tokens=60, completion_tokens=10)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(api_key=KEY, api=RESPONSES) as started:
        yield started


def new() -> Conversation:
    return Conversation(HEAD, [encode_system("be good"), encode_user("hello")])


def ask(server: ScriptedServer, sent: Conversation | None = None, **options: Any) -> ModelAnswer:
    answer = run(server.base_url, sent or new(), wire=ResponsesWire(), **options)[-1]
    assert isinstance(answer, ModelAnswer)
    return answer


def go_on(conversation: Conversation, answer: ModelAnswer, prompt: str = "") -> Conversation:
    conversation.append_answer(answer)
    for one in answer.tool_calls:
        conversation.append_result(one.id, f"result of {one.name}")
    if prompt:
        conversation.append(encode_user(prompt))
    return conversation


# --- answers


def test_text_reasoning_and_usage_arrive_as_they_come(server: ScriptedServer) -> None:
    server.add(say(["Hel", gate("go"), "lo"], reasoning="hm"))
    server.open("go")
    *events, answer = run(server.base_url, new(), wire=ResponsesWire())
    assert events[0] == ReasoningDelta(text="hm")
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Hello"
    assert answer == ModelAnswer(text="Hello", reasoning="hm", finish_reason="stop", usage=USAGE)
    server.assert_done()


@pytest.mark.parametrize("dialect", ["standard", "no_index", "whole"])
def test_calls_arrive_in_order_however_they_are_cut(server: ScriptedServer, dialect: Any) -> None:
    both = [call("read_file", {"path": "ä" * 40}, id="a"), call("list_files", {}, id="b")]
    server.add(calls(both, text="I look.", dialect=dialect))
    answer = ask(server)
    assert (answer.text, answer.finish_reason) == ("I look.", "tool_calls")
    assert answer.tool_calls == (
        ToolCall(id="a", name="read_file", arguments=json.dumps({"path": "ä" * 40}, ensure_ascii=False)),
        ToolCall(id="b", name="list_files", arguments="{}"),
    )


def test_an_answer_that_is_not_streamed_is_read(server: ScriptedServer) -> None:
    output = [
        {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a":1}'},
    ]
    body = {"object": "response", "status": "completed", "output": output}
    server.add(Step(status=201, body=json.dumps(body).encode()))
    call_made = ToolCall(id="c", name="f", arguments='{"a":1}')
    assert ask(server) == ModelAnswer(
        text="Hi", reasoning="hm", tool_calls=(call_made,), finish_reason="tool_calls"
    )


def test_an_item_is_told_by_its_place_where_its_id_changes_with_every_event(server: ScriptedServer) -> None:
    item = {"type": "function_call", "call_id": "c", "name": "f", "arguments": ""}
    place = {"output_index": 0}
    server.add(
        chunks(
            {"type": "response.output_item.added", **place, "item": item | {"id": "x1"}},
            {"type": "response.function_call_arguments.delta", **place, "item_id": "x2", "delta": '{"a":'},
            {"type": "response.function_call_arguments.delta", **place, "item_id": "x3", "delta": "1}"},
            {
                "type": "response.output_item.done",
                **place,
                "item": item | {"id": "x4", "arguments": '{"a":1}'},
            },
            {
                "type": "response.completed",
                "response": {"status": "completed", "output": [item | {"id": "x5"}]},
            },
            done=False,
        )
    )
    assert ask(server).tool_calls == (ToolCall(id="c", name="f", arguments='{"a":1}'),)


def test_an_answer_at_the_output_limit_says_so(server: ScriptedServer) -> None:
    server.add(say("Hal", finish_reason="length"))
    assert ask(server).finish_reason == "length"


# --- requests


def test_a_request_extends_the_one_before_it_byte_for_byte(server: ScriptedServer) -> None:
    server.add(
        calls([call("read_file", {"path": "a"}), call("list_files", {})], text="I look."),
        say("Done."),
        say("Bye."),
    )
    wire, sent = ResponsesWire(), new()

    async def work(provider: DirectProvider) -> None:
        for prompt in ("", "thanks", ""):
            answer = (await collect(provider, sent))[-1]
            assert isinstance(answer, ModelAnswer)
            go_on(sent, answer, prompt)

    play(work, server.base_url, wire=wire)
    server.assert_done()
    first, second, third = server.requests
    assert second.extends(first)
    assert third.extends(second)
    kinds = [item["type"] for item in third.data["input"]]
    assert kinds == [
        "message",
        "message",
        *["function_call"] * 2,
        *["function_call_output"] * 2,
        "message",
        "message",
    ]
    assert third.data["instructions"] == "be good"
    assert {tool["name"] for tool in third.data["tools"]} == {tool.name for tool in TOOLS}


def test_a_limit_of_the_answer_is_asked_for(server: ScriptedServer) -> None:
    server.add(say("x"))
    run(server.base_url, new(), wire=ResponsesWire(500))
    assert server.requests[0].data["max_output_tokens"] == 500


# --- reasoning that is sealed


def looked(server: ScriptedServer) -> tuple[Conversation, ModelAnswer]:
    """A conversation whose model has thought before a call, and its answer."""
    server.add(say("I look.", reasoning="hm", calls=call("read_file", {"path": "a"}, id="c").calls))
    answer = ask(server)
    return go_on(new(), answer), answer


def test_sealed_reasoning_goes_back_in_front_of_its_calls_and_survives_a_resume(
    server: ScriptedServer,
) -> None:
    conversation, answer = looked(server)
    assert answer.reasoning == "hm"
    assert SEAL in answer.echo
    resumed = Conversation(HEAD, conversation.messages)
    server.add(say("Done."))
    ask(server, resumed)
    server.assert_done()
    items = server.requests[-1].data["input"]
    assert [item["type"] for item in items] == [
        "message", "reasoning", "message", "function_call", "function_call_output",
    ]  # fmt: skip
    assert items[1]["encrypted_content"].startswith(SEAL)


def test_reasoning_of_another_server_is_left_out_once_it_is_refused(server: ScriptedServer) -> None:
    conversation, _ = looked(server)
    refusal = {
        "error": {
            "message": "The encrypted content rs_1 could not be verified.",
            "code": "invalid_encrypted_content",
        }
    }
    server.add(status(400, body=refusal), say("Done."))
    assert ask(server, conversation).text == "Done."
    assert "reasoning" not in {item["type"] for item in server.requests[-1].data["input"]}
    assert server.requests[-1].data["include"] == ["reasoning.encrypted_content"]


@pytest.mark.parametrize(
    ("says", "member"),
    [
        ("Encrypted content is not supported with this model.", "include"),
        ("Unsupported parameter: 'reasoning.summary' is not supported with the 'm' model.", "reasoning"),
        ("Your organization must be verified to generate reasoning summaries.", "reasoning"),
        ("Unsupported parameter: max_output_tokens", "max_output_tokens"),
    ],
)
def test_what_a_server_refuses_is_asked_for_once_in_a_session(
    server: ScriptedServer, says: str, member: str
) -> None:
    server.add(status(400, body={"error": {"message": says}}), say("One."), say("Two."))
    events = run(server.base_url, new(), new(), wire=ResponsesWire(500))
    assert [event.text for event in events if isinstance(event, ModelAnswer)] == ["One.", "Two."]
    assert [member in request.data for request in server.requests] == [True, False, False]
    assert {"include", "reasoning", "max_output_tokens"} - {member} <= set(server.requests[-1].data)


def test_an_answer_without_calls_keeps_no_reasoning(server: ScriptedServer) -> None:
    server.add(say("Hello", reasoning="hm"))
    assert ask(server).echo == ""


def test_a_message_from_a_chat_goes_to_a_responses_server(server: ScriptedServer) -> None:
    chat = ModelAnswer(
        tool_calls=(ToolCall(id="c", name="f", arguments="{}"),), echo='{"reasoning_content":"hm"}'
    )
    server.add(say("Done."))
    assert ask(server, go_on(new(), chat)).text == "Done."
    server.assert_done()


# --- faults

TOO_LONG = {"type": "error", "code": "context_length_exceeded", "message": "Your input is too long."}
TOO_FAST = {"type": "error", "code": "rate_limit_exceeded", "message": "Slow."}
FAILED = {"status": "failed", "error": {"code": "server_error", "message": "The engine died."}}


@pytest.mark.parametrize(
    ("step", "code", "says"),
    [
        (lambda: chunks({"type": "response.failed", "response": FAILED}), "server_error", "The engine died."),
        (lambda: chunks(TOO_FAST), "rate_limited", "Slow."),
        (lambda: chunks(TOO_LONG), "context_length_exceeded", "too long"),
        (lambda: chunks({"choices": [{"delta": {"content": "x"}}]}), "bad_stream", "wire_api"),
        (lambda: chunks("[1]"), "bad_stream", "no object"),
        (lambda: chunks("{"), "bad_stream", "no JSON"),
        (lambda: say("Half", finish_reason=None), "connection_lost", "ended before"),
        (lambda: drop("Half"), "connection_lost", "ended before"),
        (lambda: stall("Half"), "idle_timeout", "silent"),
        (lambda: status(404, body={"error": {"message": "no route"}}), "not_found", "Responses endpoint"),
        (lambda: status(401), "unauthorized", "key"),
        (lambda: status(400), "bad_request", "scripted 400"),
    ],
)  # fmt: skip
def test_what_goes_wrong_is_one_clear_error(
    server: ScriptedServer, step: Callable[[], Step], code: str, says: str
) -> None:
    server.add(*[step() for _ in range(4)])
    error = fail(server.base_url, wire=ResponsesWire(), timeouts=QUICK)
    assert error.code == code
    assert says in error.message
    assert error.next_step


def test_a_busy_server_is_asked_again(server: ScriptedServer) -> None:
    server.add(status(429, {"Retry-After": "0"}), say("Hi"))
    retry, text, _ = run(server.base_url, new(), wire=ResponsesWire())
    assert isinstance(retry, RetryScheduled)
    assert text == TextDelta(text="Hi")


@settings(max_examples=40, deadline=None)
@given(
    st.recursive(
        st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(MEMBERS, inner)
    )
)
def test_no_event_whatever_it_holds_breaks_the_reader(event: Any) -> None:
    for kind in KINDS:
        assembly = ResponsesAssembly("http://x", PLAIN)
        with contextlib.suppress(ProviderError):
            assembly.feed(
                {**event, "type": kind} if isinstance(event, dict) else {"type": kind, "item": event}
            )
            assembly.answer(done=True)
