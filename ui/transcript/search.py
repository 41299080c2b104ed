"""Where a text stands in the transcript: its occurrences, counted, one of them the current one; pure."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ui.transcript.blocks import Block
from ui.transcript.pages import Pages, plainly
from ui.transcript.transcript import Transcript
from ui.transcript.viewport import found

_Place = tuple[int, int]
"""Of an occurrence: the number of its block among those that are there, and which it is in the block."""


class Match(NamedTuple):
    """One occurrence."""

    position: int
    """Of its block, as counted since the session began."""
    nth: int
    """Which of those in the block it is, from 0."""
    block: Block


@dataclass(slots=True)
class Search:
    """Looks for a text; capitals count when there are any in it."""

    query: str = ""
    total: int = 0
    """How often it was found."""
    at: int = 0
    """Which occurrence is the current one, from 0."""
    current: Match | None = None
    """The occurrence that is shown."""
    _pages: Pages | None = field(default=None, repr=False)

    def look_for(self, query: str, transcript: Transcript, read: Callable[[Block], str], near: int) -> None:
        """Find a text anew; the current one becomes the last up to the position `near`, else the last of all.

        `read` returns what can be read of a block.
        """
        self.query = query
        if not wanted(query):
            self.total, self.at, self.current = 0, 0, None
            return
        pages = self._look_at(transcript, read)
        self._settle(pages, _last(pages.counts[: max(0, near + 1 - pages.first)]) or _last(pages.counts))

    def again(self, transcript: Transcript, read: Callable[[Block], str], step: int) -> None:
        """Go to the next match below (1) or above (-1), round the end; the transcript may have grown."""
        pages = self._look_at(transcript, read)
        counts, before = pages.counts, self.current
        if before is None:
            self._settle(pages, (_first if step > 0 else _last)(counts))
            return
        position = found(pages, before.position, before.block)
        at, nth = (before.position if position is None else position) - pages.first, before.nth + step
        if 0 <= at < len(counts) and 0 <= nth < counts[at]:
            self._settle(pages, (at, nth))
        elif step > 0:
            self._settle(pages, _first(counts, at + 1) or _first(counts))
        else:
            self._settle(pages, _last(counts[: max(0, at)]) or _last(counts))

    def follow(self, transcript: Transcript, read: Callable[[Block], str]) -> bool:
        """Find the text anew if the transcript is another one than before; tell whether it is."""
        if not self.query or self._pages is None or self._pages.transcript is transcript:
            return False
        self.look_for(self.query, transcript, read, self.current.position if self.current else 0)
        return True

    def times_in(self, text: str) -> int:
        """Return how often a text has what is searched for."""
        if not (sought := wanted(self.query)):
            return 0
        text = plainly(text)
        return (text if _capitals_count(self.query) else text.lower()).count(sought)

    def _look_at(self, transcript: Transcript, read: Callable[[Block], str]) -> Pages:
        """Return all that can be found now."""
        if self._pages is None:
            self._pages = Pages(read)
        self._pages.look_at(transcript, wanted(self.query), exactly=_capitals_count(self.query))
        return self._pages

    def _settle(self, pages: Pages, place: _Place | None) -> None:
        """Let an occurrence be the current one."""
        self.total, self.at, self.current = sum(pages.counts), 0, None
        if place is not None:
            at, nth = place
            self.at = sum(pages.counts[:at]) + nth
            self.current = Match(pages.first + at, nth, pages.thing(pages.first + at))


def wanted(query: str) -> str:
    """Return what is looked for in a text."""
    return plainly(query if _capitals_count(query) else query.lower())


def pattern(query: str) -> re.Pattern[str]:
    """Return what finds a text on the screen, where it may be wrapped anywhere."""
    signs = (r"\s+" if sign.isspace() else re.escape(sign) for sign in plainly(query))
    return re.compile("\n?".join(signs), 0 if _capitals_count(query) else re.IGNORECASE)


def _capitals_count(query: str) -> bool:
    return query != query.lower()


def _first(counts: Sequence[int], start: int = 0) -> _Place | None:
    return next(((at, 0) for at in range(max(0, start), len(counts)) if counts[at]), None)


def _last(counts: Sequence[int]) -> _Place | None:
    return next(((at, counts[at] - 1) for at in reversed(range(len(counts))) if counts[at]), None)
