"""A tool call's arguments and its result, as values (pure)."""

import re
from dataclasses import dataclass
from typing import Final

import msgspec

from ipc.messages import ToolCall, ToolStatus

UNKNOWN_TOOL: Final = "unknown_tool"
"""Code of a call of a tool that there is not."""
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
        msgspec.json.decode(arguments)
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
        return msgspec.json.decode(text, type=dict[str, object])
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError) as error:
        raise ValueError(str(error)) from error


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
        msgspec.json.decode(before + behind)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return text
    return before + behind


def mended(call: ToolCall) -> ToolCall:
    """The call without the one trailing comma in its arguments; the call itself when there is no such."""
    text = without_trailing_comma(call.arguments)
    return call if text == call.arguments else msgspec.structs.replace(call, arguments=text)


def sendable(call: ToolCall) -> ToolCall:
    """The call as a strict server takes it back: its arguments are a JSON object."""
    call = mended(call)
    try:
        broken = not argument_object(call) and call.arguments.strip() in ("", "null")
    except ValueError:
        broken = True
    return msgspec.structs.replace(call, arguments="{}") if broken else call
