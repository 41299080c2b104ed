"""A unified diff as its lines with their numbers in the file; pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from ipc.messages import DIFFING

_HUNK: Final = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")

NO_BREAK: Final = "\\ No newline at end of file"
"""The remark behind a last line that has no end."""
_MOST_READ: Final = 64 * 1024

Sign = Literal["+", "-", " ", ""]


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line, or a gap or remark between lines."""

    sign: Sign
    """Added, removed, kept; empty for what is no line of the file."""
    number: int
    """Where it stands in the file: of a removed line in the old one, else in the new one; 0: nowhere."""
    text: str


def shows_diff(tool: str) -> bool:
    """Tell whether a tool says in a diff what it does."""
    return tool in DIFFING


def diff_lines(diff: str) -> tuple[DiffLine, ...]:
    """Return the lines of a diff without the file's names; what belongs to no hunk is a remark.

    How far a hunk goes is counted, as its head says: a line of the file can look like anything.
    """
    return tuple(_lines(diff[:_MOST_READ]))


def _lines(diff: str) -> Iterator[DiffLine]:
    old = new = old_left = new_left = 0
    begun = False
    for line in diff.split("\n"):
        sign = line[:1]
        if old_left and sign == "-":
            yield DiffLine("-", old, line[1:])
            old, old_left = old + 1, old_left - 1
        elif new_left and sign == "+":
            yield DiffLine("+", new, line[1:])
            new, new_left = new + 1, new_left - 1
        elif old_left and new_left and sign in (" ", ""):
            yield DiffLine(" ", new, line[1:])
            old, old_left, new, new_left = old + 1, old_left - 1, new + 1, new_left - 1
        elif hunk := _HUNK.match(line):
            if begun:
                yield DiffLine("", 0, "")
            begun = True
            old, new = int(hunk[1]), int(hunk[3])
            old_left, new_left = int(hunk[2] or 1), int(hunk[4] or 1)
        elif line and (begun or not line.startswith(("--- ", "+++ "))):
            yield DiffLine("", 0, line)


def creates(diff: str) -> bool:
    """Tell whether a diff is that of a file that is not there yet, or is empty."""
    hunk = _HUNK.search(diff)
    return hunk is not None and hunk[2] == "0" and hunk[1] == "0"
