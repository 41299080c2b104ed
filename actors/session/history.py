"""What a session's events add up to: a conversation that any server accepts, the plan, the usage (pure)."""

from collections.abc import Iterable

import msgspec

from actors.calls import failure
from actors.conversation import encode_tool_result
from actors.session.events import (
    AnyEvent,
    CallStarted,
    ConversationCompacted,
    MessageAppended,
    PromptTaken,
    TurnEnded,
    UsageRecorded,
)
from ipc.messages import Usage


class History(msgspec.Struct, frozen=True):
    """The fold of a session."""

    messages: tuple[bytes, ...] = ()
    """Encoded, in order, every tool call with exactly one result behind it."""
    turns: int = 0
    """Number of the last turn."""
    interrupted: int | None = None
    """The turn that was running when the session broke off."""
    usage: Usage = Usage()
    """The whole session, subagents included."""
    subagent_usage: Usage = Usage()
    """The subagents' share."""
    context_tokens: int = 0
    """Size of the last request of the parent and its answer, tokens."""


class _Function(msgspec.Struct, frozen=True):
    name: str = ""


class _Call(msgspec.Struct, frozen=True):
    id: str
    function: _Function = _Function()


class _Message(msgspec.Struct, frozen=True):
    role: str
    content: object = None
    tool_calls: tuple[_Call, ...] | None = None
    tool_call_id: str = ""


_decode = msgspec.json.Decoder(_Message).decode


def fold(events: Iterable[AnyEvent]) -> History:
    """Add up the events of one session; deterministic, so that the same log gives the same bytes."""
    usage = subagent_usage = Usage()
    turns, context_tokens, running = 0, 0, False
    messages = _Balanced()
    for event in events:
        match event:
            case MessageAppended(message=message):
                messages.add(bytes(message))
            case ConversationCompacted(messages=replaced, after_tokens=after):
                messages.replace(replaced)
                context_tokens = after
            case CallStarted(call_id=call_id):
                messages.begun.add(call_id)
            case PromptTaken(turn=turn):
                turns, running = turn, True
            case TurnEnded():
                running = False
            case UsageRecorded(usage=spent, subagent=subagent):
                usage = add_usage(usage, spent)
                if subagent:
                    subagent_usage = add_usage(subagent_usage, spent)
                else:
                    context_tokens = spent.prompt_tokens + spent.completion_tokens
            case _:
                pass
    messages.close()
    return History(
        messages=tuple(messages.kept),
        turns=turns,
        interrupted=turns if running else None,
        usage=usage,
        subagent_usage=subagent_usage,
        context_tokens=context_tokens,
    )


def add_usage(one: Usage, other: Usage) -> Usage:
    """The sum; the cost is null only when neither has one."""
    costs = [usage.cost_usd for usage in (one, other) if usage.cost_usd is not None]
    return Usage(
        prompt_tokens=one.prompt_tokens + other.prompt_tokens,
        cached_tokens=one.cached_tokens + other.cached_tokens,
        completion_tokens=one.completion_tokens + other.completion_tokens,
        cost_usd=sum(costs) if costs else None,
    )


class _Balanced:
    """Messages in which every call gets its one result, in order, and nothing else claims to be one."""

    def __init__(self) -> None:
        self.kept: list[bytes] = []
        self.begun: set[str] = set()
        self._open: list[_Call] = []

    def add(self, encoded: bytes) -> None:
        message = _decode(encoded)
        if message.role == "system":
            self.kept.insert(0, encoded)  # also when a damaged one was replaced in mid session
            return
        if message.role == "tool":
            self._answer(message.tool_call_id, encoded)
            return
        self.close()
        if message.role == "assistant":
            if not message.tool_calls and _is_empty(message.content):
                return
            self._open = list(message.tool_calls or ())
            self.begun.clear()
        self.kept.append(encoded)

    def replace(self, messages: Iterable[bytes | msgspec.Raw]) -> None:
        """Start over behind the system message; what was open went with the rest."""
        self._open = []
        self.kept = [kept for kept in self.kept[:1] if _decode(kept).role == "system"]
        for message in messages:
            self.add(bytes(message))
        self.close()

    def close(self) -> None:
        """Give every open call the honest result that there is none."""
        while self._open:
            call = self._open.pop(0)
            self.kept.append(encode_tool_result(call.id, _interrupted(call, call.id in self.begun)))

    def _answer(self, call_id: str, encoded: bytes) -> None:
        if all(call.id != call_id for call in self._open):
            return
        later = self._open
        position = next(index for index, call in enumerate(later) if call.id == call_id)
        self._open, later = later[:position], later[position + 1 :]
        self.close()
        self._open = later
        self.kept.append(encoded)


def _is_empty(content: object) -> bool:
    return not content or (isinstance(content, str) and not content.strip())


def _interrupted(call: _Call, begun: bool) -> str:
    name = call.function.name or "the tool"
    if begun:
        message = (
            f"Fido was interrupted while {name} was running; its result was lost, it may have taken effect."
        )
        next_step = "Look at the current state before you repeat the call."
    else:
        message = f"Fido was interrupted before it recorded a start of {name}; it most likely had no effect."
        next_step = "Repeat the call if it is still needed."
    return failure("interrupted", message, next_step)
