"""The first process: holds the saved terminal, waits, sweeps what is left, gives the terminal back.

It forks before it imports anything else, so it stays small and has nothing in it that could fail.
"""

import os
import signal
import sys

from actors.saved_terminal import SavedTerminal
from ipc import kernel


def main(argv: list[str]) -> int:
    """`python -I -m actors.guard ARGUMENT...`: carry out a `fido` command line."""
    terminal = SavedTerminal()
    guard = os.getpid()
    kernel.adopt_orphans()
    child = os.fork()
    if child == 0:
        kernel.die_with_parent(guard, signal.SIGTERM)
        from actors.cli import main as carry_out

        return carry_out(argv)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: _pass_on(child, number))
    return _give_back(_wait_for(child), terminal)


def _pass_on(child: int, number: int) -> None:
    try:
        os.kill(child, number)
    except ProcessLookupError:
        return


def _wait_for(child: int) -> int:
    """The wait status of the child; adopted orphans are reaped on the way."""
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == child:
            return status


def _give_back(status: int, terminal: SavedTerminal) -> int:
    from actors.process_tree import end_all

    end_all()
    terminal.restore()
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return code
    name = signal.Signals(-code).name
    sys.stderr.write(
        f"fido: the supervisor was ended by {name}, so everything else was ended, too. "
        "The plan and the session are on disk; `fido sessions` lists them.\n"
    )
    return 128 - code if code in (-signal.SIGINT, -signal.SIGTERM) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
