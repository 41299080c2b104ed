"""Calls that come as tagged text: read where the dialect says so, told where it does not."""

import json
import time
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from actors.provider.answers.call_marks import holds_call
from actors.provider.answers.text_calls import OPENINGS, Holding, tagged_calls
from actors.provider.servers.dialects import DIALECTS, Dialect, named
from ipc.messages import Level, ModelAnswer, TextDelta, ToolCall
from tests.fakes.asking import run
from tests.fakes.scripted_server import ScriptedServer, say

READ = ToolCall(id="", name="read_file", arguments='{"path":"a.py"}')
LIST = ToolCall(id="", name="list_files", arguments="{}")
OBJECT = '{"name": "read_file", "arguments": {"path": "a.py"}}'


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        (f"<tool_call>\n{OBJECT}\n</tool_call>", [READ]),
        (f'<tool_call>{OBJECT}</tool_call>\n<tool_call>{{"name":"list_files"}}</tool_call>', [READ, LIST]),
        (f"<tool_call>{OBJECT}", [READ]),
        (f"[TOOL_CALLS] [{OBJECT}]", [READ]),
        (f"[TOOL_CALLS][{OBJECT}]</s>", [READ]),
        ('<|python_tag|>{"name": "list_files", "parameters": {}}<|eom_id|>', [LIST]),
        (
            "<tool_call>\n<function=read_file>\n<parameter=path>\na.py\n</parameter>\n</function>\n</tool_call>",
            [READ],
        ),
        ("<function=list_files></function>", [LIST]),
    ],
)
def test_a_call_is_read_in_the_forms_that_models_are_taught(text: str, calls: list[ToolCall]) -> None:
    found = tagged_calls(f"I look.\n{text}\n")
    assert found is not None
    assert (found.text, list(found.calls)) == ("I look.", calls)


def test_values_of_elements_are_what_they_read_as() -> None:
    values = {"limit": "3", "paths": '["a"]', "text": "3 apples", "quoted": '"x"'}
    elements = "".join(f"<parameter={name}>\n{value}\n</parameter>" for name, value in values.items())
    found = tagged_calls(f"<function=f>{elements}</function>")
    assert found is not None
    assert json.loads(found.calls[0].arguments) == {
        "limit": 3, "paths": ["a"], "text": "3 apples", "quoted": '"x"'
    }  # fmt: skip


def test_a_tag_in_a_string_does_not_end_the_call() -> None:
    found = tagged_calls('<tool_call>{"name":"patch","arguments":{"new_text":"}</tool_call>"}}</tool_call>')
    assert found is not None
    assert json.loads(found.calls[0].arguments) == {"new_text": "}</tool_call>"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Models write <tool_call> around calls.",
        f"Write <tool_call>{OBJECT}</tool_call> to call it.",
        f"```\n<tool_call>{OBJECT}</tool_call>\n```",
        "<tool_call>[1, 2]</tool_call>",
        '<tool_call>{"no": "name"}</tool_call>',
        '<tool_call>{"name": 3}</tool_call>',
        "<function=",
        "a <function=f>and so on</function>",
    ],
)
def test_talk_about_calls_is_no_call(text: str) -> None:
    found = tagged_calls(text)
    assert found is None or not found.calls


def test_a_call_that_is_cut_off_is_seen_and_not_read() -> None:
    for text in (
        f"<tool_call>{OBJECT[:-9]}",
        "<function=read_file><parameter=path>a",
        "<function=read_file>",
    ):
        found = tagged_calls(text)
        assert found is not None
        assert found.calls == ()


PARTS = st.sampled_from(
    [
        *OPENINGS,
        OBJECT,
        "</tool_call>",
        "<parameter=x>",
        "</parameter>",
        "</function>",
        "f>",
        " ",
        "{",
        "[",
        "]",
        "}",
    ]
)


@given(
    st.lists(PARTS | st.text(max_size=5), max_size=12).map("".join), st.lists(st.integers(1, 9), max_size=9)
)
@example("<tool_call>" * 50 + "{" * 50, [3])
def test_what_is_shown_and_what_is_held_back_is_the_whole_answer(text: str, cuts: list[int]) -> None:
    holding, shown, rest = Holding(), [], text
    for cut in [*cuts, len(text)]:
        shown.append(holding.feed(rest[:cut]))
        rest = rest[cut:]
    assert "".join(shown) + holding.feed(rest) + holding.rest() == text
    tagged_calls(text)
    assert all(opening not in "".join(shown) for opening in OPENINGS)


@pytest.mark.parametrize(
    "text", ['<tool_call>{"a":' * 40_000, "<function=f><parameter=p>" * 40_000, "<tool_call>[" * 40_000]
)
def test_hostile_text_is_read_in_no_time(text: str) -> None:
    found = tagged_calls(text)
    assert found is None or not found.calls


# --- seen, whether it can be read or not

CALLS_AS_TEXT = (
    f"<tool_call>\n{OBJECT}\n</tool_call>",
    f"<tool_call>{OBJECT}</tool_call>\nI wait for what it says.",
    f"<tool_call>{OBJECT}</tool_call>\n<tool_response>it is empty</tool_response>",
    f"<tool_call>{OBJECT[:-9]}",
    "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n</tool_call>",
    "<tool_call>list_files\n</tool_call>",
    '[TOOL_CALLS]read_file[ARGS]{"path": "a"}',
    '[TOOL_CALLS]read_file{"path": "a"}',
    f"[TOOL_CALLS] [{OBJECT}]",
    '<|python_tag|>{"name": "read_file", "parameters": {}}',
    '<|python_tag|>read_file.call(path="a")',
    '<function=read_file>{"path": "a"}</function>',
    "<function=read_file>\n<parameter=path>\na\n</parameter>\n</function>",
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n```json\n{}\n```",
    "<｜DSML｜function_calls>",
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{}",
    '<minimax:tool_call>\n<invoke name="read_file">',
    '<function_calls>\n<invoke name="read_file">',
    '<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>{"path":"a"}',
    'commentary to=functions.read_file json{"path":"a"}',
    f"<|tool_call|>[{OBJECT}]",
    f"functools[{OBJECT}]",
    '```tool_code\nread_file(path="a")\n```',
    "Action: read_file\nAction Input: a.py",
    '{"name": "read_file", "parameters": {"path": "a"}}',
    '{"type": "function", "function": {"name": "read_file", "arguments": "{}"}}',
    f"[{OBJECT}]",
    f"```json\n{OBJECT}\n```",
    '[read_file(path="a"), list_files()]',
)


@pytest.mark.report("PROV-20")
@pytest.mark.parametrize("text", CALLS_AS_TEXT)
def test_a_call_as_text_is_seen_in_every_form(text: str) -> None:
    assert holds_call(text, ["read_file", "list_files"])
    assert holds_call(f"I look, as `a` says:\n\n```sh\nls\n```\n\n{text}", ["read_file", "list_files"]) or (
        text[:3] == "```"
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Models write <tool_call> around calls, or [TOOL_CALLS] before them.",
        "Write <tool_call>{}</tool_call> around it.",
        "a <function=f>and so on</function>",
        "The parser looks for <|python_tag|> and the like.",
        '{"name": "somebody", "arguments": {}}',
        '{"name": "read_file", "version": 2}',
        "[read_file](docs/tools.md) (see there)",
        "Action: none needed.",
        *(f"It sends this:\n\n```\n{text}\n```\n" for text in CALLS_AS_TEXT if "```" not in text),
        *(f"It sends `{text}` then." for text in CALLS_AS_TEXT if not {"`", "\n"} & {*text}),
    ],
)
def test_text_about_calls_is_not_taken_for_one(text: str) -> None:
    assert not holds_call(text, ["read_file", "list_files"])


@given(st.lists(PARTS | st.sampled_from(CALLS_AS_TEXT) | st.text(max_size=5), max_size=12).map("".join))
def test_any_text_is_looked_at_without_a_fault(text: str) -> None:
    holds_call(text, ["read_file"])


@pytest.mark.parametrize(
    "part",
    [
        "<tool_call>",
        "`",
        "```\n",
        "{",
        "[\n",
        "<function=",
        "to=functions.",
        " ",
        "`a",
        '{"a":',
        "~~~\n",
        "<|channel|>",
    ],
)
def test_looking_at_hostile_text_takes_no_time(part: str) -> None:
    begun = time.monotonic()
    holds_call(part * (200_000 // len(part)), ["read_file"])
    assert time.monotonic() - begun < 2.0


# --- through a provider -------------------------------------------------------------------------------------


def asked(answer: Any, dialect: Dialect) -> tuple[ModelAnswer, str, list[str]]:
    """The answer, the text that was shown, and what a person was told."""
    told: list[str] = []

    def tell(level: Level, message: str) -> None:
        told.append(f"{level}: {message}")

    with ScriptedServer([answer]) as server:
        events = run(server.base_url, dialect=dialect, tell=tell)
        server.assert_done()
    assert isinstance(events[-1], ModelAnswer)
    return events[-1], "".join(event.text for event in events if isinstance(event, TextDelta)), told


@pytest.mark.report("PROV-20")
@pytest.mark.parametrize("name", ["ollama", "llama.cpp", "vllm", "lmstudio"])
def test_a_call_as_text_is_a_call_where_the_dialect_says_so(name: str) -> None:
    pieces = ["I lo", "ok. <too", "l_call>", OBJECT[:20], OBJECT[20:], "</tool_call>"]
    answer, shown, told = asked(say(pieces), named(name))
    assert answer.text == "I look."
    assert shown.strip() == "I look."
    assert [(call.name, json.loads(call.arguments)) for call in answer.tool_calls] == [
        ("read_file", {"path": "a.py"})
    ]
    assert answer.tool_calls[0].id
    assert told == []


@pytest.mark.report("PROV-20")
@pytest.mark.parametrize("name", [dialect.name for dialect in DIALECTS if not dialect.quirks.text_calls])
def test_a_call_as_text_is_told_elsewhere(name: str) -> None:
    answer, shown, told = asked(say(f"<tool_call>{OBJECT}</tool_call>"), named(name))
    assert not answer.tool_calls
    assert shown == answer.text == f"<tool_call>{OBJECT}</tool_call>"
    assert len(told) == 1
    assert told[0].startswith("warning: ")
    assert "nothing was run" in told[0]


@pytest.mark.report("PROV-20")
def test_half_a_call_is_told_where_whole_ones_are_read() -> None:
    answer, shown, told = asked(say(f"<tool_call>{OBJECT[:-9]}", finish_reason="length"), named("vllm"))
    assert not answer.tool_calls
    assert shown == answer.text
    assert len(told) == 1


def test_talk_about_calls_is_shown_as_it_is() -> None:
    text = "Write <tool_call>{}</tool_call> around it."
    answer, shown, told = asked(say(["Write <tool", text[11:]]), named("lmstudio"))
    assert answer.text == shown == text
    assert told == []
