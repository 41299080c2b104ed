"""The parent agent: owns the conversation, the session log, the tools, the provider and the key."""

import asyncio
import contextlib
import hashlib
import logging
import os
import sys
from pathlib import Path
from typing import Final

import msgspec

from actors.catalog.builtin import TOOLS, parent_tools
from actors.catalog.surface import advertised
from actors.clock import timestamp
from actors.conversation import Conversation, encode_head, encode_system, encode_user
from actors.delegation.delegator import Delegator
from actors.directories import state_directory
from actors.files.workspace import Workspace
from actors.invocation import InvocationGuard
from actors.permissions.approvals import Approvals
from actors.permissions.policy import Rules
from actors.plan.client import PlanClient
from actors.prompts.system_message import system_message
from actors.provider.direct import DirectProvider
from actors.provider.retry import RetryPolicy
from actors.restarts import START_REFUSED
from actors.session.events import MessageAppended, SessionStarted
from actors.session.history import fold
from actors.session.log import LogFailed, Recovery, SessionLog
from actors.session.recorder import Recorder
from actors.session.replay import facts_of
from actors.settings import OFFLINE_MODEL, Settings, load
from actors.settings_layers import SettingsError
from actors.turn import run_turn
from ipc import kernel
from ipc.actor import Actor, run
from ipc.endpoints import RunPlace
from ipc.lifecycle import TURN, TurnEvent, TurnState, advance
from ipc.mailbox import Answer, Peer
from ipc.messages import (
    Accepted,
    AnyCommand,
    CancelTurn,
    NoticeRaised,
    Refused,
    SessionOpened,
    SettleAsk,
    StartTurn,
)

REQUEST_OPTIONS: Final = {"stream": True, "stream_options": {"include_usage": True}}

log = logging.getLogger(__name__)


class Parent(Actor):
    """One session: prompts in, turns out."""

    name = "parent"
    publishes = True

    def __init__(self, place: RunPlace, settings: Settings, state: Path) -> None:
        super().__init__(place)
        self._settings = settings
        self._sessions = state / "sessions"
        self._rules = Rules.build(settings.permissions.tools, settings.permissions.commands)
        self._workspace = Path(place.run.workspace)
        self._model = OFFLINE_MODEL if settings.offline else settings.model
        self._state: TurnState = "idle"
        self._turn: asyncio.Task[None] | None = None
        self._system_notices: tuple[str, ...] = ()
        self._closing = contextlib.AsyncExitStack()

    async def on_start(self) -> None:
        self._provider = await self._open_provider()
        self._closing.push_async_callback(self._provider.aclose)
        self._provider.prepare()
        self._tools_bytes = advertised(TOOLS)
        self._recovery = self._open_log()
        self._closing.callback(self._log.close)
        self._history = fold(self._recovery.events)
        self._recorder = Recorder(self._log, self.publish, self._settings.prices)
        self._approvals = Approvals(self._rules, self._settings.mode, self.publish, self._recorder)
        self._delegator = Delegator(
            self.place,
            lambda address, on_command: self.link(address, on_command=on_command),
            self.publish,
            self._recorder,
            self._provider,
            self._settings.delegation,
            lambda: self._conversation,
        )
        plans = PlanClient(self.link(self.place.mailbox("plan_store")), self._recorder.plan_written)
        workspace = Workspace(self._workspace)
        tools = parent_tools(workspace, plans, self._approvals, self._delegator)
        self._guard = InvocationGuard(tools, self._approvals, self._recorder)

    async def on_bound(self) -> None:
        run = self.place.run
        taken = self._history.turn_of(run.id)
        self._open_session(taken or self._history.turns + 1)
        self._tell_recovery()
        for notice in self._system_notices:
            self._recorder.notice("warning", notice)
        for notice in self._settings.notices:
            self.publish(NoticeRaised(level="warning", message=notice))
        del self._recovery, self._history
        if run.prompt is not None and taken is None:
            self._start_turn(run.prompt, run.id)

    def on_command(self, command: AnyCommand, peer: Peer) -> Answer:
        match command:
            case StartTurn(prompt=prompt):
                if self._state != "idle":
                    return _turn_running(self._state)
                self._start_turn(prompt)
                return Accepted()
            case CancelTurn():
                self._advance("cancel")
                if self._turn is not None:
                    # Behind the turn's first step: a task that is cancelled before it never runs at all.
                    asyncio.get_running_loop().call_soon(self._turn.cancel)
                return Accepted()
            case SettleAsk():
                return self._approvals.settle(command)
            case _:
                return super().on_command(command, peer)

    async def on_stop(self, reason: str) -> None:
        if self._turn is not None:
            self._turn.cancel()
            await asyncio.wait({self._turn})
        await self._closing.aclose()

    async def _open_provider(self) -> DirectProvider:
        settings = self._settings
        retry = RetryPolicy(attempts=settings.retry_attempts)
        if not settings.offline:
            key = settings.key_for(settings.endpoint)
            return DirectProvider(settings.endpoint, key, settings.timeouts, retry)
        from actors.provider.offline import OfflineModel  # a server, which most sessions do without

        server = await self._closing.enter_async_context(OfflineModel.serve())
        return DirectProvider(server.base_url, server.api_key, settings.timeouts, retry)

    def _open_log(self) -> Recovery:
        """Go on with the session's log, or begin it."""
        path = self._sessions / f"{self.place.run.session_id}.jsonl"
        if path.exists() and path.stat().st_size:
            self._log, recovery = SessionLog.open(path)
            self._refuse_other_workspace(recovery)
            return recovery
        system = system_message(self._workspace)
        self._system_notices = system.notices
        encoded = encode_system(system.text)
        started = SessionStarted(
            session_id=self.place.run.session_id,
            workspace=str(self._workspace),
            model=self._model,
            mode=self._settings.mode,
            at=timestamp(),
            system_sha256=hashlib.sha256(encoded).hexdigest(),
            tools_sha256=hashlib.sha256(self._tools_bytes).hexdigest(),
        )
        first = MessageAppended(turn=0, message=msgspec.Raw(encoded))
        self._log = SessionLog.create(self._sessions, self.place.run.session_id, started, first)
        return Recovery((started, first))

    def _refuse_other_workspace(self, recovery: Recovery) -> None:
        """A session's system message and plan belong to its workspace. Raises `LogFailed`."""
        begun = recovery.events[0]
        if isinstance(begun, SessionStarted) and begun.workspace != str(self._workspace):
            self._log.close()
            raise LogFailed(
                "other_workspace",
                f"Session {begun.session_id} belongs to {begun.workspace}, not to {self._workspace}.",
                "Open it there, or begin another session here.",
            )

    def _open_session(self, first_turn: int) -> None:
        """Go on with the session's own system message: its bytes are the same after every restart."""
        messages = self._history.messages
        if not messages or not messages[0].startswith(b'{"role":"system"'):
            system = encode_system(system_message(self._workspace).text)
            self._recorder.on_appended(system)
            messages = (system, *messages)
        self.publish(
            SessionOpened(
                session_id=self.place.run.session_id,
                workspace=str(self._workspace),
                model=self._model,
                mode=self._settings.mode,
                offline=self._settings.offline,
                context_window=self._settings.context_window,
                system_sha256=hashlib.sha256(messages[0]).hexdigest(),
                tools_sha256=hashlib.sha256(self._tools_bytes).hexdigest(),
                first_turn=first_turn,
            )
        )
        head = encode_head(self._model, self._tools_bytes, REQUEST_OPTIONS)
        self._conversation = Conversation(head, messages)

    def _tell_recovery(self) -> None:
        """Show what an earlier life of this session showed, and what became of it."""
        for fact in facts_of(self._recovery.events):
            self.publish(fact)
        self._recorder.resume(self._history)
        if damage := self._recovery.notice():
            self.publish(NoticeRaised(level="warning", message=damage))

    def _start_turn(self, prompt: str, run_id: str = "") -> None:
        """Begin a turn; the prompt is recorded when this returns: a successor keeps what was accepted."""
        self._advance("begin")
        self._recorder.prompt_taken(prompt, run_id)
        message = encode_user(prompt)
        self._conversation.append(message)
        self._recorder.on_appended(message)
        self._turn = asyncio.ensure_future(self._play())

    async def _play(self) -> None:
        try:
            outcome = await run_turn(
                self._conversation,
                self._provider,
                self._guard,
                self._recorder,
                max_rounds=self._settings.max_tool_rounds,
            )
        finally:
            self._advance("end")
            self._turn = None
        self._recorder.turn_ended(outcome)

    def _advance(self, event: TurnEvent) -> None:
        self._state = advance(TURN, self._state, event)


def _turn_running(state: TurnState) -> Refused:
    return Refused(
        code="turn_running",
        message=f"A turn is {state}.",
        next_step="Send the prompt again when it has ended, or cancel it.",
    )


def main(argv: list[str]) -> int:
    """`python -I -m actors.parent RUN_DIR PPID`."""
    run_dir, ppid = argv
    kernel.die_with_parent(int(ppid))
    kernel.hide_memory()
    kernel.keep_freed_memory()
    place = RunPlace.open(run_dir)
    logging.basicConfig(level=str(place.run.flags.get("log_level", "warning")).upper())
    try:
        settings = load(place.run.flags, os.environ, Path(place.run.workspace))
        return run(Parent(place, settings, state_directory(os.environ)))
    except SettingsError as error:
        reason = str(error)
    except LogFailed as error:
        reason = f"{error.message} {error.next_step}"
    place.failure_file("parent").write_text(reason, encoding="utf-8")
    return START_REFUSED


if __name__ == "__main__":
    kernel.leave(main(sys.argv[1:]))
