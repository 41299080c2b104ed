"""The model behind an OpenAI-compatible server; the only import of openai.

The SDK sends, through its `post` with a ready body, and makes the errors. The response is read by
`reading.py`: the SDK's own stream does not tell whether `[DONE]` came, and takes 0.4 ms a chunk, not 0.02.
"""

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit
from urllib.request import getproxies

from actors.conversation import Conversation
from actors.provider import errors
from actors.provider.answers.call_marks import holds_call
from actors.provider.answers.endings import ending_of
from actors.provider.answers.reading import AnswerReader, timeout_error
from actors.provider.answers.stream import REFUSED
from actors.provider.interface import ProviderError
from actors.provider.retry import RetryPolicy, told_wait, wait_asked_for
from actors.provider.servers.listing import list_models, not_sent
from actors.provider.servers.pupil import Attempt, Pupil
from actors.provider.servers.served import Served, names_of, nearest_names
from actors.provider.servers.server import Server
from actors.provider.wires.chat import ChatWire
from actors.provider.wires.wire import Answering, Head, Wire, read_head
from actors.secrets.redactor import Redactor
from actors.settings.tables import Timeouts
from ipc.messages import Level, ModelAnswer, RetryScheduled, StreamEvent, TextDelta

if TYPE_CHECKING:
    import httpx2
    import openai

Tell = Callable[[Level, str], None]
_CUT: Final = frozenset({"connection_lost", "idle_timeout", "incomplete"})
NEAREST_S: Final = 3.0
"""Longest wait for the names of other models, seconds: an error waits for it."""
UNKNOWN_END: Final = (
    "The server ended an answer with finish_reason {reason!r}, which is not known; it is taken for whole."
)
REFUSAL: Final = "The model refused to answer; what it says is its refusal."
UNREAD_CALL: Final = (
    "The answer holds a tool call that the server passed on as text, so nothing was run. Turn on its "
    "tool-call parser, or set provider to what it is (vllm, llama.cpp, ollama, lmstudio)."
)


class DirectProvider:
    """Sends conversations to one server and streams its answers. Constructing it costs nothing."""

    def __init__(
        self,
        server: Server,
        timeouts: Timeouts,
        retry: RetryPolicy | None = None,
        *,
        wire: Wire | None = None,
        redactor: Redactor | None = None,
        tell: Tell = lambda *_: None,
    ) -> None:
        """`tell` takes what a person should know of the server."""
        self._server = server
        self._timeouts = timeouts
        self._retry = retry or RetryPolicy()
        self._wire: Wire = wire or ChatWire()
        self._tell = tell
        self._pupil = Pupil(
            server.dialect.quirks, lambda told: tell("info", f"The server at {server.host} {told}.")
        )
        self._redactor = redactor or Redactor([server.key, *server.headers.values()])
        self._loading: asyncio.Task[_Sender] | None = None
        self._unknown_ends: set[str] = set()
        """Finish reasons that nobody knows; each is told once."""
        self.answered = asyncio.Event()
        """Set when the server has answered a first request."""

    def prepare(self) -> None:
        """Begin to import the SDK and make its client, in a thread: half a second that is better spent early.

        `stream` waits for it, and begins it when nobody did.
        """
        if self._loading is None:
            make = asyncio.to_thread(_make_sender, self._server, self._wire.path, self._timeouts)
            self._loading = asyncio.get_running_loop().create_task(make)

    async def stream(self, conversation: Conversation) -> AsyncGenerator[StreamEvent, None]:
        """Send the conversation, yield what comes; the last event is the `ModelAnswer`.

        Raises `ProviderError`. Closing the generator or cancelling its task closes the connection at once.
        """
        ends_at = asyncio.get_running_loop().time() + self._timeouts.total_s
        lesson = self._pupil.begin(self._wire, conversation)
        attempt, was_cut, is_shown, is_whole = 1, False, False, False
        try:
            sender = await self._sender()
            while not is_whole:
                try:
                    async with aclosing(self._attempt(sender, lesson, ends_at)) as events:
                        async for event in events:
                            is_shown = is_shown or isinstance(event, TextDelta)
                            if isinstance(event, ModelAnswer):
                                is_whole = True
                                self._take_note(event, conversation.head)
                            yield event
                except _AttemptError as failed:
                    if lesson.learn(failed.error):
                        continue
                    scheduled = self._schedule(attempt, failed, ends_at)
                except ProviderError as error:
                    if is_shown:
                        raise
                    if lesson.learn(error):  # some servers begin their answer and refuse inside of it
                        continue
                    # A person has seen nothing of it and nothing was carried out: once more is safe.
                    is_cut = error.code in _CUT
                    again = _AttemptError(error, may_retry=errors.is_passing(error) or is_cut > was_cut)
                    was_cut |= is_cut
                    scheduled = self._schedule(attempt, again, ends_at)
                else:
                    continue
                attempt += 1
                yield scheduled
                await asyncio.sleep(scheduled.delay_s)
        except ProviderError as error:
            raise await self._explained(error, read_head(conversation.head)) from None

    async def _attempt(
        self, sender: "_Sender", lesson: Attempt, ends_at: float
    ) -> AsyncGenerator[StreamEvent, None]:
        """Send the request once. Raises `_AttemptError` before the response, `ProviderError` inside of it."""
        response = await sender.send(lesson.body, ends_at)
        answering = self._wire.answering(sender.url, lesson.quirks)
        async with aclosing(response), aclosing(sender.read(response, answering, ends_at)) as events:
            async for event in events:
                lesson.passed()
                yield event

    async def models(self) -> tuple[Served, ...]:
        """Ask the server which models it has; nothing where it does not say. Raises `ProviderError`."""
        sender = await self._sender()
        return await list_models(sender.http, self._server)

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
            if failed.may_retry and failed.retry_after_s:
                failed.error.next_step = told_wait(failed.retry_after_s)
            raise failed.error
        reason = self._redactor.report(failed.error.message)
        return RetryScheduled(
            attempt=attempt + 1, delay_s=delay, reason=reason, attempts=self._retry.attempts
        )

    def _take_note(self, answer: ModelAnswer, head: bytes) -> None:
        self.answered.set()
        self._wire.keep(answer)
        reason = answer.finish_reason[:80]
        if reason == REFUSED:
            self._tell("warning", REFUSAL)
        elif reason and ending_of(reason) is None and reason not in self._unknown_ends:
            self._unknown_ends.add(reason)
            self._tell("warning", UNKNOWN_END.format(reason=reason))
        if not answer.tool_calls and holds_call(answer.text, read_head(head).tool_names):
            self._tell("warning", UNREAD_CALL)

    async def _explained(self, error: ProviderError, head: Head) -> ProviderError:
        """The error as a person needs it: without keys, with what helps to do better."""
        message, next_step = error.message, error.next_step
        if error.code == "model_not_found":
            with contextlib.suppress(ProviderError, TimeoutError):
                async with asyncio.timeout(NEAREST_S):
                    names = nearest_names(names_of(await self.models()), head.model)
                    next_step = f"It has {', '.join(names)}. {next_step}" if names else next_step
        elif error.code == "bad_request" and (tool := errors.tool_in_question(error.said, head.tool_names)):
            message = f"{message} It is about the tool {tool}."
        report = self._redactor.report
        return ProviderError(
            error.code, report(message), report(next_step), window=error.window, status=error.status
        )

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
class _Sender:
    """The loaded SDK's client, and what each request passes to it."""

    sdk: "openai.AsyncOpenAI"
    http: "httpx2.AsyncClient"
    server: Server
    path: str
    timeouts: Timeouts
    options: Any

    @property
    def url(self) -> str:
        """Where requests go."""
        return self.server.url(self.path)

    async def send(self, body: bytes, ends_at: float) -> "httpx2.Response":
        """Return the open response. Raises `_AttemptError`."""
        import httpx2
        import openai

        quiet_at = asyncio.get_running_loop().time() + self.timeouts.idle_s
        try:
            async with asyncio.timeout_at(min(quiet_at, ends_at)):
                response: Any = await self.sdk.post(
                    self.path,
                    content=body,
                    options=self.options,
                    cast_to=httpx2.Response,
                    stream=True,
                    stream_cls=openai.AsyncStream[Any],
                )
                return cast("httpx2.Response", response)
        except TimeoutError:
            error = timeout_error(self.url, self.timeouts, ends_at)
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
        async with aclosing(_pieces(response)) as pieces:
            reader = AnswerReader(self.url, pieces, answering, self.timeouts, ends_at)
            async with aclosing(reader.events()) as events:
                async for event in events:
                    yield event

    def _refused(self, error: "openai.APIStatusError") -> _AttemptError:
        status, headers = error.status_code, error.response.headers
        location, has_key = headers.get("location", ""), bool(self.server.key)
        detail = errors.read_detail(error.body)
        refused = errors.from_status(status, detail, self.url, has_key=has_key, location=location)
        wait_s = wait_asked_for(headers, time.time())
        return _AttemptError(refused, may_retry=errors.is_passing(refused), retry_after_s=wait_s)

    def _not_sent(self, cause: BaseException | None) -> _AttemptError:
        error, may_retry = not_sent(self.url, cause)
        return _AttemptError(error, may_retry=may_retry)


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


def _make_sender(server: Server, path: str, timeouts: Timeouts) -> _Sender:
    """Import the SDK and make a client whose every request costs little. Raises `ProviderError`."""
    import httpx2

    if not (server.key.isascii() and server.key.isprintable() and " " not in server.key):
        raise errors.unusable_key()
    for name in ("openai", "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.WARNING)  # their debug lines hold headers
    http = _http_client(server, timeouts)
    sdk = _client_type(server.url(path))(
        base_url=server.base_url,
        api_key=server.key or "none",
        max_retries=0,
        timeout=httpx2.Timeout(None, connect=timeouts.connect_s),
        http_client=http,
        default_headers={"User-Agent": "fido-agent", "Accept-Encoding": "identity"},
    )
    return _Sender(sdk, http, server, path, timeouts, _options(server))


def _client_type(endpoint: str) -> "type[openai.AsyncOpenAI]":
    import httpx2
    import openai

    class Client(openai.AsyncOpenAI):
        """Builds the headers once; that halves what the SDK spends on a request, 0.5 ms."""

        _ready: list[tuple[str, str]] | None = None

        def platform_headers(self) -> dict[str, str]:
            """Tell the server nothing about this machine."""
            return {}

        def _build_request(self, options: Any, *, retries_taken: int = 0) -> httpx2.Request:
            if self._ready is None:
                self._ready = self._build_headers(options, retries_taken=retries_taken).multi_items()
            return self._client.build_request(
                options.method, endpoint, headers=self._ready, content=options.content
            )

    return Client


def _http_client(server: Server, timeouts: Timeouts) -> "httpx2.AsyncClient":
    import httpx2

    from actors.provider.kept import KeptClient, bound_error

    if not server.is_loopback and getproxies().keys() & {"http", "https", "all"}:
        limits = httpx2.Timeout(None, connect=timeouts.connect_s)
        hooks = {"response": [bound_error]}
        return httpx2.AsyncClient(timeout=limits, follow_redirects=False, event_hooks=hooks)
    context = httpx2.create_ssl_context() if server.base_url.startswith("https:") else None
    return KeptClient(timeouts.connect_s, context)


def _options(server: Server) -> dict[str, Any]:
    """What the SDK reads from the environment for OpenAI itself stays away from other servers."""
    import openai

    omit = openai.Omit()
    headers: dict[str, Any] = {}
    if "Authorization" not in server.key_headers:
        headers["Authorization"] = omit
    if not f".{urlsplit(server.base_url).hostname}".endswith(".openai.com"):
        headers |= {"OpenAI-Organization": omit, "OpenAI-Project": omit}
    headers |= {**server.headers, **server.key_headers}
    return {"headers": headers, "security": {"bearer_auth": True} if server.key else {}}
