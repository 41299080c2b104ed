"""`bash_exec` with a shell of its own, on one loop for all its calls that watches what they leave."""

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from actors.environment import without_keys
from actors.files.workspace import Workspace
from actors.process_tree import descendants
from actors.shell.jobs import MOST, Jobs
from actors.shell.outputs import Outputs
from actors.shell.shell import HEAD_BYTES, TAIL_BYTES, Shell
from actors.shell.wall import CommandWall
from actors.tools.bash_exec import BashExec
from actors.tools.snapshots import Snapshots
from actors.tools.tool import Invocation, ToolFailure, ToolOutput
from ipc.messages import AnyFact, AnyReply, JobsChanged
from tests.fakes.snapshots import NOTHING_KEPT

SECRET = "sk-canary-0815"
"""What no file with output is to hold."""


def bash_exec(root: Path, snapshots: Snapshots = NOTHING_KEPT) -> BashExec:
    """The tool alone, for who has a loop and closes nothing: all ends with this process."""
    outputs = Outputs(root.with_name(f"{root.name}-output") / "s")
    shell = Shell(without_keys(os.environ), outputs)
    return BashExec(Workspace(root), snapshots, shell, Jobs(lambda _: None, outputs.clean), lambda _: None)


class Shelled:
    """The tool, its shell, its jobs, and what they have published."""

    def __init__(
        self, root: Path, outputs: Path, head: int, tail: int, wall: CommandWall | None, most: int
    ) -> None:
        self.root = root
        self.facts: list[AnyFact] = []
        self._told = asyncio.Event()
        self.outputs = Outputs(outputs, [SECRET])
        self.shell = Shell(without_keys(os.environ), self.outputs, wall, head=head, tail=tail)
        self.jobs = Jobs(self._publish, self.outputs.clean, most)
        workspace = Workspace(root)
        self.tool = BashExec(workspace, NOTHING_KEPT, self.shell, self.jobs, self._publish)
        self.runner = asyncio.Runner()

    def _publish(self, fact: AnyFact) -> None:
        self.facts.append(fact)
        self._told.set()

    def call(self, command: str, **bounds: object) -> ToolOutput:
        given = self.tool.input.model_validate({"command": command, **bounds})
        return self.runner.run(self.tool.run(given, Invocation("call-1")))

    def run(self, command: str, **bounds: object) -> str:
        return self.call(command, **bounds).content

    def refusal(self, command: str, **bounds: object) -> ToolFailure:
        with pytest.raises(ToolFailure) as caught:
            self.call(command, **bounds)
        assert caught.value.message
        assert caught.value.next_step
        return caught.value

    def descendants(self) -> list[int]:
        """Every process of the shell."""
        host = self.shell._host
        return [] if host is None else [host.pid, *descendants(host.pid)]

    def stop(self, pid: int) -> AnyReply:
        return self.runner.run(self.jobs.stop(pid))

    @property
    def listed(self) -> list[int]:
        """The jobs as they were told last."""
        told = [fact for fact in self.facts if isinstance(fact, JobsChanged)]
        return [job.pid for job in told[-1].jobs] if told else []

    def until(self, condition: Callable[[], bool], limit_s: float = 10.0) -> None:
        """Let the loop run until the condition on what was published holds."""
        self.runner.run(self._until(condition, limit_s))

    async def _until(self, condition: Callable[[], bool], limit_s: float) -> None:
        async with asyncio.timeout(limit_s):
            while not condition():
                self._told.clear()
                await self._told.wait()


@contextmanager
def shelled(
    root: Path,
    outputs: Path | None = None,
    *,
    head: int = HEAD_BYTES,
    tail: int = TAIL_BYTES,
    wall: CommandWall | None = None,
    most_jobs: int = MOST,
) -> Iterator[Shelled]:
    made = Shelled(root, outputs or root.with_name(f"{root.name}-output") / "s", head, tail, wall, most_jobs)
    with made.runner:
        yield made
        made.jobs.close()
        made.shell.close()
        made.outputs.close()
