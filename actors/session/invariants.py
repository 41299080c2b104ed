"""What must hold of the events of a session while they are written; a broken rule is a fault of Fido.

Installed when `FIDO_CHECK=1` is in the environment, as all tests set it; never in a user's session, which
goes on. What stands in the log is learned, not judged: damage there is no fault of ours.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from actors.sent_message import SentMessage, read
from actors.session.events import (
    AnyEvent,
    CallEnded,
    CallStarted,
    ConversationCompacted,
    FilesChanged,
    FilesChanging,
    FilesRestored,
    FilesRestoring,
    MessageAppended,
    PlanWritten,
    PromptTaken,
    RestoreTakenBack,
    SessionStarted,
    TurnEnded,
)

CHECK: Final = "FIDO_CHECK"
"""Variable that switches the checks on."""


class BrokenInvariant(BaseException):
    """An event that must not be; not an `Exception`, so that nobody takes it for a tool that failed."""

    def __init__(self, rule: str, event: AnyEvent) -> None:
        super().__init__(f"{rule}: {event!r:.500}")
        self.rule = rule
        self.event = event


class _Dialogue:
    """The order of messages: the system message first, each call answered once, in order, before anything."""

    def __init__(self, *, system: bool = False) -> None:
        self.due: list[str] = []
        """Calls of the last answer that have no result, in order."""
        self._system = system

    def broken_by(self, message: SentMessage) -> str:
        """The rule that a message breaks here; empty when it may follow."""
        if message.role == "system":
            return "there is one system message" if self._system else ""
        if not self._system:
            return "the system message stands first"
        if message.role != "tool":
            return self.unanswered()
        if self.due[:1] != [message.tool_call_id]:
            return f"results come in the order of the calls; due are {', '.join(self.due) or 'none'}"
        return ""

    def unanswered(self) -> str:
        """Name the calls that have no result; empty when all have one."""
        return f"every call has its result first; due are {', '.join(self.due)}" if self.due else ""

    def join(self, message: SentMessage) -> None:
        match message.role:
            case "system":
                self._system = True
            case "tool":
                self.due = [call_id for call_id in self.due if call_id != message.tool_call_id]
            case _:
                self.due = [call.id for call in message.tool_calls or ()]


class Invariants:
    """A fold that refuses."""

    def __init__(self) -> None:
        self._begun = False
        self._running = 0
        """The turn that has no end yet; 0: none."""
        self._dialogue = _Dialogue()
        self._started: set[str] = set()
        """Calls that were started and have not ended."""
        self._changing: set[str] = set()
        """Calls that may be changing files."""
        self._restoring: tuple[int, str] | None = None
        """Turn and direction of a restore that has no end yet."""

    def apply(self, event: AnyEvent) -> None:
        """Take an event that is being written. Raises `BrokenInvariant`."""
        rule = self._broken_by(event)
        if rule:
            raise BrokenInvariant(rule, event)
        self.learn(event)

    def learn(self, event: AnyEvent) -> None:
        """Take an event that stands in the log."""
        match event:
            case SessionStarted():
                self._begun = True
            case PromptTaken(turn=turn):
                self._running = turn
            case TurnEnded():
                self._running = 0
                self._dialogue.due.clear()
            case MessageAppended(message=raw):
                self._dialogue.join(read(raw))
            case ConversationCompacted():
                self._dialogue.due.clear()
            case CallStarted(call_id=call_id):
                self._started.add(call_id)
            case CallEnded(call_id=call_id):
                self._started.discard(call_id)
            case FilesChanging(call_id=call_id):
                self._changing.add(call_id)
            case FilesChanged(call_id=call_id):
                self._changing.discard(call_id)
            case FilesRestoring(turn=turn, direction=direction):
                self._restoring = turn, direction
            case FilesRestored() | RestoreTakenBack():
                self._restoring = None
            case _:
                pass

    def _broken_by(self, event: AnyEvent) -> str:
        """The rule that an event breaks; empty when it may be."""
        match event:
            case SessionStarted() if self._begun:
                return "a session starts once"
            case PromptTaken() if self._running:
                return "one turn at a time"
            case TurnEnded(turn=turn):
                return self._outside(turn) or self._dialogue.unanswered()
            case MessageAppended(turn=turn, message=raw):
                message = read(raw)
                outside = "" if message.role == "system" else self._outside(turn)
                return self._dialogue.broken_by(message) or outside
            case ConversationCompacted(messages=messages):
                return self._dialogue.unanswered() or _broken_in(messages)
            case CallStarted(call_id=call_id) if call_id in self._started:
                return "a call starts once"
            case CallStarted(turn=turn):
                return self._outside(turn)
            case CallEnded(call_id=call_id) if call_id not in self._started:
                return "only a call that was started ends"
            case PlanWritten(turn=turn) if turn:
                return self._outside(turn)
            case FilesChanging(call_id=call_id) if call_id in self._changing:
                return "a call changes one thing after the other"
            case FilesChanged(call_id=call_id) if call_id not in self._changing:
                return "what changes files says so before"
            case FilesRestoring() if self._running:
                return "files are restored between turns"
            case FilesRestored() | RestoreTakenBack() if self._restoring != (event.turn, event.direction):
                return "a restore says so before"
            case _:
                return ""

    def _outside(self, turn: int) -> str:
        return "" if self._running and turn == self._running else "this belongs into the running turn"


def _broken_in(messages: Iterable[msgspec.Raw]) -> str:
    """The rule that a whole conversation behind the system message breaks."""
    dialogue = _Dialogue(system=True)
    for raw in messages:
        message = read(raw)
        if rule := dialogue.broken_by(message):
            return rule
        dialogue.join(message)
    return dialogue.unanswered()
