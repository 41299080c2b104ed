"""The model behind an OpenAI-compatible server; the only import of openai.

The SDK sends, through its `post` with a ready body, and makes the errors. The response is read by
`reading.py`: the SDK's own stream does not tell whether `[DONE]` came, and takes 0.4 ms a chunk, not 0.02.
"""

import asyncio
import logging
import random
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit
from urllib.request import getproxies

from actors.conversation import Conversation
from actors.provider import errors
from actors.provider.chat import ChatWire
from actors.provider.interface import ProviderError
from actors.provider.reading import AnswerReader, PlainDecoder, timeout_error
from actors.provider.retry import RetryPolicy, is_retried, parse_retry_after
from actors.provider.sse import EventDecoder
from actors.provider.wire import PLAIN, Answering, Quirks, Wire
from actors.settings.tables import Timeouts
from ipc.messages import ModelAnswer, RetryScheduled, StreamEvent

if TYPE_CHECKING:
    import httpx2
    import openai


class DirectProvider:
    """Sends conversations to one server and streams its answers. Constructing it costs nothing."""

    def __init__(
        self,
        base_url: str,
        api_key: str | None,
        timeouts: Timeouts,
        retry: RetryPolicy | None = None,
        *,
        wire: Wire | None = None,
        quirks: Quirks = PLAIN,
    ) -> None:
        self._wire: Wire = wire or ChatWire()
        self._quirks = quirks
        self._server = _Server(base_url, (api_key or "").strip(), self._wire.path)
        self._timeouts = timeouts
        self._retry = retry or RetryPolicy()
        self._redact = errors.Redactor([self._server.key])
        self._loading: asyncio.Task[_Sender] | None = None

    def prepare(self) -> None:
        """Begin to import the SDK and make its client, in a thread: half a second that is better spent early.

        `stream` waits for it, and begins it when nobody did.
        """
        if self._loading is None:
            make = asyncio.to_thread(_make_sender, self._server, self._timeouts)
            self._loading = asyncio.get_running_loop().create_task(make)

    async def stream(self, conversation: Conversation) -> AsyncGenerator[StreamEvent, None]:
        """Send the conversation, yield what comes; the last event is the `ModelAnswer`.

        Raises `ProviderError`. Closing the generator or cancelling its task closes the connection at once.
        """
        body = self._wire.body(conversation, self._quirks)
        ends_at = asyncio.get_running_loop().time() + self._timeouts.total_s
        try:
            sender = await self._sender()
            attempt, response = 1, None
            while response is None:
                try:
                    response = await sender.send(body, ends_at)
                except _AttemptError as failed:
                    scheduled = self._schedule(attempt, failed, ends_at)
                    attempt += 1
                    yield scheduled
                    await asyncio.sleep(scheduled.delay_s)
            answering = self._wire.answering(self._server.url, self._quirks)
            async with aclosing(response), aclosing(sender.read(response, answering, ends_at)) as events:
                async for event in events:
                    if isinstance(event, ModelAnswer):
                        self._wire.keep(event)
                    yield event
        except ProviderError as error:
            raise self._redacted(error) from None

    async def aclose(self) -> None:
        """Close the connection; nothing is sent after this."""
        if self._loading and self._loading.done() and not self._loading.exception():
            await self._loading.result().sdk.close()
        elif self._loading:
            self._loading.cancel()

    def _schedule(self, attempt: int, failed: "_AttemptError", ends_at: float) -> RetryScheduled:
        """Say when the request is sent again, or raise why it is not."""
        delay = None
        if failed.may_retry:
            delay = self._retry.delay(attempt, failed.retry_after_s, random.random())  # noqa: S311 - jitter
        if delay is None or asyncio.get_running_loop().time() + delay >= ends_at:
            raise failed.error
        return RetryScheduled(attempt=attempt + 1, delay_s=delay, reason=self._redact(failed.error.message))

    def _redacted(self, error: ProviderError) -> ProviderError:
        message, next_step = self._redact(error.message), self._redact(error.next_step)
        return ProviderError(error.code, message, next_step, window=error.window, status=error.status)

    async def _sender(self) -> "_Sender":
        self.prepare()
        assert self._loading
        return await asyncio.shield(self._loading)


class _AttemptError(Exception):
    """One attempt failed before the first byte of a response."""

    def __init__(self, error: ProviderError, *, may_retry: bool, retry_after_s: float | None = None) -> None:
        super().__init__(error.code)
        self.error = error
        self.may_retry = may_retry
        self.retry_after_s = retry_after_s


@dataclass(frozen=True, slots=True)
class _Server:
    """Where requests go; its `repr` shows no key."""

    base_url: str
    key: str
    path: str

    def __repr__(self) -> str:
        return f"_Server({self.base_url!r})"

    @property
    def url(self) -> str:
        return self.base_url + self.path

    @property
    def is_loopback(self) -> bool:
        host = urlsplit(self.base_url).hostname or ""
        try:
            return ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"


@dataclass(frozen=True, slots=True)
class _Sender:
    """The loaded SDK's client, and what each request passes to it."""

    sdk: "openai.AsyncOpenAI"
    server: _Server
    timeouts: Timeouts
    options: Any

    async def send(self, body: bytes, ends_at: float) -> "httpx2.Response":
        """Return the open response. Raises `_AttemptError`."""
        import httpx2
        import openai

        quiet_at = asyncio.get_running_loop().time() + self.timeouts.idle_s
        try:
            async with asyncio.timeout_at(min(quiet_at, ends_at)):
                response: Any = await self.sdk.post(
                    self.server.path,
                    content=body,
                    options=self.options,
                    cast_to=httpx2.Response,
                    stream=True,
                    stream_cls=openai.AsyncStream[Any],
                )
                return cast("httpx2.Response", response)
        except TimeoutError:
            error = timeout_error(self.server.url, self.timeouts, ends_at)
            raise _AttemptError(error, may_retry=error.code == "idle_timeout") from None
        except openai.APIStatusError as error:
            raise self._refused(error) from None
        except openai.APIConnectionError as error:
            raise self._not_sent(error.__cause__) from None
        except httpx2.RequestError as error:
            # The SDK reads the body of an error itself, and lets what happens there through.
            raise self._not_sent(error) from None

    async def read(
        self, response: "httpx2.Response", answering: Answering, ends_at: float
    ) -> AsyncGenerator[StreamEvent, None]:
        """Yield the answer as it comes. Raises `ProviderError`."""
        is_plain = response.headers.get("content-type", "").startswith("application/json")
        decoder = PlainDecoder() if is_plain else EventDecoder()
        async with aclosing(_pieces(response)) as pieces:
            reader = AnswerReader(self.server.url, pieces, decoder, answering, self.timeouts, ends_at)
            async with aclosing(reader.events()) as events:
                async for event in events:
                    yield event

    def _refused(self, error: "openai.APIStatusError") -> _AttemptError:
        status, headers = error.status_code, error.response.headers
        detail = errors.read_detail(error.body)
        return _AttemptError(
            errors.from_status(
                status,
                detail,
                self.server.url,
                has_key=bool(self.server.key),
                location=headers.get("location", ""),
            ),
            may_retry=is_retried(status) and not errors.is_hopeless(status, detail),
            retry_after_s=parse_retry_after(headers.get("retry-after"), time.time()),
        )

    def _not_sent(self, cause: BaseException | None) -> _AttemptError:
        import httpx2

        url = self.server.url
        if isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.ProxyError):
            untrusted = isinstance(cause.__cause__, ssl.SSLCertVerificationError)
            return _AttemptError(errors.unreachable(url, str(cause)), may_retry=not untrusted)
        if isinstance(cause, httpx2.UnsupportedProtocol | httpx2.LocalProtocolError):
            return _AttemptError(errors.unreachable(url, str(cause)), may_retry=False)
        return _AttemptError(errors.connection_lost(url), may_retry=True)


async def _pieces(response: "httpx2.Response") -> AsyncGenerator[bytes, None]:
    """The body as it comes. Raises `ConnectionError` when it is cut."""
    import httpx2

    encoded = "content-encoding" in response.headers
    raw = cast("AsyncIterator[bytes]", response.stream)
    try:
        async for piece in response.aiter_bytes() if encoded else raw:
            yield piece
    except httpx2.RequestError as error:
        raise ConnectionError(str(error)) from None


def _make_sender(server: _Server, timeouts: Timeouts) -> _Sender:
    """Import the SDK and make a client whose every request costs little. Raises `ProviderError`."""
    import httpx2

    if not (server.key.isascii() and server.key.isprintable() and " " not in server.key):
        raise errors.unusable_key()
    for name in ("openai", "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.WARNING)  # their debug lines hold headers
    sdk = _client_type()(
        base_url=server.base_url,
        api_key=server.key or "none",
        max_retries=0,
        timeout=httpx2.Timeout(None, connect=timeouts.connect_s),
        http_client=_http_client(server, timeouts),
        default_headers={"User-Agent": "fido-agent", "Accept-Encoding": "identity"},
    )
    return _Sender(sdk, server, timeouts, _options(server))


def _client_type() -> "type[openai.AsyncOpenAI]":
    import httpx2
    import openai

    class Client(openai.AsyncOpenAI):
        """Builds URL and headers once; that halves what the SDK spends on a request, 0.5 ms."""

        _ready: tuple[str, list[tuple[str, str]]] | None = None

        def platform_headers(self) -> dict[str, str]:
            """Tell the server nothing about this machine."""
            return {}

        def _build_request(self, options: Any, *, retries_taken: int = 0) -> httpx2.Request:
            if self._ready is None:
                headers = self._build_headers(options, retries_taken=retries_taken)
                self._ready = str(self._prepare_url(options.url)), headers.multi_items()
            url, pairs = self._ready
            return self._client.build_request(options.method, url, headers=pairs, content=options.content)

    return Client


def _http_client(server: _Server, timeouts: Timeouts) -> "httpx2.AsyncClient":
    import httpx2

    from actors.provider.kept import KeptClient, bound_error

    if not server.is_loopback and getproxies().keys() & {"http", "https", "all"}:
        limits = httpx2.Timeout(None, connect=timeouts.connect_s)
        hooks = {"response": [bound_error]}
        return httpx2.AsyncClient(timeout=limits, follow_redirects=False, event_hooks=hooks)
    context = httpx2.create_ssl_context() if server.base_url.startswith("https:") else None
    return KeptClient(timeouts.connect_s, context)


def _options(server: _Server) -> dict[str, Any]:
    """What the SDK reads from the environment for OpenAI itself stays away from other servers."""
    import openai

    omit = openai.Omit()
    headers: dict[str, Any] = {}
    if not server.key:
        headers["Authorization"] = omit
    if not f".{urlsplit(server.base_url).hostname}".endswith(".openai.com"):
        headers |= {"OpenAI-Organization": omit, "OpenAI-Project": omit}
    return {"headers": headers, "security": {"bearer_auth": True} if server.key else {}}
