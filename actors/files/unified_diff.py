"""A change of text as a unified diff, for a person (pure).

What an edit replaced is known, so only that is compared, however long the file is.
"""

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import NamedTuple

CONTEXT = 3
MAX_LINES_COMPARED = 1_000
"""Of one place, before and after; a longer one is shown as replaced. At worst this takes 70 ms."""
MAX_LINES_SHOWN = 400
MAX_LINE_SHOWN = 1_000
"""Characters of a line."""
MAX_SHOWN = 60_000
"""Characters of a diff."""
_NO_BREAK = "\n\\ No newline at end of file"


class Span(NamedTuple):
    """Something in a text and what has come in its place, by their offsets."""

    start: int
    end: int
    new_start: int
    new_end: int


def diff(name: str, before: str, after: str, places: Sequence[Span] = ()) -> str:
    """Unified diff of two texts, bounded; line ends are not shown.

    `places` are where they differ at all, in order; without them the whole is compared.
    """
    old, new = _lines(before), _lines(after)
    places = places or (Span(0, len(before), 0, len(after)),)
    changes = [
        change
        for span in _joined(_as_lines(before, after, places, len(old), len(new)))
        for change in _changes(old, new, span)
    ]
    shown = [f"--- {name}", f"+++ {name}"] if changes else []
    room = MAX_SHOWN
    for number, line in enumerate(_hunks(old, new, changes)):
        line = _short(line)
        room -= len(line) + 1
        if number == MAX_LINES_SHOWN or room < 0:
            shown.append("… more lines of the diff are not shown")
            break
        shown.append(line)
    return "\n".join(shown)


def _lines(text: str) -> list[str]:
    """Lines without their ends; a last one without one says so."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if lines[-1]:
        lines[-1] += _NO_BREAK
        return lines
    return lines[:-1]


def _as_lines(before: str, after: str, places: Iterable[Span], old: int, new: int) -> Iterator[Span]:
    """The same places as ranges of whole lines, at most so many."""
    line = at = new_line = new_at = 0
    for place in places:
        line += before.count("\n", at, place.start)
        new_line += after.count("\n", new_at, place.new_start)
        first, new_first = line, new_line
        line += before.count("\n", place.start, place.end)
        new_line += after.count("\n", place.new_start, place.new_end)
        at, new_at = place.end, place.new_end
        yield Span(first, min(line + 1, old), new_first, min(new_line + 1, new))


def _joined(spans: Iterable[Span]) -> Iterator[Span]:
    """Ranges of lines that have no line in common."""
    last: Span | None = None
    for span in spans:
        if last is not None and span.start < last.end:
            last = Span(last.start, span.end, last.new_start, span.new_end)
            continue
        if last is not None:
            yield last
        last = span
    if last is not None:
        yield last


def _changes(old: Sequence[str], new: Sequence[str], span: Span) -> Iterator[Span]:
    """What differs in a range of lines, as far as it is compared."""
    start, end, new_start, new_end = span
    while start < end and new_start < new_end and old[start] == new[new_start]:
        start, new_start = start + 1, new_start + 1
    while start < end and new_start < new_end and old[end - 1] == new[new_end - 1]:
        end, new_end = end - 1, new_end - 1
    if end - start + new_end - new_start > MAX_LINES_COMPARED:
        yield Span(start, end, new_start, new_end)
        return
    matcher = SequenceMatcher(None, old[start:end], new[new_start:new_end], autojunk=False)
    for kind, first, last, new_first, new_last in matcher.get_opcodes():
        if kind != "equal":
            yield Span(start + first, start + last, new_start + new_first, new_start + new_last)


def _hunks(old: Sequence[str], new: Sequence[str], changes: Sequence[Span]) -> Iterator[str]:
    """The lines of the diff; changes with little between them are told together."""
    begin = 0
    gaps = [later.start - earlier.end for earlier, later in pairwise(changes)]
    for number, gap in enumerate(gaps, 1):
        if gap > 2 * CONTEXT:
            yield from _hunk(old, new, changes[begin:number])
            begin = number
    if changes:
        yield from _hunk(old, new, changes[begin:])


def _hunk(old: Sequence[str], new: Sequence[str], changes: Sequence[Span]) -> Iterator[str]:
    above = min(CONTEXT, changes[0].start)
    below = min(CONTEXT, len(old) - changes[-1].end)
    begin, end = changes[0].start - above, changes[-1].end + below
    new_begin, new_end = changes[0].new_start - above, changes[-1].new_end + below
    yield f"@@ -{_range(begin, end)} +{_range(new_begin, new_end)} @@"
    for change in changes:
        yield from (f" {line}" for line in old[begin : change.start])
        yield from (f"-{line}" for line in old[change.start : change.end])
        yield from (f"+{line}" for line in new[change.new_start : change.new_end])
        begin = change.end
    yield from (f" {line}" for line in old[begin:end])


def _range(begin: int, end: int) -> str:
    """As diff writes it: the first line and how many; of none the line before."""
    count = end - begin
    return str(begin + 1) if count == 1 else f"{begin + (count > 0)},{count}"


def _short(line: str) -> str:
    more = len(line) - MAX_LINE_SHOWN
    return line if more <= 0 else f"{line[:MAX_LINE_SHOWN]}… {more:,} more characters"
