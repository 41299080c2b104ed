"""Prompts on their way to the parent, and those of which nobody knows whether they have arrived; pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from ipc.secret_text import MARK
from ui.composer.draft import Draft

_MOST_DOUBTFUL: Final = 8


@dataclass(slots=True)
class Sent:
    """A prompt that was sent."""

    draft: Draft
    session: str
    turn: int
    """The last turn at that time."""
    accepted: bool = False
    again: bool = False
    """Whether the person sent the same once more, not knowing whether it had arrived."""
    twin: bool = False
    """Whether it was such a second one, and the first has arrived."""

    def arrived(self, session: str, prompts: Iterable[tuple[int, str]]) -> bool:
        """Tell whether it is among the prompts that turns after it began with."""
        if session != self.session:
            return False
        whole = self.draft.whole
        return any(turn > self.turn and is_same(whole, prompt) for turn, prompt in prompts)


@dataclass(slots=True)
class Sending:
    """At most one prompt is on its way; its own reply says what became of it, or that its turn has begun."""

    current: Sent | None = None
    _begun: Sent | None = None
    """The last one whose turn was seen beginning."""
    _doubtful: list[Sent] = field(default_factory=list)
    """Those that got no answer, and may yet be taken."""

    def begin(self, draft: Draft, session: str, turn: int) -> None:
        """Send a prompt."""
        self.current = Sent(draft, session, turn)

    def submitted(self, draft: Draft) -> None:
        """Note that the person sends something, which may be one of the doubtful ones again."""
        for sent in self._doubtful:
            sent.again = sent.again or sent.draft.whole == draft.whole

    def accepted(self, prompt: str) -> None:
        """Note that the parent has taken a prompt: its turn begins in a moment."""
        if self.current is not None and self.current.draft.whole == prompt:
            self.current.accepted = True

    def look(self, session: str, turn: int, prompts: Iterable[tuple[int, str]]) -> list[Sent]:
        """Look at the turns there are by now; return what arrived although nobody knew."""
        late = [each for each in self._doubtful if each.arrived(session, prompts)]
        self._doubtful = [each for each in self._doubtful if each not in late]
        sent = self.current
        if sent is None:
            return late
        sent.twin = sent.twin or any(each.again and each.draft.whole == sent.draft.whole for each in late)
        goes_on = sent.accepted and (session, turn) != (sent.session, sent.turn)
        if goes_on or sent.arrived(session, prompts):
            self.current, self._begun = None, sent
        return late

    def refused(self, prompt: str) -> Draft | None:
        """Note that a prompt was refused: it did not arrive, whatever else began. None: it is not needed."""
        sent = self._end(prompt)
        return None if sent is None or sent.twin else sent.draft

    def unanswered(self, prompt: str) -> Draft | None:
        """Note that a prompt got no answer; return what may not have arrived, None when it surely has."""
        if self.current is None:
            return None
        sent = self._end(prompt)
        if sent is None or sent.twin:
            return None
        self._doubtful = [*self._doubtful, sent][-_MOST_DOUBTFUL:]
        return sent.draft

    def forget(self) -> None:
        """Forget what is on its way: the person leaves."""
        self.current = self._begun = None

    def _end(self, prompt: str) -> Sent | None:
        sent = self.current
        if sent is not None and sent.draft.whole == prompt:
            self.current = None
            return sent
        begun, self._begun = self._begun, None
        return begun if begun is not None and begun.draft.whole == prompt else None


def is_same(sent: str, told: str) -> bool:
    """Tell whether a prompt as it is told is one that was sent: secrets were taken out of it."""
    if MARK not in told:
        return sent == told
    pattern = r"\S+".join(map(re.escape, told.split(MARK)))
    return re.fullmatch(pattern, sent) is not None
