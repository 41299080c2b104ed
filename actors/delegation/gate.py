"""The parent's gate: what of a worker's request goes on to the model (pure).

Rules
-----
Each message is decoded and encoded again, so nothing but plain, paired messages gets through; the bytes of an
honest worker come out as they went in. An answer is one that the parent relayed itself. A call that does more
than read carries the refusal that the worker's guard must have given. A prompt is one of the two that there
are. The results of reading calls are the worker's own word, those from the web included: what may be asked of
the web was decided when it was asked.
"""

from collections.abc import Callable, Iterable
from typing import Final, Literal, assert_never

import msgspec

from actors.calls import sendable
from actors.catalog.aliases import canonical_name
from actors.catalog.builtin import EFFECTS
from actors.conversation import Conversation, encode_assistant, encode_user, without_echo
from actors.delegation.policy import INTERRUPTED, refusal
from actors.delegation.wording import PROMPTS
from ipc.messages import ModelAnswer, ToolCall


class _Function(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    arguments: str


class _Call(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    type: Literal["function"]
    function: _Function


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    role: Literal["assistant", "tool", "user"]
    content: str | None = None
    tool_calls: tuple[_Call, ...] = ()
    tool_call_id: str = ""
    echo: str = ""
    """As in `ModelAnswer`; on the wire its members are the message's own."""

    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(
            ToolCall(id=call.id, name=call.function.name, arguments=call.function.arguments)
            for call in self.tool_calls
        )


_decode: Final = msgspec.json.Decoder(Message).decode


def decode_message(raw: bytes) -> Message:
    """Read one encoded message. Raises `ValueError` and `RecursionError`."""
    plain, echo = without_echo(raw)
    message = _decode(plain)
    return msgspec.structs.replace(message, echo=echo) if echo else message


class BadTail(Exception):
    """A worker wants to send what no honest worker would; end it. Its words are never the worker's."""


class Gate:
    """Builds the conversation of one request from what the worker sent behind its opening."""

    def __init__(
        self,
        agent_id: str,
        conversation: Conversation,
        relayed: Iterable[ModelAnswer],
        redact: Callable[[str], str] = str,
    ) -> None:
        """`redact` takes out of a result what no model may read; a worker does not know it."""
        self._agent_id = agent_id
        self._conversation = conversation
        self._relayed = iter(relayed)
        self._redact = redact
        self._due: dict[str, str] = {}
        """By call: the tool that it means."""

    def take(self, tail: Iterable[bytes]) -> None:
        """Append the messages. Raises `BadTail` at what no honest worker sends."""
        try:
            for raw in tail:
                self._take(decode_message(raw))
        except (ValueError, RecursionError) as error:
            # The error may quote what the worker wrote, and its parent speaks in its own words alone.
            raise BadTail("the request is not a conversation") from error
        if self._conversation.open_calls:
            raise BadTail("the request leaves tool calls without a result")

    def _take(self, message: Message) -> None:
        content = message.content or ""
        match message.role:
            case "assistant":
                self._take_answer(message)
            case "tool":
                self._check_refusal(message.tool_call_id, content)
                self._conversation.append_result(message.tool_call_id, self._redact(content))
            case "user" if content in PROMPTS:
                self._conversation.append(encode_user(content))
            case "user":
                raise BadTail("the request holds a prompt that nobody gave")
            case _:
                assert_never(message.role)

    def _take_answer(self, message: Message) -> None:
        # The search goes on where it ended: answers may be left out, but not swapped or repeated.
        if not any(_is_of(message, answer) for answer in self._relayed):
            raise BadTail("the request holds an answer that the model did not give")
        self._due = {call.id: canonical_name(call.name) for call in message.calls()}
        kept = ModelAnswer(text=message.content or "", tool_calls=message.calls(), echo=message.echo)
        self._conversation.append_answer(kept)

    def _check_refusal(self, call_id: str, content: str) -> None:
        name = self._due.get(call_id, "")
        refused = refusal(self._agent_id, name, EFFECTS.get(name, "read"))
        if refused is not None and content not in (refused.content, INTERRUPTED):
            raise BadTail(f"the request holds a result of {name}, which it may not call")


def _is_of(message: Message, answer: ModelAnswer) -> bool:
    """Whether a message is an answer as it was relayed, or the beginning of its text."""
    content = message.content or ""
    if message.tool_calls:
        whole = encode_assistant(answer.text, [sendable(call) for call in answer.tool_calls], answer.echo)
        return encode_assistant(content, message.calls(), message.echo) == whole
    if message.echo and encode_assistant("", (), message.echo) != encode_assistant("", (), answer.echo):
        return False
    return content != "" and answer.text.startswith(content)
