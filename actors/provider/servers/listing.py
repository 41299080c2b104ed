"""Asks a server for the models it has, over the client that requests go through."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Final, cast

import msgspec

from actors.provider import errors
from actors.provider.interface import ProviderError
from actors.provider.servers.served import Served, read_models
from actors.provider.servers.server import Server

if TYPE_CHECKING:
    import httpx2

ANSWER_S: Final = 10.0
"""Longest wait for an answer, which nothing depends on."""
ANSWER_LIMIT: Final = 8 << 20
"""Bytes of an answer; OpenRouter's has half a million."""


async def list_models(http: "httpx2.AsyncClient", server: Server) -> tuple[Served, ...]:
    """Ask for the models; nothing where the server does not say. Raises `ProviderError`."""
    found = read_models(await _fetch(http, server, server.url("/models")))
    path = server.dialect.window_path
    if not path:
        return found
    # What a model is loaded with, which is less than what it was trained for, is told elsewhere.
    loaded = read_models(await _fetch(http, server, server.root_url(path)))
    windows = {model.name: model.window for model in loaded}
    alone = loaded[0].window if len(loaded) == 1 and len(found) <= 1 else 0
    return tuple(Served(name, windows.get(name) or alone or window) for name, window in found) or loaded


def not_sent(url: str, cause: BaseException | None) -> tuple[ProviderError, bool]:
    """The error of a request that had no response, and whether it may be sent again."""
    import httpx2

    if isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.ProxyError):
        untrusted = isinstance(cause.__cause__, ssl.SSLCertVerificationError)
        return errors.unreachable(url, str(cause)), not untrusted
    if isinstance(cause, httpx2.UnsupportedProtocol | httpx2.LocalProtocolError):
        return errors.unreachable(url, str(cause)), False
    return errors.connection_lost(url), True


async def _fetch(http: "httpx2.AsyncClient", server: Server, url: str) -> object:
    """Return the decoded answer to a GET. Raises `ProviderError`."""
    import httpx2

    own = {"User-Agent": "fido-agent", "Accept-Encoding": "identity", "Connection": "close"}
    request = httpx2.Request("GET", url, headers={**own, **server.headers, **server.key_headers})
    body = bytearray()
    try:
        async with asyncio.timeout(ANSWER_S):
            response = await http.send(request, stream=True)
            async with aclosing(response):
                async for piece in cast("AsyncIterator[bytes]", response.stream):
                    body += piece
                    if len(body) > ANSWER_LIMIT:
                        raise errors.bad_stream(url, f"a list of more than {ANSWER_LIMIT >> 20} MiB")
    except TimeoutError:
        raise errors.idle_timeout(url, ANSWER_S) from None
    except httpx2.RequestError as error:
        raise not_sent(url, error)[0] from None
    if not response.is_success:
        detail = errors.read_detail(_decoded(bytes(body)))
        raise errors.from_status(response.status_code, detail, url, has_key=bool(server.key))
    return _decoded(bytes(body))


def _decoded(body: bytes) -> object:
    """JSON of any shape; text for what is none."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return body.decode("utf-8", "replace")
