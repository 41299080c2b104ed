"""The worker's provider: its parent, asked over the connection that brought the task."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Final

from actors.conversation import Conversation
from actors.provider.interface import ProviderError
from ipc.errors import IpcError
from ipc.mailbox import Peer
from ipc.messages import AnyReply, CompleteModel, ModelAnswer, ModelCompleted, Refused, StreamEvent

ANSWER_S: Final = 4_000.0
"""Longest wait for one answer; the delegation's own deadline is the parent's and shorter."""


class RelayedProvider:
    """Sends what lies behind the fork; the parent adds the fork and the key."""

    def __init__(self, peer: Peer, agent_id: str) -> None:
        self._peer = peer
        self._agent_id = agent_id
        self._arriving: asyncio.Queue[StreamEvent | None] | None = None

    def receive(self, event: StreamEvent) -> None:
        """Take a piece that the parent streamed; the answer itself comes as the reply."""
        if self._arriving is not None and not isinstance(event, ModelAnswer):
            self._arriving.put_nowait(event)

    async def stream(self, conversation: Conversation) -> AsyncGenerator[StreamEvent, None]:
        arriving = self._arriving = asyncio.Queue()
        request = CompleteModel(agent_id=self._agent_id, tail=conversation.tail)
        asking = asyncio.ensure_future(self._peer.ask(request, ANSWER_S))
        asking.add_done_callback(lambda _: arriving.put_nowait(None))
        try:
            while (event := await arriving.get()) is not None:
                yield event
            yield _answer(asking)
        finally:
            self._arriving = None
            asking.cancel()


def _answer(asking: "asyncio.Future[AnyReply]") -> ModelAnswer:
    try:
        reply = asking.result()
    except IpcError as error:
        raise ProviderError("internal_error", f"The main agent did not answer: {error}.") from error
    match reply:
        case ModelCompleted(answer=answer):
            return answer
        case Refused(code=code, message=message, next_step=next_step):
            raise ProviderError(code, message, next_step)
        case _:
            raise ProviderError("internal_error", f"The main agent answered with {type(reply).__name__}.")
