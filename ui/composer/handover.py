"""Becomes a program that has the terminal for itself: `-m ui.composer.handover PPID PROGRAM ARGUMENT...`.

It is a group of its own, so that its Ctrl-C and Ctrl-Z are its own; and it ends with who started it.
"""

import contextlib
import os
import signal
import sys
from typing import Final

from ipc import kernel

NOT_STARTED: Final = 127
_OF_A_PROGRAM: Final = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGTTIN, signal.SIGPIPE)


def give_terminal(group: int) -> None:
    """Make a group the one that the terminal reads from and signals. Raises `OSError`."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
    try:
        os.tcsetpgrp(0, group)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def reclaim_terminal() -> None:
    """Take the terminal back from a program that has ended together with the screen that gave it away."""
    with contextlib.suppress(OSError):
        group = os.tcgetpgrp(0)
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            give_terminal(os.getpgrp())


def main(argv: list[str]) -> int:
    """Become the program; return only when it can not be started."""
    parent, *command = argv
    kernel.die_with_parent(int(parent), signal.SIGHUP)
    os.setpgid(0, 0)
    give_terminal(os.getpid())
    for number in _OF_A_PROGRAM:
        signal.signal(number, signal.SIG_DFL)  # what Python ignores, a program would never hear of
    os.dup2(1, 2)  # a screen's own goes to a log
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
    return NOT_STARTED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
