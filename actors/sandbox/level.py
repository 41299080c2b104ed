"""How much of the wall this kernel can build, and what it says of a process behind it."""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from actors.sandbox import landlock, seccomp

_GET_LANDLOCK: Final = (
    "Use Linux 5.13 or later with landlock in its lsm= boot parameter, and in a container one that lets its "
    "system calls through."
)
_GET_SECCOMP: Final = "Use a kernel with seccomp filters, on x86_64 or aarch64."

_WALLED: Final = {"NoNewPrivs": 1, "CapInh": 0, "CapPrm": 0, "CapEff": 0, "CapAmb": 0}
"""Of /proc/PID/status; the bounding set means nothing to who can gain no privileges."""
_FILTERS: Final = 2
"""What it says of `Seccomp` where system calls are filtered."""
_COUNT: Final = "Seccomp_filters"
"""Shown by Linux 5.9 and later."""


class Level(NamedTuple):
    """What there is of the wall."""

    landlock: int
    """ABI version; 0: none."""
    seccomp: bool

    @property
    def complete(self) -> bool:
        return self.landlock > 0 and self.seccomp

    @property
    def sentence(self) -> str:
        """For a person, who need not know the names: what holds a subagent, and what does not."""
        files = f"Landlock {self.landlock}"
        match self.landlock > 0, self.seccomp:
            case True, True:
                return f"subagents can't write, use the network or see a key ({files}, seccomp)"
            case True, False:
                return f"subagents can't write files ({files}), but without seccomp reach the network"
            case False, True:
                return "subagents can't reach the network (seccomp), but without Landlock can write files"
            case _:
                return "nothing but its tools holds a subagent: neither Landlock nor seccomp is here"

    @property
    def walls_commands(self) -> bool:
        """Whether a command can be kept to writing in the workspace, without a network."""
        return self.landlock >= landlock.WHOLE_CHANGES and self.seccomp

    @property
    def commands_sentence(self) -> str:
        """For a person: what `shell.sandbox` is worth here, and what to do where that is nothing."""
        if self.walls_commands:
            return (
                f"commands can be kept to the workspace, off the network (Landlock {self.landlock}, seccomp)"
            )
        return (
            f"commands can't be walled: Landlock {landlock.WHOLE_CHANGES} (Linux 6.2) and seccomp are needed"
        )

    @property
    def next_step(self) -> str:
        """How to get what the kernel lacks; empty when the wall is complete."""
        return " ".join([_GET_LANDLOCK] * (not self.landlock) + [_GET_SECCOMP] * (not self.seccomp))


@functools.cache
def probe() -> Level:
    """Ask the kernel what it has; changes nothing."""
    return Level(landlock=landlock.version(), seccomp=seccomp.available())


def stands_around(pid: int, level: Level) -> bool:
    """Whether a process bears the marks of a wall of this level. Raises `OSError` when it can't be seen."""
    found = _status(str(pid))
    walled = all(found.get(name) == value for name, value in _WALLED.items())
    return walled and (not level.seccomp or _has_its_own_filter(found))


def _has_its_own_filter(found: Mapping[str, int]) -> bool:
    """In a container a filter is around us all, and says nothing: a worker has one more than its parent."""
    if found.get("Seccomp") != _FILTERS:
        return False
    return _COUNT not in found or found[_COUNT] > _status("self").get(
        _COUNT, 0
    )  # shown by Linux 5.9 and later


def _status(pid: str) -> dict[str, int]:
    """The numbers that matter here; capabilities are written in hexadecimal."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace").splitlines()
    words = dict(line.split(":", 1) for line in lines if ":" in line)
    return {
        name: int(words[name], 16 if name.startswith("Cap") else 10)
        for name in (*_WALLED, "Seccomp", _COUNT)
        if name in words
    }
