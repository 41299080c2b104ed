"""Base URLs: written the way requests need them, and which server one belongs to (pure)."""

from urllib.parse import urlsplit, urlunsplit


def normalize_base_url(given: str) -> str:
    """Trim spaces, trailing slashes and a pasted `/chat/completions`; a bare host gets `/v1`.

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
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("must hold no user, query or fragment; a key goes into api_key or FIDO_API_KEY")
    path = parts.path.rstrip("/").removesuffix("/chat/completions").rstrip("/")
    return urlunsplit((parts.scheme, parts.netloc, path or "/v1", "", ""))


def origin(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port: what a key belongs to; of no URL nothing that any other has."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return ("", url, None)
    return (parts.scheme, (parts.hostname or "").rstrip("."), port)
