"""The shell as a tool sees it: hands a command to the shell host, waits, gives up on what hangs."""

import asyncio
import contextlib
import shutil
import socket
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from actors import process_tree
from actors.shell.call import Call, Ended
from actors.shell.host import command_line
from actors.shell.outputs import Outputs
from actors.shell.wall import CommandWall
from actors.shell.wire import Request

HEAD_BYTES: Final = 10_000
TAIL_BYTES: Final = 20_000
OVERTIME_S: Final = 2.0
"""How much longer than its timeout a command's runner may take, to kill and to report."""
CANCEL_S: Final = 1.0
"""How long a cancelled command's runner, or a host, may take to end and kill everything, and to report."""
LOST_S: Final = 0.1
"""How long a host is watched once a runner of its was lost."""
ATTEMPTS: Final = 2
"""How often a command is handed over: a host that has just been killed may still seem to be there."""
HINTS: Final = {
    "DEBIAN_FRONTEND": "noninteractive",
    "EDITOR": "true",
    "GIT_EDITOR": "true",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "MANPAGER": "cat",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "PIP_NO_INPUT": "1",
    "SSH_ASKPASS_REQUIRE": "never",
    "TERM": "dumb",
    "VISUAL": "true",
}
"""Tells programs that nobody can answer, and that nothing draws."""

_ROOT: Final = str(Path(__file__).parents[2])
_FALLBACK: Final = "/bin/sh"


class ShellLost(Exception):
    """The process that watched the command has ended, or hangs and was given up."""


class Shell:
    """Runs commands; the host is started when it is first needed."""

    def __init__(
        self,
        environ: Mapping[str, str],
        outputs: Outputs,
        wall: CommandWall | None = None,
        *,
        head: int = HEAD_BYTES,
        tail: int = TAIL_BYTES,
    ) -> None:
        """`environ` is what every command sees; `head` and `tail` are the bytes kept of its output's ends."""
        self._environ = {**environ, **HINTS}
        self._outputs = outputs
        self._wall = wall
        self._ends = head, tail
        self._host: subprocess.Popen[bytes] | None = None
        self._calls: socket.socket | None = None
        self.program = shutil.which("bash", path=environ.get("PATH")) or _FALLBACK

    @property
    def walled(self) -> bool:
        """Whether the kernel keeps commands to the workspace."""
        return self._wall is not None

    def start(self) -> None:
        """Have the host ready, so that the first command need not wait for it."""
        if self._host is not None and self._host.poll() is None:
            return
        self.close()
        self._calls, theirs = socket.socketpair()
        with theirs:
            self._host = subprocess.Popen(
                command_line(_ROOT),
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                env=self._environ,
                cwd="/",
                start_new_session=True,
            )

    async def run(self, command: str, folder: str, timeout_s: float, told: Callable[[bytes], None]) -> Ended:
        """Run one command; `told` gets the last lines while it runs. Raises `ShellLost`, `ToolFailure`.

        Cancelled, it returns when every process of the command is dead: what was printed, where its runner
        could tell, although the task is cancelled.
        """
        request = self._request(command, folder, timeout_s)
        try:
            return await self._run(request, timeout_s, told)
        finally:
            self._outputs.clean(request["file"])

    async def _run(self, request: Request, timeout_s: float, told: Callable[[bytes], None]) -> Ended:
        for _ in range(ATTEMPTS):
            call = await Call.open(await self._call())
            # A task of its own, so that a cancel finds it where it is: a reply may be half read.
            running = asyncio.ensure_future(call.run(request, told))
            try:
                done, _ = await asyncio.wait({running}, timeout=timeout_s + OVERTIME_S)
            except asyncio.CancelledError:
                ended = await self._cancel(call, running)
                if ended is None:
                    raise
                return ended
            if not done:
                running.cancel()
                call.close()
                await self._give_up()
                break
            taken, ended = running.result()
            if ended is not None:
                return ended
            call.close()
            if taken:
                await self._let_host_end()
                break
            await self._give_up()
        raise ShellLost

    def _request(self, command: str, folder: str, timeout_s: float) -> Request:
        head, tail = self._ends
        wall, environ = self._wall.around(self._outputs) if self._wall else (None, {})
        return Request(
            shell=self.program,
            command=command,
            folder=folder,
            environ=environ,
            timeout_s=timeout_s,
            head=head,
            tail=tail,
            file=self._outputs.place(),
            wall=wall,
        )

    async def _let_host_end(self) -> None:
        """Whoever killed the runner may have killed the host: its end has to show before the next call."""
        if self._host is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(self._host.wait, LOST_S)

    def close(self) -> None:
        """End the host and everything that commands have left running."""
        host = self._let_go()
        if host is not None:
            _end(host)

    async def _give_up(self) -> None:
        """Close without holding up whatever else runs on the loop."""
        host = self._let_go()
        if host is not None:
            await asyncio.to_thread(_end, host)

    def _let_go(self) -> subprocess.Popen[bytes] | None:
        """Hang up; the next call gets a new host."""
        host, self._host = self._host, None
        if self._calls is not None:
            self._calls.close()
        return host

    async def _cancel(self, call: Call, running: asyncio.Task[tuple[bool, Ended | None]]) -> Ended | None:
        """Hang up, and wait until the runner has ended everything; null when it does not report."""
        call.hang_up()
        ended = None
        try:
            done, _ = await asyncio.wait({running}, timeout=CANCEL_S)
            if done:
                _, ended = running.result()
            else:
                await self._give_up()
        finally:
            running.cancel()
            if ended is None:
                call.close()
        return ended

    async def _call(self) -> socket.socket:
        """Have a runner at the other end of a socket; a host that was lost is replaced."""
        ours, theirs = socket.socketpair()
        with theirs:
            for _ in range(ATTEMPTS):
                self.start()
                assert self._calls is not None
                with contextlib.suppress(OSError):
                    socket.send_fds(self._calls, [b"!"], [theirs.fileno()])
                    return ours
                await self._give_up()
        ours.close()
        raise ShellLost


def _end(host: subprocess.Popen[bytes]) -> None:
    """Wait for a host that was hung up on; kill one that hangs, and everything below it."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        host.wait(CANCEL_S)
        return
    process_tree.kill([host.pid, *process_tree.descendants(host.pid)])
    with contextlib.suppress(subprocess.TimeoutExpired):  # in the kernel's hands: nothing more can be done
        host.wait(CANCEL_S)
