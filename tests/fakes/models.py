"""Providers and tools for the turn loop that live in the test's own process."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Iterable

from actors.calls import ToolResult
from actors.conversation import Conversation, encode_head, encode_system, encode_user
from actors.provider.interface import ProviderError
from ipc.messages import ModelAnswer, StreamEvent, TextDelta, ToolCall

Step = ModelAnswer | ProviderError | str


class ScriptedProvider:
    """Plays answers in order; a string is text that arrives and is never finished."""

    def __init__(self, steps: Iterable[Step]) -> None:
        self.steps = list(steps)
        self.bodies: list[bytes] = []
        self.waiting = asyncio.Event()

    async def stream(self, conversation: Conversation) -> AsyncGenerator[StreamEvent, None]:
        self.bodies.append(conversation.body())
        step = self.steps.pop(0)
        if isinstance(step, ProviderError):
            raise step
        if isinstance(step, str):
            yield TextDelta(text=step)
            self.waiting.set()
            await asyncio.Event().wait()
        elif isinstance(step, ModelAnswer):
            if step.text:
                yield TextDelta(text=step.text)
            yield step


class ScriptedInvoker:
    """Runs calls named `slow` until they are cancelled, everything else at once."""

    def __init__(self, parallel: Callable[[ToolCall], bool] = lambda call: call.name == "read") -> None:
        self.parallel = parallel
        self.began: list[str] = []
        self.ended: list[str] = []
        self.gates: dict[str, asyncio.Event] = {}
        self.has_ended: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self.waiting = asyncio.Event()

    def is_parallel(self, call: ToolCall) -> bool:
        return self.parallel(call)

    async def invoke(self, call: ToolCall, *, cut_off: bool = False) -> ToolResult:
        self.began.append(call.id)
        if call.id in self.gates:
            self.waiting.set()
            await self.gates[call.id].wait()
        self.ended.append(call.id)
        self.has_ended[call.id].set()
        return ToolResult(f"result of {call.id}", "ok")


class Recording:
    """An observer that keeps what it is told."""

    def __init__(self) -> None:
        self.appended: list[bytes] = []
        self.streamed: list[StreamEvent] = []

    def on_stream(self, event: StreamEvent) -> None:
        self.streamed.append(event)

    def on_appended(self, message: bytes) -> None:
        self.appended.append(message)


def conversation(prompt: str = "go") -> Conversation:
    return Conversation(
        encode_head("m", b"[]", {"stream": True}), [encode_system("system"), encode_user(prompt)]
    )


def calls(*named: str, text: str = "") -> ModelAnswer:
    """An answer that calls `NAME:ID` for each argument."""
    made = tuple(
        ToolCall(id=each.partition(":")[2], name=each.partition(":")[0], arguments="{}") for each in named
    )
    return ModelAnswer(text=text, tool_calls=made, finish_reason="tool_calls")
