"""Orders of the person carried to the other processes, and what comes back of them."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Final, Literal

from ipc.errors import IpcError, LocalFault, PeerGone
from ipc.messages import (
    Accepted,
    AnyReply,
    ClearPlan,
    GetPlan,
    ListPaths,
    OpenSession,
    PathsListed,
    Ping,
    PlanChanged,
    PlanStored,
    ProcessStarted,
    PromptsListed,
    RedoTurn,
    Refused,
    SessionsListed,
    Stop,
    StopJob,
    UndoTurn,
)
from ui.composer.draft import Draft
from ui.desk import SILENT, Message
from ui.orders import Send
from ui.state import apply
from ui.transcript.transcript import steady
from ui.view import View

if TYPE_CHECKING:
    from ui.wires import Wires

DEADLINE_S: Final = 5.0
SHORT_DEADLINE_S: Final = 1.0
LONG_DEADLINE_S: Final = 60.0
"""For what is answered when it is done: files are written back meanwhile, a job ends."""
OPEN_S: Final = 20.0
"""Wait until a session that was chosen must have opened: the parent ends and starts again for it."""
RETRY_S: Final = 0.3
"""Wait before the parent is asked again that was too busy, or did not answer."""


def _silent(order: Send) -> str:
    """Return what to say when an order got no answer."""
    match order:
        case GetPlan() | ClearPlan():
            return "The plan store does not answer. Wait, then try again."
        case ListPaths():
            return "The files are not listed yet: the agent is busy. Type on, or press Tab to try again."
        case _:
            return SILENT


class Errands:
    """Runs one task an order. What a task raises reaches the loop, which ends the screen."""

    def __init__(
        self,
        view: View,
        loop: asyncio.AbstractEventLoop,
        give_back: Callable[[Draft], None],
        draw: Callable[[], None],
    ) -> None:
        """`give_back` takes a draft that was not sent, `draw` asks for a frame."""
        self.wires: Wires | None = None
        self._view = view
        self._loop = loop
        self._give_back = give_back
        self._draw = draw
        self._tasks: set[asyncio.Task[None]] = set()
        self._probing = False
        self._leaving = False

    def send(self, order: Send) -> None:
        """Carry an order to its owner."""
        self._start(self._send(order))

    def probe(self) -> None:
        """Find out whether the parent still answers; a connection also breaks when we were suspended."""
        if not self._probing:
            self._probing = True
            self._start(self._probe())

    def leave(self, reason: Literal["quit", "left", "suspend"], leave: Callable[[], None]) -> None:
        """End the run when it is ours, then call `leave`. A run that we were attached to goes on.

        A supervisor that does not take it keeps the run, and the screen stays to say so.
        """
        if not self._leaving:
            self._leaving = True
            self._start(self._leave(reason, leave))

    async def _send(self, order: Send) -> None:
        to_store = isinstance(order, GetPlan | ClearPlan)
        try:
            if self.wires is None:
                raise PeerGone("nothing is connected yet")
            deadline = LONG_DEADLINE_S if isinstance(order, UndoTurn | RedoTurn | StopJob) else DEADLINE_S
            reply = await self.wires.ask("plan_store" if to_store else "parent", order, deadline)
        except LocalFault as error:
            self._failed(order, "not_sent", f"This can not be sent: {error}.", "")
        except IpcError:
            self._failed(order, "no_answer", _silent(order), "")
        else:
            self._answered(order, reply)
        self._draw()

    def _answered(self, order: Send, reply: AnyReply) -> None:
        match reply:
            case Refused(code=code, message=message, next_step=next_step):
                self._failed(order, code, steady(message), steady(next_step))
            case PlanStored(plan=plan):
                apply(self._view.state, PlanChanged(plan=plan), None)
                if isinstance(order, ClearPlan):
                    self._view.desk.message = Message("info", "The plan is empty.")
            case SessionsListed(sessions=sessions):
                if self._view.desk.recall is not None:
                    self._view.desk.recall.fill(sessions, self._view.wall())
            case PathsListed():
                self._start(self._take_paths(reply))
            case PromptsListed(prompts=prompts):
                self._view.desk.history.fill(prompts)
            case Accepted():
                self._view.desk.done(order)
                if isinstance(order, OpenSession):
                    self._loop.call_later(OPEN_S, self._opened_late, order.session_id)
            case _:
                pass

    async def _take_paths(self, listed: PathsListed) -> None:
        """Take the files in between keys and frames: a hundred thousand take a quarter of a second."""
        for _ in self._view.desk.files.take(listed):
            await asyncio.sleep(0)
        self._draw()

    def _opened_late(self, session_id: str) -> None:
        if self._view.desk.opening == session_id:
            self._view.desk.failed(
                OpenSession(session_id=session_id),
                "late",
                f"Session {session_id} did not open.",
                "The log of the agent may say why.",
            )
            self._draw()

    def _failed(self, order: Send, code: str, message: str, next_step: str) -> None:
        desk = self._view.desk
        if (draft := desk.failed(order, code, message, next_step)) is not None:
            self._give_back(draft)
        if desk.held:
            self._loop.call_later(RETRY_S, self._retry)

    def _retry(self) -> None:
        self._view.desk.held = False
        self._draw()

    async def _probe(self) -> None:
        while not await self._parent_answers():
            self._view.state.cut_off = True
            self._draw()
            await asyncio.sleep(RETRY_S)
        self._probing = False
        self._view.state.cut_off = False
        self._draw()

    async def _parent_answers(self) -> bool:
        assert self.wires is not None
        try:
            await self.wires.ask("parent", Ping(), SHORT_DEADLINE_S)
        except IpcError:
            return False
        return True

    async def _leave(self, reason: str, leave: Callable[[], None]) -> None:
        news = self._view.state.processes.get("ui")
        ours = isinstance(news, ProcessStarted) and news.pid == os.getpid()
        if ours and self.wires is not None:
            try:
                await self.wires.ask("supervisor", Stop(reason=reason), SHORT_DEADLINE_S)
            except IpcError:
                self._stay()
                return
        leave()

    def _stay(self) -> None:
        """Say why the screen is still there; a supervisor that has ended takes it along anyway."""
        self._leaving = False
        self._view.desk.message = Message(
            "error",
            f"Fido's supervisor (process {os.getppid()}) does not answer. Wait and leave again, "
            f"or end it from another terminal: kill -9 {os.getppid()}",
        )
        self._draw()

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        """Raise what the task raised: from a callback it reaches the loop's handler."""
        self._tasks.discard(task)
        if not task.cancelled():
            task.result()
