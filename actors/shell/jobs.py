"""What commands have left running: listed, watched to its end, stopped. It ends with the session."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Final

from actors.shell.call import Call
from actors.shell.runner import JOB_GRACE_S
from ipc.messages import Accepted, AnyFact, AnyReply, Job, JobsChanged, Refused

MOST: Final = 64
"""Jobs at one time: each has a process that watches it."""
STOP_S: Final = JOB_GRACE_S + 2.0
"""How long a job may take to end; only the kernel can hold one up for longer."""


class Jobs:
    """All that runs in the background; a job is everything that one command has left."""

    def __init__(
        self, publish: Callable[[AnyFact], None], clean: Callable[[str], None], most: int = MOST
    ) -> None:
        """`clean` gets the file with a job's output when it is complete."""
        self._publish = publish
        self._clean = clean
        self._most = most
        self._running: dict[int, tuple[Job, Call, asyncio.Task[None]]] = {}

    @property
    def full(self) -> bool:
        return len(self._running) >= self._most

    def add(self, job: Job, call: Call, file: str) -> None:
        """Take over what a command has left, whose output goes on in `file`, and watch it."""
        task = asyncio.ensure_future(self._watch(job.pid, call, file))
        self._running[job.pid] = job, call, task
        self._tell()

    async def stop(self, pid: int) -> AnyReply:
        """End a job with all that belongs to it, also what has left its session: SIGTERM, then SIGKILL."""
        if pid not in self._running:
            return Refused(
                code="no_such_job",
                message=f"No job {pid} is running.",
                next_step="Look at the jobs again: it may have ended by itself.",
            )
        job, call, task = self._running[pid]
        call.hang_up()
        await asyncio.wait({task}, timeout=STOP_S)
        if task.done():
            return Accepted()
        return Refused(
            code="job_hangs", message=f"{job.command} ({pid}) does not end.", next_step="Try again."
        )

    def close(self) -> None:
        """Watch none any more: the shell, which ends them all, is about to be closed."""
        for _, call, task in self._running.values():
            task.cancel()
            call.close()

    async def _watch(self, pid: int, call: Call, file: str) -> None:
        with contextlib.suppress(OSError):  # its runner was killed; the host then ends the rest
            await call.all_ended()
        call.close()
        self._clean(file)
        del self._running[pid]
        self._tell()

    def _tell(self) -> None:
        self._publish(JobsChanged(jobs=tuple(job for job, _, _ in self._running.values())))
