"""What compaction must know of a session: a fold of its events, live and after a restart."""

from collections import deque
from typing import Final

import msgspec

from actors.compaction.rewrite import shortened
from actors.sent_message import read
from actors.session.events import (
    AnyEvent,
    CallEnded,
    CallStarted,
    ConversationCompacted,
    MessageAppended,
    PromptTaken,
    SessionStarted,
    TurnEnded,
    UsageRecorded,
)
from ipc.messages import ToolStatus, TurnStatus

PROMPT_BYTES: Final = 32_000
"""The most that is kept of one prompt."""
ANSWER_BYTES: Final = 1_000
"""The most that is kept of a turn's answer."""
CALLS: Final = 1_000
"""How many calls are kept, the newest."""
CALL_CHARACTERS: Final = 160
"""The most that is kept of what one call was about."""
ENDS: Final[dict[TurnStatus | None, str]] = {
    "completed": "answered",
    "cancelled": "cancelled by the user",
    "failed": "broke off with an error",
    "limit": "stopped at the limit of tool rounds",
    None: "still being worked on",
}
"""How a turn ended, in words."""


class Turn(msgspec.Struct):
    """A prompt and what became of it."""

    number: int
    prompt: str
    """The user's own words."""
    status: TurnStatus | None = None
    """Null while it runs."""
    answer: str = ""
    """The beginning and the end of the final text."""


class Call(msgspec.Struct):
    """A tool call and how it ended."""

    turn: int
    what: str
    """Tool and argument on one line."""
    status: ToolStatus | None = None
    """Null while it runs."""


class Memory:
    """The user's prompts, what was done for them, and how long the server said the last request was."""

    def __init__(self) -> None:
        self.session_id = ""
        self.turns: list[Turn] = []
        self.calls: deque[Call] = deque(maxlen=CALLS)
        self._open: dict[str, Call] = {}
        self.summary = ""
        """The model's last one."""
        self.summary_turn = 0
        """Number of the turn it was written in, or after."""
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
                self._open.clear()
            case CallStarted(turn=number, call_id=call_id):
                self._open[call_id] = call = Call(number, _what(event))
                self.calls.append(call)
            case CallEnded(call_id=call_id, status=ended) if call_id in self._open:
                self._open.pop(call_id).status = ended
            case MessageAppended(message=message):
                self.since += len(bytes(message)) + 1
            case UsageRecorded(usage=usage, subagent=False, summary=False) if usage.prompt_tokens:
                self.reported, self.since = usage.prompt_tokens, 0
            case ConversationCompacted(method=method, after_tokens=after):
                self.reported, self.since = after, 0
                self.is_summary = method == "summary"
                self.compactions += 1
                if self.is_summary:
                    self.summary, self.summary_turn = _summary_in(event), event.turn
            case _:
                pass


def _what(started: CallStarted) -> str:
    """The call on one line, bounded before its words are looked at: arguments may be megabytes."""
    about = (started.summary or started.arguments)[: 4 * CALL_CHARACTERS]
    line = " ".join(f"{started.name} {about}".split())
    return line if len(line) <= CALL_CHARACTERS else line[: CALL_CHARACTERS - 1] + "…"


def _summary_in(event: ConversationCompacted) -> str:
    """The first text of the assistant that calls nothing."""
    said = (read(bytes(message)) for message in event.messages)
    return next((one.text for one in said if one.role == "assistant" and not one.tool_calls), "")
