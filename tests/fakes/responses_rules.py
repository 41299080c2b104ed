"""What a strict Responses server accepts that stores nothing; every refusal is one sentence."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tests.fakes.chat_rules import NAME, RuleError

FIELDS = {
    *("model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "stream", "store"),
    *("include", "max_output_tokens", "reasoning", "temperature", "top_p", "metadata", "prompt_cache_key"),
}
ITEM_FIELDS = {
    "message": {"type", "role", "content"},
    "function_call": {"type", "call_id", "name", "arguments"},
    "function_call_output": {"type", "call_id", "output"},
    "reasoning": {"type", "id", "summary", "encrypted_content"},
}
SEAL = "sealed:"
"""Begins what this server has sealed."""


def check(request: Mapping[str, Any]) -> None:
    """Raise `RuleError` with the first thing that is wrong."""
    if unknown := set(request) - FIELDS:
        raise RuleError(f"unknown fields: {', '.join(sorted(unknown))}")
    for name in ("model", "instructions"):
        if not isinstance(request.get(name), str) or not request[name]:
            raise RuleError(f"{name} must be text that is not empty")
    if request.get("stream") is not True or request.get("store") is not False:
        raise RuleError("stream must be true and store false")
    for tool in request.get("tools", []):
        _check_tool(tool)
    items = request.get("input")
    if not isinstance(items, list) or not items:
        raise RuleError("input must be a list that is not empty")
    _check_items(items)


def messages(request: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The history as a chat has it, so that one script serves both."""
    made = [{"role": "system", "content": request.get("instructions")}]
    return made + [message for item in request["input"] if (message := _as_message(item))]


def _as_message(item: Mapping[str, Any]) -> dict[str, Any] | None:
    match item["type"]:
        case "message":
            return {"role": item["role"], "content": item["content"][0]["text"]}
        case "function_call_output":
            return {"role": "tool", "tool_call_id": item["call_id"], "content": item["output"]}
        case "function_call":
            function = {"name": item["name"], "arguments": item["arguments"]}
            call = {"id": item["call_id"], "type": "function", "function": function}
            return {"role": "assistant", "content": None, "tool_calls": [call]}
        case _:
            return None


def _check_tool(tool: Any) -> None:
    if not isinstance(tool, dict) or set(tool) != {"type", "name", "description", "parameters", "strict"}:
        raise RuleError(f"not a function tool: {str(tool)[:80]}")
    if tool["type"] != "function" or not NAME.fullmatch(tool["name"]) or tool["strict"] is not False:
        raise RuleError(f"not a function tool that is not strict: {str(tool)[:80]}")


def _check_items(items: Sequence[Any]) -> None:
    due: list[str] = []
    for position, item in enumerate(items):
        where = f"input[{position}]"
        kind = item.get("type") if isinstance(item, dict) else None
        if kind not in ITEM_FIELDS:
            raise RuleError(f"{where}: unknown type {kind!r}")
        if set(item) != ITEM_FIELDS[kind]:
            raise RuleError(f"{where}: not the fields of a {kind}: {', '.join(sorted(item))}")
        if kind == "function_call":
            if due and items[position - 1]["type"] == "function_call_output":
                raise RuleError(f"{where}: No tool output found for function call {due[0]}.")
            due.append(_check_call(where, item))
        elif kind == "function_call_output":
            _check_output(where, item, due)
        elif kind == "reasoning":
            _check_reasoning(where, item, items[position + 1 :])
        else:
            if due:
                raise RuleError(f"{where}: No tool output found for function call {due[0]}.")
            _check_message(where, item)
    if due:
        raise RuleError(f"the end: No tool output found for function call {due[0]}.")


def _check_call(where: str, item: Mapping[str, Any]) -> str:
    call_id = item["call_id"]
    if not isinstance(call_id, str) or not call_id or not NAME.fullmatch(item["name"]):
        raise RuleError(f"{where}: not a function call: {str(item)[:80]}")
    try:
        arguments = msgspec.json.decode(item["arguments"])
    except (msgspec.DecodeError, TypeError) as error:
        raise RuleError(f"{where}: arguments of {call_id} are not JSON: {error}") from error
    if not isinstance(arguments, dict):
        raise RuleError(f"{where}: arguments of {call_id} are not an object")
    return call_id


def _check_output(where: str, item: Mapping[str, Any], due: list[str]) -> None:
    if not due or item["call_id"] != due[0]:
        raise RuleError(f"{where}: No tool call found for function call output {item['call_id']!r}.")
    if not isinstance(item["output"], str):
        raise RuleError(f"{where}: output must be text")
    del due[0]


def _check_reasoning(where: str, item: Mapping[str, Any], rest: Sequence[Any]) -> None:
    if not isinstance(item["summary"], list):
        raise RuleError(f"{where}: summary must be a list")
    if not item["encrypted_content"].startswith(SEAL):
        raise RuleError(f"{where}: The encrypted content of {item['id']} could not be verified.")
    following = rest[0] if rest else {}
    answers = following.get("type") in ("reasoning", "function_call") or following.get("role") == "assistant"
    if not answers:
        raise RuleError(f"{where}: reasoning {item['id']!r} was provided without its required following item")


def _check_message(where: str, item: Mapping[str, Any]) -> None:
    role, content = item["role"], item["content"]
    kind = {"user": "input_text", "system": "input_text", "assistant": "output_text"}.get(role)
    if kind is None:
        raise RuleError(f"{where}: unknown role {role!r}")
    for part in content if isinstance(content, list) and content else [None]:
        if (
            not isinstance(part, dict)
            or set(part) != {"type", "text"}
            or part["type"] != kind
            or not part["text"]
        ):
            raise RuleError(f"{where}: not the content of a {role} message: {str(content)[:80]}")
