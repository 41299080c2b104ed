"""One model turn: ask the model, run its tools, ask again, until it answers. No sockets, no files.

Rules
-----
Every tool call gets exactly one result, in the order of the calls, whatever happens: a cancel, a fault, a
crash of a tool. Neighbouring read-only calls run side by side, everything else alone and in order. A call
that hands in its result although the turn was cancelled is believed, and the turn ends behind it. An empty
answer is never kept; it is asked for once more. The parent and the worker run this same loop.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import msgspec

from actors.calls import UNKNOWN_TOOL, ToolResult, failure, sendable
from actors.conversation import Conversation, encode_user
from actors.provider.interface import Provider, ProviderError
from ipc.messages import (
    ModelAnswer,
    Problem,
    StreamEvent,
    TextDelta,
    ToolCall,
    TurnStatus,
)

MAX_ROUNDS: Final = 30
"""Tool rounds of one turn, unless the settings say otherwise."""
OUT_OF_OUTPUT: Final = (
    "Your last answer reached the output limit while you were still reasoning, so nothing of it arrived. "
    "Answer now, in few words, or make the next tool call; do not reason it through again."
)
"""Sent once behind such an answer, and never kept."""
MORE_OUTPUT: Final = "Raise max_output_tokens or the server's own limit, or ask for less at once."
MOST_MISSES: Final = 5
"""Calls of one tool that there is not, each answered with the names that there are, before a turn ends."""
CLEAN_UP_S: Final = 2.0
"""How long a cancelled tool may take to clean up before it is left behind."""


class Invoker(Protocol):
    """Carries out calls and tells who watches; never raises but on cancellation."""

    def is_parallel(self, call: ToolCall) -> bool:
        """Whether the call only reads, so that it may run beside its neighbours."""
        ...

    async def invoke(self, call: ToolCall, *, cut_off: bool = False) -> ToolResult:
        """Run one call; `cut_off` says that the answer ended at the output limit."""
        ...


class Observer(Protocol):
    """Records what happens, at once and in order; what it raises ends the process."""

    def on_stream(self, event: StreamEvent) -> None: ...

    def on_appended(self, message: bytes) -> None:
        """A message joined the conversation."""
        ...


class Shortener(Protocol):
    """Makes room in a conversation whose calls all have their results."""

    async def fit(self, conversation: Conversation) -> None:
        """Shorten it when it nears the model's window."""
        ...

    async def overflow(self, conversation: Conversation, window: int = 0) -> bool:
        """Shorten what the server refused as too long for its `window` tokens; True when that went."""
        ...


@dataclass(slots=True)
class TurnOutcome:
    """How a turn ended. The conversation is balanced in every case."""

    status: TurnStatus = "completed"
    final_text: str = ""
    problem: Problem | None = None
    texts: list[str] = field(default_factory=list)
    """Every text of the turn, the final one last."""
    rounds: int = 0


async def run_turn(
    conversation: Conversation,
    provider: Provider,
    invoker: Invoker,
    observer: Observer,
    *,
    max_rounds: int = MAX_ROUNDS,
    compactor: Shortener | None = None,
) -> TurnOutcome:
    """Play one turn on a conversation that ends with what the model is to answer.

    Without a compactor a conversation that outgrows the model's window ends the turn.
    Cancelling the task ends the turn: open calls are answered, and the outcome is returned.
    """
    turn = _Turn(conversation, provider, invoker, observer, max_rounds, compactor)
    try:
        await turn.play()
    except asyncio.CancelledError:
        turn.interrupt("cancelled", "The turn was cancelled.")
        turn.end("cancelled", Problem(code="cancelled", message="The turn was cancelled."))
    except ProviderError as error:
        turn.keep_partial()
        turn.end("failed", error.problem())
    return turn.outcome


class _Turn:
    def __init__(
        self,
        conversation: Conversation,
        provider: Provider,
        invoker: Invoker,
        observer: Observer,
        max_rounds: int,
        compactor: Shortener | None,
    ) -> None:
        self.outcome = TurnOutcome()
        self._conversation = conversation
        self._provider = provider
        self._invoker = invoker
        self._observer = observer
        self._max_rounds = max_rounds
        self._compactor = compactor
        self._partial: list[str] = []
        self._finish_reason = ""
        self._misses: Counter[str] = Counter()
        """Calls of tools that there are not, by name."""

    async def play(self) -> None:
        while True:
            answer = await self._ask(self._conversation) or await self._ask(self._nudged())
            if answer is None:
                return self.end("limit" if self._is_cut else "failed", self._empty())
            self._keep(answer)
            if not answer.tool_calls:
                return self.end("limit", _cut_off()) if self._is_cut else self.end("completed", None)
            await self._run_tools(answer)
            self.outcome.rounds += 1
            if missed := next((name for name, count in self._misses.items() if count >= MOST_MISSES), None):
                return self.end("failed", _no_such_tool(missed))
            if self.outcome.rounds >= self._max_rounds:
                return self.end("limit", _too_many_rounds(self._max_rounds))

    def end(self, status: TurnStatus, problem: Problem | None) -> None:
        self.outcome.status = status
        self.outcome.problem = problem
        self.outcome.final_text = self.outcome.texts[-1] if self.outcome.texts else ""

    def interrupt(self, code: str, message: str) -> None:
        """Answer what is open, so that the conversation can go on."""
        self.keep_partial()
        for call_id in tuple(self._conversation.open_calls):
            self._append_result(call_id, failure(code, message))

    def keep_partial(self) -> None:
        """Keep what the model had said when it was stopped."""
        text = "".join(self._partial)
        self._partial.clear()
        if text.strip() and not self._conversation.open_calls:
            self._keep(ModelAnswer(text=text, finish_reason="interrupted"))

    def _nudged(self) -> Conversation:
        """What is sent once when an answer said nothing: one that reasoned to the limit is told so."""
        if not self._is_cut:
            return self._conversation
        nudge = encode_user(OUT_OF_OUTPUT)
        return Conversation(self._conversation.head, [*self._conversation.messages, nudge])

    async def _ask(self, conversation: Conversation) -> ModelAnswer | None:
        """One request, made to fit the window; None for an answer that says nothing and calls nothing."""
        if self._compactor is None or conversation is not self._conversation:
            return await self._send(conversation)
        self._partial.clear()
        await self._compactor.fit(conversation)
        try:
            return await self._send(conversation)
        except ProviderError as error:
            if error.code != "context_length_exceeded":
                raise
            if not await self._compactor.overflow(conversation, error.window):
                raise
        return await self._send(conversation)

    async def _send(self, conversation: Conversation) -> ModelAnswer | None:
        self._partial.clear()
        answer: ModelAnswer | None = None
        async with contextlib.aclosing(self._provider.stream(conversation)) as stream:
            async for event in stream:
                self._observer.on_stream(event)
                if isinstance(event, TextDelta):
                    self._partial.append(event.text)
                elif isinstance(event, ModelAnswer):
                    answer = event
        self._finish_reason = answer.finish_reason if answer else ""
        if answer is None or not (answer.text.strip() or answer.tool_calls):
            return None
        return answer

    @property
    def _is_cut(self) -> bool:
        """Whether the last answer ended where the output limit is."""
        return self._finish_reason == "length"

    def _keep(self, answer: ModelAnswer) -> None:
        self._partial.clear()
        if answer.text:
            self.outcome.texts.append(answer.text)
        calls = tuple(sendable(call) for call in answer.tool_calls)
        kept = msgspec.structs.replace(answer, tool_calls=calls)
        self._observer.on_appended(self._conversation.append_answer(kept))

    async def _run_tools(self, answer: ModelAnswer) -> None:
        cut_off = self._is_cut
        for group in self._groups(answer.tool_calls):
            await self._run_group(group, cut_off)

    def _groups(self, calls: Sequence[ToolCall]) -> list[list[ToolCall]]:
        """Neighbouring parallel calls together, every other call alone."""
        groups: list[list[ToolCall]] = []
        joinable = False
        for call in calls:
            parallel = self._invoker.is_parallel(call)
            if parallel and joinable:
                groups[-1].append(call)
            else:
                groups.append([call])
            joinable = parallel
        return groups

    async def _run_group(self, calls: Sequence[ToolCall], cut_off: bool) -> None:
        if len(calls) == 1:
            result = await self._invoker.invoke(calls[0], cut_off=cut_off)
            self._append_result(calls[0].id, result.content)
            if result.code == UNKNOWN_TOOL:
                self._misses[calls[0].name] += 1
            if result.status == "cancelled":
                raise asyncio.CancelledError
            return
        tasks = [asyncio.ensure_future(self._invoker.invoke(call, cut_off=cut_off)) for call in calls]
        try:
            await asyncio.wait(tasks)
        except asyncio.CancelledError:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=CLEAN_UP_S)
            raise
        finally:
            self._append_finished(calls, tasks)

    def _append_finished(
        self, calls: Sequence[ToolCall], tasks: Sequence["asyncio.Task[ToolResult]"]
    ) -> None:
        for call, task in zip(calls, tasks, strict=True):
            if not task.done() or task.cancelled():
                content = failure("cancelled", "The turn was cancelled before this call had a result.")
            else:
                content = task.result().content
            self._append_result(call.id, content)

    def _append_result(self, call_id: str, content: str) -> None:
        self._observer.on_appended(self._conversation.append_result(call_id, content))

    def _empty(self) -> Problem:
        if self._is_cut:
            return Problem(
                code="output_limit",
                message="The model used up its output limit, twice, before it came to an answer.",
                next_step=MORE_OUTPUT,
            )
        said = f" (finish_reason {self._finish_reason!r})" if self._finish_reason else ""
        what = (
            "announced tool calls and made none"
            if self._finish_reason == "tool_calls"
            else "answered nothing"
        )
        return Problem(
            code="empty_answer",
            message=f"The model {what}, twice{said}.",
            next_step="Send the prompt again, or try another model.",
        )


def _cut_off() -> Problem:
    return Problem(
        code="output_limit",
        message="The answer was cut off at the model's output limit.",
        next_step=f"Send another prompt to go on. {MORE_OUTPUT}",
    )


def _no_such_tool(name: str) -> Problem:
    return Problem(
        code=UNKNOWN_TOOL,
        message=f"The model called a tool {name[:80]!r}, which there is not, {MOST_MISSES} times.",
        next_step="Say in the prompt what to use instead, or try another model.",
    )


def _too_many_rounds(limit: int) -> Problem:
    return Problem(
        code="max_rounds",
        message=f"The turn was stopped after {limit} rounds of tool calls.",
        next_step="Send another prompt to go on, or raise max_tool_rounds.",
    )
