"""Asks the model for the summary of a conversation, and bounds what it says."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final, NamedTuple, Protocol

from actors.compaction.record import request_for
from actors.compaction.rewrite import shortened, weight
from actors.conversation import Conversation, encode_user
from actors.provider.interface import Provider, ProviderError
from actors.sent_message import read
from ipc.messages import ModelAnswer, RetryScheduled, StreamEvent, TextDelta, Usage

DEADLINE_S: Final = 300.0
"""Longest wait for a summary."""
_READ_ON: Final = 4
"""Times its limit that a summary may have before it is read no further."""
_HEADING: Final = "## "
"""Begins each section that was asked for."""

log = logging.getLogger(__name__)


class Books(Protocol):
    """Where tokens are counted and retries are told."""

    def used(self, usage: Usage, *, summary: bool) -> None: ...

    def on_stream(self, event: StreamEvent) -> None: ...


class Summary(NamedTuple):
    """A summary within its limit."""

    text: str
    remark: str = ""
    """What a person should know of it; empty when all is well."""


class NoSummary(Exception):
    """The model gave none; the text tells a person why. `window` as in `ProviderError`."""

    def __init__(self, reason: str, *, overflow: bool = False, window: int = 0) -> None:
        super().__init__(reason)
        self.overflow = overflow
        self.window = window


class Summarizer:
    """Sends the conversation as it is with one message more, so that the provider's cache serves it.

    A prompt that nobody has begun to answer is left out: it is neither done nor open, and many servers take
    no two messages of the user in a row.
    """

    def __init__(self, provider: Provider, books: Books, deadline_s: float = DEADLINE_S) -> None:
        self._provider = provider
        self._books = books
        self._deadline_s = deadline_s

    async def ask(self, conversation: Conversation, focus: str, limit: int, *, running: bool) -> Summary:
        """Get a summary of at most `limit` bytes; the conversation stays as it is. Raises `NoSummary`."""
        messages = conversation.messages
        if running and read(messages[-1]).role == "user":
            messages, running = messages[:-1], False
        request = encode_user(request_for(limit, focus, running=running))
        asked = Conversation(conversation.head, [*messages, request])
        try:
            async with asyncio.timeout(self._deadline_s), aclosing(self._provider.stream(asked)) as stream:
                text, finish_reason = await self._listen(stream, limit)
        except TimeoutError:
            raise NoSummary(f"There was no summary within {self._deadline_s:g} s.") from None
        except ProviderError as error:
            overflow = error.code == "context_length_exceeded"
            raise NoSummary(error.message, overflow=overflow, window=error.window) from error
        return _bounded(text.strip(), finish_reason, limit)

    async def _listen(self, stream: AsyncGenerator[StreamEvent, None], limit: int) -> tuple[str, str]:
        """The text as far as it is read, and why it ended; `length` also when it was left unread."""
        parts: list[str] = []
        left = limit * _READ_ON
        async for event in stream:
            match event:
                case TextDelta(text=text):
                    parts.append(text)
                    left -= len(text)
                    if left < 0:
                        return "".join(parts), ""
                case RetryScheduled():
                    self._books.on_stream(event)
                case ModelAnswer(text=text, usage=usage, finish_reason=reason):
                    if usage is not None:
                        self._books.used(usage, summary=True)
                    return text, reason
                case _:
                    pass
        return "".join(parts), ""


def _bounded(text: str, finish_reason: str, limit: int) -> Summary:
    if not text:
        called = " but called tools" if finish_reason == "tool_calls" else ""
        raise NoSummary(f"The model gave no summary{called}.")
    if finish_reason == "tool_calls" and _HEADING not in text:
        raise NoSummary("The model went on with its work instead of a summary.")
    if weight(text) > limit:
        log.warning("a summary of %d characters or more was cut to %d bytes", len(text), limit)
        return Summary(shortened(text, limit), "The model's summary was too long and was cut.")
    if finish_reason == "length":
        return Summary(f"{text}\n[cut at the output limit]", "The summary ended at the output limit.")
    return Summary(text)
