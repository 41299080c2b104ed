"""Decides on calls that nobody is asked about: what a person did not allow beforehand is refused."""

from collections.abc import Callable
from typing import Final

from actors.invocation import AnyTool, Refusal
from actors.permissions.policy import Verdict
from actors.session.recorder import Recorder
from actors.tools.tool import ToolInput
from ipc.messages import ToolCall

_NEXT: Final = "Go on without it, and put what the main agent should look up into recommended_next_steps."


class Unasked:
    """The gate in front of what a subagent wants of the web."""

    def __init__(self, judge: Callable[[AnyTool, ToolInput], Verdict], recorder: Recorder) -> None:
        """`judge` is what decides on the parent's own calls, but for the asking."""
        self._judge = judge
        self._recorder = recorder

    async def check(self, tool: AnyTool, given: ToolInput, call: ToolCall) -> Refusal | None:
        """Decide on a call; the log has every decision."""
        verdict = self._judge(tool, given)
        is_allowed = verdict.answer == "allow"
        self._recorder.call_decided(call, "allow" if is_allowed else "deny", verdict.by, verdict.because)
        if is_allowed:
            return None
        if verdict.answer == "deny":
            return Refusal(verdict.code, verdict.message, _NEXT)
        message = f"The user has not allowed {tool.name} beforehand, and for a subagent nobody is asked."
        return Refusal("permission_denied", message, _NEXT)
