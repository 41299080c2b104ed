"""The transcript as a list of blocks: one per line of text, one per tool call, one per note; pure.

A block is what is laid out at once, so a delta costs the layout of one line however long the answer is.
All text that enters is cleaned here or in `ui/state.py`.
"""

from dataclasses import dataclass, field
from typing import Final, Literal

from ipc.messages import Level, ToolStatus
from ipc.terminal_text import StreamCleaner, clean

LINE_LIMIT: Final = 2_000
"""Characters of one block; a longer line goes on in the next block."""

TextKind = Literal["prompt", "answer", "reasoning"]
Outcome = ToolStatus | Literal["partial"]
"""How a call ended, as a person is told: a delegation can be half done."""

# Terminals disagree about the width of joined emoji; without joiners and selectors all agree.
_STEADY: Final = {0x09: "    ", 0x200D: None, 0xFE0F: None}


@dataclass(slots=True)
class TextBlock:
    """One line of a prompt or an answer, or the last lines of a reasoning."""

    kind: TextKind
    text: str
    first: bool
    """Whether a message begins here."""
    revision: int = 0


@dataclass(slots=True)
class ToolBlock:
    """One tool call."""

    name: str
    summary: str
    started_at: float | None
    """Monotonic seconds; None in the past of a snapshot."""
    first: bool
    """Whether something else than a tool call stands above."""
    longer: bool = False
    """Whether it was not seen starting: it runs for longer than is known."""
    status: Outcome | None = None
    """None while it runs."""
    duration_ms: int = 0
    detail: str = ""
    """The first lines of what it said, for a call that went wrong."""
    revision: int = 0


@dataclass(slots=True)
class NoteBlock:
    """Something a person should know, with what to do about it."""

    level: Level
    text: str
    next_step: str = ""
    first: bool = True
    revision: int = 0


Block = TextBlock | ToolBlock | NoteBlock


def steady(text: str) -> str:
    """Return `text` cleaned, with the same width on every terminal."""
    return clean(text).translate(_STEADY)


@dataclass(slots=True)
class Transcript:
    """Everything said and done in this session, oldest first."""

    blocks: list[Block] = field(default_factory=list)
    running: dict[str, ToolBlock] = field(default_factory=dict)
    """Tool calls without a result, by call id."""
    _open: TextKind | None = None
    _cleaner: StreamCleaner = field(default_factory=StreamCleaner)
    _newlines: int = 0
    _tail: int = -1
    """Where the last block of the open message stands; notes may stand below it."""

    def say(self, kind: TextKind, text: str) -> None:
        """Add a whole message."""
        self.close()
        self.stream(kind, text)
        self.close()

    def stream(self, kind: TextKind, piece: str) -> None:
        """Add a piece of a message; a message goes on until something else happens."""
        if self._open != kind:
            self.close()
            self._open = kind
            self._newlines = -1
        self._add(self._cleaner.feed(piece))

    def close(self) -> None:
        """End the message that is being streamed."""
        if self._open is not None:
            self._add(self._cleaner.flush())
            self._open = None
        self._cleaner = StreamCleaner()

    def start_tool(self, call_id: str, name: str, summary: str, now: float | None) -> None:
        """Add a tool call that now runs."""
        self.close()
        block = ToolBlock(name, summary, now, first=not self._last_is(ToolBlock))
        self.blocks.append(block)
        self.running[call_id] = block

    def finish_tool(self, call_id: str, name: str, status: Outcome, duration_ms: int, detail: str) -> None:
        """Give a tool call its result."""
        if call_id not in self.running:
            self.start_tool(call_id, name, "", None)
        block = self.running.pop(call_id)
        block.status, block.duration_ms, block.detail = status, duration_ms, detail
        block.revision += 1

    def note(self, level: Level, text: str, next_step: str = "") -> None:
        """Add a note, below a message that is being streamed."""
        self.blocks.append(NoteBlock(level, text, next_step, first=not self._last_is(NoteBlock)))

    def abandon_tools(self) -> None:
        """Mark calls that will get no result any more."""
        for call_id, block in list(self.running.items()):
            self.finish_tool(call_id, block.name, "cancelled", 0, "")

    def _last_is(self, kind: type[Block]) -> bool:
        return bool(self.blocks) and isinstance(self.blocks[-1], kind)

    def _add(self, shown: str) -> None:
        if self._open == "reasoning":
            self._add_reasoning(shown)
            return
        head, *lines = shown.translate(_STEADY).split("\n")
        self._add_line(head)
        for line in lines:
            if self._newlines >= 0:
                self._newlines += 1
            self._add_line(line)

    def _add_line(self, line: str) -> None:
        """Add to the last line; empty lines wait until something follows them."""
        kind = self._open
        if not line or kind is None:
            return
        if self._newlines < 0:
            self._begin(TextBlock(kind, "", first=True))
        for _ in range(self._newlines):
            self._go_on(TextBlock(kind, "", first=False))
        self._newlines = 0
        block = self._last_of_message()
        block.text += line
        block.revision += 1
        while len(block.text) > LINE_LIMIT:
            cut = block.text.rfind(" ", LINE_LIMIT // 2, LINE_LIMIT) + 1 or LINE_LIMIT
            rest = TextBlock(kind, block.text[cut:], first=False)
            block.text = block.text[:cut]
            self._go_on(rest)
            block = rest

    def _add_reasoning(self, shown: str) -> None:
        if self._newlines < 0:
            self._begin(TextBlock("reasoning", "", first=True))
            self._newlines = 0
        block = self._last_of_message()
        block.text = (block.text + shown.translate(_STEADY))[-LINE_LIMIT:]
        block.revision += 1

    def _begin(self, block: TextBlock) -> None:
        self.blocks.append(block)
        self._tail = len(self.blocks) - 1

    def _go_on(self, block: TextBlock) -> None:
        self._tail += 1
        self.blocks.insert(self._tail, block)

    def _last_of_message(self) -> TextBlock:
        block = self.blocks[self._tail]
        assert isinstance(block, TextBlock)
        return block
