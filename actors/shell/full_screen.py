"""Programs that draw a whole screen and wait for keys: without a terminal they would wait for ever."""

import os
import re
import stat
from pathlib import Path
from typing import Final

_QUITS: Final = r"(.*[+:| ])?(w?q(a|all|uit|uitall)?|x(a|it|all)?|exit?|cq(uit)?)!? *"
"""A command of vi that leaves it."""
_PROGRAMS: Final = (
    (re.compile(r"vi|vim(\.\w+)?|nvim?"), re.compile(rf"{_QUITS}|-[Ss].*|-\w*[eE]s?|--headless")),
    (re.compile(r"emacs(-.+)?"), re.compile(r"--?(batch|script).*")),
    (re.compile(r"watch"), re.compile(r"-\w*[egq].*|--(chg|err|equ)exit.*")),
    (re.compile(r"nano|pico|joe|jed|micro|helix|mcedit"), re.compile(r"--(help|version)")),
    (re.compile(r"htop|btop|mc|nnn|tig|lazygit|ncdu"), re.compile(r"-[oV].*|--(help|version)")),
)
"""Files of programs, and words that make one end of its own accord."""
_ALL_IN_ONE: Final = "busybox"
_TERMINALS: Final = (4, 5, *range(136, 144))
"""Major device numbers of consoles, of /dev/tty and of pseudo-terminals."""


def wants_screen(pid: int) -> str:
    """Name of the program that a process runs, if it waits for a screen that it does not have.

    It goes by the program's file: a script may have any name.
    """
    process = Path("/proc", str(pid))
    try:
        file = (process / "exe").readlink().name
        name = (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
        ends = _ends_by_itself(name if file == _ALL_IN_ONE else file)
        if ends is None:
            return ""
        words = (process / "cmdline").read_text(encoding="utf-8", errors="replace").split("\0")[1:]
        waits = not any(map(ends.fullmatch, words)) and _is_no_place_to_draw((process / "fd/1").stat())
        return name if waits else ""
    except OSError:  # it has ended, or is another user's
        return ""


def _ends_by_itself(program: str) -> re.Pattern[str] | None:
    return next((words for names, words in _PROGRAMS if names.fullmatch(program)), None)


def _is_no_place_to_draw(output: os.stat_result) -> bool:
    """Whether it is neither a terminal, as `script` and `tmux` make them, nor a file, as for a log."""
    if stat.S_ISCHR(output.st_mode):
        return os.major(output.st_rdev) not in _TERMINALS
    return not stat.S_ISREG(output.st_mode)
