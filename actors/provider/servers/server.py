"""The server that a provider speaks to: where requests go, and what is sent with each of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

from actors.provider.servers.dialects import GENERIC, Dialect, is_loopback
from actors.settings.addresses import below


@dataclass(frozen=True, slots=True)
class Server:
    """One server; its `repr` shows no key."""

    base_url: str
    """As `normalize_base_url` gives it."""
    key: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent besides Fido's own, and before them."""
    dialect: Dialect = GENERIC

    def url(self, path: str) -> str:
        """The URL of an endpoint."""
        return below(self.base_url.rstrip("/"), path)

    def root_url(self, path: str) -> str:
        """The URL of a path from the server's root."""
        parts = urlsplit(self.base_url)
        return urlunsplit((parts.scheme, parts.netloc, path, "", ""))

    @property
    def host(self) -> str:
        """The host alone."""
        return urlsplit(self.base_url).hostname or ""

    @property
    def is_loopback(self) -> bool:
        """Whether it is this machine."""
        return is_loopback(self.host)

    @property
    def key_headers(self) -> dict[str, str]:
        """The header that carries the key; none without one."""
        if not self.key:
            return {}
        bearer = self.dialect.key_header == "Authorization"
        return {self.dialect.key_header: f"Bearer {self.key}" if bearer else self.key}
