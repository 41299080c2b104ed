"""The provider of a session: the server that the settings name, or the built-in model on the same wire."""

from contextlib import AsyncExitStack
from typing import Final

from actors.provider.chat import ChatWire
from actors.provider.dialects import dialect_of
from actors.provider.direct import DirectProvider
from actors.provider.retry import RetryPolicy
from actors.provider.server import Server
from actors.provider.wire import MakeWire
from actors.settings.settings import Settings
from actors.settings.tables import WireApi

WIRES: Final[dict[WireApi, MakeWire]] = {"chat": ChatWire}


async def open_provider(settings: Settings, closing: AsyncExitStack) -> DirectProvider:
    """Make it ready to be asked; `closing` ends it, and the built-in model with it."""
    server = await _server(settings, closing)
    wire = WIRES["chat" if settings.offline else settings.wire_api](settings.max_output_tokens)
    retry = RetryPolicy(attempts=settings.retry_attempts)
    provider = DirectProvider(server, settings.timeouts, retry, wire=wire)
    closing.push_async_callback(provider.aclose)
    provider.prepare()
    return provider


async def _server(settings: Settings, closing: AsyncExitStack) -> Server:
    if settings.offline:
        from actors.provider.offline import OfflineModel  # a server, which most sessions do without

        built_in = await closing.enter_async_context(OfflineModel.serve())
        return Server(built_in.base_url, built_in.api_key)
    url = settings.endpoint
    dialect = dialect_of(url, settings.provider)
    return Server(url, (settings.key_for(url) or "").strip(), settings.headers_for(url), dialect)
