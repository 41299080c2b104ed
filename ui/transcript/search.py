"""Where a text stands in the transcript: its occurrences, counted, one of them the current one; pure."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from ui.transcript.blocks import Block
from ui.transcript.pages import Pages, plainly
from ui.transcript.transcript import Transcript
from ui.transcript.viewport import found


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
        self._turn(pages, pages.start(near + 1))

    def again(self, transcript: Transcript, read: Callable[[Block], str], step: int) -> None:
        """Go to the next match below (1) or above (-1), round the end; the transcript may have grown."""
        before, text = self.current, wanted(self.query)
        pages = self._look_at(transcript, read)
        here = _place(pages, before, text)
        if step < 0:
            self._turn(pages, here)
        else:
            after = here + len(text) if before is not None else 0
            place = pages.text.find(text, after)
            self._settle(pages, pages.text.find(text) if place < 0 else place)

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
        self._pages.look_at(transcript, exactly=_capitals_count(self.query))
        return self._pages

    def _turn(self, pages: Pages, end: int) -> None:
        """Take the last occurrence before `end`, round the beginning."""
        text = wanted(self.query)
        place = pages.text.rfind(text, 0, end)
        self._settle(pages, pages.text.rfind(text) if place < 0 else place)

    def _settle(self, pages: Pages, place: int) -> None:
        """Let the occurrence at a place of the text be the current one; -1: there is none."""
        text = wanted(self.query)
        if place < 0:
            self.total, self.at, self.current = 0, 0, None
            return
        position, block = pages.at(place)
        nth = pages.text.count(text, pages.start(position), place)
        self.total, self.at = pages.text.count(text), pages.text.count(text, 0, place)
        self.current = Match(position, nth, block)


def wanted(query: str) -> str:
    """Return what is looked for in a text."""
    return plainly(query if _capitals_count(query) else query.lower())


def pattern(query: str) -> re.Pattern[str]:
    """Return what finds a text on the screen, where it may be wrapped anywhere."""
    signs = (r"\s+" if sign.isspace() else re.escape(sign) for sign in plainly(query))
    return re.compile("\n?".join(signs), 0 if _capitals_count(query) else re.IGNORECASE)


def _capitals_count(query: str) -> bool:
    return query != query.lower()


def _place(pages: Pages, match: Match | None, text: str) -> int:
    """Return where a match stands by now, or where it would."""
    if match is None:
        return 0
    position = found(pages, match.position, match.block)
    place = pages.start(match.position if position is None else position)
    for count in range(match.nth + 1):
        place = pages.text.find(text, place + (len(text) if count else 0))
        if place < 0:
            return len(pages.text)
    return place
