"""Chat Completions: the canonical messages are its messages, made over where a server differs."""

from typing import Any, Final

import msgspec

from actors.conversation import CLOSING, Conversation
from actors.provider.answers.stream import Assembly
from actors.provider.wires.forms import Forms
from actors.provider.wires.wire import PLAIN, Quirks
from ipc.messages import ModelAnswer

_decode_head: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class ChatWire:
    """Sends a conversation as it is where it can, which costs nothing."""

    path = "/chat/completions"

    def __init__(self, max_output_tokens: int = 0) -> None:
        self._max_output_tokens = max_output_tokens
        self._head: tuple[bytes, Quirks, bytes] | None = None
        self._forms: tuple[Quirks, Forms] = PLAIN, Forms(PLAIN)

    def body(self, conversation: Conversation, quirks: Quirks) -> bytes:
        """The conversation's own bytes, unless this server wants them otherwise."""
        if self._forms[0] != quirks:
            self._forms = quirks, Forms(quirks)
        messages = self._forms[1].of(conversation)
        return conversation.body(self._made_over(conversation.head, quirks), messages)

    def answering(self, url: str, quirks: Quirks) -> Assembly:
        """The reader of one answer."""
        return Assembly(url, quirks=quirks)

    def keep(self, answer: ModelAnswer) -> None:
        """Nothing of it has to be known later."""

    def _made_over(self, head: bytes, quirks: Quirks) -> bytes:
        """The head with the options that this server takes; made once."""
        if self._head is None or self._head[:2] != (head, quirks):
            self._head = head, quirks, _with_options(head, quirks, self._max_output_tokens)
        return self._head[2]


def _with_options(head: bytes, quirks: Quirks, max_output_tokens: int) -> bytes:
    limited = bool(max_output_tokens and quirks.limit_name)
    if quirks.stream_usage and not limited:
        return head
    members: dict[str, Any] = _decode_head(head + CLOSING)
    tools = members.pop("tools")
    del members["messages"]
    if not quirks.stream_usage:
        members.pop("stream_options", None)
    if limited:
        members[quirks.limit_name] = max_output_tokens
    start = msgspec.json.encode(members)[:-1]
    return start + b',"tools":' + bytes(tools) + b',"messages":['
