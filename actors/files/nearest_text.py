"""Why a text was not found, and the part of the file that comes nearest to it (pure)."""

import re
from difflib import SequenceMatcher

from actors.files.control_marks import has_control, key, marked

MAX_COMPARISONS = 2_000_000
MAX_LINES_SHOWN = 12
MAX_LINE_SHOWN = 200
MIN_AGREEMENT = 0.25
"""Share of the wanted text that has to agree for a place to be called the nearest at once."""
MIN_LIKENESS = 0.6
MAX_FUZZY_LINES = 2_000


def nearest(text: str, wanted: str) -> tuple[str, str]:
    """Message and next step for a `wanted` text that does not occur in `text`."""
    if all(re.match(r"\s*\d+\t", line) for line in wanted.split("\n") if line.strip()):
        return (
            "old_text was not found: it carries the line numbers that read_file puts in front.",
            "Send the lines without the numbers and the tab behind them. Nothing was changed.",
        )
    plain = text.replace("\r\n", "\n")
    if has_control(plain) and marked(wanted) in marked(plain):
        return (
            "old_text was not found: it has marks where the file has control characters.",
            f"Send the characters themselves, in JSON: {key(plain)}. Nothing was changed.",
        )
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    sought = wanted.strip("\n").split("\n")
    start = _best_start(lines, sought)
    if start is None:
        return (
            "old_text was not found, and nothing in the file is like it.",
            "read_file shows what is there now; copy old_text from it.",
        )
    there = lines[start : start + len(sought)]
    marks = key("\n".join(there))
    hint = f" Control characters are marked: {marks}, in JSON." if marks else ""
    return (
        f"old_text was not found. Nearest to it {_difference(there, sought)}:\n{_numbered(there, start)}",
        f"Copy old_text exactly from these lines, or from read_file.{hint} Nothing was changed.",
    )


def _difference(there: list[str], sought: list[str]) -> str:
    if [line.split() for line in there] == [line.split() for line in sought]:
        return "are these lines, which differ only in white space"
    return "are these lines"


def _numbered(lines: list[str], start: int) -> str:
    shown = [
        f"{start + i + 1}\t{marked(line[:MAX_LINE_SHOWN])}" for i, line in enumerate(lines[:MAX_LINES_SHOWN])
    ]
    if len(lines) > MAX_LINES_SHOWN:
        shown.append(f"[{len(lines) - MAX_LINES_SHOWN} more lines]")
    return "\n".join(shown)


def _best_start(lines: list[str], sought: list[str]) -> int | None:
    """Index where the most text agrees but for white space, else around the line that is most alike."""
    bare = ["".join(line.split()) for line in lines]
    aim = ["".join(line.split()) for line in sought][: max(1, MAX_COMPARISONS // len(lines))]
    where: dict[str, list[int]] = {line: [] for line in aim if line}
    for index, line in enumerate(bare):
        if line in where:
            where[line].append(index)
    agreeing = [0] * len(lines)
    for offset, line in enumerate(aim):
        for index in where.get(line, ()):
            agreeing[max(0, index - offset)] += len(line)
    best = max(range(len(lines)), key=agreeing.__getitem__)
    if agreeing[best] >= MIN_AGREEMENT * sum(map(len, aim)) > 0:
        return best
    longest = max(range(len(aim)), key=lambda offset: len(aim[offset]))
    alike = _most_alike(bare, aim[longest])
    if alike is not None:
        return max(0, alike - longest)
    return best if agreeing[best] else None


def _most_alike(lines: list[str], wanted: str) -> int | None:
    """Index of the line most like `wanted`; null when none is."""
    matcher = SequenceMatcher(None, "", wanted[:MAX_LINE_SHOWN], autojunk=False)
    best, likeness, tried = None, MIN_LIKENESS, 0
    for index, line in enumerate(lines):
        matcher.set_seq1(line[:MAX_LINE_SHOWN])
        if matcher.real_quick_ratio() <= likeness or matcher.quick_ratio() <= likeness:
            continue
        if matcher.ratio() > likeness:
            best, likeness = index, matcher.ratio()
        tried += 1
        if tried == MAX_FUZZY_LINES:
            break
    return best
