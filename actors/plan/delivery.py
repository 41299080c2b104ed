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


def is_due(plan: Plan, seen: int | None) -> bool:
    """Whether the model has to be given the plan before it goes on; `seen`: the revision it saw last, if any.

    A process that has just started has given none yet. That there is no plan is worth telling only to a model
    that saw one.
    """
    return plan.revision != seen and (bool(plan.items) or seen is not None)


def origin(plan: Plan, session_id: str) -> str:
    """Say whose plan it is, so that an old task is never taken for the running one; empty for our own."""
    if not plan.items:
        return "There is no plan now: it was cleared, or its file is gone."
    if plan.session == session_id:
        return ""
    whose = f"session {plan.session}" if plan.session else "a person, or another program,"
    return (
        f"Carried over: {whose} wrote this plan at {plan.updated_at}. It is not the task at hand unless the "
        "user says so; your first update_plan replaces it wholly."
    )
