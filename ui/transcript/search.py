"""Where a text stands in the transcript: its occurrences, counted, one of them the current one; pure."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from ui.transcript.blocks import Block
from ui.transcript.folding import haystack


class Hit(NamedTuple):
    """A block in which something was found."""

    position: int
    """As counted since the session began."""
    block: Block
    times: int


class Match(NamedTuple):
    """One occurrence."""

    position: int
    nth: int
    """Which of those in the block it is, from 0."""


@dataclass(slots=True)
class Search:
    """Looks for a text; capitals count when there are any in it."""

    query: str = ""
    at: int = -1
    """Which occurrence is the current one, from 0; -1: there is none."""
    _hits: list[Hit] = field(default_factory=list)
    _ends: list[int] = field(default_factory=list)
    """How many occurrences there are up to the end of each hit."""

    @property
    def total(self) -> int:
        """How often it was found."""
        return self._ends[-1] if self._ends else 0

    @property
    def current(self) -> Match | None:
        """The occurrence that is shown."""
        if self.at < 0:
            return None
        hit = bisect_right(self._ends, self.at)
        before = self._ends[hit - 1] if hit else 0
        return Match(self._hits[hit].position, self.at - before)

    def look_for(self, query: str, blocks: Sequence[Block], first: int, near: int) -> None:
        """Find a text anew; the current one becomes the last up to the position `near`, else the first below.

        `first`: the position of the first block.
        """
        longer = bool(self.query) and self.query in query
        self.query = query
        if not query:
            self._set([])
        elif longer:
            self._set(_found(query, [(hit.position, hit.block) for hit in self._hits]))
        else:
            self._set(_found(query, list(enumerate(blocks, first))))
        above = sum(hit.times for hit in self._hits if hit.position <= near)
        self.at = min(max(0, above - 1), self.total - 1)

    def again(self, blocks: Sequence[Block], first: int, step: int) -> None:
        """Go to the next match below (1) or above (-1), round the end; the transcript may have grown."""
        before = self.current
        self._set(_found(self.query, list(enumerate(blocks, first))))
        if before is not None:
            ends = zip(self._hits, self._ends, strict=True)
            at = next((end - hit.times for hit, end in ends if hit.position == before.position), 0)
            self.at = at + before.nth
        self.at = (max(0, self.at) + step) % self.total if self.total else -1

    def _set(self, hits: list[Hit]) -> None:
        self._hits = hits
        self._ends = list(accumulate(hit.times for hit in hits))


def pattern(query: str) -> re.Pattern[str]:
    """Return what finds a text on the screen, where it may be wrapped anywhere."""
    signs = (r"\s+" if sign.isspace() else re.escape(sign) for sign in " ".join(query.split()))
    return re.compile("\n?".join(signs), 0 if _capitals_count(query) else re.IGNORECASE)


def _capitals_count(query: str) -> bool:
    return query != query.lower()


def _found(query: str, blocks: list[tuple[int, Block]]) -> list[Hit]:
    exactly = _capitals_count(query)
    wanted = _plain(query)
    hits = []
    for position, block in blocks:
        text = _plain(haystack(block))
        if times := (text if exactly else text.lower()).count(wanted):
            hits.append(Hit(position, block, times))
    return hits


def _plain(text: str) -> str:
    """Leave out what stands for emphasis: it is not seen."""
    return text.replace("\n", " ").replace("**", "").replace("`", "") or text
