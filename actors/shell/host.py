"""The process that commands are started from; a fork of it, the runner, watches one command to its end.

    parent ── host ─┬─ runner ── bash -c COMMAND ── whatever that starts
                    └─ runner ...

The host has nothing in it but imports, and keeps one forked runner waiting for the next call. Both adopt
orphans: nothing that a command starts gets away from them, and they end with the parent. One call is one
socket, passed with a single byte to the runner that waits; `wire` says what is said on it.
"""

import os
import select
import signal
import socket
import sys

from actors import process_tree
from actors.shell.runner import GRACE_S, be_runner
from actors.shell.signals import Signals
from ipc import kernel


class Host:
    """Keeps one runner waiting for the next call, and ends what a lost runner leaves."""

    def __init__(self, calls: socket.socket) -> None:
        self._calls = calls
        self._signals = Signals(signal.SIGCHLD, signal.SIGTERM)
        self._taken, self._tell_taken = os.pipe2(os.O_CLOEXEC)
        self._runners: set[int] = set()
        self._spare = 0

    def run(self) -> None:
        """Serve until the parent hangs up or a signal says stop."""
        poll = select.poll()
        poll.register(self._calls, 0)  # only its end is of interest here
        for fd in (self._signals.fd, self._taken):
            poll.register(fd, select.POLLIN)
        while True:
            if self._spare not in self._runners:
                self._fork_spare()
            for fd, _ in poll.poll():
                if fd == self._taken:
                    os.read(fd, 1)
                    self._spare = 0
                elif fd != self._signals.fd or signal.SIGTERM in self._signals.take():
                    return
            self._sweep()

    def _sweep(self) -> None:
        """Reap, and kill what came to us because its runner is gone."""
        self._runners.difference_update(process_tree.reap().statuses)
        strays = [pid for pid in process_tree.children(os.getpid()) if pid not in self._runners]
        for pid in strays:
            process_tree.kill([pid, *process_tree.descendants(pid)])

    def _fork_spare(self) -> None:
        host = os.getpid()
        self._spare = os.fork()
        if self._spare == 0:
            be_runner(host, self._calls, self._tell_taken)
        self._runners.add(self._spare)


def main(parent: int) -> None:
    """Serve the calls that come on descriptor 0, until `parent` ends."""
    kernel.die_with_parent(parent, signal.SIGTERM)
    kernel.adopt_orphans()
    calls = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC), 0)
    try:
        Host(calls).run()
    finally:
        process_tree.end_all(GRACE_S)


def command_line(root: str) -> list[str]:
    """How this process is started: from the folder that holds our packages, without site."""
    start = "import sys; _, root, parent = sys.argv; sys.path.append(root); "
    start += "from actors.shell import host; host.main(int(parent))"
    return [sys.executable, "-I", "-S", "-X", "utf8", "-c", start, root, str(os.getpid())]
