"""The provider of a session: the server that the settings name, or the built-in model on the same wire."""

from contextlib import AsyncExitStack
from typing import Final

from actors.provider.chat import ChatWire
from actors.provider.direct import DirectProvider
from actors.provider.retry import RetryPolicy
from actors.provider.wire import MakeWire
from actors.settings.settings import Settings
from actors.settings.tables import WireApi

WIRES: Final[dict[WireApi, MakeWire]] = {"chat": ChatWire}


async def open_provider(settings: Settings, closing: AsyncExitStack) -> DirectProvider:
    """Make it ready to be asked; `closing` ends it, and the built-in model with it."""
    base_url, key = settings.endpoint, settings.key_for(settings.endpoint)
    if settings.offline:
        from actors.provider.offline import OfflineModel  # a server, which most sessions do without

        server = await closing.enter_async_context(OfflineModel.serve())
        base_url, key = server.base_url, server.api_key
    retry = RetryPolicy(attempts=settings.retry_attempts)
    wire = WIRES["chat" if settings.offline else settings.wire_api](settings.max_output_tokens)
    provider = DirectProvider(base_url, key, settings.timeouts, retry, wire=wire)
    closing.push_async_callback(provider.aclose)
    provider.prepare()
    return provider
