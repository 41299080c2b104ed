"""A tool call's arguments and its result, as values (pure)."""

from dataclasses import dataclass

import msgspec

from ipc.messages import ToolCall, ToolStatus


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


def failure(code: str, message: str, next_step: str = "") -> str:
    """The content of a result that says why there is none."""
    error = {"code": code, "message": message}
    if next_step:
        error["next_step"] = next_step
    return msgspec.json.encode({"error": error}).decode()


def argument_object(call: ToolCall) -> dict[str, object]:
    """The arguments as an object; blank and null mean none. Raises `ValueError`."""
    text = call.arguments.strip()
    if text in ("", "null"):
        return {}
    try:
        return msgspec.json.decode(text, type=dict[str, object])
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError) as error:
        raise ValueError(str(error)) from error


def sendable(call: ToolCall) -> ToolCall:
    """The call as a strict server takes it back: its arguments are a JSON object."""
    try:
        broken = not argument_object(call) and call.arguments.strip() in ("", "null")
    except ValueError:
        broken = True
    return msgspec.structs.replace(call, arguments="{}") if broken else call
