"""Messages in the form that one server takes, each made over once.

Rules
-----
A message is made over alone, so that a request still extends the one before it. An answer with several
calls becomes one for each, with its result behind it, where a server takes one call at a time. Where roles
must alternate, prompts that follow each other are joined, and a word of the assistant stands between a
result and a prompt: a turn that was cancelled leaves such behind. Where calls are signed, the first call of a
message that has no signature, since another model or Fido itself made it, says that it has none.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, assert_never

import msgspec

from actors.conversation import (
    Conversation,
    encode_assistant,
    encode_tool_result,
    encode_user,
    without_echo,
)
from actors.provider.answers.echo import DETAILS, EXTRAS, REASONING
from actors.provider.wires.wire import Quirks
from actors.sent_message import read

SPARE: Final = 64
"""How many messages made over are kept besides twice those of a conversation."""
NO_REASONING: Final = " "
"""Stands in for reasoning that a server demands of a message which never had any; some take no empty one."""
BRIDGE: Final = "(stopped)"
"""What the assistant says between a result and a prompt, where a server wants it to say something."""
UNSIGNED: Final = {"google": {"thought_signature": "skip_thought_signature_validator"}}
"""What Google documents for a call that Gemini did not make: https://ai.google.dev/gemini-api/docs/thought-signatures"""
_ANSWER: Final = b'{"role":"assistant"'
_RESULT: Final = b'{"role":"tool"'
_PROMPT: Final = b'{"role":"user"'
_encode: Final = msgspec.json.encode


class Forms:
    """Makes messages over for one set of quirks."""

    def __init__(self, quirks: Quirks) -> None:
        self._quirks = quirks
        self._made: dict[bytes, tuple[bytes, ...]] = {}
        wants = quirks.echo or quirks.extras or quirks.single_calls or quirks.alternating or quirks.short_ids
        self._is_plain = not wants and quirks.call_content == "null"

    def of(self, conversation: Conversation) -> Sequence[bytes]:
        """The messages as this server takes them; the very sequence where nothing is to be done."""
        messages = conversation.messages
        if self._is_plain and not conversation.carries_echo:
            return messages
        if len(self._made) > 2 * len(messages) + SPARE:
            self._made.clear()
        made = self._one_by_one(messages)
        return list(_alternating(made) if self._quirks.alternating else made)

    def _one_by_one(self, messages: Iterable[bytes]) -> Iterator[bytes]:
        """Each message made over; the calls of an answer that was split each go before their result."""
        waiting: list[bytes] = []
        for message in messages:
            parts = self._made.get(message)
            if parts is None:
                parts = self._made[message] = self._parts(message)
            yield parts[0]
            if waiting:
                yield waiting.pop(0)
            waiting += parts[1:]

    def _parts(self, message: bytes) -> tuple[bytes, ...]:
        if message.startswith(_ANSWER):
            return self._answer(message)
        if self._quirks.short_ids and message.startswith(_RESULT):
            result = read(message)
            return (encode_tool_result(_short(result.tool_call_id), result.text),)
        return (message,)

    def _answer(self, message: bytes) -> tuple[bytes, ...]:
        plain, echo = without_echo(message)
        members: dict[str, Any] = msgspec.json.decode(plain)
        calls = members.pop("tool_calls", [])
        stored: dict[str, Any] = msgspec.json.decode(echo or "{}")
        wanted = self._echo(stored)
        if self._quirks.extras and calls:
            calls = _signed(calls, stored.get(EXTRAS))
        if self._quirks.short_ids:
            calls = [call | {"id": _short(call["id"])} for call in calls]
        if not calls:
            return (_encode(members | wanted),)
        if not members.get("content"):
            members = self._without_content(members)
        if not self._quirks.single_calls:
            return (_encode(members | {"tool_calls": calls} | wanted),)
        bare = self._without_content(members)
        heads = [members, *[bare] * (len(calls) - 1)]
        return tuple(
            _encode(head | {"tool_calls": [call]} | wanted) for head, call in zip(heads, calls, strict=True)
        )

    def _echo(self, members: dict[str, Any]) -> dict[str, Any]:
        """The member that carries the reasoning back, as it was stored."""
        name = self._quirks.echo
        if not name:
            return {}
        if name in members or name == DETAILS:
            return {name: members[name]} if name in members else {}
        return {name: next(filter(None, map(members.get, REASONING)), NO_REASONING)}

    def _without_content(self, members: dict[str, Any]) -> dict[str, Any]:
        rest = {name: value for name, value in members.items() if name != "content"}
        match self._quirks.call_content:
            case "null":
                return rest | {"content": None}
            case "empty":
                return rest | {"content": ""}
            case "absent":
                return rest
            case never:
                assert_never(never)


def _signed(calls: Sequence[dict[str, Any]], stored: Any) -> list[dict[str, Any]]:
    """The calls with what came with them; of calls that were made together Gemini signs the first alone."""
    known = stored if isinstance(stored, dict) else {}
    made = [call | {EXTRAS: known[call["id"]]} if call["id"] in known else call for call in calls]
    return made if made != calls else [calls[0] | {EXTRAS: UNSIGNED}, *calls[1:]]


def _short(call_id: str) -> str:
    """An id of nine letters and digits: the id itself where it is one."""
    if len(call_id) == 9 and call_id.isascii() and call_id.isalnum():
        return call_id
    return hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()[:9]


def _alternating(messages: Iterable[bytes]) -> Iterator[bytes]:
    prompts: list[bytes] = []
    is_result = False
    for message in messages:
        if message.startswith(_PROMPT):
            if is_result:
                yield encode_assistant(BRIDGE)
            prompts.append(message)
        else:
            if prompts:
                yield _joined(prompts)
                prompts = []
            yield message
        is_result = message.startswith(_RESULT)
    if prompts:
        yield _joined(prompts)


def _joined(prompts: Sequence[bytes]) -> bytes:
    if len(prompts) == 1:
        return prompts[0]
    return encode_user("\n\n".join(read(prompt).text for prompt in prompts))
