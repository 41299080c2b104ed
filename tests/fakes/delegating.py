"""Has the next worker of a run play a delegation."""

import asyncio
from pathlib import Path

from actors.delegation.warm_worker import find_worker
from ipc.channel import Channel
from ipc.endpoints import RunPlace
from ipc.mailbox import Link
from ipc.messages import Accepted, FinishDelegation
from tests.fakes.launch import DEADLINE_S
from tests.fakes.worker_parent import Step, WorkerParent, forked


def delegate(place: RunPlace, workspace: Path, *steps: Step) -> tuple[FinishDelegation, WorkerParent]:
    """Return its end, and what its parent saw."""

    async def whole() -> tuple[FinishDelegation, WorkerParent]:
        channel, parent = Channel(), WorkerParent(*steps)
        try:
            worker = await asyncio.wait_for(find_worker(place), DEADLINE_S)
            link = Link(channel, "parent", worker.address, on_command=parent.on_command)
            told = await link.ask(forked().start(str(workspace), 20), DEADLINE_S)
            assert told == Accepted(), told
            end = await parent.end()
            await asyncio.wait_for(worker.exited, DEADLINE_S)
            worker.close()
            return end, parent
        finally:
            channel.close()

    return asyncio.run(whole())
