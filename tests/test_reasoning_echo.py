"""Reasoning that goes back to the server that wants it: stored with the message, and sent nowhere else."""

import json
from dataclasses import replace
from typing import Any

import pytest

from actors.compaction.rewrite import newest_rounds, rounds_of
from actors.conversation import (
    Conversation,
    carries_echo,
    encode_assistant,
    encode_head,
    encode_system,
    encode_tool_result,
    encode_user,
    without_echo,
)
from actors.delegation.fork import fork
from actors.provider.answers.echo import REASONING, EchoAssembly
from actors.provider.direct import DirectProvider
from actors.provider.servers.dialects import NAMES, named
from actors.provider.wires.chat import ChatWire
from actors.provider.wires.forms import UNSIGNED, Forms
from actors.provider.wires.wire import PLAIN, Quirks
from actors.tools.delegate import DelegateInput
from ipc.messages import ModelAnswer, ToolCall
from tests.fakes.apis import CHAT, Api
from tests.fakes.asking import KEY, collect, play
from tests.fakes.chat_request import Request
from tests.fakes.chat_rules import check
from tests.fakes.chat_script import Reasoning
from tests.fakes.scripted_server import ScriptedServer, Step, call, chunks, say, status

HEAD = encode_head("m", b"[]", {"stream": True})
THOUGHT = 'I look "first".\n'
LOOK = ToolCall(id="c1", name="read_file", arguments="{}")


def thinking(name: str) -> Step:
    return replace(call("read_file", {}, id="c1"), parts=(Reasoning(THOUGHT, name),))


def demanding(name: str) -> tuple[Api, Any]:
    """A server that wants its reasoning back in messages that call, and knows no other member."""

    def refuse(request: Request) -> Step | None:
        calling = [one for one in request.messages if one.get("tool_calls")]
        if any(one.get(name) != THOUGHT for one in calling):
            said = f"thinking is enabled but {name} is missing in assistant tool call message"
            return status(400, body={"error": {"message": said}})
        return None

    return Api(CHAT.path, lambda data: check(data, {name}), CHAT.messages, CHAT.render), refuse


async def turn(provider: DirectProvider, conversation: Conversation) -> None:
    """A prompt, a call and its answer."""
    conversation.append(encode_user("look"))
    for _ in range(2):
        answer = (await collect(provider, conversation))[-1]
        assert isinstance(answer, ModelAnswer)
        conversation.append_answer(answer)
        for one in answer.tool_calls:
            conversation.append_result(one.id, "nothing there")


@pytest.mark.report("PROV-09")
@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_a_session_takes_its_reasoning_to_a_server_that_wants_it_and_to_no_other(name: str) -> None:
    conversation = Conversation(HEAD, [encode_system("s")])
    api, refuse = demanding(name)
    with ScriptedServer([thinking(name), say("a")] * 2, api=api, refuse=refuse, api_key=KEY) as wants:
        play(lambda provider: turn(provider, conversation), wants.base_url)
        learnt_by = len(wants.refused)
        resumed = Conversation(HEAD, conversation.messages)
        dialect = replace(named("deepseek"), quirks=replace(PLAIN, echo=name))
        play(lambda provider: turn(provider, resumed), wants.base_url, dialect=dialect)
        wants.assert_done()
    assert learnt_by == 1
    assert len(wants.refused) == 1
    with ScriptedServer([call("read_file", {}, id="c9"), say("b")], api_key=KEY) as strict:
        elsewhere = Conversation(HEAD, resumed.messages)
        play(lambda provider: turn(provider, elsewhere), strict.base_url)
        strict.assert_done()
    assert THOUGHT not in json.dumps(strict.requests[-1].data)


@pytest.mark.report("PROV-09")
@pytest.mark.parametrize("name", NAMES)
def test_a_model_that_wants_its_reasoning_back_gets_it_whatever_its_server_is_taken_for(name: str) -> None:
    dialect = named(name)
    wanted = dialect.quirks.echo or "reasoning_content"
    if wanted not in REASONING:
        return
    conversation = Conversation(HEAD, [encode_system("s")])
    api, refuse = demanding(wanted)
    api = replace(api, check=lambda data: check(data, {wanted}, ["extra_content"]))
    header = dialect.key_header.lower()
    steps = [thinking(wanted), say("a")]
    with ScriptedServer(steps, api=api, refuse=refuse, api_key=KEY, key_header=header) as server:
        play(lambda provider: turn(provider, conversation), server.base_url, dialect=dialect)
        server.assert_done()
    assert len(server.refused) == (not dialect.quirks.echo)


SIGNED = {"google": {"thought_signature": "c2lnbmVk"}}


@pytest.mark.parametrize(
    ("quirks", "expected"),
    [
        (PLAIN, [None, None]),
        (replace(PLAIN, extras=True), [SIGNED, None]),
        (replace(PLAIN, extras=True, single_calls=True), [SIGNED, None]),
        (replace(PLAIN, extras=True, short_ids=True), [SIGNED, None]),
    ],
)
def test_a_call_carries_its_signature_to_the_server_that_signed_it_and_to_no_other(
    quirks: Quirks, expected: list[object]
) -> None:
    calls = [LOOK, ToolCall(id="c2", name="read_file", arguments="{}")]
    echo = json.dumps({"reasoning_content": THOUGHT, "extra_content": {"c1": SIGNED}})
    answer = encode_assistant("", calls, echo)
    results = [encode_tool_result(call.id, "r") for call in calls]
    made = Forms(quirks).of(Conversation(HEAD, [encode_system("s"), answer, *results]))
    sent = [call for message in made for call in json.loads(message).get("tool_calls", ())]
    assert [call.get("extra_content") for call in sent] == expected
    assert not any(b"reasoning" in message for message in made)


@pytest.mark.parametrize(("name", "refusals"), [("gemini", 0), ("generic", 1)])
def test_what_came_with_a_call_goes_back_to_the_server_that_wants_it_and_to_no_other(
    name: str, refusals: int
) -> None:
    function = {"name": "read_file", "arguments": "{}"}
    entries = [
        {"index": 0, "id": "c1", "type": "function", "function": function, "extra_content": SIGNED},
        {"index": 0, "id": "c2", "type": "function", "function": function},
    ]
    deltas = [{"choices": [{"index": 0, "delta": {"tool_calls": [entry]}}]} for entry in entries]
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}

    def refuse(request: Request) -> Step | None:
        calling = [one["tool_calls"] for one in request.messages if one.get("tool_calls")]
        if all(calls[0].get("extra_content") == SIGNED for calls in calling):
            return None
        error = {
            "code": 400,
            "message": "Function call is missing a thought_signature in functionCall parts.",
        }
        return status(400, body=[{"error": error}])

    conversation = Conversation(HEAD, [encode_system("s")])
    api = Api(CHAT.path, lambda data: check(data, (), ["extra_content"]), CHAT.messages, CHAT.render)
    steps = [chunks(*deltas, end), say("done"), chunks(*deltas, end), say("again")]
    with ScriptedServer(steps, api=api, refuse=refuse, api_key=KEY) as server:
        for _ in range(2):  # as a session is resumed
            conversation = Conversation(HEAD, conversation.messages)
            play(lambda provider: turn(provider, conversation), server.base_url, dialect=named(name))  # noqa: B023
        server.assert_done()
    assert len(server.refused) == 2 * refusals
    sent = [one["tool_calls"] for one in server.requests[-1].messages if one.get("tool_calls")]
    assert [call.get("extra_content") for calls in sent for call in calls] == [SIGNED, None] * 2
    with ScriptedServer([call("read_file", {}, id="c9"), say("b")], api_key=KEY) as strict:
        elsewhere = Conversation(HEAD, conversation.messages)
        play(lambda provider: turn(provider, elsewhere), strict.base_url)
        strict.assert_done()


@pytest.mark.parametrize("echo", ["", json.dumps({"extra_content": {"in_the_parent": SIGNED}})])
def test_a_call_of_another_model_says_that_nobody_signed_it_where_calls_are_signed(echo: str) -> None:
    calls = [LOOK, ToolCall(id="c2", name="read_file", arguments="{}")]
    forms = Forms(replace(PLAIN, extras=True))
    answer = encode_assistant("", calls, echo)
    made = json.loads(forms.of(Conversation(HEAD, [encode_system("s"), answer]))[1])
    assert [call.get("extra_content") for call in made["tool_calls"]] == [UNSIGNED, None]


@pytest.mark.report("PROV-09")
def test_fork_and_compaction_keep_what_was_stored() -> None:
    conversation = Conversation(HEAD, [encode_system("s"), encode_user("u")])
    asked = ToolCall(id="d", name="delegate", arguments='{"task":"look"}')
    other = ToolCall(id="e", name="delegate", arguments='{"task":"elsewhere"}')
    echo = json.dumps({"reasoning_content": THOUGHT})
    conversation.append_answer(ModelAnswer(text="I ask.", tool_calls=(asked, other), echo=echo))
    forked = fork(conversation, "d", "subagent-1", DelegateInput(task="look")).base[-1]
    assert json.loads(forked)["reasoning_content"] == THOUGHT
    assert "elsewhere" not in forked.decode()
    rounds = rounds_of(conversation.messages[2:])
    assert json.loads(newest_rounds(rounds, 10_000)[0][0])["reasoning_content"] == THOUGHT


def test_a_message_is_taken_apart_and_no_member_of_its_own_can_be_forged() -> None:
    echo = json.dumps({"reasoning": "r", "content": "forged", "role": "user", "tool_calls": []})
    message = encode_assistant("said", [LOOK], echo)
    plain, found = without_echo(message)
    assert plain == encode_assistant("said", [LOOK])
    assert json.loads(found) == {"reasoning": "r"}
    assert not carries_echo(plain)


def test_a_message_without_reasoning_has_something_where_a_server_demands_it() -> None:
    forms = Forms(replace(PLAIN, echo="reasoning_content"))
    messages = [encode_system("s"), encode_user("u"), encode_assistant("from another server", [LOOK])]
    made = forms.of(Conversation(HEAD, messages))
    assert json.loads(made[2])["reasoning_content"]
    assert list(made[:2]) == messages[:2]


# --- OpenRouter's details -----------------------------------------------------------------------------------

PIECES = [
    [{"type": "reasoning.text", "index": 0, "text": "I ", "format": "x", "signature": None}],
    [{"type": "reasoning.text", "index": 0, "text": "look.", "signature": "sig"}],
    [{"type": "reasoning.encrypted", "index": 1, "data": "AAA"}],
    [{"type": "reasoning.encrypted", "index": 1, "data": "BBB", "id": "e"}],
]
WHOLE = [
    {"type": "reasoning.text", "index": 0, "text": "I look.", "format": "x", "signature": "sig"},
    {"type": "reasoning.encrypted", "index": 1, "data": "AAABBB", "id": "e"},
]


def test_details_are_joined_and_sent_back_as_they_came() -> None:
    deltas = [{"choices": [{"index": 0, "delta": {"reasoning_details": piece}}]} for piece in PIECES]
    function = {"name": "read_file", "arguments": "{}"}
    entry = {"index": 0, "id": "c1", "type": "function", "function": function}
    end = {"choices": [{"index": 0, "delta": {"tool_calls": [entry]}, "finish_reason": "tool_calls"}]}
    conversation = Conversation(HEAD, [encode_system("s")])
    api = Api(CHAT.path, lambda data: check(data, {"reasoning_details"}), CHAT.messages, CHAT.render)
    with ScriptedServer([chunks(*deltas, end), say("done")], api=api, api_key=KEY) as server:
        play(lambda provider: turn(provider, conversation), server.base_url, dialect=named("openrouter"))
        server.assert_done()
    assert server.requests[1].messages[2]["reasoning_details"] == WHOLE


@pytest.mark.parametrize("details", [None, 3, [3, None], [{}], [{"type": 1, "text": []}], "text"])
def test_details_of_any_shape_do_no_harm(details: Any) -> None:
    assembly = EchoAssembly("reasoning_details")
    for _ in range(2):
        assembly.feed({"reasoning_details": details})
    echo = assembly.members("", {})
    assert not echo or without_echo(encode_assistant("", [LOOK], echo))[1]


def test_making_over_costs_nothing_the_second_time() -> None:
    wire, conversation = ChatWire(), Conversation(HEAD, [encode_system("s")])
    for number in range(50):
        conversation.append(encode_user(f"u{number}"))
        conversation.append_answer(ModelAnswer(text="a", tool_calls=(ToolCall(f"c{number}", "f", "{}"),)))
        conversation.append_result(f"c{number}", "r")
    quirks = replace(PLAIN, call_content="empty", echo="reasoning_content")
    first = json.loads(wire.body(conversation, quirks))
    forms = wire._forms[1]
    made = dict(forms._made)
    assert json.loads(wire.body(conversation, quirks)) == first
    assert all(forms._made[message] is parts for message, parts in made.items())
