"""What a refusal teaches: one thing, of the one it names, kept when it helps and never tried twice."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.conversation import encode_assistant, encode_tool_result, encode_user
from actors.provider.direct import DirectProvider
from actors.provider.servers.learning import lessons
from actors.provider.wires.chat import ChatWire
from actors.provider.wires.wire import PLAIN, Quirks
from ipc.messages import ModelAnswer, StreamEvent, ToolCall
from tests.fakes.asking import KEY, collect, conversation, fail, play
from tests.fakes.chat_request import Request
from tests.fakes.scripted_server import ScriptedServer, Step, chunks, say, status

CALLED = (
    encode_user("look"),
    encode_assistant("", [ToolCall(id="c1", name="read_file", arguments="{}")]),
    encode_tool_result("c1", "nothing there"),
)


@pytest.mark.parametrize(
    ("words", "learnt"),
    [
        ("Unrecognized request argument supplied: stream_options", replace(PLAIN, stream_usage=False)),
        (
            "max_tokens is not supported; use max_completion_tokens",
            replace(PLAIN, limit_name="max_completion_tokens"),
        ),
        (
            "Missing `reasoning_content` field in the assistant message",
            replace(PLAIN, echo="reasoning_content"),
        ),
        ("messages[2]: `reasoning` must be passed back", replace(PLAIN, echo="reasoning")),
        ("roles must alternate user/assistant", replace(PLAIN, alternating=True)),
        ("parallel tool calls are not supported", replace(PLAIN, single_calls=True)),
        ("Tool call id was x but must be of length 9", replace(PLAIN, short_ids=True)),
        ("messages.2.content: none is not an allowed value", replace(PLAIN, call_content="empty")),
    ],
)
def test_words_teach_the_quirk_they_name(words: str, learnt: Quirks) -> None:
    assert next(lessons(PLAIN, words)).quirks == learnt


@pytest.mark.parametrize(
    "words",
    [
        "",
        "max_tokens is too large: 99999. This model supports at most 4096 completion tokens",
        "model 'x' not found",
        "you have insufficient credits",
        "Invalid schema for function 'patch': pattern is not permitted",
        "internal server error",
    ],
)
def test_words_about_something_else_teach_nothing(words: str) -> None:
    assert not list(lessons(PLAIN, words))


def test_a_member_that_is_sent_and_not_known_is_left_out() -> None:
    echoing = replace(PLAIN, echo="reasoning_content")
    said = "'messages.2' : property 'reasoning_content' is unsupported"
    assert next(lessons(echoing, said)).quirks == PLAIN


@given(st.text())
def test_no_words_break_the_learning(words: str) -> None:
    assert all(lesson.quirks != PLAIN for lesson in lessons(PLAIN, words))


# --- against a server ---------------------------------------------------------------------------------------


def form(request: Request) -> str:
    message = next(one for one in request.messages if one.get("tool_calls"))
    return "absent" if "content" not in message else "null" if message["content"] is None else "empty"


WORDS = {
    "null": {"error": {"message": "Invalid type for 'messages[2].content': expected a string, but got null"}},
    "absent": {"detail": [{"loc": ["body", "messages", 2, "content"], "msg": "Field required"}]},
    "empty": {"error": {"message": "messages: text content blocks must be non-empty"}},
}


@pytest.mark.report("PROV-06")
@pytest.mark.parametrize(
    "refused", [{"null"}, {"absent"}, {"empty"}, {"null", "absent"}, {"null", "empty"}, {"absent", "empty"}]
)
def test_the_content_of_a_message_that_only_calls_takes_the_form_its_server_takes(refused: set[str]) -> None:
    def refuse(request: Request) -> Step | None:
        return status(400, body=WORDS[form(request)]) if form(request) in refused else None

    told: list[str] = []
    with ScriptedServer([say("one"), say("two")], api_key=KEY, refuse=refuse) as server:

        async def work(provider: DirectProvider) -> list[StreamEvent]:
            await collect(provider, conversation(*CALLED))
            asked = len(server.refused)
            events = await collect(provider, conversation(*CALLED))
            assert len(server.refused) == asked
            return events

        assert isinstance(
            play(work, server.base_url, tell=lambda _, text: told.append(text))[-1], ModelAnswer
        )
        server.assert_done()
    assert len(server.refused) <= 2
    assert len(told) == len(server.refused)


@pytest.mark.report("PROV-18")
@pytest.mark.parametrize(
    "unknown", [{"max_tokens"}, {"max_tokens", "max_completion_tokens"}, {"stream_options"}]
)
def test_a_parameter_that_is_refused_is_called_otherwise_or_left_out(unknown: set[str]) -> None:
    def refuse(request: Request) -> Step | None:
        found = sorted(unknown & set(request.data))
        return (
            status(400, body={"error": {"message": f"Unsupported parameter: {found[0]}"}}) if found else None
        )

    with ScriptedServer([say("one"), say("two")], api_key=KEY, refuse=refuse) as server:

        async def work(provider: DirectProvider) -> None:
            await collect(provider)
            await collect(provider)

        play(work, server.base_url, wire=ChatWire(500))
        server.assert_done()
    assert len(server.refused) == len(unknown)
    limits = {"max_tokens", "max_completion_tokens"}
    assert [request.data[name] for request in server.requests for name in limits & set(request.data)] == [
        500
    ] * (0 if limits == unknown else 2)


def test_a_refusal_inside_of_a_stream_teaches_as_well() -> None:
    said = "Error rendering prompt with jinja template: Conversation roles must alternate user/assistant"
    prompts = conversation(encode_user("a"), encode_user("b"))
    with ScriptedServer([chunks({"error": {"message": said}}), say("fine")], api_key=KEY) as server:
        play(lambda provider: collect(provider, prompts), server.base_url)
        assert [one["content"] for one in server.requests[1].messages] == ["s", "a\n\nb"]


def test_what_did_not_help_is_given_up_and_never_tried_again() -> None:
    no: Any = {"error": {"message": "the content of message 2 is invalid"}}
    told: list[str] = []
    with ScriptedServer([status(400, body=no)] * 4, api_key=KEY) as server:

        async def work(provider: DirectProvider) -> None:
            for _ in range(2):
                with pytest.raises(Exception, match="the content of message 2 is invalid"):
                    await collect(provider, conversation(*CALLED))

        play(work, server.base_url, tell=lambda _, text: told.append(text))
        server.assert_done()
        assert list(map(form, server.requests)) == ["null", "empty", "absent", "null"]
    assert not told


def test_a_refusal_that_another_form_would_not_change_is_told_at_once() -> None:
    with ScriptedServer([status(400, body={"error": "content must not be null"})], api_key=KEY) as server:
        assert fail(server.base_url).code == "bad_request"
        server.assert_done()


def test_a_busy_server_is_asked_again_in_the_form_that_was_learnt() -> None:
    no: Any = {"error": {"message": "Unknown parameter: stream_options"}}
    with ScriptedServer([status(400, body=no), status(503), say("fine")], api_key=KEY) as server:
        play(collect, server.base_url)
        assert ["stream_options" in request.data for request in server.requests] == [True, False, False]
