"""A subagent: one delegation played to its end, read-only, whatever its model wants."""

from collections.abc import Mapping, Sequence
from typing import Final

from actors.calls import ToolResult
from actors.conversation import Conversation, encode_user
from actors.delegation.activity import Activity
from actors.delegation.policy import refusal
from actors.delegation.result import has_result
from actors.delegation.wording import HAND_IN, REPAIR
from actors.invocation import AnyTool, CallWatcher, InvocationGuard
from actors.provider.relayed import RelayedProvider
from actors.tools.tool import Effect, ToolInput
from actors.turn import TurnOutcome, run_turn
from ipc.mailbox import Peer
from ipc.messages import (
    DelegationStatus,
    FinishDelegation,
    Problem,
    StartDelegation,
    StreamEvent,
    ToolCall,
)

STOPPED: Final = {
    "cancelled": Problem(code="cancelled", message="The delegation was cancelled."),
    "timeout": Problem(
        code="timeout",
        message="The delegation ran out of time.",
        next_step="Delegate less at once, or give it a larger timeout_ms.",
    ),
}
_CUT_OFF: Final = Problem(code="output_limit", message="The answer was cut off at the model's output limit.")


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
        self._start = start
        self._activity = Activity(peer)
        self._provider = RelayedProvider(peer, self._activity.on_request)
        # The fork stays one opaque piece: it is never sent back, only what lies behind it is.
        self._conversation = Conversation(b"", [start.fork, *start.opening], fork_count=1)
        guard = InvocationGuard(tools, _Open(), self._activity)
        self._invoker = ReadOnlyInvoker(start.agent_id, effects, guard, self._activity)
        self._stopped: Problem | None = None

    def receive(self, event: StreamEvent) -> None:
        """Take a piece of the model's answer."""
        self._provider.receive(event)

    def stop(self, reason: str) -> bool:
        """Name the reason of the cancellation that follows; False when one was named before."""
        first = self._stopped is None
        self._stopped = self._stopped or STOPPED.get(reason, STOPPED["cancelled"])
        return first

    async def play(self) -> FinishDelegation:
        """Work until there is a result or no way to one; cancelling ends it with what there is."""
        outcome = await self._turn(self._start.max_rounds)
        texts, problem = list(outcome.texts), self._problem(outcome)
        if outcome.status in ("completed", "limit") and not has_result(outcome.final_text):
            self._conversation.append(encode_user(REPAIR if outcome.status == "completed" else HAND_IN))
            repair = await self._turn(1)
            texts += repair.texts
            if repair.status == "cancelled":
                problem = self._problem(repair)
        return FinishDelegation(status=_status(texts, problem), texts=tuple(texts), problem=problem)

    def _problem(self, outcome: TurnOutcome) -> Problem | None:
        """Why a turn did not bring what it should, if so."""
        if outcome.status == "cancelled" and self._stopped is not None:
            return self._stopped
        if outcome.status == "completed" and self._activity.finish_reason == "length":
            return _CUT_OFF
        return outcome.problem

    async def _turn(self, max_rounds: int) -> TurnOutcome:
        return await run_turn(
            self._conversation, self._provider, self._invoker, self._activity, max_rounds=max_rounds
        )


class ReadOnlyInvoker:
    """Lets through what only reads; the catalog stays whole, so every other call gets its refusal here."""

    def __init__(
        self, agent_id: str, effects: Mapping[str, Effect], guard: InvocationGuard, watcher: CallWatcher
    ) -> None:
        self._agent_id = agent_id
        self._effects = effects
        self._guard = guard
        self._watcher = watcher

    def is_parallel(self, call: ToolCall) -> bool:
        return self._guard.is_parallel(call)

    async def invoke(self, call: ToolCall, *, cut_off: bool = False) -> ToolResult:
        refused = refusal(self._agent_id, call.name, self._effects.get(call.name, "read"))
        if refused is None:
            return await self._guard.invoke(call, cut_off=cut_off)
        self._watcher.call_started(call, "")
        self._watcher.call_finished(call, refused)
        return refused


class _Open:
    """The gate behind `ReadOnlyInvoker`: what gets here only reads."""

    async def check(self, tool: AnyTool, given: ToolInput, call: ToolCall) -> None:
        return None


def _status(texts: Sequence[str], problem: Problem | None) -> DelegationStatus:
    if problem is None:
        return "completed"
    return "partial" if any(text.strip() for text in texts) else "failed"
