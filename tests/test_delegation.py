"""Identities, forks and results of delegations: pure, from any history and any text."""

import asyncio
import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from actors.catalog.builtin import EFFECTS
from actors.catalog.surface import advertised, input_schema
from actors.conversation import (
    Conversation,
    encode_head,
    encode_system,
    encode_user,
)
from actors.delegation.fork import Fork, fork, mint_agent_id
from actors.delegation.normalize import normalize
from actors.tools.delegate import DelegateInput, DelegateTool, Scope
from actors.tools.tool import Invocation
from ipc.messages import ModelAnswer, ToolCall
from tests.fakes import chat_rules

AGENT = "subagent-7f3a"
HEAD = encode_head("m", b"[]", {"stream": True})
IDENTITY = {"role": "subagent", "agent_id": AGENT, "parent_role": "main"}


def call(call_id: str, name: str = "read_file", arguments: str = '{"path":"a"}') -> ToolCall:
    return ToolCall(id=call_id, name=name, arguments=arguments)


def conversation_with(*calls: ToolCall, answered: int = 0) -> Conversation:
    conversation = Conversation(HEAD, [encode_system("be good"), encode_user("what is the licence?")])
    conversation.append_answer(ModelAnswer(text="I look.", tool_calls=calls))
    for each in calls[:answered]:
        conversation.append_result(each.id, f"result of {each.id}")
    return conversation


def request(task: str = "name the licence", **more: Any) -> DelegateInput:
    return DelegateInput(task=task, **more)


def decoded(messages: Any) -> list[dict[str, Any]]:
    return [json.loads(message) for message in messages]


def forked(conversation: Conversation, call_id: str = "d", **more: Any) -> Fork:
    return fork(conversation, call_id, AGENT, request(**more))


# --- identity ----------------------------------------------------------------------------------------------


def test_an_identity_is_four_hex_digits_and_never_one_that_is_taken() -> None:
    source = random.Random(7)
    taken: set[str] = set()
    for _ in range(300):
        agent_id = mint_agent_id(lambda size: source.randbytes(size).hex(), taken)
        assert agent_id not in taken
        assert len(agent_id) == len("subagent-7f3a")
        taken.add(agent_id)


def test_an_identity_grows_when_chance_only_brings_taken_ones() -> None:
    assert mint_agent_id(lambda size: "ab" * size, {"subagent-abab"}) == "subagent-ababab"


# --- the fork -----------------------------------------------------------------------------------------------


def test_the_fork_holds_the_parents_messages_then_the_bootstrap_then_the_task() -> None:
    conversation = conversation_with(call("d", "delegate"))
    made = forked(conversation, context="it is long", scope=Scope(paths=("LICENSE",), symbols=("main",)))
    assert made.base == tuple(conversation.messages)
    bootstrap, task = decoded(made.opening)
    assert (bootstrap["role"], bootstrap["tool_call_id"]) == ("tool", "d")
    assert json.loads(bootstrap["content"]) == {
        "type": "subagent_bootstrap",
        "identity": IDENTITY,
        "context_mode": "forked_parent_messages",
        "forked_message_count": 3,
        "task": "name the licence",
        "responsibility": "Inspect only; return the final result to the parent. You are not the main agent, "
        "you may not delegate, and the parent will verify your claims.",
    }
    assert task["role"] == "user"
    for fact in (AGENT, "name the licence", "it is long", "LICENSE", "main", "read-only", "do not implement"):
        assert fact in task["content"]


def test_the_task_comes_through_as_it_was_written() -> None:
    _, task = decoded(
        forked(conversation_with(call("d", "delegate")), task="why $agent_id and ${task}?").opening
    )
    assert "why $agent_id and ${task}?" in task["content"]


def test_siblings_keep_their_result_when_they_have_one_and_are_told_apart_when_not() -> None:
    conversation = conversation_with(call("a"), call("d", "delegate"), call("b"), answered=1)
    made = forked(conversation)
    everything = decoded([*made.base, *made.opening])
    results = [each for each in everything if each["role"] == "tool"]
    assert [each["tool_call_id"] for each in results] == ["a", "d", "b"]
    assert results[0]["content"] == "result of a"
    assert json.loads(results[2]["content"])["error"]["code"] == "not_in_this_fork"


def test_a_subagent_does_not_see_the_task_of_a_sibling_delegation() -> None:
    calls = [call(each, "delegate", json.dumps({"task": f"secret of {each}"})) for each in ("d", "e")]
    first = forked(conversation_with(*calls), "d")
    second = forked(conversation_with(*calls, answered=1), "e")
    for made, own, other in ((first, "d", "e"), (second, "e", "d")):
        sent = b"".join([*made.base, *made.opening]).decode()
        assert f"secret of {own}" in sent
        assert f"secret of {other}" not in sent


def test_the_subagents_own_task_is_the_last_word_whatever_the_parent_was_about() -> None:
    conversation = Conversation(HEAD, [encode_system("be good"), encode_user("release it")])
    conversation.append_answer(ModelAnswer(text="I plan.", tool_calls=(call("p", "update_plan"),)))
    conversation.append_result("p", '{"items":[{"id":"tag","status":"pending","next_action":"git tag"}]}')
    conversation.append_answer(ModelAnswer(text="Then I tag.", tool_calls=(call("d", "delegate"),)))
    last = decoded(forked(conversation, task="report the licence name only").opening)[-1]
    assert last["role"] == "user"
    assert last["content"].index("report the licence name only") < last["content"].index("# Rules")
    for boundary in ("nothing else", "Do not go on with its plan, its open steps", "do not keep its plan"):
        assert boundary in last["content"]
    assert "git tag" not in last["content"]


def test_a_fork_needs_its_call_to_be_open() -> None:
    with pytest.raises(ValueError, match="not an open call"):
        forked(conversation_with(call("d", "delegate"), answered=1))


NAMES = st.sampled_from([*EFFECTS, "no_such_tool"])
TEXT = st.text(max_size=30)
BATCH = st.lists(st.tuples(NAMES, st.dictionaries(TEXT, TEXT, max_size=2).map(json.dumps)), max_size=4)
PAST = st.lists(st.tuples(TEXT.filter(bool), TEXT.filter(bool), BATCH), max_size=5)


def any_conversation(past: list[Any], last: list[tuple[str, str]], answered: int) -> Conversation:
    """A history of prompts, answers and results, and a last batch of which some calls are answered."""
    conversation = Conversation(HEAD, [encode_system("be good")])
    for number, (prompt, text, batch) in enumerate(past):
        calls = [call(f"p{number}-{n}", *made) for n, made in enumerate(batch)]
        conversation.append(encode_user(prompt))
        conversation.append_answer(ModelAnswer(text=text, tool_calls=tuple(calls)))
        for each in calls:
            conversation.append_result(each.id, f"result of {each.id}")
    conversation.append(encode_user("go"))
    calls = [call(f"c{n}", *made) for n, made in enumerate(last)]
    conversation.append_answer(ModelAnswer(text="", tool_calls=tuple(calls)))
    for each in calls[:answered]:
        conversation.append_result(each.id, f"result of {each.id}")
    return conversation


@settings(max_examples=40, deadline=None)
@given(PAST, BATCH.filter(bool), st.text(min_size=1, max_size=90).filter(str.strip), st.data())
def test_any_conversation_forks_to_one_that_a_strict_server_takes_and_that_nobody_changes(
    past: list[Any], last: list[tuple[str, str]], task: str, data: st.DataObject
) -> None:
    answered = data.draw(st.integers(0, len(last) - 1))
    conversation = any_conversation(past, last, answered)
    before = tuple(conversation.messages)
    at = data.draw(st.sampled_from(conversation.open_calls))
    made = forked(conversation, at, task=task)

    body = made.extended(made.opening, ()).body()
    chat_rules.check(chat_rules.parse(body))
    messages = json.loads(body)["messages"]
    assert messages[: len(before)][: -answered - 1] == decoded(before)[: -answered - 1]
    assert [each["tool_call_id"] for each in messages if each["role"] == "tool"][-len(last) :] == [
        f"c{number}" for number in range(len(last))
    ]
    bootstrap = next(each for each in messages if each.get("tool_call_id") == at)
    assert json.loads(bootstrap["content"])["forked_message_count"] == len(before)
    assert messages[-1]["role"] == "user"

    # What the parent does afterwards does not reach the fork.
    for open_call in tuple(conversation.open_calls):
        conversation.append_result(open_call, "later")
    conversation.append(encode_user("even later"))
    conversation.replace([encode_user("a summary of all that")])
    assert made.extended(made.opening, ()).body() == body
    # What the subagent does does not reach the parent.
    parents = tuple(conversation.messages)
    extended = made.extended(made.opening, ())
    extended.append_answer(ModelAnswer(text="private", tool_calls=(call("x"),)))
    extended.append_result("x", "private")
    extended.replace([encode_user("private")])
    assert tuple(conversation.messages) == parents
    assert made.extended(made.opening, ()).body() == body


def test_the_start_command_joins_the_fork_once() -> None:
    conversation = conversation_with(call("d", "delegate"))
    start = forked(conversation).start("/w", 20)
    assert json.loads(b"[" + start.fork + b"]") == decoded(conversation.messages)
    assert (start.fork_count, start.agent_id, start.max_rounds) == (3, AGENT, 20)


# --- the tool -----------------------------------------------------------------------------------------------


def test_the_advertised_input_is_plain() -> None:
    schema = input_schema(DelegateInput)
    assert set(schema["properties"]) == {"task", "context", "scope", "mode", "output_contract", "timeout_ms"}
    assert schema["required"] == ["task"]
    assert schema["properties"]["mode"]["enum"] == ["read_only"]
    assert set(schema["properties"]["scope"]["properties"]) == {"paths", "symbols"}
    text = advertised([DelegateTool]).decode()
    assert "$ref" not in text
    assert "anyOf" not in text


class Answers:
    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.asked: list[tuple[DelegateInput, str]] = []

    async def delegate(self, given_request: DelegateInput, invocation: Invocation) -> str:
        self.asked.append((given_request, invocation.call_id))
        return self.answer


@pytest.mark.parametrize(("status", "ok"), [("completed", True), ("partial", True), ("failed", False)])
def test_the_tool_hands_the_result_over_as_it_is(status: Any, ok: bool) -> None:
    answer = normalize(AGENT, [f'{{"status":"{status}","summary":"MIT."}}']).encoded()
    delegator = Answers(answer)
    output = asyncio.run(DelegateTool(delegator).run(request("look\nclosely"), Invocation("d")))
    assert (output.content, output.ok) == (answer, ok)
    assert output.display == status
    assert [each for _, each in delegator.asked] == ["d"]
    assert DelegateTool(delegator).summary(request("look\nclosely")) == "look"


@pytest.mark.parametrize("seconds", [1, 60, 999])
def test_a_time_limit_that_was_meant_in_seconds_is_refused_with_the_unit(seconds: int) -> None:
    with pytest.raises(ValidationError, match="1000"):
        DelegateInput(task="look", timeout_ms=seconds)
    schema = input_schema(DelegateInput)["properties"]["timeout_ms"]
    assert "Milliseconds" in schema["description"]
    assert "1000" in schema["description"]


def test_a_fork_knows_how_many_delegations_come_behind_it() -> None:
    conversation = conversation_with(call("a", "delegate"), call("r", "read_file"), call("b", "delegate"))
    assert [fork(conversation, each, AGENT, request("look")).queued for each in ("a", "b")] == [1, 0]
