"""The boundary between a conversation and one protocol on the wire: requests out, answers in."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

import msgspec

from actors.conversation import CLOSING, Conversation
from ipc.messages import ModelAnswer, StreamEvent

CallContent = Literal["null", "empty", "absent"]
"""What stands for the content of a message that only calls tools."""
LimitName = Literal["max_completion_tokens", "max_tokens", "max_output_tokens", ""]
"""Name of the parameter that bounds an answer; empty: the server takes none."""


@dataclass(frozen=True, slots=True)
class Quirks:
    """In what a server differs from the plain protocol: told by its dialect, or learnt from its refusals."""

    limit_name: LimitName = "max_tokens"
    stream_usage: bool = True
    """Whether it takes `stream_options`."""
    call_content: CallContent = "null"
    echo: str = ""
    """Member that has to carry the reasoning back; empty: none may."""
    keeps_reasoning: bool = True
    """Whether reasoning is stored in front of calls although nobody knows yet that it has to go back."""
    extras: bool = False
    """Whether calls have to carry what came with them, such as Gemini's signature of a thought."""
    single_calls: bool = False
    """Whether it takes one call in a message at most."""
    alternating: bool = False
    """Whether it refuses two prompts in a row, and a prompt right behind a tool result."""
    short_ids: bool = False
    """Whether ids of calls have to be nine letters and digits."""
    sealed: Literal["all", "own", "none"] = "all"
    """Which sealed reasoning it takes back: all, only what it sealed for this process, or none."""
    summaries: bool = True
    """Whether it can be asked for summaries of its reasoning."""
    store: bool = True
    """Whether it takes the word that nothing is to be left there."""
    strict: bool = True
    """Whether it takes `strict` beside the schema of a tool."""
    text_calls: bool = False
    """Whether a call that comes as tagged text in the answer is one."""


PLAIN: Final = Quirks()


class Answering(Protocol):
    """One answer on its way: takes decoded events in order. `feed` and `answer` raise `ProviderError`."""

    size: int
    """Characters of meaning so far; an event that leaves it as it is was a keep-alive."""
    finish_reason: str
    """Set as soon as the answer is complete but for usage and the like."""

    def feed(self, chunk: Any) -> None:
        """Take one decoded event: any JSON value."""
        ...

    def take(self) -> list[StreamEvent]:
        """Return what came since the last call; neighbours of one kind are one event."""
        ...

    def answer(self, *, done: bool) -> ModelAnswer:
        """Return the whole answer; `done` tells whether `[DONE]` came."""
        ...


class Wire(Protocol):
    """One protocol. A request extends the one before it, byte for byte, unless the quirks have changed."""

    path: str
    """Where requests go, behind the base URL."""

    def body(self, conversation: Conversation, quirks: Quirks) -> bytes:
        """The request for a conversation: its canonical bytes, made over only where this server needs it."""
        ...

    def answering(self, url: str, quirks: Quirks) -> Answering:
        """The reader of one answer; `url` is for its errors."""
        ...

    def keep(self, answer: ModelAnswer) -> None:
        """Take note of an answer, should the wire have to know later which ones were its own."""
        ...


MakeWire = Callable[[int], Wire]
"""Makes a wire that asks for so many tokens of an answer at most; 0: as many as the server gives."""


class Head(msgspec.Struct, frozen=True):
    """The head of a conversation, read back."""

    model: str
    tools: msgspec.Raw
    """The encoded array, as it was advertised."""

    @property
    def tool_names(self) -> tuple[str, ...]:
        """The names of the tools, in order."""
        return tuple(tool.function.name for tool in _read_tools(self.tools))


class _Function(msgspec.Struct, frozen=True):
    name: str = ""


class _Tool(msgspec.Struct, frozen=True):
    function: _Function = _Function()


def read_head(head: bytes) -> Head:
    """Read what a conversation begins with."""
    return _read_head(head + CLOSING)


_read_head: Final = msgspec.json.Decoder(Head).decode
_read_tools: Final = msgspec.json.Decoder(tuple[_Tool, ...]).decode
