"""The parent's side of a delegation: one worker, one deadline, one normalized result."""

import asyncio
import contextlib
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from actors.conversation import Conversation
from actors.delegation.check import check_findings
from actors.delegation.fork import Fork, fork, mint_agent_id
from actors.delegation.gate import BadTail
from actors.delegation.result import normalize
from actors.delegation.warm_worker import WarmWorker, find_worker
from actors.files.workspace import Workspace
from actors.provider.interface import Provider, ProviderError
from actors.session.events import DelegationEnded
from actors.session.recorder import Recorder
from actors.settings import Delegation as Limits
from actors.tools.delegate import DelegateInput
from actors.tools.tool import Invocation
from ipc.endpoints import RunPlace
from ipc.errors import IpcError
from ipc.lifecycle import DELEGATION, DelegationEvent, DelegationState, advance
from ipc.mailbox import Answer, CommandHandler, Link, Peer, refuse
from ipc.messages import (
    Accepted,
    AnyCommand,
    AnyFact,
    CancelDelegation,
    CompleteModel,
    FinishDelegation,
    ModelAnswer,
    ModelCompleted,
    ModelStreamed,
    Problem,
    Refused,
    ReportActivity,
    SubagentActivityChanged,
    TextDelta,
)
from ipc.terminal_text import clean_line

FIND_S: Final = 10.0
"""Longest wait for a worker to be there."""
GRACE_S: Final = 1.0
"""What a worker gets past its deadline to hand in what it has."""
CANCEL_S: Final = 0.25
"""What a cancelled worker gets to hand in what it has; a person waits for it."""
EXTRA_REQUESTS: Final = 2
"""What a delegation needs beyond its rounds: the answer behind the last one, and one to repair that."""
REPORTS_PER_REQUEST: Final = 100
"""Most reports of activity before the next request to the model; each is a fact for everybody."""
PARTIAL_LIMIT: Final = 200_000
DETAIL_LIMIT: Final = 120
_LOST: Final = "The worker process ended before it had a result."

Connect = Callable[[str, CommandHandler], Link]


@dataclass(slots=True)
class _Running:
    """One delegation: what was asked, what came of it so far."""

    fork: Fork
    state: DelegationState = "waiting"
    started: float = field(default_factory=time.monotonic)
    partial: list[str] = field(default_factory=list)
    relayed: list[ModelAnswer] = field(default_factory=list)
    kept: int = 0
    requests: int = 0
    reports: int = 0
    """Since the last request."""
    asking: bool = False
    """Whether a request is with the model."""
    finished: "asyncio.Future[FinishDelegation]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    def advance(self, event: DelegationEvent) -> None:
        self.state = advance(DELEGATION, self.state, event)

    def finish(self, event: DelegationEvent, end: FinishDelegation) -> None:
        """End it; what comes after the end changes nothing."""
        self.advance(event)
        if not self.finished.done():
            self.finished.set_result(end)

    def fail(self, event: DelegationEvent, code: str, message: str) -> None:
        """End it for a worker that did not tell its end; what it had said is kept."""
        said = "".join(self.partial).strip()
        self.finish(
            event,
            FinishDelegation(
                status="partial" if said else "failed",
                texts=(said,) if said else (),
                problem=Problem(code=code, message=message),
            ),
        )

    def keep(self, text: str) -> None:
        """Keep what the subagent says, in case it can't tell its end; `PARTIAL_LIMIT` characters at most."""
        self.kept += len(text)
        if self.kept <= PARTIAL_LIMIT:
            self.partial.append(text)

    async def ended_within(self, seconds: float) -> None:
        await asyncio.wait({self.finished}, timeout=max(seconds, 0))

    async def stop(self, link: Link, event: DelegationEvent, reason: str, patience_s: float) -> None:
        """Ask the worker to hand in what it has, and wait for that; it is not killed here."""
        if self.finished.done():
            return
        self.advance(event)
        with contextlib.suppress(IpcError):
            await link.ask(CancelDelegation(reason=reason), patience_s)
            await self.ended_within(patience_s)

    def elapsed_ms(self) -> int:
        return round(1000 * (time.monotonic() - self.started))


class Delegator:
    """Runs delegations one at a time; what a worker says is treated as hostile."""

    def __init__(
        self,
        place: RunPlace,
        connect: Connect,
        publish: Callable[[AnyFact], None],
        recorder: Recorder,
        provider: Provider,
        limits: Limits,
        conversation: Callable[[], Conversation],
    ) -> None:
        self._place = place
        self._connect = connect
        self._publish = publish
        self._recorder = recorder
        self._provider = provider
        self._limits = limits
        self._conversation = conversation
        self._one_at_a_time = asyncio.Lock()
        self._agent_ids: set[str] = set()

    async def delegate(self, request: DelegateInput, invocation: Invocation) -> str:
        """Run one delegation; return the `delegate_result` as JSON. Cancelling kills the worker."""
        async with self._one_at_a_time:
            agent_id = mint_agent_id(secrets.token_hex, self._agent_ids)
            self._agent_ids.add(agent_id)
            running = _Running(fork(self._conversation(), invocation.call_id, agent_id, request))
            self._show(running, "starting", request.task)
            timeout_s = self._timeout_s(request)
            try:
                end = await self._run(running, timeout_s)
            except asyncio.CancelledError:
                running.fail("deadline", "cancelled", "The delegation was cancelled.")
                await self._result(running, request, invocation, running.finished.result())
                raise
            return await self._result(running, request, invocation, end)

    def _timeout_s(self, request: DelegateInput) -> float:
        asked = request.timeout_ms or self._limits.timeout_ms
        return min(asked, self._limits.max_timeout_ms) / 1000

    async def _run(self, running: _Running, timeout_s: float) -> FinishDelegation:
        try:
            async with asyncio.timeout(min(FIND_S, timeout_s)):
                worker = await find_worker(self._place)
        except TimeoutError:
            running.fail("deadline", "no_worker", "No worker process was ready; the log says why.")
            return running.finished.result()
        running.advance("worker_ready")
        link = self._connect(worker.address, lambda command, peer: self._serve(running, command, peer))
        try:
            return await self._play(running, worker, link, timeout_s)
        finally:
            link.close()
            await _end(worker)

    async def _play(
        self, running: _Running, worker: WarmWorker, link: Link, timeout_s: float
    ) -> FinishDelegation:
        worker.exited.add_done_callback(lambda _: running.fail("worker_lost", "worker_lost", _LOST))
        starting = asyncio.ensure_future(self._start(running, link))
        try:
            await running.ended_within(running.started + timeout_s - time.monotonic())
            await running.stop(link, "deadline", "timeout", GRACE_S)
            running.fail("deadline", "timeout", f"The subagent was stopped after {timeout_s:g} s.")
            return running.finished.result()
        except asyncio.CancelledError:
            await running.stop(link, "cancel", "cancelled", CANCEL_S)
            raise
        finally:
            starting.cancel()

    async def _start(self, running: _Running, link: Link) -> None:
        try:
            reply = await link.ask(
                running.fork.start(self._place.run.workspace, self._limits.max_tool_rounds), FIND_S
            )
        except IpcError as error:
            running.fail("worker_lost", "worker_lost", str(error))
            return
        if isinstance(reply, Accepted):
            running.advance("accepted")
        else:
            message = reply.message if isinstance(reply, Refused) else "The worker did not take the task."
            running.fail("refused", "worker_refused", message)

    def _serve(self, running: _Running, command: AnyCommand, peer: Peer) -> Answer:
        """Answer the worker."""
        match command:
            case CompleteModel(tail=tail):
                return self._complete(running, tail, peer)
            case ReportActivity(phase=phase, detail=detail):
                running.reports += 1
                if running.reports > REPORTS_PER_REQUEST:
                    return Refused(code="too_many", message="This is too much activity for one request.")
                if running.state in ("starting", "running"):
                    self._show(running, phase, detail)
                return Accepted()
            case FinishDelegation():
                running.finish("finish", command)
                return Accepted()
            case _:
                return refuse(command, peer)

    async def _complete(
        self, running: _Running, tail: tuple[bytes, ...], peer: Peer
    ) -> ModelCompleted | Refused:
        """Send the fork and the worker's messages behind it; its request extends the parent's."""
        if running.state == "ended":
            return Refused(code="ended", message="This delegation has ended.")
        if running.asking:
            return Refused(code="busy", message="The answer to the last request is still to come.")
        if running.requests >= self._limits.max_tool_rounds + EXTRA_REQUESTS:
            return Refused(code="too_many", message="This delegation has had all its requests.")
        try:
            conversation = running.fork.extended(tail, running.relayed)
        except BadTail as error:
            running.fail("worker_lost", "worker_fault", f"The worker misbehaved: {error}.")
            return Refused(code="bad_tail", message=str(error))
        running.requests, running.reports, running.asking = running.requests + 1, 0, True
        try:
            return await self._answer(running, conversation, peer)
        except ProviderError as error:
            return Refused(code=error.code, message=error.message, next_step=error.next_step)
        except IpcError as error:
            return Refused(code="worker_lost", message=f"The answer could not be passed on: {error}.")
        finally:
            running.asking = False

    async def _answer(self, running: _Running, conversation: Conversation, peer: Peer) -> ModelCompleted:
        """Pass an answer on as it comes. Raises `ProviderError`, and `IpcError` when nobody takes it."""
        answer, said = None, list[str]()
        try:
            async with contextlib.aclosing(self._provider.stream(conversation)) as stream:
                async for event in stream:
                    if isinstance(event, ModelAnswer):
                        answer = event
                        continue
                    if isinstance(event, TextDelta):
                        running.keep(event.text)
                        said.append(event.text)
                    peer.tell(ModelStreamed(event=event))
        finally:
            answer = answer or ModelAnswer(text="".join(said))
            running.relayed.append(answer)
        if answer.usage is not None:
            self._recorder.used(answer.usage, subagent=True)
        running.keep("\n")
        return ModelCompleted(answer=answer)

    async def _result(
        self,
        running: _Running,
        request: DelegateInput,
        invocation: Invocation,
        end: FinishDelegation,
    ) -> str:
        result = normalize(running.fork.agent_id, end.texts, end.problem)
        result = await check_findings(result, Workspace(Path(self._place.run.workspace)))
        detail = result.summary if end.problem is None else end.problem.message
        self._show(running, _phase(end, result.status), detail, active=False)
        self._recorder.delegation_ended(
            DelegationEnded(
                turn=self._recorder.turn,
                call_id=invocation.call_id,
                agent_id=running.fork.agent_id,
                task=request.task,
                status=result.status,
                duration_ms=running.elapsed_ms(),
                problem=end.problem,
            )
        )
        return result.encoded()

    def _show(self, running: _Running, phase: str, detail: str, *, active: bool = True) -> None:
        self._publish(
            SubagentActivityChanged(
                agent_id=running.fork.agent_id,
                phase=clean_line(phase, 40),
                detail=clean_line(detail, DETAIL_LIMIT),
                elapsed_ms=running.elapsed_ms(),
                active=active,
            )
        )


async def _end(worker: WarmWorker) -> None:
    """A worker serves once: it leaves by itself, or is made to."""
    try:
        await asyncio.wait({worker.exited}, timeout=GRACE_S / 4)
    finally:
        worker.kill()
        try:
            # Until it is gone its socket would still announce it to the next delegation.
            await asyncio.wait({worker.exited}, timeout=GRACE_S)
        finally:
            worker.close()


def _phase(end: FinishDelegation, status: str) -> str:
    code = end.problem.code if end.problem else ""
    return code if code in ("timeout", "cancelled") else status
