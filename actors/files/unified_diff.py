"""A change of text as a unified diff, for a person (pure)."""

import re
from difflib import unified_diff

CONTEXT = 3
MAX_LINES_COMPARED = 20_000
MAX_LINES_SHOWN = 400
MAX_LINE_SHOWN = 1_000
"""Characters of a line."""


def diff(name: str, before: str, after: str) -> str:
    """Unified diff of two texts, bounded; line ends are not shown."""
    old, new = _lines(before), _lines(after)
    front = _common(old, new)
    back = _common(old[front:][::-1], new[front:][::-1])
    start = max(0, front - CONTEXT)
    old = old[start : len(old) - max(0, back - CONTEXT)]
    new = new[start : len(new) - max(0, back - CONTEXT)]
    if len(old) + len(new) > MAX_LINES_COMPARED:
        return f"{name}: {len(old)} lines became {len(new)}, from line {front + 1} on"
    hunks = [_shifted(line, start) for line in unified_diff(old, new, name, name, n=CONTEXT, lineterm="")]
    if len(hunks) > MAX_LINES_SHOWN:
        hunks[MAX_LINES_SHOWN:] = [f"… {len(hunks) - MAX_LINES_SHOWN} more lines of the diff"]
    return "\n".join(map(_short, hunks))


def _short(line: str) -> str:
    more = len(line) - MAX_LINE_SHOWN
    return line if more <= 0 else f"{line[:MAX_LINE_SHOWN]}… {more:,} more characters"


def _shifted(line: str, start: int) -> str:
    """A hunk's header counted from the top of the file, of which `start` lines were left out."""
    if start and line.startswith("@@ "):
        return re.sub(r"(?<=[-+])\d+", lambda found: str(int(found.group()) + start), line)
    return line


def _lines(text: str) -> list[str]:
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines if lines[-1] else lines[:-1]


def _common(one: list[str], other: list[str]) -> int:
    length = min(len(one), len(other))
    return next((i for i in range(length) if one[i] != other[i]), length)
