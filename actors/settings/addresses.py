"""Base URLs: written the way requests need them, and which server one belongs to (pure)."""

import re
from typing import Final
from urllib.parse import urlsplit, urlunsplit

_VERSION: Final = re.compile(r"api-version=[A-Za-z0-9.-]{1,40}")
"""The one query that is no secret, and that a server wants behind every URL."""

_ENDPOINTS: Final = ("/chat/completions", "/responses", "/models")
_AZURE: Final = (".openai.azure.com", ".services.ai.azure.com", ".openai.azure.us", ".openai.azure.cn")


def normalize_base_url(given: str) -> str:
    """Trim spaces, trailing slashes and a pasted endpoint; a bare host gets `/v1`, Azure's `/openai/v1`.

    Raises `ValueError` for what is no URL, or carries a key where logs would show it.
    """
    text = given.strip()
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise ValueError(f"is no URL: {error}") from None
    if parts.scheme not in {"http", "https"} or not host:
        raise ValueError("has to start with http:// or https:// and a host, as in http://localhost:11434/v1")
    if any(character.isspace() for character in text):
        raise ValueError("holds a space")
    if "@" in parts.netloc or parts.fragment or (parts.query and not _VERSION.fullmatch(parts.query)):
        raise ValueError(
            "must hold no user, fragment or query but api-version=…; a key goes into api_key or FIDO_API_KEY"
        )
    path = parts.path.rstrip("/")
    for endpoint in _ENDPOINTS:
        path = path.removesuffix(endpoint).rstrip("/")
    bare = "/openai/v1" if f".{host}".endswith(_AZURE) else "/v1"
    return urlunsplit((parts.scheme, parts.netloc, path or bare, parts.query, ""))


def below(base_url: str, path: str) -> str:
    """The URL of an endpoint such as `/models`; the base URL's query stays behind it."""
    base, mark, query = base_url.partition("?")
    return f"{base}{path}{mark}{query}"


def origin(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port: what a key belongs to; of no URL nothing that any other has."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return ("", url, None)
    return (parts.scheme, (parts.hostname or "").rstrip("."), port)
