"""A message of the conversation read back from its bytes, as far as Fido looks at it again (pure)."""

import msgspec


class SentFunction(msgspec.Struct, frozen=True):
    """What was called."""

    name: str = ""
    arguments: str = ""


class SentCall(msgspec.Struct, frozen=True):
    """One call of an answer."""

    id: str
    function: SentFunction = SentFunction()


class SentMessage(msgspec.Struct, frozen=True):
    """Any role."""

    role: str
    content: object = None
    tool_calls: tuple[SentCall, ...] | None = None
    tool_call_id: str = ""

    @property
    def text(self) -> str:
        """The content; empty when it is none, or not text."""
        return self.content if isinstance(self.content, str) else ""


read = msgspec.json.Decoder(SentMessage).decode
"""Raises `msgspec.DecodeError` for what is no message."""
