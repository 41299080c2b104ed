"""A provider whose answers hold none of Fido's own secrets, in whatever pieces a server sends them."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import assert_never

import msgspec

from actors.conversation import Conversation
from actors.provider.interface import Provider, ProviderError
from actors.secrets.redactor import RedactedStream, Redactor
from ipc.messages import (
    ModelAnswer,
    ReasoningDelta,
    RetryScheduled,
    StreamEvent,
    TextDelta,
    ToolCall,
)


class RedactedProvider:
    """Stands before another provider; nothing of an answer comes past it as it was.

    A secret that a server sends back, or that a model found, would else be a fact, an event and a message.
    """

    def __init__(self, provider: Provider, redactor: Redactor) -> None:
        self._provider = provider
        self._redactor = redactor

    async def stream(self, conversation: Conversation) -> AsyncGenerator[StreamEvent, None]:
        """Yield what comes, redacted; a piece may come later by what might begin a secret."""
        answer = _Answer(self._redactor)
        try:
            async with aclosing(self._provider.stream(conversation)) as events:
                async for event in events:
                    for safe in answer.take(event):
                        yield safe
        except ProviderError as error:
            for safe in answer.rest():
                yield safe
            raise self._safe(error) from None

    def _safe(self, error: ProviderError) -> ProviderError:
        message, next_step = self._redactor.report(error.message), self._redactor.report(error.next_step)
        return ProviderError(error.code, message, next_step, window=error.window, status=error.status)


class _Answer:
    """One answer as it comes."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._text = RedactedStream(redactor)
        self._reasoning = RedactedStream(redactor)

    def take(self, event: StreamEvent) -> Iterator[StreamEvent]:
        match event:
            case TextDelta(text=text):
                if safe := self._text.feed(text):
                    yield TextDelta(text=safe)
            case ReasoningDelta(text=text):
                if safe := self._reasoning.feed(text):
                    yield ReasoningDelta(text=safe)
            case RetryScheduled(reason=reason):
                yield msgspec.structs.replace(event, reason=self._redactor.report(reason))
            case ModelAnswer():
                yield from self.rest()
                yield self._whole(event)
            case _:
                assert_never(event)

    def rest(self) -> Iterator[StreamEvent]:
        """What was held back until the end."""
        if safe := self._reasoning.end():
            yield ReasoningDelta(text=safe)
        if safe := self._text.end():
            yield TextDelta(text=safe)

    def _whole(self, answer: ModelAnswer) -> ModelAnswer:
        content = self._redactor.content
        return msgspec.structs.replace(
            answer,
            text=content(answer.text),
            reasoning=content(answer.reasoning),
            tool_calls=tuple(map(self._call, answer.tool_calls)),
            finish_reason=content(answer.finish_reason),
            echo=self._redactor.arguments(answer.echo),
        )

    def _call(self, call: ToolCall) -> ToolCall:
        content = self._redactor.content
        arguments = self._redactor.arguments(call.arguments)
        return ToolCall(id=content(call.id), name=content(call.name), arguments=arguments)
