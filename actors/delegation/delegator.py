"""The parent's side of a delegation: one worker, one deadline, one normalized result."""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import msgspec

from actors.conversation import Conversation
from actors.delegation.check import CHECK_S, check_findings
from actors.delegation.course import CANCELLED, OUT_OF_TIME, Course
from actors.delegation.fork import Fork, fork, mint_agent_id
from actors.delegation.gate import decode_message
from actors.delegation.normalize import normalize
from actors.delegation.relay import Relay
from actors.delegation.result import DelegateResult
from actors.delegation.warm_worker import WarmWorker, find_worker
from actors.delegation.watch import Watch
from actors.delegation.witness import Witness
from actors.files.workspace import Workspace
from actors.provider.interface import Provider
from actors.session.events import DelegationEnded
from actors.session.recorder import Recorder
from actors.settings import Delegation as Limits
from actors.tools.delegate import DelegateInput
from actors.tools.tool import Invocation
from ipc.endpoints import RunPlace
from ipc.errors import IpcError, PeerGone, PlaceError
from ipc.mailbox import CommandHandler, Link
from ipc.messages import (
    Accepted,
    AnyFact,
    HandIn,
    Problem,
    Refused,
    SubagentActivityChanged,
)
from ipc.terminal_text import clean_line

FIND_S: Final = 10.0
"""Longest wait for a worker to be there."""
GRACE_S: Final = 20.0
"""What a subagent gets before its deadline to hand in what it has, at most `GRACE_PART` of its time."""
GRACE_PART: Final = 1 / 5
EXIT_S: Final = 1.0
"""How long a killed worker may take to be gone; the kernel frees its memory meanwhile."""
CHECK_CANCELLED_S: Final = 0.05
"""Longest look at the findings of a delegation that a person has just cancelled."""
DETAIL_LIMIT: Final = 120
_ASSISTANT: Final = b'{"role":"assistant"'
_NONE_THERE: Final = Problem(
    code="worker_lost", message="No worker process was ready; the log says why.", next_step="Try again."
)
_START_AGAIN: Final = "Do without a subagent; tell the user to start Fido again."


class Connect(Protocol):
    """Opens a connection to a worker."""

    def __call__(
        self,
        address: str,
        *,
        on_command: CommandHandler,
        on_gone: Callable[[], None],
        admits: Callable[[int], bool],
    ) -> Link: ...


@dataclass(frozen=True, slots=True)
class _Delegation:
    """One delegation: what was asked, where it is, what was seen of it."""

    fork: Fork
    request: DelegateInput
    call_id: str
    timeout_s: float
    course: Course
    witness: Witness
    relay: Relay
    queued: int
    """Further delegations of the same message."""


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
        barred: Problem | None = None,
    ) -> None:
        """`barred` says why nothing may be delegated here; then no worker is asked."""
        self._place = place
        self._connect = connect
        self._publish = publish
        self._recorder = recorder
        self._provider = provider
        self._limits = limits
        self._conversation = conversation
        self._barred = barred
        self._workspace = Workspace(Path(place.run.workspace))
        self._one_at_a_time = asyncio.Lock()
        self._agent_ids: set[str] = set()

    async def delegate(self, request: DelegateInput, invocation: Invocation) -> str:
        """Run one delegation; return the `delegate_result` as JSON, also when the task was cancelled."""
        one = self._prepared(request, invocation)
        try:
            async with self._one_at_a_time:
                one.course.begin()
                self._show(one, "starting", request.task)
                await self._run(one)
        except asyncio.CancelledError:
            one.course.end("cancel", CANCELLED)
        return await self._result(one)

    def _prepared(self, request: DelegateInput, invocation: Invocation) -> _Delegation:
        agent_id = mint_agent_id(secrets.token_hex, self._agent_ids)
        self._agent_ids.add(agent_id)
        conversation = self._conversation()
        frozen = fork(conversation, invocation.call_id, agent_id, request)
        queued = _behind(conversation, invocation.call_id)
        asked_ms = request.timeout_ms or self._limits.timeout_ms
        timeout_s = min(asked_ms, self._limits.max_timeout_ms) / 1000

        def show(phase: str, detail: str) -> None:
            if not course.ended.is_set():
                self._show(one, phase, detail)

        course = Course()
        witness = Witness(agent_id, self._workspace, self._limits.max_tool_rounds, show)
        relay = Relay(frozen, course, witness, self._provider, self._recorder, self._limits)
        one = _Delegation(frozen, request, invocation.call_id, timeout_s, course, witness, relay, queued)
        return one

    async def _run(self, one: _Delegation) -> None:
        if self._barred is not None:
            one.course.end("refused", self._barred)
            return
        try:
            async with asyncio.timeout(min(FIND_S, one.timeout_s)):
                worker = await find_worker(self._place)
        except TimeoutError:
            one.course.end("worker_lost", _NONE_THERE)
            return
        except PlaceError as error:
            one.course.end(
                "worker_lost", Problem(code="worker_lost", message=str(error), next_step=_START_AGAIN)
            )
            return
        one.course.advance("worker_ready")
        try:
            async with _ended(worker), self._linked(one, worker) as link:
                await self._play(one, link)
        except OSError as error:
            one.course.lose(f"The worker could not be reached: {error.strerror}.")

    @contextlib.asynccontextmanager
    async def _linked(self, one: _Delegation, worker: WarmWorker) -> AsyncIterator[Link]:
        """A connection to the worker; behind it nothing of the delegation is left in this process."""
        watch, gone = Watch(one.course, self._limits.idle_ms / 1000), asyncio.Event()
        link = self._connect(
            worker.address, on_command=one.relay.serve, on_gone=gone.set, admits=watch.admits
        )
        watching = asyncio.ensure_future(watch.until_lost(worker, gone))
        try:
            yield link
        except asyncio.CancelledError:
            one.course.end("cancel", CANCELLED)
        finally:
            watching.cancel()
            worker.kill()  # it serves once, and nothing of it is needed any more
            link.close()
            await one.relay.stopped()

    async def _play(self, one: _Delegation, link: Link) -> None:
        telling = [asyncio.ensure_future(self._start(one, link))]
        try:
            grace_s = min(GRACE_S, GRACE_PART * one.timeout_s)
            if await one.course.ended_by(one.timeout_s - grace_s):
                return
            one.course.advance("hand_in")
            telling.append(asyncio.ensure_future(_hand_in(one, link, grace_s)))
            if not await one.course.ended_by(one.timeout_s):
                one.course.end("deadline", OUT_OF_TIME)
        finally:
            for task in telling:
                task.cancel()

    async def _start(self, one: _Delegation, link: Link) -> None:
        start = one.fork.start(self._place.run.workspace, self._limits.max_tool_rounds)
        try:
            reply = await link.ask(start, FIND_S)
        except PeerGone:
            return  # whoever watches the worker finds out why
        except IpcError as error:
            one.course.lose(f"The worker did not take the task: {error}.")
            return
        if isinstance(reply, Accepted):
            one.course.advance("accepted")
            return
        why = reply.message if isinstance(reply, Refused) else "It gave no answer."
        one.course.end(
            "refused", Problem(code="worker_lost", message=f"The worker did not take the task: {why}")
        )

    async def _result(self, one: _Delegation) -> str:
        is_cancelled = one.course.problem is CANCELLED
        result = normalize(one.fork.agent_id, one.witness.texts(), _told(one))
        with contextlib.suppress(asyncio.CancelledError):  # then the findings stay unchecked
            within_s = CHECK_CANCELLED_S if is_cancelled else CHECK_S
            result = await check_findings(result, self._workspace, within_s)
        phase = "cancelled" if is_cancelled else result.status
        self._show(one, phase, _outcome(result), active=False)
        self._recorder.delegation_ended(
            DelegationEnded(
                turn=self._recorder.turn,
                call_id=one.call_id,
                agent_id=one.fork.agent_id,
                task=one.request.task,
                status=result.status,
                duration_ms=one.course.elapsed_ms(),
                problem=_problem(result),
                usage=one.witness.usage,
            )
        )
        return result.encoded()

    def _show(self, one: _Delegation, phase: str, detail: str, *, active: bool = True) -> None:
        self._publish(
            SubagentActivityChanged(
                agent_id=one.fork.agent_id,
                phase=clean_line(phase, 40),
                detail=clean_line(detail, DETAIL_LIMIT),
                elapsed_ms=one.course.elapsed_ms(),
                active=active,
                usage=one.witness.usage,
                queued=one.queued,
            )
        )


def _outcome(result: DelegateResult) -> str:
    """How it ended, for a person; what the subagent says of it is for the parent's model alone."""
    if result.error is not None:
        return result.error.message
    count = len(result.findings)
    checked = sum(finding.checked for finding in result.findings)
    return f"{count} finding{'' if count == 1 else 's'}, {checked} checked" if count else "no findings"


def _told(one: _Delegation) -> Problem | None:
    """Why it ended, with the time that it had where that was why."""
    problem = one.course.problem
    if problem is None or problem != OUT_OF_TIME:
        return problem
    return msgspec.structs.replace(problem, message=f"The delegation ran out of its {one.timeout_s:g} s.")


def _problem(result: DelegateResult) -> Problem | None:
    return Problem(code=result.error.code, message=result.error.message) if result.error else None


def _behind(conversation: Conversation, call_id: str) -> int:
    """How many delegations of the same message come behind a call."""
    batch = next(each for each in reversed(conversation.messages) if each.startswith(_ASSISTANT))
    calls = decode_message(batch).calls()
    at = next(position for position, call in enumerate(calls) if call.id == call_id)
    return sum(call.name == "delegate" for call in calls[at + 1 :])


async def _hand_in(one: _Delegation, link: Link, within_s: float) -> None:
    """Ask for what there is; told first, so that the end of its request is no surprise to the worker."""
    telling = asyncio.ensure_future(link.ask(HandIn(agent_id=one.fork.agent_id, reason="timeout"), within_s))
    await asyncio.sleep(0)
    one.relay.hand_in()
    with contextlib.suppress(IpcError):
        await telling


@contextlib.asynccontextmanager
async def _ended(worker: WarmWorker) -> AsyncIterator[None]:
    """Behind this the worker is gone: its socket would still announce it to the next delegation."""
    try:
        yield
    finally:
        try:
            worker.kill()
            await asyncio.wait({worker.exited}, timeout=EXIT_S)
        finally:
            worker.close()
