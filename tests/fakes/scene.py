"""A screen in a real terminal: over a run whose other processes the test plays, or the whole program."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path

from ipc.messages import MessageDelta
from tests.fakes.fido import GUARD, Home, home, openai_environment, pid_of, wait_until
from tests.fakes.launch import command
from tests.fakes.run import PlayedRun, played_run
from tests.fakes.scripted_server import ScriptedServer
from tests.fakes.terminal import ENTER, TerminalProgram

Scene = tuple[PlayedRun, TerminalProgram]
Start = Callable[..., TerminalProgram]


@dataclass(frozen=True)
class Whole:
    """The real program on a terminal, its home, and the server that it talks to."""

    at: Home
    server: ScriptedServer
    terminal: TerminalProgram

    def pid_of(self, name: str) -> int:
        """Process id of the guard, the supervisor, or an actor; waits until it is there."""
        guard = self.terminal.process.pid
        return guard if name == "guard" else pid_of(self.at, guard, name)

    def shows(self, *texts: str) -> None:
        """Wait until all texts stand on the screen."""
        self.terminal.until(lambda: all(text in self.terminal.text for text in texts), f"{texts}")

    def all_end(self, timeout_s: float = 5.0) -> None:
        """Read on until no process is left."""
        wait_until(
            lambda: not self.terminal.take() and not self.at.processes(), "everything to end", timeout_s
        )


@contextmanager
def whole(
    server: ScriptedServer, workspace: Path, *arguments: str, columns: int = 120, rows: int = 32
) -> Iterator[Whole]:
    """The program in a home of its own; whatever is left of it at the end is killed."""
    with home() as at:
        environment = at.environment(TERM="xterm-256color", **openai_environment(server.base_url))
        with TerminalProgram([*GUARD, *arguments], columns, rows, environment, workspace) as terminal:
            yield Whole(at, server, terminal)


def played(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run an async test to its end."""

    @wraps(test)
    def run(*args: object, **kwargs: object) -> None:
        asyncio.run(test(*args, **kwargs))  # type: ignore[arg-type]

    return run


@asynccontextmanager
async def scene(
    workspace: Path, columns: int = 80, rows: int = 24, *, background: str = "", **environment: str
) -> AsyncIterator[Scene]:
    """A run with an open session, and the screen drawing it."""
    async with played_run(workspace) as run:
        start = command("ui.app", run.place.directory, os.getpid())
        with TerminalProgram(start, columns, rows, environment, background=background) as terminal:
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
