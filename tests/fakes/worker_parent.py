"""The parent as a worker sees it: it hands out a task, answers from a script, takes the end."""

import asyncio
import inspect
import json
from collections.abc import Callable
from typing import Any

from actors.conversation import Conversation, encode_head, encode_system, encode_user
from actors.delegation.fork import Fork, fork
from actors.tools.delegate import DelegateInput
from ipc.mailbox import Answer, Peer
from ipc.messages import (
    Accepted,
    AnyCommand,
    AnyFact,
    AnyReply,
    CompleteModel,
    FinishDelegation,
    InvokeTool,
    ModelAnswer,
    ModelCompleted,
    ModelStreamed,
    Refused,
    TextDelta,
    ToolCall,
    ToolInvoked,
)

DEADLINE_S = 20.0
AGENT = "subagent-7f3a"
HANG = "hang"
"""A step that never answers."""

Step = ModelAnswer | Refused | str


def says(text: str = "", *calls: ToolCall, finish_reason: str = "stop") -> ModelAnswer:
    return ModelAnswer(text=text, tool_calls=calls, finish_reason=finish_reason)


def calls(name: str, call_id: str = "c1", **arguments: Any) -> ToolCall:
    return ToolCall(id=call_id, name=name, arguments=json.dumps(arguments))


def result(summary: str = "MIT.", **fields: Any) -> str:
    return json.dumps({"status": "completed", "summary": summary, "findings": [], **fields})


def forked(history_bytes: int = 0) -> Fork:
    """A fork of a small parent's conversation, with a history of at least that size."""
    messages = [encode_system("be good"), encode_user("what is the licence?" + "x" * history_bytes)]
    conversation = Conversation(encode_head("m", b"[]", {}), messages)
    conversation.append_answer(says("", calls("delegate", "d")))
    return fork(conversation, "d", AGENT, DelegateInput(task="name the licence"))


class WorkerParent:
    """Answers each `CompleteModel` with the next step; a text is streamed in two pieces first."""

    def __init__(self, *steps: Step) -> None:
        self.steps = list(steps)
        self.tails: list[tuple[bytes, ...]] = []
        self.invoked: list[ToolCall] = []
        self.asked = asyncio.Event()
        self.finished: asyncio.Future[FinishDelegation] = asyncio.get_running_loop().create_future()

    def on_command(self, command: AnyCommand, peer: Peer) -> Answer:
        match command:
            case CompleteModel(tail=tail):
                self.tails.append(tail)
                self.asked.set()
                return self._complete(self.steps.pop(0), peer)
            case InvokeTool(call=call):
                self.invoked.append(call)
                return ToolInvoked(content=f"{call.name} by the parent", status="ok")
            case FinishDelegation():
                self.finished.set_result(command)
                return Accepted()
            case _:
                return Refused(code="not_for_me", message="")

    async def end(self) -> FinishDelegation:
        return await asyncio.wait_for(self.finished, DEADLINE_S)

    def results(self) -> dict[str, str]:
        """Content by call id, of the last request."""
        messages = [json.loads(message) for message in self.tails[-1]]
        return {each["tool_call_id"]: each["content"] for each in messages if each["role"] == "tool"}

    def _complete(self, step: Step, peer: Peer) -> Answer:
        if isinstance(step, str):
            return asyncio.get_running_loop().create_future()
        if isinstance(step, Refused):
            return step
        half = len(step.text) // 2
        for piece in (step.text[:half], step.text[half:]):
            if piece:
                peer.tell(ModelStreamed(agent_id=AGENT, event=TextDelta(text=piece)))
        return ModelCompleted(answer=step)


class Here:
    """A connection within one process: what is asked is answered by the parent at once."""

    def __init__(self, parent: WorkerParent, on_fact: Callable[[AnyFact], None]) -> None:
        self._parent = parent
        self._on_fact = on_fact

    async def ask(self, command: AnyCommand, deadline_s: float = 5.0) -> AnyReply:
        answer = self._parent.on_command(command, self)
        return await answer if inspect.isawaitable(answer) else answer

    def tell(self, fact: AnyFact) -> None:
        self._on_fact(fact)
