"""The parent agent: owns the conversation, the session log, the tools, the provider and the key."""

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Final, assert_never

import msgspec

from actors.assembly import Parts, assemble
from actors.conversation import Conversation, encode_head, encode_system, encode_user
from actors.directories import state_directory
from actors.environment import keys_of
from actors.files.all_paths import list_paths
from actors.opening import digest
from actors.plan.delivery import is_due, origin, restoring
from actors.prompts.asides import files_restored, restore_interrupted, stale_step, told_with, unfinished
from actors.prompts.system_message import system_message
from actors.restarts import REOPEN, START_REFUSED
from actors.resume import ResumeRefused, check_session, running_sessions
from actors.session.log import LogFailed
from actors.session.prompt_history import PromptHistory
from actors.session.summaries import summaries
from actors.settings.layers import SettingsError
from actors.settings.settings import OFFLINE_MODEL, Settings, load
from actors.tools.tool import ToolFailure
from actors.turn import TurnOutcome, run_turn
from actors.undo.undo import Restored, UndoRefused
from ipc import kernel, logs
from ipc.actor import Actor, run
from ipc.endpoints import RunPlace, workspace_key
from ipc.lifecycle import TURN, TurnEvent, TurnState, advance
from ipc.mailbox import Answer, Peer
from ipc.messages import (
    Accepted,
    AnyCommand,
    AnyFact,
    AnyReply,
    CancelTurn,
    CompactConversation,
    ListPaths,
    ListPrompts,
    ListSessions,
    MessageDelta,
    NoticeRaised,
    OpenSession,
    Problem,
    PromptsListed,
    RedoTurn,
    Refused,
    SessionOpened,
    SessionsListed,
    SettleAsk,
    StartTurn,
    StopJob,
    UndoTurn,
)
from ipc.secret_text import without_secrets

REQUEST_OPTIONS: Final = {"stream": True, "stream_options": {"include_usage": True}}
PLAN_DEADLINE_S: Final = 2.0
"""How long a turn waits for the plan store before it begins without the plan."""
CANCELLED: Final = Problem(code="cancelled", message="The turn was cancelled.")

log = logging.getLogger(__name__)


class Parent(Actor):
    """One session: prompts in, turns out."""

    name = "parent"
    publishes = True

    def __init__(self, place: RunPlace, settings: Settings, state: Path) -> None:
        super().__init__(place)
        self._settings = settings
        self._redactor = settings.redactor
        self._state_directory = state
        self._sessions = state / "sessions"
        self._workspace = Path(place.run.workspace)
        name = f"{workspace_key(place.run.workspace)}.jsonl"
        self._prompts = PromptHistory(state / "prompts" / name, settings.redactor.content)
        self._model = OFFLINE_MODEL if settings.offline else settings.model
        self._state: TurnState = "idle"
        self._doing = ""
        self._work: asyncio.Task[None] | None = None
        self._parts: Parts
        self._conversation: Conversation
        self._closing = contextlib.AsyncExitStack()

    async def on_start(self) -> None:
        self._parts = await assemble(
            self,
            self._settings,
            self._state_directory,
            model=self._model,
            conversation=lambda: self._conversation,
            closing=self._closing,
        )
        self.place.wall(up=self._settings.sandbox != "off")

    async def on_bound(self) -> None:
        run = self.place.run
        taken = self._parts.history.turn_of(run.id)
        self._take_up("The session is still being opened")
        self.publish(self._settings.screen.fact)
        self._open_session(taken or self._parts.history.turns + 1)
        self.publish(self._parts.standing.notice)
        await self._tell_recovery()
        for notice in self._parts.opened.notices:
            self._parts.recorder.notice("warning", notice)
        for notice in self._settings.notices:
            self._warn(notice)
        self._advance("end")
        if run.prompt is not None and taken is None:
            self._start_turn(run.prompt, run.id)

    def on_command(self, command: AnyCommand, peer: Peer) -> Answer:
        match command:
            case CancelTurn():
                self._cancel()
                return Accepted()
            case SettleAsk():
                return self._parts.approvals.settle(command)
            case StopJob(pid=pid):
                return self._parts.jobs.stop(pid)
            case ListSessions():
                return self._list_sessions()
            case ListPaths():
                return list_paths(self._parts.workspace)
            case ListPrompts():
                return PromptsListed(prompts=self._prompts.told())
            case StartTurn() | CompactConversation() | UndoTurn() | RedoTurn() | OpenSession():
                return self._busy() if self._state != "idle" else self._begin(command)
            case _:
                return super().on_command(command, peer)

    def publish(self, fact: AnyFact) -> None:
        """Tell everyone who watches, and nobody a secret: approvals quote files, notices whatever failed."""
        match fact:
            case MessageDelta():  # clean already, and many
                super().publish(fact)
            case NoticeRaised(message=message):
                super().publish(msgspec.structs.replace(fact, message=self._redactor.report(message)))
            case _:
                super().publish(self._redactor.struct(fact))

    async def on_stop(self, reason: str) -> None:
        if self._work is not None:
            await asyncio.sleep(0)  # a task that is cancelled before its first step never runs at all
            self._work.cancel()
            await asyncio.wait({self._work})
        await asyncio.to_thread(self._prompts.finish)
        await self._closing.aclose()

    # --- one piece of work at a time

    def _begin(self, command: StartTurn | CompactConversation | UndoTurn | RedoTurn | OpenSession) -> Answer:
        match command:
            case StartTurn(prompt=prompt):
                self._start_turn(prompt)
            case CompactConversation(focus=focus):
                compaction = self._parts.compactor.compact(self._conversation, focus)
                self._start(compaction, "The conversation is being compacted")
            case UndoTurn():
                return self._restore(self._parts.undo.undo)
            case RedoTurn():
                return self._restore(self._parts.undo.redo)
            case OpenSession(session_id=session_id):
                return self._open_other(session_id)
            case _:
                assert_never(command)
        return Accepted()

    def _start(self, work: Coroutine[None, None, None], what: str) -> None:
        """Take up a piece of work; `what` says of it in words why nothing else can begin."""
        self._take_up(what)
        self._work = asyncio.ensure_future(self._to_end(work))

    def _take_up(self, what: str) -> None:
        self._advance("begin")
        self._doing = what

    async def _to_end(self, work: Coroutine[None, None, None]) -> None:
        try:
            await work
        finally:
            self._advance("end")
            self._work = None

    def _busy(self) -> Refused:
        return Refused(
            code="turn_running",
            message=f"{self._doing}{', and is being stopped' if self._state == 'stopping' else ''}.",
            next_step="Try again when that has ended.",
        )

    def _cancel(self) -> None:
        self._advance("cancel")
        if self._work is not None:
            # Behind the work's first step: a task that is cancelled before it never runs at all.
            asyncio.get_running_loop().call_soon(self._work.cancel)

    def _advance(self, event: TurnEvent) -> None:
        self._state = advance(TURN, self._state, event)

    # --- a turn

    def _start_turn(self, prompt: str, run_id: str = "") -> None:
        """Begin a turn; the prompt is recorded when this returns: a successor keeps what was accepted."""
        prompt = self._redactor.content(prompt)
        asides = tuple(self._asides())
        self._parts.recorder.prompt_taken(prompt, run_id, asides)
        self._append(encode_user(told_with(prompt, asides)))
        if self.place.run.front != "headless":  # which scripts start, by the hundred
            self._prompts.add(prompt)
        self._start(self._play(), "A turn is running")

    def _asides(self) -> Iterator[str]:
        yield from map(files_restored, self._parts.history.restored)
        yield from map(restore_interrupted, self._parts.undo.interrupted)
        plan = self._parts.history.plan
        if plan is not None and plan.revision == self._parts.plans.seen and (reminder := stale_step(plan)):
            yield reminder

    async def _play(self) -> None:
        try:
            await self._deliver_plan()
            outcome = await run_turn(
                self._conversation,
                self._parts.provider,
                self._parts.guard,
                self._parts.recorder,
                max_rounds=self._settings.max_tool_rounds,
                compactor=self._parts.compactor,
            )
        except asyncio.CancelledError:  # before the loop of the turn, which takes it from then on
            outcome = TurnOutcome(status="cancelled", problem=CANCELLED)
        strip = self._parts.history.strip
        if outcome.status == "completed" and strip is not None and (left := unfinished(strip)):
            self._parts.recorder.notice("info", left)
        self._parts.recorder.turn_ended(outcome)

    async def _deliver_plan(self) -> None:
        """Put the plan behind the prompt where the model has not seen it as it is now."""
        try:
            async with asyncio.timeout(PLAN_DEADLINE_S):
                plan = await self._parts.plans.get()
        except (TimeoutError, ToolFailure):
            self._warn("The plan store does not answer; this turn begins without the plan.")
            return
        if is_due(plan, self._parts.plans.seen):
            note = origin(plan, self.place.run.session_id) or stale_step(plan)
            for message in restoring(plan, f"start{self._parts.recorder.turn:04}", note):
                self._append(message)
        self._parts.plans.seen = plan.revision

    def _append(self, message: bytes) -> None:
        self._conversation.append(message)
        self._parts.recorder.on_appended(message)

    # --- between turns

    def _restore(self, act: Callable[[], Awaitable[Restored]]) -> Awaitable[AnyReply]:
        """Take back or make again; it goes on to its end also when its sender or the parent leaves."""
        reply = asyncio.get_running_loop().create_future()
        self._start(self._restored(act, reply), "An undo is going on")
        return reply

    async def _restored(
        self, act: Callable[[], Awaitable[Restored]], reply: "asyncio.Future[AnyReply]"
    ) -> None:
        answer: AnyReply = Accepted()
        acting = asyncio.ensure_future(act())
        while not acting.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({acting})
        try:
            self._parts.recorder.notice("info", acting.result().message)
        except UndoRefused as refused:
            answer = Refused(code=refused.code, message=refused.message, next_step=refused.next_step)
        if not reply.done():
            reply.set_result(answer)

    async def _list_sessions(self) -> AnyReply:
        running = running_sessions(self.place.directory.parent, self._workspace)
        found = await asyncio.to_thread(summaries, self._sessions, str(self._workspace), running)
        return SessionsListed(sessions=tuple(one for one in found if one.turns))

    def _open_other(self, session_id: str) -> Answer:
        """End, and come back with another session: there is one way to open one, which a crash takes, too."""
        if session_id == self.place.run.session_id:
            return Refused(code="already_open", message=f"Session {session_id} is open already.")
        running = running_sessions(self.place.directory.parent, self._workspace)
        try:
            check_session(session_id, self._sessions, self._workspace, running)
        except ResumeRefused as refused:
            return Refused(code="session_refused", message=str(refused))
        try:
            self.place.go_on_with(session_id)
        except OSError as error:
            message = f"Session {session_id} can not be noted in {self.place.directory}: {error.strerror}."
            return Refused(
                code="session_refused", message=message, next_step="Make room there, then try again."
            )
        self._take_up("Another session is being opened")
        self.exit_status = REOPEN
        asyncio.get_running_loop().call_soon(self.stop, f"going on with {session_id}")
        return Accepted()

    # --- the session

    def _open_session(self, first_turn: int) -> None:
        """Go on with the session's own system message: its bytes are the same after every restart."""
        messages = self._parts.history.messages
        if not messages or not messages[0].startswith(b'{"role":"system"'):
            text = system_message(self._workspace, self._parts.private).text
            system = encode_system(self._redactor.content(text))
            self._parts.recorder.on_appended(system)
            messages = (system, *messages)
        self.publish(
            SessionOpened(
                session_id=self.place.run.session_id,
                workspace=str(self._workspace),
                model=self._model,
                mode=self._settings.mode,
                offline=self._settings.offline,
                context_window=self._settings.context_window,
                system_sha256=digest(messages[0]),
                tools_sha256=digest(self._parts.tools_bytes),
                first_turn=first_turn,
            )
        )
        head = encode_head(self._model, self._parts.tools_bytes, REQUEST_OPTIONS)
        self._conversation = Conversation(head, messages)

    async def _tell_recovery(self) -> None:
        """Show what an earlier life of this session showed, and what became of it."""
        for fact in self._parts.replay.facts():
            self.publish(fact)
        await self._parts.undo.recover()
        self._parts.recorder.resume()
        if damage := self._parts.opened.recovery.notice():
            self._warn(damage)

    def _warn(self, message: str) -> None:
        self.publish(NoticeRaised(level="warning", message=message))


def main(argv: list[str]) -> int:
    """`python -I -m actors.parent RUN_DIR PPID`."""
    run_dir, ppid = argv
    kernel.die_with_parent(int(ppid))
    kernel.hide_memory()
    kernel.keep_freed_memory()
    place = RunPlace.join(run_dir)
    level = place.run.flags.get("log_level", "warning")
    logs.begin(level)
    try:
        settings = load(place.run.flags, os.environ, Path(place.run.workspace))
        kernel.blank_environment(keys_of(os.environ, settings.secrets))
        logs.begin(level, logs.SafeFormatter(settings.redactor.report))
        return run(Parent(place, settings, state_directory(os.environ)))
    except SettingsError as error:
        reason = str(error)
    except LogFailed as error:
        reason = f"{error.message} {error.next_step}"
    place.failure_file("parent").write_text(without_secrets(reason), encoding="utf-8")
    return START_REFUSED


if __name__ == "__main__":
    kernel.leave(main(sys.argv[1:]))
