"""The worker actor: one delegation, then its end. Its provider is its parent."""

import asyncio
import logging
from pathlib import Path
from typing import Final

from actors.catalog.builtin import EFFECTS, worker_tools
from actors.delegation.course import LEASE_S
from actors.delegation.subagent import Subagent
from actors.discreet import course_of
from actors.files.workspace import Workspace
from ipc.actor import Actor
from ipc.endpoints import RunPlace
from ipc.errors import IpcError, PeerGone, ReplyLate
from ipc.mailbox import Answer, Peer
from ipc.messages import (
    Accepted,
    AnyCommand,
    AnyFact,
    FinishDelegation,
    HandIn,
    ModelStreamed,
    Ping,
    Problem,
    Refused,
    StartDelegation,
    WorkerFault,
)

FINISH_S: Final = 10.0
"""How long the parent may take to accept the end of a delegation."""

log = logging.getLogger(__name__)


class Worker(Actor):
    """Takes one task from whoever asks first, and ends with it."""

    name = "worker"

    def __init__(self, place: RunPlace, address: str, listening: int) -> None:
        """`listening` is the descriptor of the socket that is bound at `address`."""
        super().__init__(place)
        self._address = address
        self._listening = listening
        self._peer: Peer | None = None
        self._subagent: Subagent | None = None
        self._serving: asyncio.Task[None] | None = None
        self._playing: asyncio.Task[Problem | None] | None = None

    def mailbox_address(self) -> str:
        return self._address

    def mailbox_descriptor(self) -> int:
        return self._listening

    def on_command(self, command: AnyCommand, peer: Peer) -> Answer:
        match command:
            case StartDelegation():
                return self._begin(command, peer)
            case HandIn(agent_id=agent_id) if subagent := self._meant(agent_id, peer):
                subagent.hand_in()
                return Accepted()
            case _:
                return super().on_command(command, peer)

    def on_fact(self, fact: AnyFact, peer: Peer) -> None:
        if isinstance(fact, ModelStreamed) and (subagent := self._meant(fact.agent_id, peer)):
            subagent.receive(fact.event)

    async def on_stop(self, reason: str) -> None:
        for task in (self._serving, self._playing):
            if task is not None:
                task.cancel()

    def subagent(self, start: StartDelegation, peer: Peer) -> Subagent:
        """Who plays the task, and with which tools."""
        return Subagent(start, peer, worker_tools(Workspace(Path(start.workspace))), EFFECTS)

    def _begin(self, start: StartDelegation, peer: Peer) -> Answer:
        if self._peer is not None:
            return Refused(
                code="busy",
                message="This worker has its task already, and takes no second one.",
                next_step="Ask the next worker.",
            )
        self._subagent = subagent = self.subagent(start, peer)
        self._playing = asyncio.ensure_future(subagent.play())
        self._serving = asyncio.ensure_future(self._serve(self._playing, subagent.agent_id, peer))
        self._peer = peer
        return Accepted()

    def _meant(self, agent_id: str, peer: Peer) -> Subagent | None:
        """The subagent, for its own parent and about its own delegation."""
        subagent = self._subagent if peer is self._peer else None
        return subagent if subagent is not None and agent_id == subagent.agent_id else None

    async def _serve(self, playing: "asyncio.Task[Problem | None]", agent_id: str, peer: Peer) -> None:
        """Hand in the end of the delegation; only when that is accepted may the process end."""
        gone = asyncio.ensure_future(_until_gone(peer))
        try:
            await asyncio.wait({playing, gone}, return_when=asyncio.FIRST_COMPLETED)
            if playing.done():
                await peer.ask(FinishDelegation(agent_id=agent_id, fault=_fault(playing)), FINISH_S)
        except IpcError as error:
            log.warning("the end of a delegation was not taken: %s", error)
        finally:
            gone.cancel()
            self.stop("finished")


def _fault(playing: "asyncio.Task[Problem | None]") -> WorkerFault | None:
    """What of the end of a delegation only this process can know; the details stay in the log."""
    error = playing.exception()
    if error is None:
        problem = playing.result()
        return "internal_error" if problem is not None and problem.code == "internal_error" else None
    if isinstance(error, MemoryError):
        return "out_of_memory"
    log.error("the delegation failed inside Fido:\n%s", course_of(error))
    return "internal_error"


async def _until_gone(peer: Peer) -> None:
    """Return when the parent has ended; one that is only slow, stopped for a while, is waited for."""
    while True:
        try:
            await peer.ask(Ping(), LEASE_S)
        except ReplyLate:
            continue
        except PeerGone:
            return
        await asyncio.sleep(LEASE_S)
