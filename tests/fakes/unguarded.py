"""Workers in which the guard has been disabled, or the player replaced."""

import asyncio
import os
import signal
from pathlib import Path

from actors.catalog.builtin import EFFECTS, worker_tools
from actors.delegation.subagent import Subagent
from actors.files.workspace import Workspace
from actors.tools.mkdir import Mkdir
from actors.tools.patch import Patch
from actors.tools.rm import Rm
from actors.tools.rmdir import Rmdir
from actors.worker_actor import Worker
from ipc.mailbox import Peer
from ipc.messages import Problem, StartDelegation
from tests.fakes.shells import bash_exec
from tests.fakes.snapshots import NOTHING_KEPT

HOARD_BYTES = 4 * 1024**3
BROOD = 600


class Unguarded(Worker):
    """Has every tool that changes something, and takes each for one that reads."""

    def subagent(self, start: StartDelegation, peer: Peer) -> Subagent:
        workspace = Workspace(Path(start.workspace))
        writers = [kind(workspace, NOTHING_KEPT) for kind in (Mkdir, Patch, Rm, Rmdir)]
        tools = worker_tools(workspace) | {tool.name: tool for tool in (bash_exec(workspace.root), *writers)}
        return Subagent(start, peer, tools, dict.fromkeys(EFFECTS, "read"))


class Hoarding(Worker):
    """Is played by one who needs more memory than there is for it."""

    def subagent(self, start: StartDelegation, peer: Peer) -> Subagent:
        return _Hoarder(start, peer, {}, EFFECTS)


class Forking(Worker):
    """Is played by one who starts many processes, each in a session of its own."""

    def subagent(self, start: StartDelegation, peer: Peer) -> Subagent:
        return _Forker(start, peer, {}, EFFECTS)


class _Forker(Subagent):
    async def play(self) -> Problem | None:
        for _ in range(BROOD):
            if os.fork() == 0:
                os.setsid()
                while True:
                    signal.pause()
            await asyncio.sleep(0)  # its parent would miss it
        return await super().play()


class _Hoarder(Subagent):
    async def play(self) -> Problem | None:
        self.hoard = bytearray(HOARD_BYTES)
        return await super().play()
