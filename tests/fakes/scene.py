"""A screen in a real terminal: over a run whose other processes the test plays, or the whole program."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import wraps
from pathlib import Path

from ipc.messages import MessageDelta
from tests.fakes.fido import Home, wait_until
from tests.fakes.launch import command
from tests.fakes.run import PlayedRun, played_run
from tests.fakes.terminal import ENTER, TerminalProgram

Scene = tuple[PlayedRun, TerminalProgram]
Start = Callable[..., TerminalProgram]


def played(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run an async test to its end."""

    @wraps(test)
    def run(*args: object, **kwargs: object) -> None:
        asyncio.run(test(*args, **kwargs))  # type: ignore[arg-type]

    return run


@asynccontextmanager
async def scene(
    workspace: Path, columns: int = 80, rows: int = 24, **environment: str
) -> AsyncIterator[Scene]:
    """A run with an open session, and the screen drawing it."""
    async with played_run(workspace) as run:
        start = command("ui.app", run.place.directory, os.getpid())
        with TerminalProgram(start, columns, rows, environment) as terminal:
            await terminal.shows("ready")
            yield run, terminal


def say(text: str, turn: int = 1) -> MessageDelta:
    return MessageDelta(turn=turn, kind="text", text=text)


def leave(program: TerminalProgram, at: Home) -> None:
    """Quit as a person does; nothing may be left, and the terminal is as it was."""
    program.type("/quit" + ENTER)
    program.until(lambda: program.ended, "the program to end")
    wait_until(lambda: not at.processes(), "everything to end")
    assert program.modes == program.modes_before
