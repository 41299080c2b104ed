"""What a subagent may call: the one rule, for the worker's guard and for the parent's gate (pure)."""

from typing import Final

from actors.calls import ToolResult, failure
from actors.delegation.result import nested_failure
from actors.tools.tool import Effect

NESTED: Final = "nested delegation rejected"
"""What a person sees of a subagent's own call to `delegate`."""
INTERRUPTED: Final = failure("cancelled", "The turn was cancelled.")
"""The result of a call that had none yet when the turn was stopped, whatever it was."""


def refusal(agent_id: str, name: str, effect: Effect) -> ToolResult | None:
    """The result of a call that a subagent may not make; null when the call only reads.

    A call that reads the web is one of these: its parent makes it, and decides on it.
    """
    if effect in ("read", "web"):
        return None
    if effect == "delegate":
        return ToolResult(nested_failure(agent_id), "denied", NESTED)
    message = f"A subagent only reads; {name} was not run."
    next_step = "Go on without it, and put what the main agent should do into recommended_next_steps."
    return ToolResult(failure("permission_denied", message, next_step), "denied", message)
