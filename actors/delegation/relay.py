"""The parent's answers to one worker: the way to its model, and the gate that its requests go through."""

import asyncio
import contextlib
import os
from collections.abc import Callable
from typing import Any, Final

from actors.conversation import Conversation, encode_user
from actors.delegation.course import Course
from actors.delegation.errands import Errands, NotItsCallError
from actors.delegation.fork import Fork
from actors.delegation.gate import BadTail
from actors.delegation.problems import OF_THE_WORKER, OUT_OF_TIME, lost
from actors.delegation.witness import Witness
from actors.delegation.wording import PROMPTS
from actors.provider.interface import Provider, ProviderError
from actors.session.recorder import Recorder
from actors.settings.tables import Delegation as Limits
from actors.turn import Invoker
from ipc.errors import IpcError
from ipc.mailbox import Answer, Peer, refuse
from ipc.messages import (
    Accepted,
    AnyCommand,
    CompleteModel,
    FinishDelegation,
    InvokeTool,
    ModelAnswer,
    ModelCompleted,
    ModelStreamed,
    Ping,
    Pong,
    Problem,
    Refused,
    RetryScheduled,
    ToolCall,
    ToolInvoked,
    Usage,
    WorkerFault,
)

EXTRA_REQUESTS: Final = 6
"""What a delegation may need beyond its rounds: the answer behind the last one, one to hand in the result,
one more where it had to be shortened, and some where the model answered nothing."""
_LAST_PROMPTS: Final = frozenset(map(encode_user, PROMPTS))
STOP_S: Final = 0.2
"""How long a stopped request is waited for; it may close its connection behind that."""


class Relay:
    """Serves one delegation; what its worker says is treated as hostile."""

    def __init__(
        self,
        fork: Fork,
        course: Course,
        witness: Witness,
        provider: Provider,
        recorder: Recorder,
        limits: Limits,
        redact: Callable[[str], str] = str,
        web: Invoker | None = None,
    ) -> None:
        """`web` makes the worker's calls to the web; without one it has none."""
        self._fork = fork
        self._course = course
        self._witness = witness
        self._provider = provider
        self._recorder = recorder
        self._limits = limits
        self._redact = redact
        self._request: asyncio.Task[ModelCompleted | Refused] | None = None
        self._errands = Errands(web)
        self._is_last = False

    def serve(self, command: AnyCommand, peer: Peer) -> Answer:
        """Answer the worker."""
        match command:
            case Ping():
                return Pong(actor="parent", pid=os.getpid(), refused={})
            case (
                CompleteModel(agent_id=agent_id)
                | InvokeTool(agent_id=agent_id)
                | FinishDelegation(agent_id=agent_id)
            ) if agent_id != self._fork.agent_id:
                self._course.lose("The worker misbehaved: it spoke for another delegation.")
                return Refused(code="not_for_me", message="This is not your delegation.")
            case CompleteModel(tail=tail):
                return self._complete(tail, peer)
            case InvokeTool(call=call):
                return self._invoke(call)
            case FinishDelegation(fault=fault):
                self._finish(fault)
                return Accepted()
            case _:
                return refuse(command, peer)

    def _finish(self, fault: WorkerFault | None) -> None:
        """Take the end of a worker; what it says of it counts where its parent knows no better."""
        told = OF_THE_WORKER[fault] if fault else None
        if not self._is_asking:
            self._course.end("finish", self._witness.problem() or told or self._broken_off())
        elif told is not None:
            self._course.end("finish", told)
        else:
            self._course.lose("The worker misbehaved: it ended before its model did.")

    def _broken_off(self) -> Problem | None:
        """Why the calls of the last answer were not followed up, where there are some."""
        if self._is_last or not self._witness.is_calling:
            return None
        if self._course.state == "handing_in":
            return OUT_OF_TIME
        return lost("The worker misbehaved: it ended in the midst of its work.")

    def hand_in(self) -> None:
        """Stop the running request, unless it is for the result: what is left of the time is for that."""
        if self._is_asking and not self._is_last:
            self._witness.stopped(out_of_time=True)
            self._stop_asking()

    def stop(self) -> "set[asyncio.Future[Any]]":
        """Stop what is running for the worker; each is done as soon as nothing of it is left."""
        return {*self._errands.stop(), *self._stop_asking()}

    def _stop_asking(self) -> "set[asyncio.Task[ModelCompleted | Refused]]":
        if self._request is None:
            return set()
        self._request.cancel()
        return {self._request}

    async def _invoke(self, call: ToolCall) -> ToolInvoked | Refused:
        """Make a call to the web for the worker, which has no network."""
        if self._course.ended.is_set():
            return Refused(code="ended", message="This delegation has ended.")
        try:
            return await self._errands.run(call, self._witness.relayed)
        except NotItsCallError:
            self._course.lose("The worker misbehaved: it asked for a call that its model did not make.")
            return Refused(code="not_its_call", message="The model did not make this call, or not now.")

    @property
    def _is_asking(self) -> bool:
        return self._request is not None and not (self._request.done() or self._request.cancelling())

    async def _complete(self, tail: tuple[bytes, ...], peer: Peer) -> ModelCompleted | Refused:
        """Send the fork and the worker's messages behind it; its request extends the parent's."""
        if self._request is not None and self._request.cancelling():
            await asyncio.wait({self._request}, timeout=STOP_S)
        if self._course.ended.is_set():
            return Refused(code="ended", message="This delegation has ended.")
        if self._is_asking:
            return Refused(code="busy", message="The answer to the last request is still to come.")
        if self._witness.requests >= self._limits.max_tool_rounds + EXTRA_REQUESTS:
            self._witness.spent()
            return Refused(code="max_rounds", message="The subagent has had all its requests to the model.")
        try:
            conversation = self._fork.extended(tail, self._witness.relayed, self._redact)
        except BadTail as error:
            self._course.lose(f"The worker misbehaved: {error}.")
            return Refused(code="bad_tail", message=str(error))
        self._is_last = tail[-1] in _LAST_PROMPTS
        self._witness.requested(handing_in=self._course.state == "handing_in")
        request = self._request = asyncio.ensure_future(self._answer(conversation, peer))
        self._course.attend(request)
        try:
            await asyncio.wait({request})
        finally:
            request.cancel()
        if request.cancelled():
            return Refused(code="cut_off", message="The request was stopped: the time is up.")
        if request.exception() is not None:
            return Refused(code="internal_error", message="The request failed inside Fido.")
        return request.result()

    async def _answer(self, conversation: Conversation, peer: Peer) -> ModelCompleted | Refused:
        try:
            answer = await self._passed_on(conversation, peer)
        except ProviderError as error:
            if not is_stopped():
                self._witness.failed(error)
            return Refused(code=error.code, message=error.message, next_step=error.next_step)
        except IpcError as error:
            if not is_stopped():
                self._witness.stopped()
            return Refused(code="worker_lost", message=f"The answer could not be passed on: {error}.")
        if not is_stopped():
            self._witness.answered(answer)
        return ModelCompleted(answer=answer)

    async def _passed_on(self, conversation: Conversation, peer: Peer) -> ModelAnswer:
        """Pass an answer on as it comes. Raises `ProviderError`, and `IpcError` when nobody takes it."""
        answer, started = ModelAnswer(), asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(None) as limit:
                self._allow(limit, started)
                async with contextlib.aclosing(self._provider.stream(conversation)) as stream:
                    async for event in stream:
                        self._allow(limit, started)
                        if isinstance(event, ModelAnswer):
                            answer = event
                            self._pay(event.usage)
                        elif not is_stopped():
                            self._witness.streamed(event)
                            if isinstance(event, RetryScheduled):
                                self._recorder.delayed(event, self._fork.agent_id)
                            peer.tell(ModelStreamed(agent_id=self._fork.agent_id, event=event))
        except TimeoutError:
            raise self._too_slow(started) from None
        return answer

    def _pay(self, usage: Usage | None) -> None:
        """Record what an answer took as soon as that is known: it is paid for, also when it was stopped."""
        if usage is not None:
            self._witness.used(self._recorder.priced(usage))
            self._recorder.used(usage, subagent=True)

    def _allow(self, limit: asyncio.Timeout, started: float) -> None:
        """Move the limit on: so long for the whole answer, so long for the next piece."""
        now = asyncio.get_running_loop().time()
        limits = self._limits
        limit.reschedule(min(started + limits.request_ms / 1000, now + limits.idle_ms / 1000))

    def _too_slow(self, started: float) -> ProviderError:
        elapsed = asyncio.get_running_loop().time() - started
        if elapsed >= self._limits.request_ms / 1000:
            message = f"The model did not come to the end of one answer within {elapsed:.0f} s."
            return ProviderError("total_timeout", message, "Raise delegation.request_ms.")
        message = f"The model was silent for {self._limits.idle_ms / 1000:g} s."
        return ProviderError("idle_timeout", message, "Raise delegation.idle_ms.")


def is_stopped() -> bool:
    """Whether somebody stopped the running task: what still comes of it counts no more."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
