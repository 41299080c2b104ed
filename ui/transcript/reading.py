"""What a person does in the transcript: browses it, searches it, selects of it; pure."""

from dataclasses import dataclass, field
from typing import Literal

from ui.transcript.search import Search


@dataclass(slots=True)
class Reading:
    """How the transcript is read, as far as the rest of the screen must know."""

    browsing: bool = False
    """Whether keys are for the transcript."""
    clicked: bool = False
    """Whether no key has been pressed there yet: who clicks and types means the line below."""
    finding: bool = False
    """Whether they are what is searched for."""
    selecting: bool = False
    """Whether the transcript is plain text over the whole screen."""
    fold: Literal["", "fold", "unfold"] = ""
    """What can be done with the chosen block."""
    search: Search = field(default_factory=Search)

    @property
    def active(self) -> bool:
        """Whether a key is for the transcript first."""
        return self.browsing or self.selecting

    @property
    def query(self) -> str:
        """What is searched for; empty when nothing is."""
        return self.search.query

    def leave(self) -> None:
        """Go back to the line one writes."""
        self.browsing = self.clicked = self.finding = self.selecting = False
        self.search = Search()
