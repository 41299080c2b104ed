"""The parent's side of a delegation: one worker, one deadline, one normalized result."""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from actors.conversation import Conversation
from actors.delegation.activity import Activity, outcome
from actors.delegation.check import CHECK_S, check_findings
from actors.delegation.course import Course
from actors.delegation.fork import Fork, fork, mint_agent_id
from actors.delegation.normalize import normalize
from actors.delegation.problems import CANCELLED, OUT_OF_TIME, lost
from actors.delegation.relay import Relay, is_stopped
from actors.delegation.result import DelegateResult
from actors.delegation.warm_worker import WarmWorker, find_worker
from actors.delegation.watch import Watch
from actors.delegation.witness import Witness
from actors.files.workspace import Workspace
from actors.provider.interface import Provider
from actors.session.events import DelegationEnded
from actors.session.recorder import Recorder
from actors.settings.tables import Delegation as Limits
from actors.tools.delegate import DelegateInput
from actors.tools.tool import Invocation
from actors.turn import Invoker
from ipc.endpoints import RunPlace
from ipc.errors import IpcError, LocalFault, PeerGone, PlaceError
from ipc.mailbox import CommandHandler, Link
from ipc.messages import Accepted, AnyFact, HandIn, NoticeRaised, Problem

FIND_S: Final = 10.0
"""Longest wait for a worker to be there."""
GRACE_S: Final = 20.0
"""What a subagent gets before its deadline to hand in what it has, at most `GRACE_PART` of its time."""
GRACE_PART: Final = 1 / 5
END_S: Final = 0.2
"""How long the end of a delegation waits for its killed worker and its stopped request to be gone."""
CHECK_CANCELLED_S: Final = 0.05
"""Longest look at the findings of a delegation that a person has just cancelled."""
_START_AGAIN: Final = "Start Fido again to delegate."
_NONE_THERE: Final = "No worker process was ready; the log says why."


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
    activity: Activity
    witness: Witness
    relay: Relay


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
        redact: Callable[[str], str] = str,
        web: Invoker | None = None,
    ) -> None:
        """`barred` says why nothing may be delegated here; `redact` is for what a worker's tools found.

        `web` makes the calls to the web that a subagent wants made.
        """
        self._place = place
        self._connect = connect
        self._publish = publish
        self._recorder = recorder
        self._provider = provider
        self._limits = limits
        self._conversation = conversation
        self._barred = barred
        self._redact = redact
        self._web = web
        self._workspace = Workspace(Path(place.run.workspace))
        self._one_at_a_time = asyncio.Lock()
        self._agent_ids: set[str] = set()

    async def delegate(self, request: DelegateInput, invocation: Invocation) -> str:
        """Run one delegation; return the `delegate_result` as JSON, also when the task was cancelled."""
        one = self._prepared(request, invocation)
        try:
            async with self._one_at_a_time:
                one.course.begin()
                one.activity.show("starting", request.task)
                await self._run(one)
        except asyncio.CancelledError:
            one.course.end("cancel", CANCELLED)
        except Exception as error:  # noqa: BLE001 - whatever it was, the call has its result and the bar its end
            one.course.fail(error)
        return await self._result(one)

    def _prepared(self, request: DelegateInput, invocation: Invocation) -> _Delegation:
        limits = self._limits
        agent_id = mint_agent_id(secrets.token_hex, self._agent_ids | self._recorder.agent_ids)
        self._agent_ids.add(agent_id)
        frozen = fork(self._conversation(), invocation.call_id, agent_id, request)
        course = Course()
        activity = Activity(agent_id, frozen.queued, course, self._publish)
        witness = Witness(agent_id, self._workspace, limits.max_tool_rounds, activity.show)
        return _Delegation(
            fork=frozen,
            request=request,
            call_id=invocation.call_id,
            timeout_s=min(request.timeout_ms or limits.timeout_ms, limits.max_timeout_ms) / 1000,
            course=course,
            activity=activity,
            witness=witness,
            relay=Relay(
                frozen, course, witness, self._provider, self._recorder, limits, self._redact, self._web
            ),
        )

    async def _run(self, one: _Delegation) -> None:
        if self._barred is not None:
            one.course.end("refused", self._barred)
            return
        try:
            async with asyncio.timeout(min(FIND_S, one.timeout_s)):
                worker = await find_worker(self._place)
        except TimeoutError:
            if one.timeout_s <= FIND_S:
                one.course.end("deadline", OUT_OF_TIME)
            else:
                one.course.lose(_NONE_THERE)
            return
        except PlaceError as error:
            one.course.lose(f"{str(error).partition('. ')[0].rstrip('.')}.")
            # What to do about it is for a person.
            self._publish(NoticeRaised(level="warning", message=f"{error} {_START_AGAIN}"))
            return
        one.course.advance("worker_ready")
        try:
            async with self._linked(one, worker) as link:
                await self._play(one, link)
        except OSError as error:
            one.course.lose(f"The worker could not be reached: {error.strerror}.")

    @contextlib.asynccontextmanager
    async def _linked(self, one: _Delegation, worker: WarmWorker) -> AsyncIterator[Link]:
        """A connection to the worker, which serves once: behind it nothing of the two is needed any more."""
        watch, gone = Watch(one.course, self._limits.idle_ms / 1000), asyncio.Event()
        async with contextlib.AsyncExitStack() as stack:
            stack.callback(worker.close)
            stack.push_async_callback(_gone, worker, one.relay)
            link = self._connect(
                worker.address, on_command=one.relay.serve, on_gone=gone.set, admits=watch.admits
            )
            stack.callback(link.close)
            watching = asyncio.ensure_future(watch.until_lost(worker, gone))
            one.course.attend(watching)
            stack.callback(watching.cancel)
            yield link

    async def _play(self, one: _Delegation, link: Link) -> None:
        telling = [asyncio.ensure_future(self._start(one, link))]
        one.course.attend(telling[0])
        try:
            grace_s = min(GRACE_S, GRACE_PART * one.timeout_s)
            if await one.course.ended_by(one.timeout_s - grace_s):
                return
            one.course.advance("hand_in")
            telling.append(asyncio.ensure_future(_hand_in(one, link, grace_s)))
            one.course.attend(telling[1])
            if not await one.course.ended_by(one.timeout_s):
                one.course.end("deadline", OUT_OF_TIME)
        except asyncio.CancelledError:
            one.course.end("cancel", CANCELLED)
            raise
        finally:
            for task in telling:
                task.cancel()

    async def _start(self, one: _Delegation, link: Link) -> None:
        start = one.fork.start(self._place.run.workspace, self._limits.max_tool_rounds)
        try:
            reply = await link.ask(start, FIND_S)
        except PeerGone:
            return  # whoever watches the worker finds out why
        except LocalFault as error:
            one.course.lose(f"The worker could not be given the task: {error}.")
            return
        except IpcError:
            one.course.lose(f"The worker did not take the task within {FIND_S:g} s.")
            return
        if isinstance(reply, Accepted):
            one.course.advance("accepted")
        else:
            one.course.end("refused", lost("The worker refused the task."))

    async def _result(self, one: _Delegation) -> str:
        problem, witness = _told(one), one.witness
        is_cancelled = one.course.problem is CANCELLED
        result = normalize(one.fork.agent_id, witness.texts(), problem, witness.server_said)
        with contextlib.suppress(asyncio.CancelledError):  # then the findings stay unchecked
            within_s = CHECK_CANCELLED_S if is_stopped() else CHECK_S
            result = await check_findings(result, self._workspace, within_s)
        phase = "cancelled" if is_cancelled else result.status
        one.activity.end(phase, outcome(result), witness.usage)
        self._recorder.delegation_ended(
            DelegationEnded(
                turn=self._recorder.turn,
                call_id=one.call_id,
                agent_id=one.fork.agent_id,
                task=one.request.task,
                status=result.status,
                duration_ms=one.course.elapsed_ms(),
                problem=_problem(result),
                usage=witness.usage,
            )
        )
        return result.encoded()


def _told(one: _Delegation) -> Problem | None:
    """Why it ended, with the time that it had where that was why."""
    problem = one.course.problem
    if problem is not OUT_OF_TIME:
        return problem
    return msgspec.structs.replace(problem, message=f"The delegation ran out of its {one.timeout_s:g} s.")


def _problem(result: DelegateResult) -> Problem | None:
    return Problem(code=result.error.code, message=result.error.message) if result.error else None


async def _hand_in(one: _Delegation, link: Link, within_s: float) -> None:
    """Ask for what there is; told first, so that the end of its request is no surprise to the worker."""
    asyncio.get_running_loop().call_soon(one.relay.hand_in)
    with contextlib.suppress(IpcError):
        await link.ask(HandIn(agent_id=one.fork.agent_id), within_s)


async def _gone(worker: WarmWorker, relay: Relay) -> None:
    """End the worker and the request that is out; what takes longer does so behind the delegation."""
    worker.kill()
    leaving: set[asyncio.Future[Any]] = {worker.exited, *relay.stop()}
    await asyncio.wait(leaving, timeout=END_S)
