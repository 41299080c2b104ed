"""Messages that wait for the end of a turn; each can be taken back, changed and put in its place again."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from ui.composer.draft import Draft

_EMPTY: Final = Draft()


@dataclass(slots=True)
class Outbox:
    """A queue of which at most one message is in the composer, and is not sent while it is there."""

    waiting: list[Draft] = field(default_factory=list)
    """Oldest first; the one that is being edited is among them as it was."""
    edited: int | None = None
    """Place of the message that is in the composer."""
    _aside: Draft = _EMPTY
    """What was in the composer before."""

    def __len__(self) -> int:
        return len(self.waiting)

    def add(self, draft: Draft) -> None:
        """Queue a message."""
        self.waiting.append(draft)

    def begin_with(self, drafts: Sequence[Draft]) -> None:
        """Put messages before all others."""
        self.waiting[:0] = drafts
        if self.edited is not None:
            self.edited += len(drafts)

    def next(self) -> Draft | None:
        """Return the message whose turn it is, and forget it; None when none may be sent now."""
        if not self.waiting or self.edited == 0:
            return None
        if self.edited is not None:
            self.edited -= 1
        return self.waiting.pop(0)

    def take(self, held: Draft) -> Draft | None:
        """Return the last message for the composer, then the one before it; None when there is none.

        `held` is what the composer holds: a message is kept as it was changed, a draft is set aside.
        """
        if not self.waiting:
            return None
        if self.edited is None:
            self._aside, self.edited = held, len(self.waiting) - 1
        else:
            self._keep(held)
            self.edited = max(0, self.edited - 1)
        return self.waiting[self.edited]

    def put_back(self, held: Draft) -> Draft:
        """Put the edited message in its place, unless nothing is left of it; return the draft set aside."""
        if held.text.strip():
            self._keep(held)
        elif self.edited is not None:
            del self.waiting[self.edited]
        return self.leave()

    def leave(self) -> Draft:
        """Leave the edited message as it was; return the draft that was set aside."""
        aside, self._aside, self.edited = self._aside, _EMPTY, None
        return aside

    def drop(self) -> Draft | None:
        """Remove the edited message, or the last one, and return it; None when there is none."""
        if not self.waiting:
            return None
        return self.waiting.pop(-1 if self.edited is None else self.edited)

    def forget(self, whole: str) -> None:
        """Remove the first message that says this, unless it is being edited."""
        at = next((place for place, each in enumerate(self.waiting) if each.whole == whole), None)
        if at is not None and at != self.edited:
            del self.waiting[at]
            self.edited = self.edited - 1 if self.edited is not None and self.edited > at else self.edited

    def with_edited(self, held: Draft) -> tuple[Draft, list[Draft]]:
        """Return draft and messages as they would be after `put_back`: what is worth keeping now."""
        if self.edited is None:
            return held, list(self.waiting)
        changed = [held if place == self.edited else each for place, each in enumerate(self.waiting)]
        return self._aside, [each for each in changed if each.text.strip()]

    def rows(self, most: int) -> list[tuple[str, bool]]:
        """Return at most `most` lines that show what waits, and whether each is being edited."""
        rows = [(draft.line, place == self.edited) for place, draft in enumerate(self.waiting)]
        if len(rows) <= most:
            return rows
        room = max(0, most - 1)
        first = 0 if self.edited is None else max(0, self.edited + 1 - room)
        return [*rows[first : first + room], (f"and {len(rows) - room} more", False)][:most]

    def _keep(self, held: Draft) -> None:
        if self.edited is not None and held.text.strip():
            self.waiting[self.edited] = held
