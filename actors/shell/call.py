"""One command at the shell's end of its socket: handed over, waited for, stopped, and what it leaves."""

import asyncio
import contextlib
import json
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from actors.shell.wire import TAKEN, Reply, Request


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that has ended."""

    reply: Reply
    output: bytes
    """The kept output: its first `head` bytes, then its last `tail` bytes."""
    call: "Call"
    """Goes on as long as anything does that the command has started."""


class Call:
    """Hanging up ends everything that the command has started."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, ours: socket.socket) -> Self:
        return cls(*await asyncio.open_unix_connection(sock=ours))

    async def hand_over(self, request: Request) -> bool:
        """Whether a runner has taken the command, which then may have begun."""
        with contextlib.suppress(OSError):
            self._writer.write(json.dumps(request).encode() + b"\n")
            return await self._reader.readline() == TAKEN
        return False

    async def ended(self, told: Callable[[bytes], None]) -> Ended | None:
        """Wait for the end; null when the runner was lost. `told` gets the last lines meanwhile."""
        try:
            while True:
                frame = json.loads(await self._reader.readuntil())
                if "printed" not in frame:
                    output = await self._reader.readexactly(frame["head"] + frame["tail"])
                    return Ended(frame, output, self)
                told(await self._reader.readexactly(frame["printed"]))
        except (asyncio.IncompleteReadError, OSError):
            return None

    def hang_up(self) -> None:
        """Have everything ended that the command has started."""
        with contextlib.suppress(OSError):
            self._writer.write_eof()

    async def all_ended(self) -> None:
        """Wait until nothing of the command runs any more. Raises `OSError` when its runner was lost."""
        await self._reader.read()

    def close(self) -> None:
        self._writer.close()
