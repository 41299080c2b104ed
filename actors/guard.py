"""The first process: holds the saved terminal, waits, sweeps what is left, gives the terminal back.

It forks before it imports anything else, so it stays small and has nothing in it that could fail.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Set
from typing import Final

from actors.environment import keys_of
from actors.saved_terminal import SavedTerminal
from ipc import kernel

ENDS: Final = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
"""Signals that ask for the end; whoever sent one knows why it is over."""
STOPS: Final = frozenset({signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU})
"""Signals by which a terminal or its shell stops a job."""
FAILED: Final = 1
PATIENCE_S: Final = 5.0
"""For work that was told to end: a supervisor needs two seconds, a busy machine some more."""


def main(argv: list[str]) -> int:
    """`python -I -m actors.guard ARGUMENT...`: carry out a `fido` command line."""
    kernel.open_standard_streams()

    def carry_out() -> int:
        from actors.cli import main as cli

        return cli(argv)

    return guard(carry_out)


def guard(work: Callable[[], int], patience_s: float = PATIENCE_S) -> int:
    """Do the work in a child; return its exit status when all that it started has ended.

    `patience_s` is how long the work may take to end when a signal asks for it; then it is killed.
    """
    terminal = SavedTerminal()
    kernel.adopt_orphans()
    kernel.hide_memory()  # the environment may hold a key
    kernel.blank_environment(keys_of(os.environ))
    watched = {signal.SIGCHLD, signal.SIGTSTP, signal.SIGALRM} | {
        number for number in ENDS if not _is_ignored(number)
    }
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    guarding = os.getpid()
    child = os.fork()
    if child == 0:
        kernel.die_with_parent(guarding, signal.SIGTERM)
        kernel.leave(_status_of(work, before))
    status = _wait_for(child, watched, patience_s)
    _sweep()
    terminal.restore()
    return status if status >= 0 else _killed(-status)


def _status_of(work: Callable[[], int], mask: Set[int]) -> int:
    """Do the work under the signal mask that the guard was started with."""
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        return work()
    except KeyboardInterrupt:  # Ctrl-C while it still imports what would take it
        return 128 + signal.SIGINT


def _wait_for(child: int, watched: Set[signal.Signals], patience_s: float) -> int:
    """Exit status of the child, or minus its signal; adopted orphans are reaped on the way."""
    while True:
        came = signal.sigwaitinfo(watched)
        if came.si_signo == signal.SIGCHLD:
            status = _look_at(child)
            if status is not None:
                return status
        elif came.si_signo == signal.SIGTSTP:
            continue  # for the group: a screen puts its terminal in order first, then stops, and we follow
        elif came.si_signo == signal.SIGALRM:
            _send(child, signal.SIGKILL)
        else:
            if not _is_patient():  # asking again lengthens nothing
                signal.setitimer(signal.ITIMER_REAL, patience_s)
            if came.si_signo != signal.SIGINT or came.si_code <= 0:  # Ctrl-C went to the whole group
                _send(child, came.si_signo)
            _send(child, signal.SIGCONT)  # it may stand still


def _is_patient() -> bool:
    """Whether the work was told to end and has its time for that."""
    return signal.getitimer(signal.ITIMER_REAL)[0] > 0


def _is_told_to_end() -> bool:
    return _is_patient() or not ENDS.isdisjoint(signal.sigpending())


def _send(child: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, number)


def _look_at(child: int) -> int | None:
    """Reap; the child's status when it has ended. A child that was stopped is followed, until the end."""
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
        if pid == 0:
            return None
        if pid != child:
            continue
        if not os.WIFSTOPPED(status):
            return os.waitstatus_to_exitcode(status)
        if os.WSTOPSIG(status) in STOPS:
            if not _is_told_to_end():  # and was continued for it: nobody would do that a second time
                _stop(os.WSTOPSIG(status))
            os.kill(child, signal.SIGCONT)


def _stop(number: int) -> None:
    """Stop as the signal does by default; returns when the shell continues us."""
    signal.sigtimedwait({signal.SIGTSTP}, 0)  # the group's, if it was not heard yet: it would stop us twice
    before = signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _sweep() -> None:
    from actors.process_tree import end_all

    end_all()


def _killed(number: int) -> int:
    from actors.last_words import say

    if number in ENDS:
        return 128 + number
    say(
        f"killed by {signal.Signals(number).name}; everything it had started was ended, too. "
        "The plan and the session are on disk: fido sessions lists them."
    )
    return FAILED


def _is_ignored(number: signal.Signals) -> bool:
    return signal.getsignal(number) == signal.SIG_IGN


if __name__ == "__main__":
    kernel.leave(main(sys.argv[1:]))
