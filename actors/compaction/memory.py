"""What compaction must know of a session: a fold of its events, live and after a restart."""

from typing import Final

import msgspec

from actors.compaction.rewrite import shortened
from actors.session.events import (
    AnyEvent,
    ConversationCompacted,
    MessageAppended,
    PromptTaken,
    SessionStarted,
    TurnEnded,
    UsageRecorded,
)
from ipc.messages import TurnStatus

PROMPT_BYTES: Final = 32_000
"""The most that is kept of one prompt."""
ANSWER_BYTES: Final = 1_000
"""The most that is kept of a turn's answer."""


class Turn(msgspec.Struct):
    """A prompt and what became of it."""

    number: int
    prompt: str
    """The user's own words."""
    status: TurnStatus | None = None
    """Null while it runs."""
    answer: str = ""
    """The beginning and the end of the final text."""


class Memory:
    """The user's prompts, and what the server last said about the size of a request."""

    def __init__(self) -> None:
        self.session_id = ""
        self.turns: list[Turn] = []
        self.reported = 0
        """Prompt tokens of the last request, 0 when no server said so."""
        self.since = 0
        """Bytes of messages appended since then."""
        self.compactions = 0
        self.is_summary = False
        """Whether the last of them was a summary."""

    def apply(self, event: AnyEvent) -> None:
        match event:
            case SessionStarted(session_id=session_id):
                self.session_id = session_id
            case PromptTaken(turn=number, text=text):
                self.turns.append(Turn(number, shortened(text, PROMPT_BYTES)))
            case TurnEnded(status=status, final_text=text):
                for turn in self.turns[-1:]:
                    turn.status, turn.answer = status, shortened(text, ANSWER_BYTES)
            case MessageAppended(message=message):
                self.since += len(bytes(message)) + 1
            case UsageRecorded(usage=usage, subagent=False, summary=False) if usage.prompt_tokens:
                self.reported, self.since = usage.prompt_tokens, 0
            case ConversationCompacted(method=method, after_tokens=after):
                self.reported, self.since = after, 0
                self.is_summary = method == "summary"
                self.compactions += 1
            case _:
                pass
