"""Which addresses belong to the public internet, and which names never do (pure)."""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

from actors.web.urls import Target

Address = IPv4Address | IPv6Address

_UNICAST: Final = IPv6Network("2000::/3")
"""All that is assigned as global unicast; what lies outside of it is local, mapped or of the future."""
_NAT64: Final = IPv6Network("64:ff9b::/96")
_6TO4: Final = IPv6Network("2002::/16")
_TEREDO: Final = IPv6Network("2001::/32")
_DOCUMENTATION: Final = IPv6Network("3fff::/20")
_METADATA: Final = frozenset({IPv4Address("168.63.129.16")})
"""Cloud services that give out keys, on addresses that look public; the others are link-local or private."""
_RESERVED: Final = (IPv4Network("192.0.0.0/24"), IPv4Network("192.88.99.0/24"))
"""Whole, whichever part of them this Python takes for global."""
_LOCAL_SUFFIXES: Final = (
    ".localhost", ".local", ".localdomain", ".internal", ".intranet", ".lan", ".home", ".corp", ".private",
    ".home.arpa",
)  # fmt: skip
"""Names that are never given to anybody in the public DNS."""


def trouble(address: Address) -> str:
    """What an address is when it is none of the public internet, in words for a sentence; else empty."""
    if isinstance(address, IPv6Address):
        inner = carried(address)
        if inner is not None:
            return trouble(inner)
        if address.is_loopback:
            return "a loopback address"
        if address.is_link_local:
            return "a link-local address"
        public = address in _UNICAST and address.is_global and address not in _DOCUMENTATION
        return "" if public else "a private or reserved address"
    if address.is_loopback:
        return "a loopback address"
    if address.is_link_local:
        return "a link-local address, as cloud metadata services have"
    if address in _METADATA:
        return "the address of a cloud metadata service"
    if address.is_multicast:
        return "a multicast address"
    reserved = address.is_reserved or any(address in network for network in _RESERVED)
    return "" if address.is_global and not reserved else "a private or reserved address"


def trouble_with_name(target: Target) -> str:
    """What is wrong with a host that somebody else resolves, judged by its name alone; else empty."""
    if target.address is not None:
        return trouble(target.address)
    host = f".{target.host}"
    if "." not in target.host or host.endswith(_LOCAL_SUFFIXES):
        return "a name of the local network"
    return ""


def is_excepted(target: Target, excepted: Iterable[str]) -> bool:
    """Whether a person allowed this host by name: `localhost`, `localhost:8000`, `10.0.0.7`, `[::1]:80`."""
    here = {target.host, f"[{target.host}]"}
    here |= {f"{host}:{target.port}" for host in here}
    return any(each.strip().lower().rstrip(".") in here for each in excepted)


def parsed(text: str) -> Address:
    """An address as a resolver gives it, with or without a zone. Raises `ValueError`."""
    return ip_address(text.partition("%")[0])


def carried(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that an IPv6 one leads to, over a mapping or a tunnel."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    number = int(address)
    if address in _NAT64:
        return IPv4Address(number & 0xFFFFFFFF)
    if address in _6TO4:
        return IPv4Address(number >> 80 & 0xFFFFFFFF)
    if address in _TEREDO:
        return IPv4Address(~number & 0xFFFFFFFF)
    return None
