"""Shapes in which servers stream what they mean: reasoning in the answer, names in pieces, late arguments."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.provider.answers.responses_reading import ResponsesAssembly
from actors.provider.answers.sse import EventDecoder
from actors.provider.answers.stream import Assembly
from actors.provider.answers.thoughts import TAGS, Thoughts
from actors.provider.wires.wire import PLAIN
from ipc.messages import ModelAnswer, TextDelta

URL = "http://localhost/v1/chat/completions"


def assemble(*deltas: dict[str, Any]) -> tuple[ModelAnswer, str]:
    """The answer, and the text that was shown."""
    assembly, shown = Assembly(URL), ""
    for delta in (*deltas, None):
        assembly.feed({"choices": [{"delta": delta} if delta else {"finish_reason": "stop"}]})
        shown += "".join(one.text for one in assembly.take() if isinstance(one, TextDelta))
    answer = assembly.answer(done=True)
    return answer, shown + "".join(one.text for one in assembly.take() if isinstance(one, TextDelta))


def piece(index: int | None = 0, **members: Any) -> dict[str, Any]:
    function = {key: members.pop(key) for key in ("name", "arguments") if key in members}
    return {"tool_calls": [{"index": index, "function": function, **members}]}


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_lines_end_by_any_of_the_three_ends(end: bytes, size: int) -> None:
    wire = b"data: a\ndata: b\n\n: x\n\ndata: c\n\n".replace(b"\n", end)
    decoder = EventDecoder()
    events = [one for at in range(0, len(wire), size) for one in decoder.feed(wire[at : at + size])]
    assert events + decoder.finish() == [b"a\nb", b"c"]


@pytest.mark.parametrize("tag", TAGS)
@pytest.mark.parametrize("size", [1, 3, 100])
def test_reasoning_at_the_beginning_of_an_answer_is_no_answer(tag: str, size: int) -> None:
    text = f"\n{tag}a < b{TAGS[tag]}\n\nIt is {tag} c."
    answer, shown = assemble(*({"content": text[at : at + size]} for at in range(0, len(text), size)))
    assert (answer.text, answer.reasoning) == (f"It is {tag} c.", "a < b")
    assert shown == answer.text


@pytest.mark.parametrize("text", ["<think> is a tag.", "<thin", "It has <think>x</think>.", " <b>"])
def test_an_answer_about_the_tags_stays_one(text: str) -> None:
    answer, shown = assemble({"content": text})
    assert shown == answer.text
    assert answer.text.strip() in text
    assert answer.text.split()[-1] == text.split()[-1]


@given(st.text("<think>/ \na", max_size=30), st.integers(1, 5))
def test_thoughts_lose_nothing_but_tags_and_blanks(text: str, size: int) -> None:
    whole, pieces = Thoughts(), Thoughts()
    parts = [pieces.feed(text[at : at + size]) for at in range(0, len(text), size)]
    thought, said = whole.feed(text)
    rest, rest_of_pieces = whole.rest(), pieces.rest()
    assert "".join(one for one, _ in parts) == thought
    assert "".join(one for _, one in parts) + rest_of_pieces == said + rest
    assert "".join(text.split()) == "".join((thought + said + rest).split()) or "<think>" in text


@pytest.mark.parametrize(
    ("deltas", "calls"),
    [
        ([piece(name="f", arguments="{}", id="a"), piece(arguments='{"x":1}')], [("f", '{"x":1}')]),
        (
            [piece(name="f", arguments="{}", id="a"), piece(name="f", arguments='{"x":1}', id="a")],
            [("f", '{"x":1}')],
        ),
        ([piece(name="read_"), piece(name="file"), piece(arguments="{}")], [("read_file", "{}")]),
        ([piece(name="read_", id="a"), piece(name="file", id="a")], [("read_file", "")]),
        ([piece(name="read_"), piece(name="read_file")], [("read_file", "")]),
        ([piece(name="f", arguments="{}"), piece(name="g", arguments="{}")], [("f", "{}"), ("g", "{}")]),
        ([piece(None, name="f"), piece(None, name="g")], [("f", ""), ("g", "")]),
    ],
)
def test_a_call_is_one_whatever_pieces_it_comes_in(
    deltas: list[dict[str, Any]], calls: list[tuple[str, str]]
) -> None:
    answer, _ = assemble(*deltas)
    assert [(call.name, call.arguments) for call in answer.tool_calls] == calls


CALL = {"type": "function_call", "id": "i", "call_id": "c", "name": "f", "arguments": '{"x":1}'}
SAID = {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "Hello"}]}
ADDED = {"type": "response.output_item.added", "output_index": 0, "item": {**CALL, "arguments": ""}}
DONE = {"type": "response.function_call_arguments.done", "output_index": 0, "arguments": '{"x":1}'}
DELTA = {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": '{"x"'}
ITEM = {"type": "response.output_item.done", "output_index": 0, "item": CALL}


@pytest.mark.parametrize(
    "events",
    [[ADDED, DONE], [ADDED, DELTA, DONE], [ADDED, DELTA], [ADDED], [], [ADDED, DELTA, DONE, ITEM], [ITEM]],
)
@pytest.mark.parametrize("output", [[CALL], [CALL, SAID]])
def test_arguments_of_a_response_arrive_once_wherever_they_are(
    events: list[dict[str, Any]], output: list[dict[str, Any]]
) -> None:
    assembly = ResponsesAssembly(URL, PLAIN)
    for event in events:
        assembly.feed(event)
    assembly.feed({"type": "response.completed", "response": {"status": "completed", "output": output}})
    (call,) = assembly.answer(done=False).tool_calls
    assert (call.name, call.arguments) == ("f", '{"x":1}')
