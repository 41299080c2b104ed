"""The parent's side of a subagent's calls to the web: each is one of its model's own, and made once."""

import asyncio
from collections.abc import Sequence
from typing import Final

from actors.catalog.aliases import canonical_name
from actors.catalog.builtin import EFFECTS
from actors.turn import Invoker
from ipc.messages import ModelAnswer, Refused, ToolCall, ToolInvoked

NO_NETWORK: Final = Refused(
    code="permission_denied",
    message="This subagent has no way to the web.",
    next_step="Go on without it, and say in uncertainties what could not be looked up.",
)


class NotItsCallError(Exception):
    """A worker wants a call made that its model did not make; end it."""


class Errands:
    """Makes the calls that a worker has no network for, by the same guard as the parent's own."""

    def __init__(self, invoker: Invoker | None) -> None:
        """`invoker` decides and runs; without one nothing is run."""
        self._invoker = invoker
        self._made: set[tuple[int, str]] = set()
        self._running: set[asyncio.Task[ToolInvoked]] = set()

    async def run(self, wanted: ToolCall, relayed: Sequence[ModelAnswer]) -> ToolInvoked | Refused:
        """Run a call of the last relayed answer, as the model made it. Raises `NotItsCallError`."""
        call = self._claim(wanted, relayed)
        if self._invoker is None:
            return NO_NETWORK
        running = asyncio.ensure_future(self._invoked(self._invoker, call))
        self._running.add(running)
        try:
            await asyncio.wait({running})
        finally:
            running.cancel()
            self._running.discard(running)
        if running.cancelled():
            return Refused(code="cut_off", message="The call was stopped: the time is up.")
        return running.result()

    def stop(self) -> "set[asyncio.Task[ToolInvoked]]":
        """Stop what is running; it is done as soon as nothing of it is left."""
        for task in self._running:
            task.cancel()
        return set(self._running)

    def _claim(self, wanted: ToolCall, relayed: Sequence[ModelAnswer]) -> ToolCall:
        calls = relayed[-1].tool_calls if relayed else ()
        call = next((call for call in calls if call.id == wanted.id), None)
        key = (len(relayed), wanted.id)
        if call is None or EFFECTS.get(canonical_name(call.name)) != "web" or key in self._made:
            raise NotItsCallError
        self._made.add(key)
        return call

    async def _invoked(self, invoker: Invoker, call: ToolCall) -> ToolInvoked:
        result = await invoker.invoke(call)
        return ToolInvoked(content=result.content, status=result.status)
