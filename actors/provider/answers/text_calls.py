"""Tool calls that a model wrote as tagged text because its server did not read them (pure).

Rules
-----
Only what an answer ends with is one: a tag with more text behind it is talk about calls. Before it there
may be text. It is read where the dialect says so and every call in it is whole; else all is text, and a
person is told.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from actors.provider.answers.pieces import Pieces
from ipc.messages import ToolCall

OPENINGS: Final = ("<tool_call>", "[TOOL_CALLS]", "<|python_tag|>", "<function=")
"""As Qwen, Hermes and their kin, Mistral's and Meta's models are taught to begin a call."""
_OPENING: Final = re.compile("|".join(map(re.escape, OPENINGS)))
_BODY: Final = re.compile(r"\s*(?=[\[{<])")
_ENDING: Final = re.compile(r"\s*(?:</tool_call>|</s>|<\|e\w{1,8}\|>|<\|im_end\|>)?\s*")
_FUNCTION: Final = re.compile(r"<function=([\w.-]{1,64})>")
_PARAMETER: Final = re.compile(r"\s*<parameter=([\w.-]{1,64})>\n?")
_FUNCTION_END: Final = "</function>"
_PARAMETER_END: Final = "</parameter>"
_TRIES: Final = 16
"""At how many tags an answer is looked at; each look reads to its end."""
_decode_at: Final = json.JSONDecoder().raw_decode


class Tagged(NamedTuple):
    """The end of an answer, as far as it was meant as calls."""

    text: str
    """What stands before it."""
    calls: tuple[ToolCall, ...]
    """Without ids, which the caller gives; empty when one of them is not whole."""


def tagged_calls(text: str) -> Tagged | None:
    """Find the calls that an answer ends with; none when it ends with anything else."""
    for _, opening in zip(range(_TRIES), _OPENING.finditer(text), strict=False):
        try:
            calls = tuple(_run(text, opening.start()))
        except _NotWhole:
            return Tagged(text[: opening.start()].rstrip(), ())
        except (ValueError, RecursionError):
            continue
        return Tagged(text[: opening.start()].rstrip(), calls)
    return None


class Holding:
    """Lets an answer through as it comes, but for what may be a call."""

    def __init__(self) -> None:
        self._tail = ""
        self._held = Pieces()
        self._is_call = False

    def feed(self, text: str) -> str:
        """Take a piece, return what may be shown now."""
        if self._is_call:
            self._held.append(text)
            return ""
        text = self._tail + text
        shown = shown_length(text)
        self._tail = text[shown:]
        if _OPENING.match(self._tail):
            self._is_call = True
            self._held.append(self._tail)
        return text[:shown]

    def rest(self) -> str:
        """Return what was held back, which is shown when it was no call."""
        return str(self._held) if self._is_call else self._tail


def shown_length(text: str) -> int:
    """How much of an answer so far may be shown, characters: up to where a call may have begun."""
    if opening := _OPENING.search(text):
        return opening.start()
    longest = max(map(len, OPENINGS)) - 1
    for start in range(max(0, len(text) - longest), len(text)):
        if any(opening.startswith(text[start:]) for opening in OPENINGS):
            return start
    return len(text)


class _NotWhole(Exception):
    """A call began and the answer ended in it."""


def _run(text: str, at: int) -> Iterator[ToolCall]:
    """The calls from a tag to the end. Raises `ValueError` where something else stands, `_NotWhole`."""
    while at < len(text):
        opening = _OPENING.match(text, at)
        if opening is None:
            raise ValueError("something else follows")
        is_bare = opening[0] == "<function="
        body = _BODY.match(text, opening.start() if is_bare else opening.end())
        if body is None:
            raise ValueError("no call follows")
        found, at = _elements(text, body.end()) if text[body.end()] == "<" else _objects(text, body.end())
        yield from found
        ending = _ENDING.match(text, at)
        at = ending.end() if ending else at


def _objects(text: str, at: int) -> tuple[list[ToolCall], int]:
    try:
        decoded, end = _decode_at(text, at)
    except ValueError as error:
        if re.search(r"\A[\[{]\s*(?:\{\s*)?\"(?:name|arg|par)", text[at : at + 64]):
            raise _NotWhole from error
        raise
    return [_of_object(one) for one in (decoded if isinstance(decoded, list) else [decoded])], end


def _of_object(given: Any) -> ToolCall:
    if not isinstance(given, dict):
        raise ValueError("a call is an object")
    name, arguments = given.get("name"), given.get("arguments", given.get("parameters", {}))
    if not isinstance(name, str) or not name or not isinstance(arguments, dict | str):
        raise ValueError("a call has a name and arguments")
    text = _whole(arguments) if isinstance(arguments, str) else _json(arguments)
    return ToolCall(id="", name=_whole(name), arguments=text)


def _elements(text: str, at: int) -> tuple[list[ToolCall], int]:
    """One call written as elements; a value that reads as a number, a list and the like is one."""
    function = _FUNCTION.match(text, at)
    if function is None:
        raise ValueError("no function follows")
    values: dict[str, Any] = {}
    at = function.end()
    while parameter := _PARAMETER.match(text, at):
        end = text.find(_PARAMETER_END, parameter.end())
        if end < 0:
            raise _NotWhole
        values[parameter[1]] = _value(text[parameter.end() : end].removesuffix("\n"))
        at = end + len(_PARAMETER_END)
    end = text.find(_FUNCTION_END, at)
    if end < 0:
        raise _NotWhole
    if text[at:end].strip():
        raise ValueError("something else stands in it")
    return [ToolCall(id="", name=function[1], arguments=_json(values))], end + len(_FUNCTION_END)


def _value(text: str) -> Any:
    try:
        decoded = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return text if isinstance(decoded, str) else decoded


def _json(arguments: dict[str, Any]) -> str:
    """Encode; raises `ValueError` for a number that JSON has not."""
    return _whole(json.dumps(arguments, ensure_ascii=False, allow_nan=False, separators=(",", ":")))


def _whole(text: str) -> str:
    """The text with a question mark for each half of a surrogate pair."""
    return text.encode("utf-8", "replace").decode("utf-8")
