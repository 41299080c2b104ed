"""Asking a provider in a test: a conversation out, all events or the one error back."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any, TypeVar

import pytest

from actors.conversation import Conversation, encode_head, encode_system, encode_user
from actors.provider.direct import DirectProvider
from actors.provider.interface import ProviderError
from actors.provider.retry import RetryPolicy
from actors.provider.servers.dialects import GENERIC
from actors.provider.servers.server import Server
from actors.settings.tables import Timeouts
from ipc.messages import StreamEvent

T = TypeVar("T")
KEY = "sk-canary-0123456789"
AT_ONCE = RetryPolicy(attempts=4, base_s=0.0)
QUICK = Timeouts(connect_s=1.0, idle_s=0.1, total_s=5.0)


def conversation(*messages: bytes) -> Conversation:
    head = encode_head("m", b"[]", {"stream": True, "stream_options": {"include_usage": True}})
    return Conversation(head, [encode_system("s"), *(messages or (encode_user("hello"),))])


def make(url: str, key: str | None = KEY, timeouts: Timeouts | None = None, **options: Any) -> DirectProvider:
    server = Server(url, key or "", options.pop("headers", {}), options.pop("dialect", GENERIC))
    return DirectProvider(server, timeouts or Timeouts(), options.pop("retry", AT_ONCE), **options)


async def collect(provider: DirectProvider, sent: Conversation | None = None) -> list[StreamEvent]:
    return [event async for event in provider.stream(sent or conversation())]


def play(work: Callable[[DirectProvider], Awaitable[T]], url: str, **options: Any) -> T:
    """Do some work with a provider, and close it."""

    async def main() -> T:
        async with aclosing(make(url, **options)) as provider:
            return await work(provider)

    return asyncio.run(main())


def run(url: str, *sent: Conversation, turns: int = 1, **options: Any) -> list[StreamEvent]:
    """All events of so many turns with one provider."""

    async def work(provider: DirectProvider) -> list[StreamEvent]:
        return [e for one in sent or [conversation()] * turns for e in await collect(provider, one)]

    return play(work, url, **options)


def fail(url: str, **options: Any) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        run(url, **options)
    return caught.value
