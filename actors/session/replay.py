"""What an earlier life of a session showed, rebuilt from its events (pure)."""

from collections.abc import Iterable, Iterator

import msgspec

from actors.session.events import (
    AnyEvent,
    CallEnded,
    CallStarted,
    MessageAppended,
    Notice,
    PromptTaken,
    TurnEnded,
)
from ipc.messages import (
    AnyFact,
    MessageDelta,
    NoticeRaised,
    Problem,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)

INTERRUPTED = Problem(
    code="interrupted",
    message="Fido was interrupted while this turn was running.",
    next_step="Send the prompt again, or say how to go on.",
)


class _Said(msgspec.Struct):
    role: str
    content: object = None


_decode = msgspec.json.Decoder(_Said).decode


def facts_of(events: Iterable[AnyEvent]) -> Iterator[AnyFact]:
    """The facts that draw these events; calls that broke off are closed as interrupted."""
    open_calls: dict[str, str] = {}
    for event in events:
        match event:
            case PromptTaken(turn=turn, text=text):
                yield TurnStarted(turn=turn, prompt=text)
            case MessageAppended(turn=turn, message=message):
                said = _decode(message)
                if said.role == "assistant" and isinstance(said.content, str):
                    yield MessageDelta(turn=turn, kind="text", text=said.content)
            case CallStarted(call_id=call_id, name=name, summary=summary):
                open_calls[call_id] = name
                yield ToolStarted(call_id=call_id, name=name, summary=summary)
            case CallEnded():
                open_calls.pop(event.call_id, None)
                yield ToolFinished(
                    call_id=event.call_id,
                    name=event.name,
                    status=event.status,
                    duration_ms=event.duration_ms,
                    display=event.display,
                )
            case TurnEnded():
                yield TurnFinished(
                    turn=event.turn,
                    status=event.status,
                    final_text=event.final_text,
                    problem=event.problem,
                )
            case Notice(level=level, message=message):
                yield NoticeRaised(level=level, message=message)
            case _:
                pass
    for call_id, name in open_calls.items():
        yield ToolFinished(
            call_id=call_id, name=name, status="cancelled", duration_ms=0, display="interrupted"
        )
