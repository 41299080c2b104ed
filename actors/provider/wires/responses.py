"""The Responses API: the canonical messages made into its items, its events read as chunks of a chat."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from actors.conversation import Conversation, without_echo
from actors.provider.answers.responses_reading import SEALED, ResponsesAssembly
from actors.provider.wires.wire import PLAIN, Quirks, read_head
from actors.sent_message import SentMessage, read
from ipc.messages import ModelAnswer

_encode: Final = msgspec.json.encode
_decode_tools: Final = msgspec.json.Decoder(list[dict[str, Any]]).decode


class ResponsesWire:
    """Sends everything with each request and lets the server store nothing.

    Reasoning comes sealed and goes back in front of the calls it led to.
    """

    path = "/responses"

    def __init__(self, max_output_tokens: int = 0) -> None:
        self._max_output_tokens = max_output_tokens
        self._quirks = PLAIN
        self._head: tuple[bytes, bytes, bytes] = b"", b"", b""
        self._items: dict[bytes, bytes] = {}
        self._own: set[str] = set()
        """Ids of the reasoning that this server has sealed for this process."""

    def body(self, conversation: Conversation, quirks: Quirks) -> bytes:
        """The request; each message becomes its items once."""
        messages = conversation.messages
        if self._quirks != quirks:
            self._quirks, self._head = quirks, (b"", b"", b"")
            self._items.clear()
        if len(self._items) > 2 * len(messages) + 64:
            self._items.clear()
        if self._head[:2] != (conversation.head, messages[0]):
            self._head = conversation.head, messages[0], self._made_head(conversation.head, messages[0])
        return conversation.body(self._head[2], list(map(self._made, messages[1:])))

    def answering(self, url: str, quirks: Quirks) -> ResponsesAssembly:
        """The reader of one answer."""
        return ResponsesAssembly(url, quirks)

    def keep(self, answer: ModelAnswer) -> None:
        """Remember what was sealed here: a server may refuse what another one has sealed."""
        self._own.update(str(one["item"].get("id")) for one in _sealed(answer.echo))

    def _made_head(self, head: bytes, system: bytes) -> bytes:
        known = read_head(head)
        members: dict[str, Any] = {
            "model": known.model,
            "instructions": read(system).text,
            "stream": True,
        }
        if self._quirks.store:
            members["store"] = False
        if self._quirks.summaries:
            members["reasoning"] = {"summary": "auto"}
        if self._quirks.sealed != "none":
            members["include"] = ["reasoning.encrypted_content"]
        if self._max_output_tokens and self._quirks.limit_name:
            members["max_output_tokens"] = self._max_output_tokens
        # Without `strict` a server that knows it makes a schema strict, which not every schema can be.
        loose = {"strict": False} if self._quirks.strict else {}
        members["tools"] = [
            {"type": "function", **tool["function"], **loose} for tool in _decode_tools(known.tools)
        ]
        return _encode(members).removesuffix(b"}") + b',"input":['

    def _made(self, message: bytes) -> bytes:
        items = self._items.get(message)
        if items is None:
            items = self._items[message] = b",".join(map(_encode, self._items_of(message)))
        return items

    def _items_of(self, message: bytes) -> Iterator[dict[str, Any]]:
        plain, echo = without_echo(message)
        sent = read(plain)
        match sent.role:
            case "assistant":
                yield from _among(self._taken_back(echo), list(_outputs(sent)))
            case "tool":
                yield {"type": "function_call_output", "call_id": sent.tool_call_id, "output": sent.text}
            case role:
                yield _message(role, "input_text", sent.text)

    def _taken_back(self, echo: str) -> Sequence[dict[str, Any]]:
        """The sealed reasoning of a message that this server wants back."""
        match self._quirks.sealed:
            case "all":
                return _sealed(echo)
            case "own":
                return [one for one in _sealed(echo) if one["item"].get("id") in self._own]
            case _:
                return []


def _outputs(sent: SentMessage) -> Iterator[dict[str, Any]]:
    """What a model said and called."""
    if sent.text:
        yield _message("assistant", "output_text", sent.text)
    for call in sent.tool_calls or ():
        function = call.function
        yield {
            "type": "function_call",
            "call_id": call.id,
            "name": function.name,
            "arguments": function.arguments,
        }


def _message(role: str, kind: str, text: str) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def _among(sealed: Sequence[dict[str, Any]], outputs: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Reasoning in front of what it led to; none behind the last, where servers refuse it."""
    for position, output in enumerate(outputs):
        yield from (one["item"] for one in sealed if one["at"] == position)
        yield output


def _sealed(echo: str) -> list[dict[str, Any]]:
    """The reasoning in an answer's `echo`: objects with `item`, and `at`, the output it stands before."""
    if not echo:
        return []
    found: list[dict[str, Any]] = msgspec.json.decode(echo, type=dict[str, Any]).get(SEALED) or []
    return found
