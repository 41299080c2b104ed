"""The transcript: how it grows by messages, thoughts, tool calls and notes; pure.

All text that enters is cleaned here or in `ui/state.py`.
"""

from dataclasses import dataclass, field
from typing import Final, Literal

from ipc.messages import Level
from ipc.terminal_text import StreamCleaner, clean
from ui.diffs import DiffLine
from ui.transcript import folding, prompts
from ui.transcript.blocks import (
    Block,
    NoteBlock,
    Outcome,
    TextBlock,
    ThoughtBlock,
    ToolBlock,
)
from ui.transcript.bound import Room, size
from ui.transcript.pieces import Cutter

# Terminals disagree about the width of joined emoji; without joiners and selectors all agree.
_STEADY: Final = {0x09: "    ", 0x200D: None, 0xFE0F: None}


def steady(text: str) -> str:
    """Return `text` cleaned, with the same width on every terminal."""
    return even(clean(text))


def even(text: str) -> str:
    """Return a text that is clean already with the same width on every terminal."""
    return text.translate(_STEADY)


@dataclass(slots=True)
class Transcript:
    """Everything said and done in this session, oldest first."""

    blocks: list[Block] = field(default_factory=list)
    dropped: int = 0
    """How many blocks stood before these, and are gone."""
    running: dict[str, ToolBlock] = field(default_factory=dict)
    """Tool calls without a result, by call id."""
    _asking: dict[str, ToolBlock] = field(default_factory=dict)
    """Calls that wait for the person's answer, by the id of what is asked."""
    foldable: bool = False
    """Whether some block has more to show than its line."""
    _open: Literal["answer", "thought"] | None = None
    _thought: ThoughtBlock | None = None
    """The open thought, once there is more of it than white space."""
    _attempt: NoteBlock | None = None
    """The last note of a request that failed and was to be sent again."""
    _cleaner: StreamCleaner = field(default_factory=StreamCleaner)
    _cutter: Cutter | None = None
    """Of the open answer."""
    room: Room = field(default_factory=Room)
    """How much is kept."""
    past: bool = False
    """Whether all of a session is being told at once: whoever does that bounds it in the end, once."""
    session: str = ""
    """Its id, to say where all of it is."""
    _forgotten: int = 0
    """Lines that are not kept any more."""
    _tail: int = -1
    """Where the last block of the open answer stands; notes may stand below it."""

    def ask(self, prompt: str) -> None:
        """Add what the person has asked."""
        self.close()
        blocks = prompts.blocks(clean(prompt))
        self.blocks += blocks
        self._bound(prompt)
        self.foldable = self.foldable or any(map(folding.foldable, blocks))

    def say(self, text: str) -> None:
        """Add a whole answer."""
        self.close()
        self.stream(text)
        self.close()

    def stream(self, piece: str) -> None:
        """Add a piece of an answer; it goes on until something else happens."""
        if self._open != "answer":
            self.close()
            self._open = "answer"
            self._cutter = Cutter()
        self._add(self._cleaner.feed(piece))
        self._bound(piece)

    def think(self, piece: str, now: float | None) -> None:
        """Add a piece of a thought; it goes on until something else happens."""
        if self._open != "thought":
            self.close()
            self._open = "thought"
        self._add_thought(self._cleaner.feed(piece), now)
        self._bound(piece)

    def close(self) -> None:
        """End the message or the thought that is being streamed."""
        if self._open == "thought":
            self._end_thought()
        elif self._cutter is not None:
            self._add(self._cleaner.flush())
            self._insert(self._cutter.end())
            self._cutter = None
        self._open = None
        self._cleaner = StreamCleaner()

    def start_tool(self, call_id: str, name: str, summary: str, now: float | None) -> None:
        """Add a tool call that now runs."""
        self.close()
        block = ToolBlock(name, summary, now, first=not self._last_is(ToolBlock, ThoughtBlock))
        self.blocks.append(block)
        self.running[call_id] = block

    def ask_about(self, ask_id: str, call_id: str, tool: str) -> None:
        """Let a running call wait for the person's answer; without its id it is the last one of the tool."""
        block = self.running.get(call_id) if call_id else self._running_of(tool)
        if block is not None:
            self._asking[ask_id] = block
            block.asking = True
            block.revision += 1

    def decide(self, ask_id: str, decision: str, now: float | None) -> None:
        """Let the call go on that waited; its clock begins anew, for nothing ran before."""
        block = self._asking.pop(ask_id, None)
        if block is not None and block.asking:
            block.asking, block.decision, block.started_at = False, decision, now
            block.revision += 1

    def print_tool(self, call_id: str, tail: tuple[str, ...]) -> None:
        """Give a running call the last lines that it printed."""
        block = self.running.get(call_id)
        if block is not None:
            block.tail = tail
            block.revision += 1

    def finish_tool(
        self,
        call_id: str,
        name: str,
        status: Outcome,
        duration_ms: int,
        output: str = "",
        detail: str = "",
        diff: tuple[DiffLine, ...] = (),
        decision: str = "",
    ) -> None:
        """Give a tool call its result; `detail`: what of its output is always seen."""
        if call_id not in self.running:
            self.start_tool(call_id, name, "", None)
        block = self.running.pop(call_id)
        block.status, block.duration_ms = status, duration_ms
        block.output, block.detail, block.diff = output, detail, diff
        block.tail, block.asking, block.decision = (), False, decision or block.decision
        self._bound(output + detail)
        self.foldable = self.foldable or folding.foldable(block)
        block.revision += 1

    def note(self, level: Level, text: str, next_step: str = "") -> None:
        """Add a note, below a message that is being streamed."""
        self.blocks.append(NoteBlock(level, text, next_step, first=not self._last_is(NoteBlock)))
        self._bound(text)

    def note_attempt(self, text: str, *, again: bool) -> None:
        """Note that a request failed; `again`: it is the one noted last, and one note is enough for it."""
        self.close()
        if again and self._attempt is not None and self.blocks[-1] is self._attempt:
            self._attempt.text = text
            self._attempt.revision += 1
        else:
            self._attempt = NoteBlock("info", text, first=not self._last_is(NoteBlock))
            self.blocks.append(self._attempt)

    def take_over(self, before: "Transcript") -> None:
        """Take from another telling of the same what no fact tells: when one thought, what is unfolded."""
        known: dict[object, list[Block]] = {}
        for block in before.blocks:
            if block.unfolded is not None or isinstance(block, ThoughtBlock):
                known.setdefault(_identity(block), []).append(block)
        for block in self.blocks if known else ():
            if seen := known.get(_identity(block)):
                _take_over(block, seen.pop(0))

    def abandon_tools(self) -> None:
        """Mark calls that will get no result any more."""
        for call_id, block in list(self.running.items()):
            said = "\n".join(block.tail)
            self.finish_tool(call_id, block.name, "cancelled", 0, said, said)
        self._asking.clear()

    def _bound(self, added: str) -> None:
        """Let the oldest go when what is added is too much, and say so where it was."""
        if not self.room.takes(added.count("\n") + (self._open is None), len(added)) and not self.past:
            self.bound()

    def bound(self) -> None:
        """Let the oldest go until there is not too much."""
        gone, lines = self.room.excess(self.blocks)
        if gone > 1:
            known = size(self.blocks[0])[0] if self._forgotten else 0  # the note that stands there already
            self._forgotten += lines - known
            self.blocks[:gone] = [self._forgotten_note()]
            self.dropped += gone - 1
            self._tail -= gone - 1

    def _forgotten_note(self) -> NoteBlock:
        log = (
            f"sessions/{self.session}.jsonl in Fido's state directory"
            if self.session
            else "The session's log"
        )
        return NoteBlock("info", f"{self._forgotten:,} earlier lines are not kept here.", f"{log} has them.")

    def _running_of(self, tool: str) -> ToolBlock | None:
        return next((block for block in reversed(self.running.values()) if block.name == tool), None)

    def _last_is(self, *kinds: type[Block]) -> bool:
        return bool(self.blocks) and isinstance(self.blocks[-1], kinds)

    def _add(self, shown: str) -> None:
        if self._cutter is not None:
            self._insert(self._cutter.feed(shown))

    def _insert(self, begun: list[TextBlock]) -> None:
        """Add further pieces of the open answer below those that it has."""
        for block in begun:
            self._tail = len(self.blocks) if block.first else self._tail + 1
            self.blocks.insert(self._tail, block)

    def _add_thought(self, shown: str, now: float | None) -> None:
        shown = shown.translate(_STEADY)
        if self._thought is None:
            shown = shown.lstrip()
            if not shown:
                return
            self._thought = ThoughtBlock(now, first=not self._last_is(ToolBlock, ThoughtBlock))
            self.blocks.append(self._thought)
            self.foldable = True
        self._thought.add(shown, now)

    def _end_thought(self) -> None:
        rest = self._cleaner.flush()
        if rest.strip() or self._thought is not None:
            self._add_thought(rest, None if self._thought is None else self._thought.ended_at)
        if self._thought is not None:
            self._thought.lasts = False
            self._thought = None


def _identity(block: Block) -> object:
    """Return what two tellings of a block have in common."""
    if isinstance(block, ThoughtBlock) and block.lasts:  # there is one at most
        return ThoughtBlock
    if isinstance(block, ToolBlock):
        return block.name, block.summary, block.output
    return type(block), block.text


def _take_over(block: Block, before: Block) -> None:
    block.unfolded = before.unfolded
    if isinstance(block, ThoughtBlock) and isinstance(before, ThoughtBlock):
        block.started_at, block.ended_at = before.started_at, before.ended_at
