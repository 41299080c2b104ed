"""Which variables a worker may have: an allow-list, without anything that names a secret."""

from collections.abc import Mapping
from typing import Final

_KEPT: Final = frozenset(
    {"HOME", "LANG", "LANGUAGE", "LD_LIBRARY_PATH", "LOGNAME", "PATH", "TERM", "TMPDIR", "TZ", "USER"}
)
_KEPT_PREFIXES: Final = ("FIDO_", "LC_", "XDG_")
_SECRET_WORDS: Final = ("AUTH", "CREDENTIAL", "KEY", "PASS", "SECRET", "TOKEN", "URL")


def public_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What of an environment a worker may have."""
    return {
        name: value
        for name, value in environ.items()
        if not names_secret(name) and (name in _KEPT or name.startswith(_KEPT_PREFIXES))
    }


def names_secret(name: str) -> bool:
    """Whether a variable may hold a key, a password or an address with one in it, by its name."""
    return any(word in name.upper() for word in _SECRET_WORDS)
