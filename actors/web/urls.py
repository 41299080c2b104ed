"""A URL as a model or a page wrote it, read in one way: who judges it and who fetches it agree (pure)."""

import re
import socket
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final, Literal, cast
from urllib.parse import SplitResult, quote, urljoin, urlsplit

Scheme = Literal["http", "https"]

MAX_LENGTH: Final = 4096
"""Characters; servers refuse longer ones, and nobody can judge them."""
_PORTS: Final[dict[str, int]] = {"http": 80, "https": 443}
_NAME: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_UNSAFE: Final = re.compile(r"[\s\\\x00-\x20\x7f\ud800-\udfff]")
_KEPT: Final = "/%:@!$&'()*+,;=~?"
"""What stays as it is in a path or a query, beside letters, digits and `-._`."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where one request goes."""

    scheme: Scheme
    host: str
    """ASCII, lower case, no trailing dot; an IPv4 address in any notation is its four numbers."""
    port: int
    path: str
    """With the query, ASCII."""
    fragment: str = ""

    @property
    def authority(self) -> str:
        """Host, and the port where it is not the scheme's own, as the `Host` header has it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """Without the fragment."""
        return f"{self.scheme}://{self.authority}{self.path}"

    @property
    def whole(self) -> str:
        """With the fragment, in ASCII."""
        return f"{self.url}#{quote(self.fragment, safe=_KEPT)}" if self.fragment else self.url

    @property
    def address(self) -> IPv4Address | IPv6Address | None:
        """The address, where the host is one and no name."""
        try:
            return ip_address(self.host)
        except ValueError:
            return None

    def joined(self, location: str) -> "Target":
        """Where a redirect or a link leads from here. Raises `ValueError`."""
        target = read_url(urljoin(self.url, location.strip()))
        return target if target.fragment else replace(target, fragment=self.fragment)


def read_url(text: str) -> Target:
    """Read an http or https URL. Raises `ValueError`: what is wrong with it, without the URL."""
    text = text.strip()
    if len(text) > MAX_LENGTH:
        raise ValueError(f"is longer than {MAX_LENGTH:,} characters")
    if _UNSAFE.search(text):
        raise ValueError("holds a space, a backslash or a control character; write it percent-encoded")
    try:
        parts = urlsplit(text)
    except ValueError:
        raise ValueError("is no URL") from None
    if parts.scheme not in _PORTS:
        raise ValueError("has to start with http:// or https://")
    if "@" in parts.netloc:
        raise ValueError("must hold no user name and no password")
    scheme = cast("Scheme", parts.scheme)
    host = _host(parts.hostname or "")
    port = _port(parts) or _PORTS[scheme]
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(scheme, host, port, quote(path, safe=_KEPT), parts.fragment)


def host_of(text: str) -> str:
    """The host that a browse of this URL asks, `[::1]` for IPv6; empty when nothing would be browsed."""
    try:
        host = read_url(text).host
    except ValueError:
        return ""
    return f"[{host}]" if ":" in host else host


def read_host(text: str) -> str:
    """The name or address that somebody wrote for a host, as `host_of` has it. Raises `ValueError`."""
    given = text.strip()
    host = _host(given[1:-1] if given.startswith("[") and given.endswith("]") else given)
    return f"[{host}]" if ":" in host else host


def without_password(text: str) -> str:
    """The text of a URL, good or bad, without what stands before an @ in its host part."""
    return re.sub(r"^(\s*[a-z][a-z0-9+.-]*:/*)?[^/?#]*@", r"\1", text, flags=re.IGNORECASE)


def _host(given: str) -> str:
    try:
        name = _ascii(given.rstrip("."))
    except ValueError:
        return _refuse(given)
    if ":" in name:
        return name
    if _NUMBER.fullmatch(name.rpartition(".")[2]):
        return _numbers(name)
    return name if _NAME.fullmatch(name) and len(name) <= 253 else _refuse(given)


def _ascii(host: str) -> str:
    """A name as the DNS has it, an IPv6 address in its short form. Raises `ValueError`."""
    if ":" in host:
        return str(IPv6Address(host.replace("%", "/")))  # a zone is of this machine alone
    if not host.isascii():
        import idna

        host = idna.encode(host, uts46=True).decode("ascii")
    return host.lower()


def _numbers(host: str) -> str:
    """A host that ends in a number is an IPv4 address, also written as one number, in hex or in octal."""
    try:
        return socket.inet_ntoa(socket.inet_aton(host))
    except OSError:
        return _refuse(host)


def _port(parts: SplitResult) -> int | None:
    try:
        port = parts.port
    except ValueError:
        port = 0
    if port == 0:
        raise ValueError("has a port that is none")
    return port


def _refuse(host: str) -> str:
    raise ValueError(f"has {host!r} for a host, which is none" if host else "has no host")
