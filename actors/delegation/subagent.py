"""A subagent: one delegation played to its end, read-only, whatever its model wants."""

import asyncio
from collections.abc import Mapping
from typing import Final

from actors.calls import ToolResult, failure
from actors.catalog.aliases import canonical_name
from actors.conversation import Conversation, encode_user
from actors.delegation.objects import has_result
from actors.delegation.policy import refusal
from actors.delegation.problems import OUT_OF_TIME
from actors.delegation.relayed_calls import RelayedCalls
from actors.delegation.shortener import TailShortener
from actors.delegation.wording import HAND_IN, REPAIR
from actors.invocation import AnyTool, InvocationGuard
from actors.provider.relayed import RelayedProvider
from actors.tools.tool import Effect, ToolInput
from actors.turn import Invoker, TurnOutcome, run_turn
from ipc.mailbox import Peer
from ipc.messages import Problem, StartDelegation, StreamEvent, ToolCall

_NO_MORE: Final = "The time for tools is over; nothing was run."


class Subagent:
    """Plays one delegation; the parent is its model, its watcher and its only reader."""

    def __init__(
        self,
        start: StartDelegation,
        peer: Peer,
        tools: Mapping[str, AnyTool],
        effects: Mapping[str, Effect],
    ) -> None:
        """Take a task. `tools` can be run; `effects` names every tool of the catalog."""
        self.agent_id = start.agent_id
        self._max_rounds = start.max_rounds
        self._provider = RelayedProvider(peer, start.agent_id)
        # Ours, and left as it came: a request carries what lies behind it, its parent has the fork, too.
        self._fork = start.fork
        self._conversation = Conversation(b"", start.opening)
        self._shortener = TailShortener(len(start.opening))
        guard = InvocationGuard(tools, _Open(), Unwatched())
        self._invoker = ReadOnlyInvoker(start.agent_id, effects, guard, RelayedCalls(peer, start.agent_id))
        self._time_is_up = asyncio.Event()

    def receive(self, event: StreamEvent) -> None:
        """Take a piece of the model's answer."""
        self._provider.receive(event)

    def hand_in(self) -> None:
        """End what is going on; the next request is the last one, for the result."""
        self._time_is_up.set()

    async def play(self) -> Problem | None:
        """Work until there is a result or no way to one; return what stopped it, if something did."""
        outcome = await self._until_time_is_up()
        if outcome.status != "failed" and not has_result(outcome.final_text):
            self._conversation.append(encode_user(REPAIR if outcome.status == "completed" else HAND_IN))
            await self._turn(_NoTools(), 1)
        return OUT_OF_TIME if outcome.status == "cancelled" else outcome.problem

    async def _until_time_is_up(self) -> TurnOutcome:
        working = asyncio.ensure_future(self._turn(self._invoker, self._max_rounds))
        waiting = asyncio.ensure_future(self._time_is_up.wait())
        try:
            await asyncio.wait({working, waiting}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
            working.cancel()
        return await working

    async def _turn(self, invoker: Invoker, max_rounds: int) -> TurnOutcome:
        return await run_turn(
            self._conversation,
            self._provider,
            invoker,
            Unwatched(),
            max_rounds=max_rounds,
            compactor=self._shortener,
        )


class ReadOnlyInvoker:
    """Lets through what only reads; the catalog stays whole, so every other call gets its refusal here."""

    def __init__(
        self, agent_id: str, effects: Mapping[str, Effect], guard: InvocationGuard, web: RelayedCalls
    ) -> None:
        """`web` carries out what needs a network, which this process has none of."""
        self._agent_id = agent_id
        self._effects = effects
        self._guard = guard
        self._web = web

    def is_parallel(self, call: ToolCall) -> bool:
        return self._guard.is_parallel(call)

    async def invoke(self, call: ToolCall, *, cut_off: bool = False) -> ToolResult:
        name = canonical_name(call.name)
        effect = self._effects.get(name, "read")
        refused = refusal(self._agent_id, name, effect)
        if refused is not None:
            return refused
        if effect == "web":
            return await self._web.invoke(call)
        return await self._guard.invoke(call, cut_off=cut_off)


class _NoTools:
    """Runs nothing: the last turn is for the result alone."""

    def is_parallel(self, call: ToolCall) -> bool:
        return False

    async def invoke(self, call: ToolCall, *, cut_off: bool = False) -> ToolResult:
        return ToolResult(failure("no_more_tools", _NO_MORE, "Send your final message."), "denied", _NO_MORE)


class _Open:
    """The gate behind `ReadOnlyInvoker`: what gets here only reads."""

    async def check(self, tool: AnyTool, given: ToolInput, call: ToolCall) -> None:
        return None


class Unwatched:
    """Observer and watcher of what is private: the parent relays the model, and sees what it may see."""

    def on_stream(self, event: StreamEvent) -> None: ...

    def on_appended(self, message: bytes) -> None: ...

    def call_started(self, call: ToolCall, summary: str) -> None: ...

    def call_finished(self, call: ToolCall, result: ToolResult) -> None: ...
