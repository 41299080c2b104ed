"""The worker's way to the web: its parent, which decides, and asks nobody."""

from typing import Final

from actors.calls import ToolResult, failure
from ipc.errors import IpcError
from ipc.mailbox import Peer
from ipc.messages import InvokeTool, Refused, ToolCall, ToolInvoked

CALL_S: Final = 90.0
"""Longer than any page takes; the delegation's own deadline is the parent's."""


class RelayedCalls:
    """Hands a call to the parent and takes its result."""

    def __init__(self, peer: Peer, agent_id: str) -> None:
        self._peer = peer
        self._agent_id = agent_id

    async def invoke(self, call: ToolCall) -> ToolResult:
        """Have a call carried out; a refusal is a result."""
        try:
            reply = await self._peer.ask(InvokeTool(agent_id=self._agent_id, call=call), CALL_S)
        except IpcError as error:
            reply = Refused(code="internal_error", message=f"The main agent did not answer: {error}.")
        match reply:
            case ToolInvoked(content=content, status=status):
                return ToolResult(content, status)
            case Refused(code=code, message=message, next_step=next_step):
                return ToolResult(failure(code, message, next_step), "error", message)
            case _:
                message = f"The main agent answered with {type(reply).__name__}."
                return ToolResult(failure("internal_error", message), "error", message)
