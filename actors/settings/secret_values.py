"""Which values among the settings are secret, so that they are told to nobody."""

import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from actors.settings.layers import Layer

_NAMES: Final = ("auth", "cookie", "credential", "key", "pass", "secret", "session", "sig", "token")
_SHORT: Final = len("Bearer")
_LIKE_A_KEY: Final = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])[A-Za-z0-9_=.-]{20,}")


def secret_values(user: Layer, environ: Mapping[str, str], variables: Sequence[str]) -> Iterator[str]:
    """Every one of them, also a key that is not in use; `variables` hold keys.

    Of one that was pasted with what stood beside it, such as `Bearer`, each word may be the key.
    """
    for value in (*_of_file(user), *_of_environment(environ, variables)):
        yield value
        yield from (word for word in value.split() if word != value and len(word) > _SHORT)


def warn_if_open(user: Layer, path: Path) -> Iterator[str]:
    """Say so when a file that holds a secret can be read by others."""
    if any(_of_file(user)) and stat.S_IMODE(path.stat().st_mode) & 0o077:
        yield f"{path} holds a secret and is open to other users. Close it with: chmod 600 {path}"


def _of_file(user: Layer) -> Iterator[str]:
    """Of whatever shape: it is looked at before it is validated."""
    yield from _strings(user.values.get("api_key"))
    headers, web = user.values.get("headers"), user.values.get("web")
    for name, value in headers.items() if isinstance(headers, dict) else ():
        if _is_secret(name, str(value)):
            yield from _strings(value)
    yield from _of_url(web.get("search_url") if isinstance(web, dict) else None)


def _of_environment(environ: Mapping[str, str], variables: Sequence[str]) -> Iterator[str]:
    for name, value in environ.items():
        if name in variables:
            yield value.strip()
        elif name.lower().endswith("_proxy"):
            yield from _of_url(value)


def _is_secret(header: str, value: str) -> bool:
    """Tell a key from what is only told, such as the address of an application: that may be anywhere."""
    return any(word in header.lower() for word in _NAMES) or bool(_LIKE_A_KEY.fullmatch(value))


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value.strip()
    elif isinstance(value, list):
        for entry in value:
            yield from _strings(entry)


def _of_url(address: object) -> Iterator[str]:
    """The password of an address, and what its query calls a key."""
    try:
        parts = urlsplit(address if isinstance(address, str) else "")
    except ValueError:
        return
    if parts.password:
        yield from (parts.password, unquote(parts.password))
    for name, value in parse_qsl(parts.query):
        if any(word in name.lower() for word in _NAMES):
            yield value
