"""Gets one page, within bounds, from an address that was checked: each redirect anew, no cookie, no key."""

import asyncio
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from actors.tools.tool import ToolFailure
from actors.web.addresses import is_excepted, parsed, trouble, trouble_with_name
from actors.web.urls import Target

if TYPE_CHECKING:
    import httpx2

TOTAL_S: Final = 30.0
"""Seconds for all of it: names, connections, redirects, the body."""
CONNECT_S: Final = 10.0
SILENCE_S: Final = 15.0
"""Seconds without a byte."""
REDIRECTS: Final = 5
_REDIRECTING: Final = frozenset({301, 302, 303, 307, 308})
_ELSEWHERE: Final = "Only addresses of the public internet are browsed."
_TELL: Final = "To allow it, the user can add the host to web.private_hosts in their own config.toml."
_TRIED: Final = 4
"""Addresses of one host that are tried, one after the other."""

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a host; raises `OSError`."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for, and how much of it is taken."""

    accept: str
    """The content types wanted, as the header has them."""
    limit: int
    """Bytes of the body after decompression; the rest is not read."""
    headers: Mapping[str, str] | None = None
    """Beside what every request has; for this server alone, so such a request is not redirected."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a server answered."""

    target: Target
    """Where it came from in the end."""
    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes
    is_cut: bool
    """Whether there was more than the limit."""
    by_proxy: bool
    """Whether a proxy resolved the name: then the address was judged by it alone."""


class Fetcher:
    """Reaches the public internet, and of all else what a person has excepted."""

    def __init__(
        self,
        private_hosts: Sequence[str] = (),
        *,
        resolve: Resolve | None = None,
        total_s: float = TOTAL_S,
    ) -> None:
        self._private_hosts = private_hosts
        self._resolve = resolve or resolve_by_system
        self._total_s = total_s

    async def get(self, target: Target, request: Request) -> Fetched:
        """Get a page, redirects on its own host followed. Raises `ToolFailure`."""
        try:
            async with asyncio.timeout(self._total_s):
                return await self._get(target, request)
        except TimeoutError:
            raise ToolFailure(
                "timeout",
                f"{target.host} did not come to an end within {self._total_s:g} s.",
                "Try once more later, or another page.",
            ) from None

    async def _get(self, target: Target, request: Request) -> Fetched:
        for _ in range(REDIRECTS + 1):
            fetched = await self._one(target, request)
            location = fetched.headers.get("location", "")
            if fetched.status not in _REDIRECTING or not location or request.headers is not None:
                return fetched
            target = _followed(target, location)
        raise ToolFailure(
            "too_many_redirects", f"{target.host} redirects more than {REDIRECTS} times.", "Try another page."
        )

    def check(self, target: Target, address: str) -> None:
        """Refuse an address that is none of the public internet. Raises `ToolFailure`."""
        why = "" if is_excepted(target, self._private_hosts) else trouble(parsed(address))
        if why:
            raise _refused(target.host if address == target.host else f"{target.host}, with {address},", why)

    def _check_name(self, target: Target) -> None:
        """Judge a host by its name, where a proxy resolves it. Raises `ToolFailure`."""
        why = "" if is_excepted(target, self._private_hosts) else trouble_with_name(target)
        if why:
            raise _refused(target.host, why)

    async def _one(self, target: Target, request: Request) -> Fetched:
        proxy = _proxy_for(target)
        if proxy:
            self._check_name(target)
        addresses = [target.host] if proxy else await self._checked(target)
        why = "it has no address"
        for address in addresses[:_TRIED]:
            try:
                async with _answered(target, address, proxy, request) as response:
                    return await _taken(response, target, request.limit, by_proxy=bool(proxy))
            except _NotReachedError as error:
                why = str(error)
        raise _unreachable(target, why, by_proxy=bool(proxy))

    async def _checked(self, target: Target) -> Sequence[str]:
        """The addresses of a host; nothing is connected to but these. Raises `ToolFailure`."""
        if target.address is not None:
            found: Sequence[str] = [target.host]
        else:
            try:
                found = await self._resolve(target.host, target.port)
            except OSError as error:
                raise _unreachable(target, error.strerror or str(error), by_proxy=False) from None
        for address in found:
            self.check(target, address)
        return found


class _NotReachedError(Exception):
    """No connection; another address of the same host may do."""


async def resolve_by_system(host: str, port: int) -> Sequence[str]:
    """Ask the system's resolver, in a thread."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def _followed(target: Target, location: str) -> Target:
    """Where a redirect leads, when that is the same host: leave to browse is given for one host."""
    try:
        there = target.joined(location)
    except ValueError as error:
        raise ToolFailure(
            "bad_redirect", f"{target.host} redirects to a URL that {error}.", "Try another page."
        ) from None
    if there.host == target.host:
        return there
    raise ToolFailure(
        "redirected",
        f"{target.url} redirects to another host: {there.url}",
        "Call browse_url with that URL if it is what you need.",
    )


def _refused(who: str, why: str) -> ToolFailure:
    return ToolFailure("private_address", f"{who} is {why}. {_ELSEWHERE}", _TELL)


def _proxy_for(target: Target) -> str:
    """The proxy of the environment for this host; empty: none. This machine is never asked through one."""
    from urllib.request import getproxies_environment, proxy_bypass

    if target.host == "localhost" or (target.address is not None and target.address.is_loopback):
        return ""
    proxies = getproxies_environment()
    proxy = proxies.get(target.scheme) or proxies.get("all") or ""
    return "" if not proxy or proxy_bypass(target.authority) else proxy


@asynccontextmanager
async def _answered(
    target: Target, address: str, proxy: str, request: Request
) -> "AsyncIterator[httpx2.Response]":
    """The answer of one address, its body unread. Raises `_NotReachedError` and `ToolFailure`."""
    import httpx2

    wire = _transport(target, proxy)
    host = f"[{address}]" if ":" in address else address
    sent = httpx2.Request(
        "GET",
        f"{target.scheme}://{host}:{target.port}{target.path}",
        headers={
            "Host": target.authority,
            "User-Agent": "fido-agent",
            "Accept": request.accept,
            "Accept-Encoding": "gzip, deflate",
            "Connection": "close",
            **(request.headers or {}),
        },
        extensions={
            "timeout": httpx2.Timeout(SILENCE_S, connect=CONNECT_S).as_dict(),
            "sni_hostname": target.host,
        },
    )
    try:
        async with wire:
            response = await wire.handle_async_request(sent)
            try:
                yield response
            finally:
                await response.aclose()
    except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
        raise _NotReachedError(_why(error)) from None
    except httpx2.DecodingError:
        raise _broken(target, "it is not compressed as it says") from None
    except httpx2.TimeoutException:
        raise _broken(target, f"it was silent for {SILENCE_S:g} s") from None
    except httpx2.RequestError as error:
        raise _broken(target, str(error) or type(error).__name__) from None


def _transport(target: Target, proxy: str) -> "httpx2.AsyncHTTPTransport":
    import httpx2

    for name in ("httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.WARNING)  # their debug lines hold headers
    is_safe = target.scheme == "https"
    try:
        context = httpx2.create_ssl_context() if is_safe else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    except OSError as error:
        raise ToolFailure(
            "no_certificates",
            f"The certificates to trust can not be read: {error.strerror or error}.",
            "Tell the user to check SSL_CERT_FILE and SSL_CERT_DIR.",
        ) from None
    try:
        return httpx2.AsyncHTTPTransport(verify=context, proxy=proxy or None)
    except (ImportError, ValueError):  # a SOCKS proxy without its package, no URL; it may hold a password
        raise ToolFailure(
            "unusable_proxy",
            "The proxy of the environment can not be used; it has to be http:// or https://.",
            "Tell the user to set http_proxy and https_proxy to such a proxy, or to unset them.",
        ) from None


async def _taken(response: "httpx2.Response", target: Target, limit: int, *, by_proxy: bool) -> Fetched:
    """Read no more of the body than the limit."""
    body, is_cut = bytearray(), False
    if response.status_code not in _REDIRECTING:
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > limit:
                is_cut = True
                break
    return Fetched(
        target,
        response.status_code,
        response.reason_phrase,
        dict(response.headers),
        bytes(body[:limit]),
        is_cut,
        by_proxy,
    )


def _why(error: Exception) -> str:
    """The words of a failed connection, without what httpx says around them."""
    cause = error.__cause__ or error
    if isinstance(cause.__cause__ or cause, ssl.SSLCertVerificationError):
        return f"its certificate is not valid: {(cause.__cause__ or cause)!s}"
    return str(error) or type(error).__name__


def _unreachable(target: Target, why: str, *, by_proxy: bool) -> ToolFailure:
    over = " through the proxy" if by_proxy else ""
    return ToolFailure(
        "unreachable",
        f"{target.authority} can not be reached{over}: {why}.",
        "Check the host; without a network go on without the web.",
    )


def _broken(target: Target, why: str) -> ToolFailure:
    return ToolFailure(
        "broken_answer",
        f"The answer of {target.authority} broke off: {why}.",
        "Try once more, or another page.",
    )
