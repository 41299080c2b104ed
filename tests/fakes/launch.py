"""Starts our own modules as real processes, and waits for the ends of processes."""

import contextlib
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DEADLINE_S = 20.0
_START = (
    "import importlib, sys; sys.path.insert(0, sys.argv.pop(1)); name = sys.argv.pop(1); "
    "sys.exit(importlib.import_module(name).main(sys.argv[1:]))"
)


def command(module: str, *arguments: object) -> list[str]:
    """The command line that runs `main` of a module of this tree, isolated from everything else."""
    return [sys.executable, "-I", "-c", _START, str(ROOT), module, *map(str, arguments)]


def launch(module: str, *arguments: object, **options: Any) -> "subprocess.Popen[bytes]":
    """Start a module; its standard input is empty."""
    return subprocess.Popen(command(module, *arguments), stdin=subprocess.DEVNULL, **options)


def script(code: str, *arguments: object, **options: Any) -> "subprocess.CompletedProcess[str]":
    """Run code in a fresh process with one thread, from this tree."""
    start = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}"
    return subprocess.run(
        [sys.executable, "-I", "-c", start, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
        **options,
    )


class Watched:
    """A process that is no child of ours, held so that its number can't come to mean another."""

    def __init__(self, pid: int, *, last: bool = False) -> None:
        """`last`: it is killed when we are done, whatever has come of it."""
        self.pid = pid
        self._last = last
        self._pidfd = os.pidfd_open(pid)

    def ends_within(self, seconds: float = DEADLINE_S) -> bool:
        poll = select.poll()
        poll.register(self._pidfd, select.POLLIN)
        return bool(poll.poll(1000 * seconds))

    def __enter__(self) -> "Watched":
        return self

    def __exit__(self, *_: object) -> None:
        if self._last:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        os.close(self._pidfd)
