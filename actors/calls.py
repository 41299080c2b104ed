"""A tool call's arguments and its result, as values (pure)."""

import json
import re
from dataclasses import dataclass
from typing import Final

import msgspec

from ipc.messages import ToolCall, ToolStatus

UNKNOWN_TOOL: Final = "unknown_tool"
"""Code of a call of a tool that there is not."""
_ILLEGAL: Final = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME: Final = 64
"""Characters of a tool's name, as OpenAI's servers take it and most others."""
_HALF: Final = re.compile(
    r"\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(u[dD][89a-fA-F][\da-fA-F]{2})|.)",
    re.DOTALL,
)
"""An escape in JSON; the group is half of a surrogate pair, as in the name of a file that is no UTF-8."""
_TRAILING_COMMA: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|(,)(?=\s*[\]}])', re.DOTALL)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What goes back to the model for one call, and how it went."""

    content: str
    """The text for the model."""
    status: ToolStatus
    """How it ended."""
    display: str = ""
    """What the person sees of it."""
    duration_ms: int = 0
    """Milliseconds it ran; waiting for an approval not counted."""
    code: str = ""
    """The stable code of the error in it; empty when there is none."""


def failure(code: str, message: str, next_step: str = "") -> str:
    """The content of a result that says why there is none."""
    error = {"code": code, "message": message}
    if next_step:
        error["next_step"] = next_step
    return msgspec.json.encode({"error": error}).decode()


def is_cut_off(arguments: str) -> bool:
    """Whether a text begins as a JSON object and ends before that does."""
    try:
        msgspec.json.decode(_without_halves(arguments, r"\\ufffd"))
    except msgspec.DecodeError as error:
        return "truncated" in str(error) and arguments.lstrip().startswith("{")
    except (RecursionError, UnicodeEncodeError):
        pass
    return False


def argument_object(call: ToolCall) -> dict[str, object]:
    """The arguments as an object; blank and null mean none. Raises `ValueError`."""
    text = call.arguments.strip()
    if text in ("", "null"):
        return {}
    try:
        return _decoded(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError) as error:
        raise ValueError(str(error)) from error


def _decoded(text: str) -> dict[str, object]:
    """Like msgspec, which refuses halves of surrogate pairs: names that are no UTF-8 have them."""
    whole = _without_halves(text, r"\\ufffd")
    decoded = msgspec.json.decode(whole, type=dict[str, object])
    return decoded if whole == text else json.loads(text)


def _without_halves(text: str, instead: str) -> str:
    """The text with another text in place of each; `\\g<1>` is what stands behind the backslash."""
    if "\\u" not in text:
        return text
    return _HALF.sub(lambda found: found.expand(instead) if found[1] else found[0], text)


def without_trailing_comma(text: str) -> str:
    """The text without the one comma that keeps it from being JSON; as it is where it has other faults.

    A comma with nothing before it, as in `[,]`, stands for something that is missing: it stays.
    """
    commas = [found.start() for found in _TRAILING_COMMA.finditer(text) if found[1]]
    if len(commas) != 1:
        return text
    before, behind = text[: commas[0]], text[commas[0] + 1 :]
    if before.rstrip().endswith(("[", "{")):
        return text
    try:
        msgspec.json.decode(_without_halves(before + behind, r"\\ufffd"))
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return text
    return before + behind


def mended(call: ToolCall) -> ToolCall:
    """The call without the one trailing comma in its arguments; the call itself when there is no such."""
    text = without_trailing_comma(call.arguments)
    return call if text == call.arguments else msgspec.structs.replace(call, arguments=text)


def sendable(call: ToolCall) -> ToolCall:
    """The call as a strict server takes it back: with a name that one may have, and an object."""
    call = _with_legal_name(mended(call))
    whole = _without_halves(call.arguments, r"\\\\\g<1>")  # no strict server reads half of a pair
    if whole != call.arguments:
        call = msgspec.structs.replace(call, arguments=whole)
    try:
        broken = not argument_object(call) and call.arguments.strip() in ("", "null")
    except ValueError:
        broken = True
    return msgspec.structs.replace(call, arguments="{}") if broken else call


def _with_legal_name(call: ToolCall) -> ToolCall:
    """What no tool may be called is never sent back; the result has said that there is no such tool."""
    name = _ILLEGAL.sub("_", call.name).strip("_")[:_LONGEST_NAME] or "unnamed"
    is_legal = call.name and len(call.name) <= _LONGEST_NAME and not _ILLEGAL.search(call.name)
    return call if is_legal else msgspec.structs.replace(call, name=name)
