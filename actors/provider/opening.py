"""The provider of a session: the server that the settings name, or the built-in model on the same wire."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Final

from actors.provider.direct import DirectProvider, Tell
from actors.provider.retry import RetryPolicy
from actors.provider.servers.dialects import dialect_of
from actors.provider.servers.lookout import look_out
from actors.provider.servers.server import Server
from actors.provider.wires.chat import ChatWire
from actors.provider.wires.responses import ResponsesWire
from actors.provider.wires.wire import MakeWire
from actors.settings.settings import Settings
from actors.settings.tables import WireApi

WIRES: Final[dict[WireApi, MakeWire]] = {"chat": ChatWire, "responses": ResponsesWire}


async def open_provider(
    settings: Settings,
    closing: AsyncExitStack,
    tell: Tell = lambda *_: None,
    told_window: Callable[[int], None] | None = None,
) -> DirectProvider:
    """Make it ready to be asked; `closing` ends it, and the built-in model with it.

    `tell` takes what a person should know of the server, `told_window` how many tokens its model takes.
    """
    server = await _server(settings, closing)
    wire = WIRES["chat" if settings.offline else settings.wire_api](settings.max_output_tokens)
    retry = RetryPolicy(attempts=settings.retry_attempts)
    provider = DirectProvider(
        server, settings.timeouts, retry, wire=wire, redactor=settings.redactor, tell=tell
    )
    closing.push_async_callback(provider.aclose)
    provider.prepare()
    if told_window is not None and not (settings.offline or settings.context_window):
        again = bool(server.dialect.window_path)
        looking = asyncio.ensure_future(look_out(provider, settings.model, told_window, again=again))
        closing.callback(looking.cancel)
    return provider


async def _server(settings: Settings, closing: AsyncExitStack) -> Server:
    if settings.offline:
        from actors.provider.offline import OfflineModel  # a server, which most sessions do without

        built_in = await closing.enter_async_context(OfflineModel.serve())
        return Server(built_in.base_url, built_in.api_key)
    url = settings.endpoint
    dialect = dialect_of(url, settings.provider)
    return Server(url, (settings.key_for(url) or "").strip(), settings.headers_for(url), dialect)
