"""What an earlier life of a session showed, rebuilt from its events (pure)."""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from actors.session.events import (
    AnyEvent,
    CallDecided,
    CallEnded,
    CallStarted,
    ConversationCompacted,
    MessageAppended,
    Notice,
    PromptTaken,
    TurnEnded,
)
from ipc.messages import (
    AnyFact,
    CompactionFinished,
    MessageDelta,
    NoticeRaised,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)

SHOWN: Final = 2_000
"""Events that are shown again at most: some 30 turns; what was before stands in the log."""
EARLIER: Final = "Earlier turns of this session are not shown again; they are in its log."
_DRAWN: Final = (
    PromptTaken,
    MessageAppended,
    CallStarted,
    CallDecided,
    CallEnded,
    TurnEnded,
    Notice,
    ConversationCompacted,
)
_ANSWER: Final = b'{"role":"assistant"'


class _Said(msgspec.Struct):
    content: object = None


_decode = msgspec.json.Decoder(_Said).decode


class Replay:
    """A fold that keeps the end of a session, and tells it as facts."""

    def __init__(self, shown: int = SHOWN) -> None:
        self._kept: deque[AnyEvent] = deque(maxlen=shown)
        self._prompt: PromptTaken | None = None
        """The last prompt that is no longer kept."""
        self._dropped = False

    def apply(self, event: AnyEvent) -> None:
        """Take the next event."""
        if type(event) not in _DRAWN:  # half the time of isinstance
            return
        if isinstance(event, MessageAppended) and not _is_answer(event.message):
            return
        if isinstance(event, CallDecided) and event.by != "person":
            return
        if len(self._kept) == self._kept.maxlen:
            self._dropped = True
            if isinstance(self._kept[0], PromptTaken):
                self._prompt = self._kept[0]
        self._kept.append(event)

    def facts(self) -> Iterator[AnyFact]:
        """What draws the kept events, whole turns where there are any, a call always with its end.

        Calls of a turn that has no end yet are left open: who closes the turn closes them.
        """
        if not self._dropped:
            return _facts(self._kept)
        return _facts([Notice(level="info", message=EARLIER), *self._whole_turns()])

    def _whole_turns(self) -> list[AnyEvent]:
        kept = list(self._kept)
        for position, event in enumerate(kept):
            if isinstance(event, PromptTaken):
                return kept[position:]
        return [self._prompt, *kept] if self._prompt else kept


def _is_answer(message: msgspec.Raw) -> bool:
    return bytes(memoryview(message)[: len(_ANSWER)]) == _ANSWER


def _facts(events: Iterable[AnyEvent]) -> Iterator[AnyFact]:
    running: dict[str, str] = {}
    decided: dict[str, str] = {}
    for event in events:
        match event:
            case PromptTaken(turn=turn, text=text):
                yield from _cut_off(running)
                yield TurnStarted(turn=turn, prompt=text)
            case MessageAppended(turn=turn, message=message):
                said = _decode(message)
                if isinstance(said.content, str):
                    yield MessageDelta(turn=turn, kind="text", text=said.content)
            case CallStarted(call_id=call_id, name=name, summary=summary):
                running[call_id] = name
                yield ToolStarted(call_id=call_id, name=name, summary=summary)
            case CallDecided(call_id=call_id, because=because):
                decided[call_id] = because
            case CallEnded() if running.pop(event.call_id, None) is not None:
                yield ToolFinished(
                    call_id=event.call_id,
                    name=event.name,
                    status=event.status,
                    duration_ms=event.duration_ms,
                    display=event.display,
                    decided=decided.pop(event.call_id, ""),
                )
            case TurnEnded():
                yield from _cut_off(running)
                yield TurnFinished(
                    turn=event.turn,
                    status=event.status,
                    final_text=event.final_text,
                    problem=event.problem,
                    worked_s=event.worked_s,
                )
            case Notice(level=level, message=message):
                yield NoticeRaised(level=level, message=message)
            case ConversationCompacted():
                yield CompactionFinished(
                    method=event.method, before_tokens=event.before_tokens, after_tokens=event.after_tokens
                )
            case _:
                pass


def _cut_off(running: dict[str, str]) -> Iterator[ToolFinished]:
    """End the calls whose ends were lost."""
    for call_id, name in running.items():
        yield ToolFinished(
            call_id=call_id, name=name, status="cancelled", duration_ms=0, display="interrupted"
        )
    running.clear()
