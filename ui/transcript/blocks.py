"""What a transcript consists of: pieces of text, thoughts, tool calls and notes; pure.

A block is what is laid out at once, so a delta costs the layout of one piece however long the answer is.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal

from ipc.messages import Level, ToolStatus
from ui.diffs import DiffLine

LINE_LIMIT: Final = 2_000
"""Characters of a line that stay together."""
THOUGHT_PART: Final = 16_000
"""Of a thought, the last one to two times so many characters are kept: it is laid out as a whole, which takes
13 ms for each."""

Outcome = ToolStatus | Literal["partial"]
"""How a call ended, as a person is told: a delegation can be half done."""


@dataclass(slots=True)
class PromptBlock:
    """A prompt, or some lines of a long one; all but its first lines are folded."""

    text: str
    first: bool
    """Whether it begins here."""
    more: int = 0
    """Lines that are folded below this block."""
    revision: int = 0
    unfolded: bool | None = None
    """What the person wants; None: as all others."""

    @property
    def goes_on(self) -> bool:
        """Whether it continues the block above."""
        return not self.first


@dataclass(slots=True)
class TextBlock:
    """A piece of an answer that Markdown draws on its own."""

    text: str
    """As it was written."""
    first: bool
    """Whether an answer begins here."""
    joint: str = ""
    """What stands between it and the piece above in the answer: line ends; nothing where a line was cut."""
    head: "TextBlock | None" = field(default=None, repr=False, compare=False)
    """The piece with which this one goes on, because it was long."""
    opening: str = ""
    """What was said above and holds here, too: the first line of a fence, the head of a table."""
    margin: int = 0
    """Columns by which it is indented; so many blanks of each line are no part of its Markdown."""
    number: int | None = None
    """Of the item that it begins with, as its list counts; None: it begins with none."""
    lasts: bool = True
    """Whether it can still grow."""
    unfolded: bool | None = None
    """Without meaning here."""
    revision: int = 0

    @property
    def goes_on(self) -> bool:
        """Whether it is the rest of a piece above."""
        return self.head is not None

    def touch(self) -> None:
        """Let it be drawn anew."""
        self.revision += 1

    @property
    def apart(self) -> bool:
        """Whether an empty line stands above, within the answer."""
        return self.joint.count("\n") > 1


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
    unfolded: bool | None = None
    """What the person wants; None: as all others."""

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
    asking: bool = False
    """Whether it waits for the person's answer."""
    decision: str = ""
    """What the person has decided about it."""
    tail: tuple[str, ...] = ()
    """The last lines it printed, while it runs."""
    output: str = ""
    """What it said, bounded."""
    detail: str = ""
    """The lines of it that are always seen: of a call that went wrong."""
    diff: tuple[DiffLine, ...] = ()
    """What it has changed in a file."""
    revision: int = 0
    unfolded: bool | None = None
    """What the person wants; None: as all others."""


@dataclass(slots=True)
class NoteBlock:
    """Something a person should know, with what to do about it."""

    level: Level
    text: str
    next_step: str = ""
    first: bool = True
    revision: int = 0
    unfolded: bool | None = None
    """Without meaning here."""


Block = PromptBlock | TextBlock | ThoughtBlock | ToolBlock | NoteBlock


def raw_text(blocks: Iterable[TextBlock]) -> str:
    """Return what neighbouring pieces of an answer were written as."""
    first, *rest = blocks
    return first.text + "".join(block.joint + block.text for block in rest)
