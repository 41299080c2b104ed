"""Assembly of streamed chunks: text, reasoning, tool calls in every dialect, usage, ends."""

import itertools
import json
from collections.abc import Iterable
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.calls import argument_object, sendable
from actors.provider.answers.sse import EVENT_LIMIT, EventDecoder, EventTooLargeError
from actors.provider.answers.stream import Assembly
from actors.provider.interface import ProviderError
from ipc.messages import ModelAnswer, ReasoningDelta, TextDelta, ToolCall, Usage
from tests.fakes.chat_script import Dialect, Raw, Step, call, calls, render, say

URL = "http://localhost/v1/chat/completions"


def assemble(chunks: Iterable[Any], *, done: bool = True) -> ModelAnswer:
    ids = (f"new_{n}" for n in itertools.count(1))
    assembly = Assembly(URL, lambda: next(ids))
    for chunk in chunks:
        assembly.feed(chunk)
    return assembly.answer(done=done)


def play(step: Step) -> ModelAnswer:
    """Render a step as the server sends it and assemble it."""
    wire = b"".join(part.data for part in render(step, 1, "m", include_usage=True) if isinstance(part, Raw))
    events = EventDecoder().feed(wire)
    return assemble([json.loads(e) for e in events if e != b"[DONE]"], done=events[-1] == b"[DONE]")


def delta(**members: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": members, "finish_reason": None}]}


def piece(arguments: Any = None, **members: Any) -> dict[str, Any]:
    """A chunk with one entry of `tool_calls`; `name` goes into its function."""
    function = {"name": members.pop("name")} if "name" in members else {}
    if arguments is not None:
        function["arguments"] = arguments
    return delta(tool_calls=[{**members, "function": function}])


END = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
TWO = calls([call("read_file", {"path": "a b.py"}, id="c1"), call("rg", {"pattern": "é" * 40}, id="c2")])
BOTH = [("read_file", {"path": "a b.py"}), ("rg", {"pattern": "é" * 40})]


@pytest.mark.report("PROV-01")
@pytest.mark.report("PROV-02")
@pytest.mark.parametrize("dialect", get_args(Dialect))
@pytest.mark.parametrize("cut", [1, 7, 1000])
def test_two_calls_are_assembled_in_every_dialect(dialect: Dialect, cut: int) -> None:
    answer = play(_with(TWO, dialect, cut))
    assert [(c.name, json.loads(c.arguments)) for c in answer.tool_calls] == BOTH
    assert len({c.id for c in answer.tool_calls}) == 2
    assert all(c.id for c in answer.tool_calls)


def _with(step: Step, dialect: Dialect, cut: int) -> Step:
    return Step(calls=step.calls, dialect=dialect, piece=cut)


@pytest.mark.parametrize("dialect", ["standard", "no_index", "same_index", "id_in_every_piece", "whole"])
def test_ids_of_the_server_are_kept(dialect: Dialect) -> None:
    assert [c.id for c in play(_with(TWO, dialect, 5)).tool_calls] == ["c1", "c2"]


@pytest.mark.report("PROV-01")
def test_pieces_with_neither_id_nor_index_belong_to_the_call_in_progress() -> None:
    answer = assemble(
        [piece('{"a"', id="x", name="f"), piece(":1}"), piece("{", id="y", name="g"), piece("}"), END]
    )
    assert answer.tool_calls == (
        ToolCall(id="x", name="f", arguments='{"a":1}'),
        ToolCall(id="y", name="g", arguments="{}"),
    )


def test_calls_that_interleave_by_index_are_kept_apart() -> None:
    answer = assemble(
        [
            piece("", index=0, id="x", name="f"),
            piece("", index=1, id="y", name="g"),
            piece('{"a":', index=0),
            piece('{"b":', index=1),
            piece("1}", index=0),
            piece("2}", index=1),
            END,
        ]
    )
    assert [c.arguments for c in answer.tool_calls] == ['{"a":1}', '{"b":2}']


def test_a_whole_call_that_is_sent_again_counts_once() -> None:
    whole = piece('{"a":1}', index=0, id="x", name="f")
    assert assemble([whole, whole, END]).tool_calls == (ToolCall(id="x", name="f", arguments='{"a":1}'),)


def test_whole_calls_under_one_index_without_ids_are_two_calls() -> None:
    answer = assemble([piece('{"a":1}', index=0, name="f"), piece('{"a":2}', index=0, name="f"), END])
    assert [(c.id, c.arguments) for c in answer.tool_calls] == [("new_1", '{"a":1}'), ("new_2", '{"a":2}')]


def test_an_id_that_changes_with_every_piece_does_not_split_the_call() -> None:
    answer = assemble([piece("{", index=0, id="r1", name="f"), piece("}", index=0, id="r2"), END])
    assert answer.tool_calls == (ToolCall(id="r1", name="f", arguments="{}"),)


@pytest.mark.report("PROV-04")
@pytest.mark.parametrize("arguments", ["", "   ", "null", None])
def test_no_arguments_are_an_empty_text(arguments: str | None) -> None:
    (made,) = assemble([piece(arguments, index=0, id="x", name="f"), END]).tool_calls
    assert made.arguments == ""
    assert argument_object(made) == {}
    assert sendable(made).arguments == "{}"


@pytest.mark.parametrize(
    ("name", "kept"),
    [("functions.read_file", "functions_read_file"), ("", "unnamed"), ("é b", "__b"), ("x" * 99, "x" * 64)],
)
def test_a_name_that_no_server_takes_back_is_made_sound(name: str, kept: str) -> None:
    (made,) = assemble([piece("{}", index=0, id="a", name=name), END]).tool_calls
    assert made.name == kept


def test_arguments_cut_off_in_mid_json_stay_as_they_came() -> None:
    answer = assemble(
        [piece('{"path": "a', index=0, id="x", name="f"), {"choices": [{"finish_reason": "length"}]}]
    )
    assert (answer.tool_calls[0].arguments, answer.finish_reason) == ('{"path": "a', "length")


def test_finish_reason_stop_keeps_the_calls() -> None:
    assert play(call("f", {}, id="x", finish_reason="stop")).tool_calls


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_reasoning_is_told_apart_from_text(key: str) -> None:
    assembly = Assembly(URL)
    for chunk in (delta(**{key: "hm"}), delta(**{key: "m", "content": None}), delta(content="yes")):
        assembly.feed(chunk)
    assert assembly.take() == [ReasoningDelta(text="hmm"), TextDelta(text="yes")]


def test_reasoning_under_both_names_counts_once() -> None:
    assert assemble([delta(reasoning="hm", reasoning_content="hm"), END]).reasoning == "hm"


def test_content_in_parts_is_read() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "yes"},
    ]
    answer = assemble([delta(content=parts), END])
    assert (answer.reasoning, answer.text) == ("hm", "yes")


def test_neighbouring_pieces_become_one_event_and_none_is_empty() -> None:
    assembly = Assembly(URL)
    for text in ("a", "", None, "b"):
        assembly.feed(delta(content=text, role="assistant"))
    assert assembly.take() == [TextDelta(text="ab")]
    assert assembly.take() == []


def test_other_choices_are_passed_over() -> None:
    chunk: Any = {
        "choices": [{"index": 1, "delta": {"content": "no"}}, {"index": 0, "delta": {"content": "yes"}}]
    }
    assert assemble([chunk, END]).text == "yes"


def test_a_body_that_was_not_streamed_is_an_answer_too() -> None:
    message = {"role": "assistant", "content": "hi", "tool_calls": None}
    answer = assemble([{"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}])
    assert (answer.text, answer.finish_reason) == ("hi", "stop")


REAL = Usage(prompt_tokens=100, cached_tokens=60, completion_tokens=10)


@pytest.mark.report("PROV-14")
@pytest.mark.parametrize(
    ("style", "usage"),
    [
        ("final", REAL),
        ("every", REAL),
        ("with_finish", REAL),
        ("null", None),
        ("none", None),
        ("null_members", Usage(prompt_tokens=100)),
    ],
)
def test_usage_is_found_wherever_a_server_puts_it(style: Any, usage: Usage | None) -> None:
    assert play(say(["a", "b"], usage_style=style)).usage == usage


@pytest.mark.report("PROV-14")
def test_the_last_real_usage_wins_over_nulls_after_it() -> None:
    first = {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 1}}
    last = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": None, "cost": 0.25}}
    answer = assemble([first, last, {"choices": [], "usage": None}, END])
    assert answer.usage == Usage(prompt_tokens=7, completion_tokens=1, cost_usd=0.25)


@pytest.mark.parametrize("number", [-1, "7", True, 1e300, [1]])
def test_usage_that_is_no_count_is_passed_over(number: Any) -> None:
    assert assemble([{"choices": [], "usage": {"prompt_tokens": number}}, END]).usage is None


def test_an_end_without_finish_reason_and_done_is_a_lost_connection() -> None:
    with pytest.raises(ProviderError) as caught:
        assemble([delta(content="half"), piece("{}", index=0, id="x", name="f")], done=False)
    assert caught.value.code == "connection_lost"


def test_a_finish_reason_alone_ends_an_answer_and_so_does_the_end_of_a_whole_message() -> None:
    assert assemble([delta(content="a"), END], done=False).text == "a"
    assert assemble([{"choices": [{"message": {"content": "a"}}]}], done=True).text == "a"


def test_an_error_in_the_stream_is_raised() -> None:
    with pytest.raises(ProviderError, match="overloaded") as caught:
        assemble([delta(content="half"), {"error": {"message": "overloaded", "code": 529}}])
    assert caught.value.code == "server_error"


def test_a_role_or_an_empty_delta_is_no_progress() -> None:
    assembly = Assembly(URL)
    chunk: Any
    for chunk in (delta(role="assistant"), delta(content=""), {"choices": []}, {"choices": None}, {}):
        assembly.feed(chunk)
    assert assembly.size == 0


def test_empty_calls_without_end_are_a_bad_stream() -> None:
    entries = ({"index": index} for index in itertools.count())
    with pytest.raises(ProviderError, match="never ends") as caught:
        assemble(delta(tool_calls=list(itertools.islice(entries, 1_000))) for _ in range(500))
    assert caught.value.code == "bad_stream"


KEYS = st.sampled_from(
    [
        *("choices", "delta", "message", "content", "tool_calls", "function", "name", "arguments", "id"),
        *("index", "finish_reason", "usage", "prompt_tokens", "error", "reasoning", "thinking", "code"),
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=25,
)


@pytest.mark.fault(17, says="chunks of any shape")
@settings(deadline=None)
@given(st.lists(st.fixed_dictionaries({"choices": JSON}) | JSON, max_size=6))
def test_no_json_breaks_the_assembly(chunks: list[Any]) -> None:
    try:
        answer = assemble(chunks)
    except ProviderError:
        return
    assert msgspec.json.decode(msgspec.json.encode(answer), type=ModelAnswer) == answer
    ids = [c.id for c in answer.tool_calls]
    assert len(set(ids)) == len(ids)


@settings(deadline=None)
@given(st.data())
def test_events_are_the_same_however_the_bytes_are_cut(data: st.DataObject) -> None:
    texts = data.draw(st.lists(st.text(max_size=8), min_size=1, max_size=4))
    newline = data.draw(st.sampled_from([b"\n", b"\r\n"]))
    payloads = [json.dumps(t).encode() for t in texts]
    wire = b"".join(b": ping" + newline * 2 + b"data: " + p + newline * 2 for p in payloads)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(wire)), max_size=6)))
    pieces = [wire[a:b] for a, b in itertools.pairwise([0, *cuts, len(wire)])]
    decoder = EventDecoder()
    assert [e for p in pieces for e in decoder.feed(p)] == payloads


def test_lines_of_one_event_are_joined_and_other_fields_passed_over() -> None:
    assert EventDecoder().feed(b"event: x\nid: 1\ndata: a\ndata:b\nretry: 5\n\n\n\n") == [b"a\nb"]


def test_the_last_event_is_given_without_its_blank_line() -> None:
    decoder = EventDecoder()
    assert decoder.feed(b"data: a\n\ndata: [DONE]") == [b"a"]
    assert decoder.finish() == [b"[DONE]"]


@pytest.mark.parametrize("wire", [b"x" * (EVENT_LIMIT + 1), (b"data: " + b"x" * (1 << 20) + b"\n") * 5])
def test_an_event_without_end_is_refused(wire: bytes) -> None:
    with pytest.raises(EventTooLargeError):
        EventDecoder().feed(wire)
