"""What a strict Chat Completions server accepts; every refusal is one sentence."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

FIELDS = {
    *("model", "messages", "tools", "tool_choice", "parallel_tool_calls", "stream", "stream_options"),
    *("temperature", "top_p", "seed", "stop", "n", "max_tokens", "max_completion_tokens"),
    *("reasoning_effort", "user", "metadata", "prompt_cache_key"),
}
MESSAGE_FIELDS = {
    "system": {"role", "content", "name"},
    "developer": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "tool_calls"},
    "tool": {"role", "content", "tool_call_id"},
}
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class RuleError(Exception):
    """The request is not one that a strict server would take."""


def parse(body: bytes) -> dict[str, Any]:
    """Decode a request body, or raise `RuleError`."""
    try:
        text = body.decode("utf-8")
        data = msgspec.json.decode(text)
    except (UnicodeDecodeError, msgspec.DecodeError) as error:
        raise RuleError(f"the body is not JSON in UTF-8: {error}") from error
    if not isinstance(data, dict):
        raise RuleError("the body is not a JSON object")
    return data


def check(request: Mapping[str, Any], also: Collection[str] = (), beside: Collection[str] = ()) -> None:
    """Raise `RuleError` with the first thing that is wrong.

    `also` are further members of an answer, `beside` those of a call.
    """
    if unknown := set(request) - FIELDS:
        raise RuleError(f"unknown fields: {', '.join(sorted(unknown))}")
    if not isinstance(request.get("model"), str) or not request["model"]:
        raise RuleError("model must be a name")
    if request.get("stream") is not True:
        raise RuleError("stream must be true")
    _check_tools(request.get("tools", []))
    messages = request.get("messages")
    if not isinstance(messages, list) or not messages:
        raise RuleError("messages must be a list that is not empty")
    _check_messages(messages, also, beside)


def _check_tools(tools: Any) -> None:
    if not isinstance(tools, list):
        raise RuleError("tools must be a list")
    names = []
    for tool in tools:
        function = (
            tool.get("function") if isinstance(tool, dict) and set(tool) == {"type", "function"} else None
        )
        if not isinstance(function, dict) or tool["type"] != "function":
            raise RuleError(f"not a function tool: {str(tool)[:80]}")
        if set(function) - {"name", "description", "parameters", "strict"} or not _is_name(
            function.get("name")
        ):
            raise RuleError(f"not a function: {str(function)[:80]}")
        names.append(function["name"])
    if len(set(names)) != len(names):
        raise RuleError("two tools have one name")


def _check_messages(messages: Sequence[Any], also: Collection[str], beside: Collection[str]) -> None:
    due: list[str] = []
    for position, message in enumerate(messages):
        where = f"messages[{position}]"
        role = message.get("role") if isinstance(message, dict) else None
        if role not in MESSAGE_FIELDS:
            raise RuleError(f"{where}: unknown role {role!r}")
        known = MESSAGE_FIELDS[role] | (set(also) if role == "assistant" else set())
        if unknown := set(message) - known:
            raise RuleError(f"{where}: unknown fields of a {role} message: {', '.join(sorted(unknown))}")
        if role == "tool":
            _check_result(where, message, due)
            continue
        if due:
            raise RuleError(f"{where}: tool calls without a result: {', '.join(due)}")
        is_answer = role == "assistant"
        due = _check_assistant(where, message, beside) if is_answer else _check_text(where, message)
    if due:
        raise RuleError(f"the end: tool calls without a result: {', '.join(due)}")


def _check_result(where: str, message: Mapping[str, Any], due: list[str]) -> None:
    call_id = message.get("tool_call_id")
    if not due:
        raise RuleError(f"{where}: a tool result {call_id!r} that no call waits for")
    if call_id != due[0]:
        raise RuleError(f"{where}: a tool result for {call_id!r} where {due[0]!r} is due")
    if not isinstance(message.get("content"), str):
        raise RuleError(f"{where}: content of a tool result must be text")
    del due[0]


def _check_text(where: str, message: Mapping[str, Any]) -> list[str]:
    if not isinstance(message.get("content"), str) or not message["content"]:
        raise RuleError(f"{where}: content of a {message['role']} message must be text that is not empty")
    return []


def _check_assistant(where: str, message: Mapping[str, Any], beside: Collection[str]) -> list[str]:
    content, made = message.get("content"), message.get("tool_calls")
    if content is not None and not isinstance(content, str):
        raise RuleError(f"{where}: content must be text or null")
    if "tool_calls" in message and (not isinstance(made, list) or not made):
        raise RuleError(f"{where}: tool_calls must be a list that is not empty")
    if not content and not made:
        raise RuleError(f"{where}: an assistant message needs content or tool_calls")
    ids = [_check_call(where, one, beside) for one in made or ()]
    if len(set(ids)) != len(ids):
        raise RuleError(f"{where}: two calls have one id")
    return ids


def _check_call(where: str, one: Any, beside: Collection[str]) -> str:
    members = set(one) - set(beside) if isinstance(one, dict) else set()
    if members != {"id", "type", "function"} or one["type"] != "function":
        raise RuleError(f"{where}: not a tool call: {str(one)[:80]}")
    function, call_id = one["function"], one["id"]
    if not isinstance(call_id, str) or not call_id:
        raise RuleError(f"{where}: a call without an id")
    if (
        not isinstance(function, dict)
        or set(function) != {"name", "arguments"}
        or not _is_name(function["name"])
    ):
        raise RuleError(f"{where}: not a function call: {str(function)[:80]}")
    try:
        arguments = msgspec.json.decode(function["arguments"])
    except (msgspec.DecodeError, TypeError) as error:
        raise RuleError(f"{where}: arguments of {call_id} are not JSON: {error}") from error
    if not isinstance(arguments, dict):
        raise RuleError(f"{where}: arguments of {call_id} are not an object")
    return call_id


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and NAME.fullmatch(value) is not None
