"""The pure parts of compaction: what a rewritten conversation keeps, how long it may be."""

import json
from itertools import pairwise
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.compaction import estimate, rewrite
from actors.compaction.cut import cut
from actors.compaction.deeds import in_place_of_summary, told
from actors.compaction.memory import CALLS, Memory, Turn
from actors.compaction.record import record_of, request_for
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
    CallEnded,
    CallStarted,
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
            name = draw(st.sampled_from(["read_file", "read_file", "update_plan"]))
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
    rounds = rewrite.rounds_behind(messages, pair) if running else ()
    kept = rewrite.newest_rounds(rounds, budget)
    new = rewrite.rewritten(messages, "record", "summary", pair, kept, running=running)
    said = spoken(new)
    assert new[0] is messages[0]
    assert not any(one["role"] == two["role"] == "assistant" for one, two in pairwise(said))
    if has_plan:
        assert newest_result(said) == read(PLAN[1]).text
    if running:
        live = [message for message in messages if read(message).role == "user"][-1]
        assert [m for m in new if read(m).role == "user"][1:] == [live]
    assert sum(map(rewrite.size, kept)) <= budget
    has_mark = rewrite.DROPPED in Conversation(HEAD, new).body().decode()
    assert has_mark == bool(len(kept) < len(rounds) and (kept or pair))


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


def remembered(messages: list[bytes], *, running: bool) -> Memory:
    """What the log of such a conversation tells; each call is about its own id. Plans are Fido's own."""
    memory, number = Memory(), 0
    for message in map(read, messages):
        if message.role == "user":
            if number:
                memory.apply(TurnEnded(turn=number, status="completed", final_text="answered"))
            number += 1
            memory.apply(PromptTaken(turn=number, text=message.text, at=""))
        for one in message.tool_calls or ():
            if len(message.tool_calls or ()) == 1 and one.function.name == "update_plan":
                continue
            made = CallStarted(
                turn=number, call_id=one.id, name="t", arguments="{}", summary=f"about {one.id}."
            )
            memory.apply(made)
            memory.apply(CallEnded(turn=number, call_id=one.id, name="t", status="ok", duration_ms=1))
    if not running:
        memory.apply(TurnEnded(turn=number, status="completed", final_text="answered"))
    return memory


@settings(max_examples=80, deadline=None)
@given(st.data(), st.booleans(), st.booleans(), st.integers(0, 60_000))
def test_any_conversation_is_cut_to_one_that_a_strict_server_takes_and_that_names_what_was_done(
    data: st.DataObject, running: bool, has_plan: bool, limit: int
) -> None:
    messages = data.draw(turns(running=running))
    memory, pair = remembered(messages, running=running), PLAN if has_plan else ()
    new = cut(messages, pair, memory, limit, rewrite.share_of(limit), running=running)
    said = spoken(new)
    assert new[0] is messages[0]
    if has_plan:
        assert newest_result(said) == read(PLAN[1]).text
    users = [read(m).text for m in messages if read(m).role == "user"]
    if running:
        assert [m["content"] for m in said if m["role"] == "user"][-1] == users[-1]
    standing = [one["id"] for m in said for one in m.get("tool_calls") or ()]
    assert len(standing) == len(set(standing))
    text = Conversation(HEAD, new).body().decode()
    if "left out: " not in text and "What stood here was dropped" not in text:
        named = {each.what for each in memory.calls if each.what.removeprefix("t ") in text}
        assert named == {each.what for each in memory.calls if each.what[8:-1] not in standing}
    room = rewrite.size([*messages, *pair])
    assert rewrite.size(new) <= max(limit, room)
    least = rewrite.size([m for m in messages if read(m).role != "tool"]) + 600 * len(memory.calls)
    assert rewrite.size(new) <= limit or limit < least + 3_000 + len(PLAN[1])


def rounds(*results: str) -> list[bytes]:
    """A running turn with one call a round."""
    messages = [SYSTEM, encode_user("go")]
    for number, result in enumerate(results):
        messages += [encode_assistant("", [call(f"r{number}")]), encode_tool_result(f"r{number}", result)]
    return messages


def contents(messages: list[bytes]) -> list[str]:
    return [read(m).text for m in messages if read(m).role == "tool"]


def test_trimming_cuts_the_oldest_results_first_and_keeps_how_they_began_and_ended() -> None:
    messages = rounds("begin" + "old" * 1_000 + "exit status 1", "middle" * 1_000, "new" * 1_000)
    old, middle, new = contents(trimmed(messages, 10_500))
    assert "characters dropped by Fido to fit the model's window]" in old
    assert old.startswith("begin")
    assert old.endswith("exit status 1")
    assert len(old) <= rewrite.BRIEF
    assert (middle, new) == ("middle" * 1_000, "new" * 1_000)


def test_trimming_cuts_the_newest_results_last_and_only_when_they_are_too_long_alone() -> None:
    messages = rounds("old" * 1_000, "new" * 10_000)
    old, new = contents(trimmed(messages, 9_000))
    assert len(old) <= rewrite.BRIEF
    assert 6_000 < len(new) < 9_000
    assert contents(trimmed(messages, 0))[-1] == "new" * 10_000
    assert contents(trimmed(rounds("old" * 1_000, "new" * 1_000), 3_400))[-1] == "new" * 1_000


def test_the_newest_rounds_are_kept_whole_then_short_and_the_oldest_go() -> None:
    messages = rounds(*(f"{n}" * 1_000 for n in range(9)))
    kept = rewrite.newest_rounds(rewrite.rounds_behind(messages, ()), 4_500)
    texts = contents([m for one in kept for m in one])
    assert texts[-1] == "8" * 1_000
    assert texts[-2] == "7" * 1_000
    assert texts[0][0] in "1234"
    assert all("dropped by Fido" in text for text in texts if len(text) < 1_000)
    assert [text[0] for text in texts] == sorted(text[0] for text in texts)


def test_dropped_rounds_leave_one_mark_behind_the_prompt_however_often_that_happens() -> None:
    messages = rounds(*("x" * 1_000 for _ in range(9)))
    for budget in (3_000, 2_000, 2_000):
        kept = rewrite.newest_rounds(rewrite.rounds_behind(messages, ()), budget)
        messages = rewrite.rewritten(messages, "record", "summary", (), kept, running=True)
        said = spoken(messages)
        assert said[4]["content"] == rewrite.DROPPED
        assert Conversation(HEAD, messages).body().decode().count("Earlier rounds of tool calls") == 1


def test_results_of_the_newest_round_are_cut_when_it_alone_is_too_long() -> None:
    results = [encode_tool_result(name, f"begin {name}" + "x" * 50_000 + f"end {name}") for name in "ab"]
    messages = [SYSTEM, encode_user("go"), encode_assistant("", [call("a"), call("b")]), *results]
    kept = rewrite.newest_rounds(rewrite.rounds_behind(messages, ()), 4_000)
    new = rewrite.rewritten(messages, "record", "summary", (), kept, running=True)
    texts = [m["content"] for m in spoken(new) if m["role"] == "tool"]
    assert len(texts) == 2
    for name, text in zip("ab", texts, strict=True):
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


def memory_of(*prompts: str) -> Memory:
    """A session whose turns have each made three calls; the last turn runs."""
    memory = Memory()
    for number, text in enumerate(prompts, 1):
        memory.apply(PromptTaken(turn=number, text=text, at=""))
        for name, summary, status in (
            ("read_file", f"file{number}.py", "ok"),
            ("bash_exec", f"pytest {number}", "error"),
            ("patch", f"file{number}.py", "ok"),
        ):
            memory.apply(started(number, name, summary))
            memory.apply(ended(number, name, status))
        if number < len(prompts):
            memory.apply(TurnEnded(turn=number, status="completed", final_text=f"answer {number}"))
    return memory


def started(turn: int, name: str, summary: str, arguments: str = "{}") -> CallStarted:
    return CallStarted(turn=turn, call_id=name, name=name, arguments=arguments, summary=summary)


def ended(turn: int, name: str, status: Any = "ok") -> CallEnded:
    return CallEnded(turn=turn, call_id=name, name=name, status=status, duration_ms=1)


def test_without_a_model_the_log_says_what_was_answered_and_done() -> None:
    text = in_place_of_summary(memory_of("a", "b"), 1, 2_000)
    assert "put this together from the session's log" in text
    assert text.splitlines()[1:] == [
        "- Prompt 1 (answered): answer 1",
        "  - read_file file1.py: ok",
        "  - bash_exec pytest 1: failed",
        "  - patch file1.py: ok",
        "- Prompt 2 (still being worked on)",
        "  - read_file file2.py: ok",
        "  - bash_exec pytest 2: failed",
    ]


def test_without_a_model_the_last_summary_stays() -> None:
    memory = memory_of("a", "b")
    said = (msgspec.Raw(encode_user("record")), msgspec.Raw(encode_assistant("all of it")))
    memory.apply(
        ConversationCompacted(turn=1, messages=said, method="summary", before_tokens=9, after_tokens=7)
    )
    text = in_place_of_summary(memory, 0, 2_000)
    assert "written at prompt 1:]\nall of it\n" in text
    assert "bash_exec pytest 2: failed" in text


def test_what_the_log_does_not_tell_is_not_said_to_come_from_it() -> None:
    memory = Memory()
    memory.apply(PromptTaken(turn=1, text="go", at=""))
    for limit in (0, 2_000):
        text = in_place_of_summary(memory, 0, limit)
        assert "log" not in text
        assert "dropped by Fido" in text


@given(st.lists(st.text(max_size=60), max_size=8), st.integers(0, 3_000), st.booleans())
def test_what_the_log_tells_is_bounded_and_the_newest_is_kept(
    prompts: list[str], limit: int, has_summary: bool
) -> None:
    memory = memory_of(*prompts)
    memory.summary = "s" * 900 if has_summary else ""
    text = in_place_of_summary(memory, 0, limit)
    assert rewrite.weight(text) <= max(limit, 80)
    if prompts and limit > 1_000:
        assert f"patch file{len(prompts)}.py: ok" in text


def test_calls_that_are_left_out_are_counted_and_a_repeated_one_is_told_once() -> None:
    memory = Memory()
    memory.apply(PromptTaken(turn=1, text="go", at=""))
    for number in range(100):
        for summary in ("same.py", f"file{number}.py"):
            memory.apply(started(1, "read_file", summary))
            memory.apply(ended(1, "read_file"))
    text = told(memory.turns, memory.calls, 1_000)
    assert text.count("same.py") == 1
    assert "[earlier calls left out: " in text
    assert text.endswith("same.py: ok\n  - read_file file99.py: ok")


def test_the_memory_of_calls_is_bounded_whatever_their_arguments_are() -> None:
    memory = Memory()
    for number in range(CALLS + 10):
        memory.apply(started(1, "bash_exec", f"line one\n{number} " + "x" * 9_000))
    memory.apply(started(1, "nothing", "", '{"broken":\n' * 9_000))
    assert len(memory.calls) == CALLS
    assert all(len(call.what) <= 160 and "\n" not in call.what for call in memory.calls)
    assert memory.calls[-1].what.startswith('nothing {"broken"')


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
