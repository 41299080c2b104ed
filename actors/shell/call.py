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
    """Hanging up ends everything that the command has started; its runner still replies, unless it has."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, ours: socket.socket) -> Self:
        return cls(*await asyncio.open_unix_connection(sock=ours))

    async def run(self, request: Request, told: Callable[[bytes], None]) -> tuple[bool, Ended | None]:
        """Hand a command over and wait for its end; null when the runner was lost.

        The first tells whether a runner has taken it, so that it may have begun. `told` gets the last lines
        meanwhile.
        """
        taken = await self._hand_over(request)
        return taken, await self._ended(told) if taken else None

    async def _hand_over(self, request: Request) -> bool:
        with contextlib.suppress(OSError):
            self._writer.write(json.dumps(request).encode() + b"\n")
            return await self._reader.readline() == TAKEN
        return False

    async def _ended(self, told: Callable[[bytes], None]) -> Ended | None:
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
