"""The whole program with workers that ignore SIGTERM. `main` gets the arguments of `fido`.

Its worker process is this module, too: `main(["actors.worker", RUN_DIR, PPID])`.
"""

import asyncio
import signal
from collections.abc import Callable

from actors import guard, processes
from tests.fakes.launch import command

WORKER = "actors.worker"


def main(argv: list[str]) -> int:
    """Run the program, or be its worker process."""
    if argv[:1] == [WORKER]:
        return be_deaf(argv[1:])
    commands = processes._commands() | {"worker": command(__name__, WORKER)}
    processes._commands = lambda: commands
    return guard.main(argv)


def be_deaf(argv: list[str]) -> int:
    """Be the worker process; what it forks hears no SIGTERM either."""
    from actors import worker

    loop = asyncio.SelectorEventLoop
    handle = loop.add_signal_handler

    def but_one(
        self: asyncio.SelectorEventLoop, number: int, hears: Callable[..., object], *more: object
    ) -> None:
        if number != signal.SIGTERM:
            handle(self, number, hears, *more)

    loop.add_signal_handler = but_one  # type: ignore[assignment,method-assign]
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    return worker.main(argv)
