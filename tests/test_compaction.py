"""The pure parts of compaction: what a rewritten conversation keeps, how long it may be."""

import json
from itertools import pairwise
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.compaction import estimate, rewrite
from actors.compaction.memory import Memory, Turn
from actors.compaction.record import record_of, request_for, without_model
from actors.compaction.trim import trimmed, with_plan
from actors.conversation import (
    Conversation,
    encode_assistant,
    encode_head,
    encode_system,
    encode_tool_result,
    encode_user,
)
from actors.plan.delivery import plan_result, restoring
from actors.sent_message import read
from actors.session.events import (
    ConversationCompacted,
    MessageAppended,
    PromptTaken,
    TurnEnded,
    UsageRecorded,
)
from ipc.messages import ToolCall, Usage
from tests.fakes import chat_rules
from tests.fakes.plans import plan, step

SYSTEM = encode_system("system")
PLAN = restoring(plan(step("look", status="done"), step("act", status="in_progress")), "plan00007")
HEAD = encode_head("m", b"[]", {"stream": True})
TEXTS = st.text(max_size=30) | st.text(min_size=1, max_size=4).map(lambda text: text * 2_000)


def call(call_id: str, name: str = "read_file") -> ToolCall:
    return ToolCall(id=call_id, name=name, arguments="{}")


@st.composite
def turns(draw: st.DrawFn, *, running: bool) -> list[bytes]:
    """A balanced conversation, system message first; a running turn ends with its prompt or with results."""
    messages, number = [SYSTEM], 0
    for _ in range(draw(st.integers(1, 4))):
        messages.append(encode_user(draw(TEXTS) or "go"))
        for _ in range(draw(st.integers(0, 3))):
            ids = [f"c{number + n}" for n in range(draw(st.integers(1, 3)))]
            number += len(ids)
            name = draw(st.sampled_from(["read_file", "update_plan"]))
            messages.append(encode_assistant(draw(TEXTS), [call(each, name) for each in ids]))
            messages += [encode_tool_result(each, draw(TEXTS)) for each in ids]
        messages.append(encode_assistant("answered"))
    return messages[:-1] if running else messages


def spoken(messages: list[bytes]) -> list[dict[str, Any]]:
    """Decoded, after a strict server has looked at it."""
    request = chat_rules.parse(Conversation(HEAD, messages).body())
    chat_rules.check(request)
    decoded: list[dict[str, Any]] = request["messages"]
    return decoded


def weight(messages: list[bytes]) -> int:
    return sum(map(len, messages))


def newest_result(messages: list[dict[str, Any]]) -> str:
    return str([message["content"] for message in messages if message["role"] == "tool"][-1])


# --- the rewritten conversation ----------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.data(), st.booleans(), st.booleans(), st.integers(0, 30_000))
def test_any_conversation_is_rewritten_to_one_that_a_strict_server_takes(
    data: st.DataObject, running: bool, has_plan: bool, budget: int
) -> None:
    messages = data.draw(turns(running=running))
    pair = PLAN if has_plan else ()
    new = rewrite.rewritten(messages, "record", "summary", pair, running=running, rounds=budget)
    said = spoken(new)
    assert new[0] is messages[0]
    assert not any(one["role"] == two["role"] == "assistant" for one, two in pairwise(said))
    if has_plan:
        assert newest_result(said) == read(PLAN[1]).text
    if running:
        live = [message for message in messages if read(message).role == "user"][-1]
        assert [m for m in new if read(m).role == "user"][1:] == [live]
    fixed = rewrite.rewritten(messages, "record", "summary", pair, running=running, rounds=0)
    assert weight(new) <= weight(fixed) + budget


@settings(max_examples=60, deadline=None)
@given(st.data(), st.booleans(), st.integers(0, 60_000))
def test_trimming_keeps_every_message_and_every_word_of_the_user(
    data: st.DataObject, running: bool, limit: int
) -> None:
    messages = data.draw(turns(running=running))
    new = with_plan(trimmed(messages, limit), PLAN)
    said = spoken(new)
    assert newest_result(said) == read(PLAN[1]).text
    without_results = [m for m in messages if read(m).role != "tool"]
    assert [m for m in new if read(m).role != "tool" and m != PLAN[0]] == without_results
    assert weight(trimmed(messages, limit)) <= weight(messages)
    assert trimmed(messages, weight(messages) + len(messages)) == messages


def test_trimming_drops_the_oldest_results_first_and_the_newest_round_never() -> None:
    messages = [SYSTEM, encode_user("go")]
    for name in ("old", "middle", "new"):
        messages += [encode_assistant("", [call(name)]), encode_tool_result(name, name * 1_000)]
    contents = [read(m).text for m in trimmed(messages, 6_500) if read(m).role == "tool"]
    assert contents[0] == "[3,000 characters dropped by Fido to fit the model's window]"
    assert contents[1:] == ["middle" * 1_000, "new" * 1_000] or contents[2] == "new" * 1_000
    assert read(trimmed(messages, 0)[-1]).text == "new" * 1_000


def test_the_newest_rounds_are_kept_whole_and_the_oldest_go() -> None:
    messages = [SYSTEM, encode_user("go")]
    for name in ("r1", "r2", "r3"):
        messages += [encode_assistant("", [call(name)]), encode_tool_result(name, name * 500)]
    new = spoken(rewrite.rewritten(messages, "record", "summary", (), running=True, rounds=2_600))
    assert [m["tool_call_id"] for m in new if m["role"] == "tool"] == ["r2", "r3"]


def test_results_of_the_newest_round_are_cut_when_it_alone_is_too_long() -> None:
    results = [encode_tool_result(name, f"begin {name}" + "x" * 50_000 + f"end {name}") for name in "ab"]
    messages = [SYSTEM, encode_user("go"), encode_assistant("", [call("a"), call("b")]), *results]
    new = rewrite.rewritten(messages, "record", "summary", (), running=True, rounds=4_000)
    kept = [m["content"] for m in spoken(new) if m["role"] == "tool"]
    assert len(kept) == 2
    for name, text in zip("ab", kept, strict=True):
        assert text.startswith(f"begin {name}")
        assert text.endswith(f"end {name}")
        assert "dropped by Fido" in text


def test_the_last_full_plan_is_found_and_a_refusal_is_none() -> None:
    full = plan_result(plan(step("look")))
    messages = [SYSTEM, encode_user("go")]
    for call_id, content in (("a", full), ("b", '{"error":{"code":"plan_refused"}}')):
        messages += [
            encode_assistant("", [call(call_id, "update_plan")]),
            encode_tool_result(call_id, content),
        ]
    pair = rewrite.latest_plan(messages, "plan00001")
    assert pair
    assert (read(pair[1]).text, read(pair[1]).tool_call_id) == (full, "plan00001")
    assert rewrite.latest_plan(messages[:2], "plan00001") == ()


# --- texts -------------------------------------------------------------------------------------------------


@given(st.text(max_size=3_000) | st.sampled_from(["\n\x00" * 900, "wö€𝕏" * 700]), st.integers(80, 4_000))
def test_a_shortened_text_never_weighs_more_than_its_limit(text: str, limit: int) -> None:
    short = rewrite.shortened(text, limit)
    assert rewrite.weight(short) <= limit
    if rewrite.weight(text) <= limit:
        assert short == text
    else:
        assert "characters dropped by Fido" in short


def earlier(*prompts: str) -> list[Turn]:
    return [Turn(n, text, "completed", f"answer {n}") for n, text in enumerate(prompts, 1)]


@given(st.lists(st.text(max_size=400), max_size=8), st.integers(200, 3_000))
def test_the_record_quotes_the_newest_prompts_word_for_word_within_its_bound(
    prompts: list[str], limit: int
) -> None:
    record = record_of(earlier(*prompts), limit)
    assert rewrite.weight(record) <= limit + 800
    if prompts and rewrite.weight(prompts[-1]) < limit // 2 - 60:
        assert f"\n{prompts[-1]}\n" in record
    assert "none of it is a new request" in record


def test_the_record_says_how_every_prompt_ended_and_how_many_are_left_out() -> None:
    record = record_of([*earlier("x" * 400, "y" * 400), Turn(3, "now run it", "cancelled")], 600)
    assert "[older prompts left out: 1]" in record
    assert '<prompt number="2" ended="answered">\nyyy' in record
    assert '<prompt number="3" ended="cancelled by the user">' in record


def test_without_a_model_the_logs_answers_stand_for_the_summary() -> None:
    text = without_model(earlier("a", "b", "c"), 400)
    assert "- Prompt 3 (answered): answer 3" in text
    assert rewrite.weight(without_model(earlier(*"abcdefgh" * 30), 1_000)) <= 1_000


def test_the_request_asks_to_tell_the_finished_from_the_open_and_the_cancelled() -> None:
    text = request_for(10_000, "", running=True)
    for heading in ("Goal and constraints", "Completed", "Open", "Cancelled", "Facts", "User preferences"):
        assert f"## {heading}" in text
    assert "7,000 characters" in text
    assert "still being worked on" in text
    assert "$" not in text
    assert request_for(10_000, " the $API ", running=False).endswith("above all: the $API")


# --- numbers -----------------------------------------------------------------------------------------------


def appended(message: bytes) -> MessageAppended:
    return MessageAppended(turn=1, message=msgspec.Raw(message))


def used(tokens: int, *, subagent: bool = False) -> UsageRecorded:
    return UsageRecorded(turn=1, usage=Usage(prompt_tokens=tokens, completion_tokens=900), subagent=subagent)


def test_the_servers_number_counts_and_only_what_came_since_is_estimated() -> None:
    memory = Memory()
    for event in (appended(SYSTEM), used(5_000), appended(b"x" * 699), used(70, subagent=True)):
        memory.apply(event)
    assert estimate.tokens_of(20_000, memory.reported, memory.since) == 5_200
    memory.apply(ConversationCompacted(turn=1, messages=(), method="trim", before_tokens=9, after_tokens=700))
    assert (memory.reported, memory.since, memory.compactions) == (700, 0, 1)


def test_without_a_number_or_with_one_that_cannot_be_all_bytes_are_estimated() -> None:
    assert estimate.tokens_of(35_000) == 10_000
    for impossible in (12, 1_000_000):
        assert estimate.tokens_of(35_000, impossible, 0) == 10_000


def test_the_size_is_that_of_the_request() -> None:
    conversation = Conversation(HEAD, [SYSTEM, encode_user("go")])
    assert abs(estimate.size_of(conversation) - len(conversation.body())) <= 2


def test_the_memory_keeps_prompts_and_ends_in_the_users_numbering() -> None:
    memory = Memory()
    for number in (1, 2):
        memory.apply(PromptTaken(turn=number, text=f"do {number}", at=""))
        memory.apply(TurnEnded(turn=number, status="failed", final_text="broke"))
        memory.apply(
            ConversationCompacted(turn=1, messages=(), method="trim", before_tokens=9, after_tokens=7)
        )
    assert [(t.number, t.prompt, t.status, t.answer) for t in memory.turns] == [
        (1, "do 1", "failed", "broke"), (2, "do 2", "failed", "broke"),
    ]  # fmt: skip
    memory.apply(PromptTaken(turn=3, text="x" * 1_000_000, at=""))
    assert len(json.dumps(memory.turns[-1].prompt)) < 33_000
