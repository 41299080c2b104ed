"""What was prompted in this workspace before: walked through like a shell's, and searched; pure."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from ui.composer.draft import Draft, draft_of, joined

MOST: Final = 1_000
"""Prompts that are kept."""


@dataclass(slots=True)
class History:
    """The prompts, the newest first, each once."""

    prompts: list[str] = field(default_factory=list)
    asking: bool = False
    """Whether the parent's list is on its way."""
    count: int = 0
    """How many lists have come."""
    _here: list[str] = field(default_factory=list)
    """What was sent from this screen, the newest first."""

    def add(self, text: str) -> None:
        """Put what is sent now before all others."""
        if text.strip():
            self._here = _once([text, *self._here])
            self.prompts = _once([text, *self.prompts])

    def fill(self, told: Iterable[str]) -> None:
        """Take the parent's list, the newest first."""
        self.count, self.asking = self.count + 1, False
        self.prompts = _once([*self._here, *told])


class Walk:
    """A walk through the prompts and back to the draft; what is changed on the way stays changed."""

    def __init__(self) -> None:
        self._prompts: Sequence[str] = ()
        self._at = -1
        """The place in the prompts; -1 is the draft."""
        self._left: dict[int, Draft] = {}

    def older(self, history: History, now: Draft) -> Draft | None:
        """Go one prompt back from what is written now; None at the oldest."""
        if self._at < 0:
            self._prompts = [each for each in history.prompts if each != now.whole]
        return self._go(self._at + 1, now)

    def newer(self, now: Draft) -> Draft | None:
        """Go one prompt forward, at last to the draft; None there."""
        return self._go(self._at - 1, now)

    def jump(self, history: History, prompt: str, now: Draft) -> Draft:
        """Go to a prompt; what is written now stays where it is."""
        if self._at < 0:
            self._prompts = history.prompts
        if prompt in self._prompts:
            self._left[self._at] = now
            self._at = self._prompts.index(prompt)
        return draft_of(prompt)

    def end(self) -> Draft:
        """End the walk: what is written now was sent. Return the draft that it began with."""
        draft = self.draft(Draft())
        self._prompts, self._at, self._left = (), -1, {}
        return draft

    def draft(self, now: Draft) -> Draft:
        """Return the draft, wherever the walk is."""
        return now if self._at < 0 else self._left.get(-1, now)

    def kept(self, now: Draft) -> Draft:
        """Return what is worth keeping: the draft, and the prompt that is in view, if it was changed."""
        if self._at < 0 or now.whole in ("", self._prompts[self._at]):
            return self.draft(now)
        return joined([self.draft(now), now])

    def _go(self, at: int, now: Draft) -> Draft | None:
        if not -1 <= at < len(self._prompts):
            return None
        self._left[self._at] = now
        self._at = at
        return self._left.get(at) or draft_of(self._prompts[at])


class Search:
    """A search through the prompts while one types; a capital letter means itself, a small one both."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.pattern: re.Pattern[str] | None = None
        """Matches each word that is searched for; None when there is none."""
        self.matching: Sequence[str] = history.prompts
        """The prompts that hold all words, the newest first."""
        self.chosen_at = 0
        self._query = ""

    def look_for(self, query: str) -> None:
        """Search for something else; the newest match is chosen."""
        before, self._query = self._query, query
        if query.split() != before.split():
            self.chosen_at = 0
            self._narrow(self.matching if query.startswith(before) else self.history.prompts)

    def again(self) -> None:
        """Search once more: there may be other prompts by now."""
        self._narrow(self.history.prompts)

    def _narrow(self, prompts: Sequence[str]) -> None:
        either_case = not any(map(str.isupper, self._query))
        words = [
            re.compile(re.escape(word), re.IGNORECASE if either_case else 0) for word in self._query.split()
        ]
        self.matching = [each for each in prompts if all(word.search(each) for word in words)]
        joined = "|".join(word.pattern for word in words)
        self.pattern = re.compile(joined, words[0].flags) if words else None
        self.chosen_at = max(0, min(self.chosen_at, len(self.matching) - 1))

    def move(self, steps: int) -> None:
        """Choose the match so many steps older."""
        self.chosen_at = max(0, min(self.chosen_at + steps, len(self.matching) - 1))

    @property
    def chosen(self) -> str | None:
        """The chosen prompt; None when none matches."""
        return self.matching[self.chosen_at] if self.matching else None


def _once(prompts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(prompts))[:MOST]
