"""Where a text stands in the transcript: its occurrences, counted, one of them the current one; pure."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from ui.transcript.blocks import Block
from ui.transcript.folding import haystack

_END: Final = "\0"
"""Between blocks: no text that was cleaned has it."""


class Match(NamedTuple):
    """One occurrence."""

    position: int
    """Of its block, as counted since the session began."""
    nth: int
    """Which of those in the block it is, from 0."""


class _Pages(NamedTuple):
    """All that can be found, as one text: to look through 50,000 lines takes 3 ms, block by block 150 ms."""

    text: str
    starts: list[int]
    """Where each block begins."""
    first: int
    """The position of the first block."""
    stamp: tuple[object, ...]
    """What it was made of, and whether capitals are as they were written."""


@dataclass(slots=True)
class Search:
    """Looks for a text; capitals count when there are any in it."""

    query: str = ""
    total: int = 0
    """How often it was found."""
    _at: int = -1
    """Where the current occurrence begins; -1: there is none."""
    _pages: _Pages | None = field(default=None, repr=False)

    @property
    def at(self) -> int:
        """Which occurrence is the current one, from 0."""
        return self._count(0)

    @property
    def current(self) -> Match | None:
        """The occurrence that is shown."""
        if self._pages is None or self._at < 0:
            return None
        block = bisect_right(self._pages.starts, self._at) - 1
        return Match(self._pages.first + block, self._count(self._pages.starts[block]))

    def times_in(self, text: str) -> int:
        """Return how often a text has what is searched for."""
        plain = _plain(text)
        return (plain if _capitals_count(self.query) else plain.lower()).count(_plain(self.query))

    def look_for(self, query: str, blocks: Sequence[Block], first: int, near: int) -> None:
        """Find a text anew; the current one becomes the last up to the position `near`, else the last of all.

        `first`: the position of the first block.
        """
        self.query = query
        pages = self._look_at(blocks, first)
        self._turn(pages, pages.starts[max(0, min(near + 1 - first, len(blocks)))])

    def again(self, blocks: Sequence[Block], first: int, step: int) -> None:
        """Go to the next match below (1) or above (-1), round the end; the transcript may have grown."""
        before = self.current
        pages = self._look_at(blocks, first)
        wanted = _plain(self.query)
        start = pages.starts[max(0, before.position - first)] if before else 0
        here = _nth(pages.text, wanted, start, before.nth if before else 0)
        if step > 0:
            self._at = pages.text.find(wanted, here + len(wanted)) if here >= 0 else -1
            self._at = pages.text.find(wanted) if self._at < 0 else self._at
        else:
            self._turn(pages, max(0, here))
        self.total = pages.text.count(wanted)

    def _look_at(self, blocks: Sequence[Block], first: int) -> _Pages:
        """Return all that can be found now; made anew only when something has changed."""
        exactly = _capitals_count(self.query)
        newest = (id(blocks[-1]), blocks[-1].revision) if blocks else ()
        stamp = (exactly, first, len(blocks), *newest)
        if self._pages is None or self._pages.stamp != stamp:
            text = _plain("".join([haystack(block) + _END for block in blocks]))
            text = text if exactly else text.lower()
            starts = [0, *(end.end() for end in re.finditer(_END, text))]
            self._pages = _Pages(text, starts, first, stamp)
        return self._pages

    def _turn(self, pages: _Pages, end: int) -> None:
        """Take the last occurrence before `end`, round the beginning."""
        wanted = _plain(self.query)
        if not wanted:
            self.total, self._at = 0, -1
            return
        self.total = pages.text.count(wanted)
        self._at = pages.text.rfind(wanted, 0, end)
        if self._at < 0:
            self._at = pages.text.rfind(wanted)

    def _count(self, start: int) -> int:
        if self._pages is None or self._at < 0:
            return 0
        return self._pages.text.count(_plain(self.query), start, self._at)


def pattern(query: str) -> re.Pattern[str]:
    """Return what finds a text on the screen, where it may be wrapped anywhere."""
    signs = (r"\s+" if sign.isspace() else re.escape(sign) for sign in " ".join(query.split()))
    return re.compile("\n?".join(signs), 0 if _capitals_count(query) else re.IGNORECASE)


def _capitals_count(query: str) -> bool:
    return query != query.lower()


def _plain(text: str) -> str:
    """Leave out what stands for emphasis: it is not seen."""
    return text.replace("\n", " ").replace("**", "").replace("`", "") or text


def _nth(text: str, wanted: str, start: int, nth: int) -> int:
    """Return where an occurrence begins, counted from `start`; -1 when there are not so many."""
    at = text.find(wanted, start)
    for _ in range(nth):
        at = text.find(wanted, at + len(wanted)) if at >= 0 else at
    return at
