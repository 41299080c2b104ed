"""What a parent is made of: its collaborators, put together from the settings and the log of one session."""

import asyncio
import os
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from actors.catalog.builtin import TOOLS, parent_tools, web_tools
from actors.catalog.surface import advertised
from actors.compaction.compactor import Compactor
from actors.compaction.memory import Memory
from actors.compaction.window import Gauge, Window
from actors.conversation import Conversation
from actors.delegation.delegator import Delegator
from actors.delegation.requirement import Standing, standing
from actors.delegation.subagent import Unwatched
from actors.directories import user_file
from actors.files.workspace import Workspace
from actors.invocation import InvocationGuard
from actors.opening import Opened, open_session
from actors.permissions.approvals import Approvals
from actors.permissions.grants import Grant
from actors.permissions.keeping import keep
from actors.permissions.unasked import Unasked
from actors.plan.client import PlanClient
from actors.provider.interface import Provider
from actors.provider.opening import open_provider
from actors.sandbox.level import probe
from actors.sandbox.private import private_places
from actors.secrets.redacted import RedactedProvider
from actors.session.history import History
from actors.session.invariants import CHECK, Invariants
from actors.session.ledger import Ledger
from actors.session.recorder import Recorder
from actors.session.records import Fold
from actors.session.replay import Replay
from actors.settings.settings import Settings
from actors.shell.jobs import Jobs
from actors.shell.opening import open_shell
from actors.shell.outputs import Outputs
from actors.tools.bash_exec import BashExec
from actors.undo.log import UndoLog
from actors.undo.undo import Undo
from ipc.actor import Actor
from ipc.messages import Level, NoticeRaised


@dataclass(frozen=True, slots=True)
class Parts:
    """The collaborators of one session, each the owner of its own state."""

    provider: Provider
    tools_bytes: bytes
    """The encoded `tools` array of every request."""
    opened: Opened
    workspace: Workspace
    private: tuple[Path, ...]
    """Files and folders that stay closed to a model."""
    history: History
    replay: Replay
    recorder: Recorder
    approvals: Approvals
    standing: Standing
    """What the wall around a subagent is worth here."""
    plans: PlanClient
    compactor: Compactor
    undo: Undo
    jobs: Jobs
    guard: InvocationGuard


async def assemble(
    actor: Actor,
    settings: Settings,
    state: Path,
    *,
    model: str,
    conversation: Callable[[], Conversation],
    closing: AsyncExitStack,
) -> Parts:
    """Open the session and put everything together for `actor`; `closing` ends it. Raises `LogFailed`."""
    place, publish = actor.place, actor.publish
    session_id, folder = place.run.session_id, Path(place.run.workspace)
    redactor = settings.redactor

    def tell(level: Level, message: str) -> None:
        publish(NoticeRaised(level=level, message=redactor.report(message)))

    window = Window(settings.context_window)
    direct = await open_provider(settings, closing, tell, window.told)
    provider = RedactedProvider(direct, redactor)
    tools_bytes = advertised(TOOLS)
    history, replay, memory, ledger, undo_log = History(), Replay(), Memory(), Ledger(), UndoLog()
    folds: list[Fold] = [memory.apply, ledger.apply, undo_log.apply]
    learning = [history.apply, replay.apply, *folds]
    if os.environ.get(CHECK):
        invariants = Invariants()
        folds.append(invariants.apply)
        learning.append(invariants.learn)
    private = private_places(os.environ, place.directory.parent)
    opened = open_session(
        state / "sessions",
        session_id,
        folder,
        model=model,
        mode=settings.mode,
        tools=tools_bytes,
        folds=learning,
        redact=redactor.content,
        private=private,
    )
    closing.callback(opened.log.close)
    recorder = Recorder(opened.log, publish, settings.prices, folds, history, redactor.struct)
    outputs = Outputs(state / "output" / session_id, redactor.forms)
    outputs.mend()
    workspace = Workspace(folder, also_readable=[outputs.folder], private=private, notes=state / "writing")

    async def keep_grant(grant: Grant) -> str:
        return await asyncio.to_thread(keep, grant, workspace.root, user_file(os.environ))

    approvals = Approvals(settings.permissions.rules, settings.mode, publish, recorder, workspace, keep_grant)
    web = web_tools(settings.web)
    wall = standing(settings.sandbox, probe())
    delegator = Delegator(
        place,
        actor.link,
        publish,
        recorder,
        provider,
        settings.delegation,
        conversation,
        wall.problem,
        redactor.content,
        InvocationGuard(web, Unasked(approvals.verdict, recorder), Unwatched(), redactor.content),
    )
    plans = PlanClient(
        actor.link(place.mailbox("plan_store")), recorder.plan_written, session_id, ledger.deeds
    )
    compactor = Compactor(
        provider,
        plans,
        recorder,
        publish,
        memory,
        window=window,
        at=settings.compact_at,
    )
    recorder.gauge = Gauge(window, lambda: compactor.tokens(conversation()))

    def warn(message: str) -> None:
        publish(NoticeRaised(level="warning", message=message))

    undo = Undo(folder, state / "undo" / session_id, undo_log, recorder.record, warn)
    closing.callback(undo.close)
    jobs = Jobs(publish, outputs.clean)
    shell = open_shell(settings.shell, workspace.root, outputs, private, settings.secrets)
    for each in (outputs, shell, jobs):
        closing.callback(each.close)
    bash_exec = BashExec(workspace, undo.snapshots, shell, jobs, lambda fact: publish(redactor.struct(fact)))
    tools = parent_tools(workspace, plans, approvals, delegator, undo.snapshots, bash_exec, web)
    return Parts(
        provider=provider,
        tools_bytes=tools_bytes,
        opened=opened,
        workspace=workspace,
        private=private,
        history=history,
        replay=replay,
        recorder=recorder,
        approvals=approvals,
        standing=wall,
        plans=plans,
        compactor=compactor,
        undo=undo,
        jobs=jobs,
        guard=InvocationGuard(tools, approvals, recorder, redactor.content),
    )
