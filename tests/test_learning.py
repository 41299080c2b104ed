"""What a refusal teaches: one thing, of the one it names, kept when it helps and never tried twice."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.conversation import Conversation, encode_assistant, encode_head, encode_tool_result, encode_user
from actors.provider.direct import DirectProvider
from actors.provider.interface import ProviderError
from actors.provider.servers.learning import lessons
from actors.provider.servers.pupil import TRIES, Attempt, Pupil
from actors.provider.wires.chat import ChatWire
from actors.provider.wires.responses import ResponsesWire
from actors.provider.wires.wire import PLAIN, Quirks
from ipc.messages import ModelAnswer, StreamEvent, ToolCall
from tests.fakes.apis import RESPONSES
from tests.fakes.asking import AT_ONCE, KEY, collect, conversation, fail, play
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
        ("messages.1.content.0.tool_use.id: String should match pattern", replace(PLAIN, short_ids=True)),
        (
            "deepseek-reasoner does not support successive user or assistant messages (messages[1] and [2])",
            replace(PLAIN, alternating=True),
        ),
        ("Unknown parameter: 'include'.", replace(PLAIN, sealed="none")),
        ("Unknown parameter: 'store'.", replace(PLAIN, store=False)),
        ("Unknown parameter: 'tools[0].strict'.", replace(PLAIN, strict=False)),
        ("Function call is missing a thought_signature", replace(PLAIN, extras=True)),
        ("None is not of type 'string' - 'messages.1.content'", replace(PLAIN, call_content="empty")),
        (
            "{} is not valid under any of the given schemas - 'messages.1.content'",
            replace(PLAIN, call_content="empty"),
        ),
        ("all messages must have non-empty content", replace(PLAIN, call_content="empty")),
        ("'content' is a required property - 'messages.1'", replace(PLAIN, call_content="empty")),
        ("messages.2.content: none is not an allowed value", replace(PLAIN, call_content="empty")),
    ],
)
def test_words_teach_the_quirk_they_name(words: str, learnt: Quirks) -> None:
    assert next(lessons(PLAIN, words)).on(PLAIN) == learnt


@pytest.mark.parametrize(
    "words",
    [
        "",
        "max_tokens is too large: 99999. This model supports at most 4096 completion tokens",
        "max_tokens is not supported above 8192: it must be less than or equal to 8192",
        "max_tokens: not allowed to exceed 8192",
        "max_output_tokens: invalid argument, maximum is 8192",
        "inappropriate content. Input must be valid",
        "Content Exists Risk: none of it is required",
        "the content was flagged; it is required to follow our usage policies",
        "Unsupported content type; a valid string is required",
        "Content-Type header is missing",
        "tool call validation failed: parameters did not match schema: missing properties: 'content'",
        "No such thing here. Alternatively, ask another one.",
        "failed to parse grammar: invalid content, expected string",
        "the content of message 2 is invalid",
        "model 'x' not found",
        "you have insufficient credits",
        "Invalid schema for function 'patch': pattern is not permitted",
        "internal server error",
    ],
)
def test_words_about_something_else_teach_nothing(words: str) -> None:
    assert not list(lessons(PLAIN, words))


@pytest.mark.parametrize(
    ("words", "quirks"),
    [
        ("Provider returned an invalid response: empty content", set()),
        ("stream_options is not supported", set()),
        ("Jinja template: conversation roles must alternate user/assistant", {"alternating"}),
        ("This model only supports single tool-calls at once!", {"single_calls"}),
    ],
)
def test_a_fault_teaches_only_what_a_chat_template_refuses(words: str, quirks: set[str]) -> None:
    assert {lesson.quirk for lesson in lessons(PLAIN, words, 502)} == quirks


OPENAI = (
    "This model's maximum context length is 8192 tokens. However, you requested {} tokens ({} in the "
    "messages, 9000 in the completion)."
)
VLLM = (
    "'max_tokens' is too large: 9000. This model's maximum context length is 8192 tokens and your request "
    "has {} input tokens (9000 > 8192 - {})."
)


@pytest.mark.parametrize("words", [OPENAI, VLLM, "`inputs` tokens + `max_new_tokens` must be <= 8192 (3000)"])
def test_a_limit_for_which_the_window_has_no_room_is_dropped_and_nothing_is_compacted(words: str) -> None:
    said: Any = {"error": {"message": words.format(3000, 3000), "code": "context_length_exceeded"}}

    def refuse(request: Request) -> Step | None:
        return status(400, body=said) if "max_tokens" in request.data else None

    with ScriptedServer([say("one"), say("two")], api_key=KEY, refuse=refuse) as server:

        async def work(provider: DirectProvider) -> None:
            await collect(provider)
            await collect(provider)

        play(work, server.base_url, wire=ChatWire(9000))
        assert len(server.refused) == 1
        server.assert_done()


@pytest.mark.parametrize(("limit", "sent"), [(0, 3000), (9000, 8500)])
def test_a_conversation_that_is_too_long_in_itself_is_told_as_such_at_once(limit: int, sent: int) -> None:
    said: Any = {"error": {"message": OPENAI.format(sent + 9000, sent), "code": "context_length_exceeded"}}
    with ScriptedServer([status(400, body=said)], api_key=KEY) as server:
        error = fail(server.base_url, wire=ChatWire(limit))
        server.assert_done()
    assert (error.code, error.window) == ("context_length_exceeded", 8192)


def test_a_member_that_is_sent_and_not_known_is_left_out() -> None:
    echoing = replace(PLAIN, echo="reasoning_content")
    said = "'messages.2' : property 'reasoning_content' is unsupported"
    assert next(lessons(echoing, said)).on(echoing) == PLAIN


@given(st.text())
def test_no_words_break_the_learning(words: str) -> None:
    assert all(lesson.on(PLAIN) != PLAIN for lesson in lessons(PLAIN, words))


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
    assert len(told) == bool(server.refused)


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
    no: Any = {"error": {"message": "the content of message 2 must not be null"}}
    told: list[str] = []
    with ScriptedServer([status(400, body=no)] * 4, api_key=KEY) as server:

        async def work(provider: DirectProvider) -> None:
            for _ in range(2):
                with pytest.raises(Exception, match="content of message 2 must not be null"):
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


# --- what an attempt proves ---------------------------------------------------------------------------------

NULL = ProviderError("bad_request", "no", status=400)
NULL.said = "content must not be null"


def attempt(pupil: Pupil) -> Attempt:
    return pupil.begin(ChatWire(), conversation(*CALLED))


@pytest.mark.parametrize(
    "code", ["server_error", "rate_limited", "connection_lost", "idle_timeout", "cancel"]
)
def test_an_attempt_that_ended_by_something_else_proves_nothing(code: str) -> None:
    pupil = Pupil(PLAIN, lambda told: None)
    broken = attempt(pupil)
    assert broken.learn(NULL)
    if code != "cancel":
        other = ProviderError(code, "later", status=503)
        other.said = "the server is overloaded"
        assert not broken.learn(other)
    again = attempt(pupil)
    assert again.learn(NULL)
    again.passed()
    assert pupil.quirks == replace(PLAIN, call_content="empty")
    assert not attempt(pupil).learn(ProviderError("bad_request", "no"))


def test_a_lesson_that_helped_is_not_given_up_for_another_refusal_behind_it() -> None:
    pupil = Pupil(PLAIN, lambda told: None)
    schema = ProviderError("bad_request", "no", status=400)
    schema.said = "Invalid schema for function 'patch'"
    for _ in range(3):
        one = attempt(pupil)
        assert one.learn(NULL)
        assert not one.learn(schema)
    last = attempt(pupil)
    assert last.learn(NULL)
    last.passed()
    assert pupil.quirks.call_content == "empty"


def test_a_busy_server_behind_a_lesson_spoils_no_later_prompt() -> None:
    def refuse(request: Request) -> Step | None:
        return status(400, body=WORDS["null"]) if form(request) == "null" else None

    busy = [status(503)] * AT_ONCE.attempts
    with ScriptedServer([*busy, say("fine")], api_key=KEY, refuse=refuse) as server:

        async def work(provider: DirectProvider) -> list[StreamEvent]:
            with pytest.raises(ProviderError, match="503"):
                await collect(provider, conversation(*CALLED))
            return await collect(provider, conversation(*CALLED))

        assert isinstance(play(work, server.base_url)[-1], ModelAnswer)
        server.assert_done()
    assert len(server.refused) == 2


def test_words_that_name_everything_soon_cost_one_request_a_prompt() -> None:
    said = (
        "stream_options or max_tokens unsupported, or roles must alternate, or only a single tool call, or "
        "tool call id length, or reasoning_content missing, or content must not be null"
    )
    no: Any = {"error": {"message": said}}
    counts = []
    with ScriptedServer([status(400, body=no)] * 40, api_key=KEY) as server:

        async def work(provider: DirectProvider) -> None:
            for _ in range(5):
                before = len(server.requests)
                with pytest.raises(ProviderError):
                    await collect(provider, conversation(*CALLED))
                counts.append(len(server.requests) - before)

        play(work, server.base_url, wire=ChatWire(500))
    assert counts[0] <= TRIES + 1
    assert counts[-2:] == [1, 1]


def test_an_attempt_that_learnt_nothing_takes_no_newer_lesson_back() -> None:
    told: list[str] = []
    pupil = Pupil(PLAIN, told.append)
    older, newer, same = attempt(pupil), attempt(pupil), attempt(pupil)
    assert newer.learn(NULL)
    assert same.learn(NULL)
    newer.passed()
    older.passed()
    same.passed()
    assert pupil.quirks == replace(PLAIN, call_content="empty")
    assert len(told) == 1


@pytest.mark.parametrize("unknown", [{"include"}, {"store"}, {"strict"}, {"include", "store", "strict"}])
def test_a_responses_server_is_not_sent_what_it_does_not_know(unknown: set[str]) -> None:
    def refuse(request: Request) -> Step | None:
        sent = set(request.data) | set(request.data["tools"][0])
        found = sorted(unknown & sent)
        body: Any = {"error": {"message": f"Unknown parameter: '{found[0]}'."}} if found else {}
        return status(400, body=body) if found else None

    tools = b'[{"type":"function","function":{"name":"look","parameters":{"type":"object"}}}]'
    head = encode_head("m", tools, {"stream": True})
    api = replace(RESPONSES, check=lambda request: None)
    with ScriptedServer([say("one"), say("two")], api=api, api_key=KEY, refuse=refuse) as server:

        async def work(provider: DirectProvider) -> None:
            for _ in range(2):
                await collect(provider, Conversation(head, conversation().messages))

        play(work, server.base_url, wire=ResponsesWire())
        server.assert_done()
    assert len(server.refused) == len(unknown)
