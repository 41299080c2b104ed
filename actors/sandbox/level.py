"""How much of the wall this kernel can build, and what it says of a process behind it."""

import functools
from pathlib import Path
from typing import Final, NamedTuple

from actors.sandbox import landlock, seccomp

_GET_LANDLOCK: Final = (
    "Use Linux 5.13 or later with landlock in its lsm= boot parameter, and in a container one that lets its "
    "system calls through."
)
_GET_SECCOMP: Final = "Use a kernel with seccomp filters, on x86_64 or aarch64."
_DO_WITHOUT: Final = "Or set sandbox to best-effort: a subagent is then held by what there is, and by policy."

_WALLED: Final = {"NoNewPrivs": 1, "CapInh": 0, "CapPrm": 0, "CapEff": 0, "CapAmb": 0}
"""Of /proc/PID/status; the bounding set means nothing to who can gain no privileges."""
_FILTERED: Final = {"Seccomp": 2}


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
        """For a person: what holds a subagent here, and what does not."""
        files = f"Landlock (ABI {self.landlock})"
        match self.landlock > 0, self.seccomp:
            case True, True:
                return f"the kernel holds every subagent: {files} and seccomp"
            case True, False:
                return f"{files} holds a subagent's files; without seccomp, sockets are open to it"
            case False, True:
                return "seccomp holds a subagent's sockets; without Landlock, files are open to it"
            case _:
                return "neither Landlock nor seccomp is here to hold a subagent"

    @property
    def next_step(self) -> str:
        """What a person can do about it; empty when the wall is complete."""
        if self.complete:
            return ""
        missing = [_GET_LANDLOCK] * (not self.landlock) + [_GET_SECCOMP] * (not self.seccomp)
        return " ".join([*missing, _DO_WITHOUT])


@functools.cache
def probe() -> Level:
    """Ask the kernel what it has; changes nothing."""
    return Level(landlock=landlock.version(), seccomp=seccomp.available())


def stands_around(pid: int, level: Level) -> bool:
    """Whether a process bears the marks of a wall of this level. Raises `OSError` when it has ended."""
    wanted = _WALLED | (_FILTERED if level.seccomp else {})
    found = _status(pid)
    return all(found.get(name) == value for name, value in wanted.items())


def _status(pid: int) -> dict[str, int]:
    """The numbers that matter here; capabilities are written in hexadecimal."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace").splitlines()
    words = dict(line.split(":", 1) for line in lines if ":" in line)
    return {
        name: int(words[name], 16 if name.startswith("Cap") else 10)
        for name in _WALLED | _FILTERED
        if name in words
    }
