"""Processes that the run directory tells of as workers, and whether one is what it should be."""

import contextlib
import os
import re
import select
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal, NamedTuple

from actors.sandbox import level
from actors.sandbox.quarters import MAILBOX
from ipc.endpoints import RunPlace

_NAME: Final = re.compile(r"w-(\d+)-(\d+)")
_MODULE: Final = "actors.worker"

Verdict = Literal["fit", "bare", "hidden", "foreign"]
"""A worker as it should be; one without its wall; a process that /proc does not show us; none of ours."""


class Candidate(NamedTuple):
    """A live process that a folder is named after."""

    path: Path
    """Of its mailbox."""
    pid: int
    pidfd: int
    """Open until the next candidate is asked for."""
    verdict: Verdict


def candidates(place: RunPlace) -> Iterator[Candidate]:
    """Highest number first."""
    paths = place.workers_directory.glob(f"w-*/{MAILBOX}")
    named = [(match, path) for path in paths if (match := _NAME.fullmatch(path.parent.name))]
    for _, pid, path in sorted(((int(match[1]), int(match[2]), path) for match, path in named), reverse=True):
        with contextlib.suppress(OSError):
            pidfd = os.pidfd_open(pid)
            try:
                verdict = _judged(pid, place)
                if not _has_ended(pidfd):
                    yield Candidate(path, pid, pidfd, verdict)
            finally:
                os.close(pidfd)


def _judged(pid: int, place: RunPlace) -> Verdict:
    try:
        if not _is_worker(pid, place):
            return "foreign"
        # The kernel's word, whatever the worker says; nothing is handed over before.
        walled = place.no_wall.exists() or level.stands_around(pid, level.probe())
        return "fit" if walled else "bare"
    except OSError:
        return "hidden"


def _is_worker(pid: int, place: RunPlace) -> bool:
    """Whether a process was started as this run's worker and leads its own session.

    Anybody may plant a file name, and what it names will be killed with its group.
    """
    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    started = os.fsencode(_MODULE) in words and os.fsencode(place.directory) in words
    return started and os.getsid(pid) == pid == os.getpgid(pid)


def _has_ended(pidfd: int) -> bool:
    """Whether the process is dead; its number and its socket stay until it is reaped."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(0))
