"""What a transcript consists of: lines of text, thoughts, tool calls and notes; pure.

A block is what is laid out at once, so a delta costs the layout of one line however long the answer is.
"""

from dataclasses import dataclass
from typing import Final, Literal

from ipc.messages import Level, ToolStatus
from ui.diffs import DiffLine

LINE_LIMIT: Final = 2_000
"""Characters of one block; a longer line goes on in the next block."""
THOUGHT_PART: Final = 16_000
"""Of a thought, the last one to two times so many characters are kept: it is laid out as a whole, which takes
13 ms for each."""

TextKind = Literal["prompt", "answer"]
Outcome = ToolStatus | Literal["partial"]
"""How a call ended, as a person is told: a delegation can be half done."""


@dataclass(slots=True)
class TextBlock:
    """One line of a prompt or an answer."""

    kind: TextKind
    text: str
    first: bool
    """Whether a message begins here."""
    revision: int = 0


@dataclass(slots=True)
class ThoughtBlock:
    """What the model reasoned, up to what it then said or did."""

    started_at: float | None
    """Monotonic seconds; None in the past of a snapshot."""
    ended_at: float | None = None
    """When its last piece came."""
    text: str = ""
    dropped: int = 0
    """Characters of its beginning that are not kept."""
    lasts: bool = True
    first: bool = True
    """Whether neither a call nor another thought stands above."""
    revision: int = 0

    def add(self, text: str, now: float | None) -> None:
        """Think on; what is kept depends on the length alone, not on the pieces."""
        self.ended_at = now
        self.text += text
        parts = (self.dropped + len(self.text)) // THOUGHT_PART
        drop = max(0, (parts - 1) * THOUGHT_PART - self.dropped)
        self.text, self.dropped = self.text[drop:], self.dropped + drop
        self.revision += 1


@dataclass(slots=True)
class ToolBlock:
    """One tool call."""

    name: str
    summary: str
    started_at: float | None
    """Monotonic seconds; None in the past of a snapshot."""
    first: bool
    """Whether neither a call nor a thought stands above."""
    longer: bool = False
    """Whether it was not seen starting: it runs for longer than is known."""
    status: Outcome | None = None
    """None while it runs."""
    duration_ms: int = 0
    tail: tuple[str, ...] = ()
    """The last lines it printed, while it runs."""
    detail: str = ""
    """The first lines of what it said, for a call that went wrong."""
    diff: tuple[DiffLine, ...] = ()
    """What it has changed in a file."""
    revision: int = 0


@dataclass(slots=True)
class NoteBlock:
    """Something a person should know, with what to do about it."""

    level: Level
    text: str
    next_step: str = ""
    first: bool = True
    revision: int = 0


Block = TextBlock | ThoughtBlock | ToolBlock | NoteBlock
