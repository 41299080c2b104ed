"""Signs that a text holds a tool call which its server passed on as it was. Pure; no call is read here.

Rules
-----
A mark is a tag with the beginning of a call behind it, in any of the forms that models are taught, wherever
it stands but in code: text about calls shows them there. Without a tag it is an object, or a call as Python
writes it, at the beginning of a line, with the name of a tool that was offered.
"""

import json
import re
from collections.abc import Collection, Iterator
from typing import Any, Final

_NAME: Final = r"[\w.:/-]{1,64}"
_MARKS: Final = re.compile(
    "|".join(
        (
            rf"<tool_call>\s{{0,9}}(?:[\[{{]\s{{0,9}}[\[{{\"]|<function=|{_NAME}\s{{0,9}}(?:<arg_key>|</tool_call>))",
            rf"\[TOOL_CALLS\]\s{{0,9}}(?:[\[{{]\s{{0,9}}[{{\"]|{_NAME}\s{{0,9}}(?:\[ARGS\]|\[CALL_ID\]|\{{))",
            rf"<\|python_tag\|>\s{{0,9}}(?:\{{\s{{0,9}}\"|{_NAME}\()",
            rf"<function={_NAME}>\s{{0,9}}(?:\{{|<parameter=|</function>)",
            rf"<function\s(?:name|id)=\"{_NAME}\"",
            r"<[|｜]tool[_▁]calls?(?:[_▁]section)?[_▁]begin[|｜]>",
            r"<[|｜]DSML[|｜](?:function_calls|invoke|tool_calls)",
            r"<\|tool_calls?\|>\s{0,9}[\[{]",
            r"<(?:antml:|minimax:)?(?:tool_calls?|function_calls?)>\s{0,9}(?:<invoke|<tool|[\[{]\s{0,9}[{\"])",
            rf"<invoke\sname=\"{_NAME}\"",
            rf"<\|channel\|>(?:commentary|analysis)\sto=(?:functions\.)?{_NAME}",
            rf"(?:^|\n|<\|start\|>assistant)\s{{0,9}}(?:commentary\s)?to=functions\.{_NAME}",
            r"<\|START_ACTION\|>\s{0,9}[\[{]",
            r"(?:^|\n)functools\[\{",
            r"(?:^|\n)(?:TOOL_CALL|Action):\s{1,9}\w{1,64}\n{1,3}(?:Action Input|ARGS):",
            r"(?:^|\n)```tool_(?:code|call)s?\n",
        )
    )
)
"""As Qwen, Hermes, GLM, Mistral, Llama, DeepSeek, Kimi, Granite, Phi, MiniMax, Anthropic, gpt-oss, Cohere and
Gemma are taught to begin a call."""
_FENCE: Final = re.compile(
    r"^ {0,3}(`{3,}|~{3,})(?!tool_)[^`\n]*$.*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
_SPAN: Final = re.compile(r"(?<!`)(`{1,2})(?!`)[^`\n]{1,400}?(?<!`)\1(?!`)")
_ONE_FENCE: Final = re.compile(r"\s*```(?:json)?[ \t]*\n(.*)\n```\s*", re.DOTALL)
_AT_A_LINE: Final = re.compile(r"^[ \t]*(?=[\[{])", re.MULTILINE)
_ARGUMENTS: Final = ("arguments", "parameters", "args", "input")
_TRIES: Final = 16
"""At how many brackets an answer is looked at; each look may read to its end."""
_decode_at: Final = json.JSONDecoder().raw_decode


def holds_call(text: str, tools: Collection[str]) -> bool:
    """Tell whether a call stands in an answer as text; `tools` are the names that were offered."""
    if not any(map(text.__contains__, "<[{`=:")):
        return False
    bare = _SPAN.sub("", _FENCE.sub("\n", text))
    if _MARKS.search(bare):
        return True
    alone = _ONE_FENCE.fullmatch(text)
    return _names_tool(alone[1] if alone else bare, frozenset(tools))


def _names_tool(text: str, tools: frozenset[str]) -> bool:
    for _, line in zip(range(_TRIES), _AT_A_LINE.finditer(text), strict=False):
        start = line.end()
        call = re.compile(rf"\[?({_NAME})\(").match(text, start)
        if call and call[1] in tools and text.rstrip().endswith(")]"):
            return True
        if any(one in tools for one in _named(text, start)):
            return True
    return False


def _named(text: str, at: int) -> Iterator[str]:
    """The names of what stands there, if it has the members of calls."""
    try:
        found, _ = _decode_at(text, at)
    except (ValueError, RecursionError):
        return
    for one in found if isinstance(found, list) else [found]:
        inner = one.get("function", one) if isinstance(one, dict) else None
        if isinstance(inner, str) and any(key in one for key in _ARGUMENTS):
            yield inner
        elif isinstance(inner, dict) and any(key in inner for key in _ARGUMENTS):
            yield _text(inner.get("name", inner.get("tool")))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
