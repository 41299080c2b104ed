"""What a parent is made of: its collaborators, put together from the settings and the log of one session."""

import os
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from actors.catalog.builtin import TOOLS, parent_tools
from actors.catalog.surface import advertised
from actors.compaction.compactor import Compactor
from actors.compaction.memory import Memory
from actors.conversation import Conversation
from actors.delegation.delegator import Delegator
from actors.delegation.requirement import Standing, standing
from actors.files.workspace import Workspace
from actors.invocation import InvocationGuard
from actors.opening import Opened, open_session
from actors.permissions.approvals import Approvals
from actors.permissions.policy import Rules
from actors.plan.client import PlanClient
from actors.provider.direct import DirectProvider
from actors.provider.opening import open_provider
from actors.sandbox.level import probe
from actors.session.history import History
from actors.session.invariants import CHECK, Invariants
from actors.session.ledger import Ledger
from actors.session.recorder import Recorder
from actors.session.records import Fold
from actors.session.replay import Replay
from actors.settings.settings import Settings
from actors.undo.log import UndoLog
from actors.undo.undo import Undo
from ipc.actor import Actor
from ipc.messages import NoticeRaised


@dataclass(frozen=True, slots=True)
class Parts:
    """The collaborators of one session, each the owner of its own state."""

    provider: DirectProvider
    tools_bytes: bytes
    """The encoded `tools` array of every request."""
    opened: Opened
    history: History
    replay: Replay
    recorder: Recorder
    approvals: Approvals
    standing: Standing
    """What the wall around a subagent is worth here."""
    plans: PlanClient
    compactor: Compactor
    undo: Undo
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
    provider = await open_provider(settings, closing)
    tools_bytes = advertised(TOOLS)
    history, replay, memory, ledger, undo_log = History(), Replay(), Memory(), Ledger(), UndoLog()
    folds: list[Fold] = [memory.apply, ledger.apply, undo_log.apply]
    learning = [history.apply, replay.apply, *folds]
    if os.environ.get(CHECK):
        invariants = Invariants()
        folds.append(invariants.apply)
        learning.append(invariants.learn)
    opened = open_session(
        state / "sessions",
        session_id,
        folder,
        model=model,
        mode=settings.mode,
        tools=tools_bytes,
        folds=learning,
    )
    closing.callback(opened.log.close)
    recorder = Recorder(opened.log, publish, settings.prices, folds, history)
    rules = Rules.build(settings.permissions.tools, settings.permissions.commands)
    approvals = Approvals(rules, settings.mode, publish, recorder)
    wall = standing(settings.sandbox, probe())
    delegator = Delegator(
        place, actor.link, publish, recorder, provider, settings.delegation, conversation, wall.problem
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
        window=settings.context_window,
        at=settings.compact_at,
    )

    def warn(message: str) -> None:
        publish(NoticeRaised(level="warning", message=message))

    undo = Undo(folder, state / "undo" / session_id, undo_log, recorder.record, warn)
    closing.callback(undo.close)
    tools = parent_tools(Workspace(folder), plans, approvals, delegator, undo.snapshots)
    return Parts(
        provider=provider,
        tools_bytes=tools_bytes,
        opened=opened,
        history=history,
        replay=replay,
        recorder=recorder,
        approvals=approvals,
        standing=wall,
        plans=plans,
        compactor=compactor,
        undo=undo,
        guard=InvocationGuard(tools, approvals, recorder),
    )
