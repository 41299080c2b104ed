"""The conversation as a session's events tell it: whatever was lost, a strict server accepts what is left.

Rules
-----
Every call of an answer gets exactly one result, in the order of the calls; a result that was not recorded is
stood in for by one that says so, and a prompt without its message by the person's words. A result that no
call waits for, and an answer that says and calls nothing, are left out, and so is what is no message. The
system message stands first, also when it was written again in mid session.
"""

from collections.abc import Iterable

import msgspec

from actors.calls import failure
from actors.conversation import encode_tool_result, encode_user
from actors.sent_message import SentCall, read


class _Prompt(msgspec.Struct, frozen=True):
    text: str


class _Begun(msgspec.Struct, frozen=True):
    call_id: str


class Messages:
    """Collects what the log holds; looks into it only when it is asked for the conversation."""

    def __init__(self) -> None:
        self._system = b""
        self._collected: list[bytes | _Prompt | _Begun] = []
        self._prompt = -1
        """Where the prompt is that waits for its message; -1: none does."""

    def prompt(self, text: str) -> None:
        """Note that a turn began; its message comes next."""
        self._prompt = len(self._collected)
        self._collected.append(_Prompt(text))

    def add(self, message: bytes) -> None:
        """Take the next message, encoded."""
        if message.startswith(b'{"role":"system"'):
            self._system = message
            return
        if self._prompt >= 0:
            if message.startswith(b'{"role":"user"'):
                del self._collected[self._prompt]
            self._prompt = -1
        self._collected.append(message)

    def begin(self, call_id: str) -> None:
        """Note that a call of the last answer was begun."""
        self._collected.append(_Begun(call_id))

    def replace(self, messages: Iterable[bytes]) -> None:
        """Start over behind the system message; what was open went with the rest."""
        self._collected = list(messages)
        self._prompt = -1

    def balanced(self) -> tuple[bytes, ...]:
        """The conversation."""
        balanced, _ = self._balance()
        return ((self._system,) if self._system else ()) + tuple(balanced.kept)

    def stand_ins(self) -> tuple[bytes, ...]:
        """What stands at its end in place of messages that were not recorded."""
        balanced, recorded = self._balance()
        return tuple(balanced.kept[recorded:])

    def _balance(self) -> tuple["_Balanced", int]:
        """The conversation, and how much of it is there up to the last that was recorded."""
        balanced, recorded = _Balanced(), 0
        for collected in self._collected:
            match collected:
                case _Begun(call_id=call_id):
                    balanced.begun.add(call_id)
                case _Prompt(text=text):
                    balanced.close()  # what an earlier turn lost is not written any more
                    recorded = len(balanced.kept)
                    balanced.add(encode_user(text))
                case _:
                    balanced.add(collected)
                    recorded = len(balanced.kept)
        balanced.close()
        return balanced, recorded


class _Balanced:
    """Messages in which every call gets its one result, in order, and nothing else claims to be one."""

    def __init__(self) -> None:
        self.kept: list[bytes] = []
        self.begun: set[str] = set()
        self._open: list[SentCall] = []

    def add(self, encoded: bytes) -> None:
        try:
            message = read(encoded)
        except msgspec.ValidationError:
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


def _interrupted(call: SentCall, begun: bool) -> str:
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
