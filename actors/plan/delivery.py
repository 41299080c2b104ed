"""How a plan reaches the model: as the result of `update_plan`, or as a call and result that restore it."""

import msgspec

from actors.conversation import encode_assistant, encode_tool_result
from ipc.messages import Plan, ToolCall

TOOL = "update_plan"


def plan_result(plan: Plan, **more: object) -> str:
    """The complete plan as a tool result, canonical; `more` stands behind it, what is empty is left out."""
    told = {name: value for name, value in more.items() if value}
    return msgspec.json.encode(msgspec.to_builtins(plan) | told).decode()


def restoring(plan: Plan, call_id: str, note: str = "") -> tuple[bytes, bytes]:
    """An assistant message with a call, and its result: the plan as the model would see it had it asked.

    The call is Fido's own, so it has no arguments; `call_id` is unique in the conversation.
    """
    call = ToolCall(id=call_id, name=TOOL, arguments="{}")
    return encode_assistant("", [call]), encode_tool_result(call_id, plan_result(plan, note=note))
