"""The shell as a tool sees it: hands a command to the shell host, waits, gives up on what hangs."""

import asyncio
import contextlib
import json
import shutil
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from actors import process_tree
from actors.tools.shell_host import TAKEN, Reply, Request, command_line

OVERTIME_S: Final = 2.0
"""How much longer than its timeout a command's runner may take, to kill and to report."""
CANCEL_S: Final = 1.0
"""How long a cancelled command's runner, or a host, may take to end and kill everything."""
LOST_S: Final = 0.1
"""How long a host is watched once a runner of its was lost."""
ATTEMPTS: Final = 2
"""How often a command is handed over: a host that has just been killed may still seem to be there."""

_ROOT: Final = str(Path(__file__).parents[2])
_FALLBACK: Final = "/bin/sh"


class ShellLost(Exception):
    """The process that watched the command has ended, or hangs and was given up."""


class Shell:
    """Runs commands; the host is started when it is first needed."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        """`environ` is what every command sees."""
        self._environ = dict(environ)
        self._host: subprocess.Popen[bytes] | None = None
        self._calls: socket.socket | None = None
        self.program = shutil.which("bash", path=environ.get("PATH")) or _FALLBACK

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

    async def run(self, request: Request) -> tuple[Reply, bytes]:
        """Run one command; its reply and the kept output. Raises `ShellLost`.

        Cancelled, it returns when every process of the command is dead.
        """
        for _ in range(ATTEMPTS):
            answer = await self._exchange(request)
            if answer is None:
                await self._give_up()
                continue
            line, found, output = answer.partition(b"\n")
            if not found:
                await self._let_host_end()
                break
            return json.loads(line), output
        raise ShellLost

    async def _let_host_end(self) -> None:
        """Whoever killed the runner may have killed the host: its end has to show before the next call."""
        if self._host is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(self._host.wait, LOST_S)

    async def _exchange(self, request: Request) -> bytes | None:
        """The whole answer; null when nobody took the command, so that it can be sent again."""
        reader, writer = await asyncio.open_unix_connection(sock=await self._call())
        try:
            async with asyncio.timeout(request["timeout_s"] + OVERTIME_S):
                with contextlib.suppress(OSError):
                    writer.write(json.dumps(request).encode() + b"\n")
                    if await reader.readline() == TAKEN:
                        return await reader.read()
                return None
        except asyncio.CancelledError:
            await self._cancel(reader, writer)
            raise
        except TimeoutError:
            await self._give_up()
            raise ShellLost from None
        finally:
            writer.close()

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

    async def _cancel(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Hang up, and wait until the runner does."""
        try:
            writer.write_eof()
            async with asyncio.timeout(CANCEL_S):
                await reader.read()
        except (TimeoutError, OSError):
            await self._give_up()

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
