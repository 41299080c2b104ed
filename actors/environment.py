"""What the environment says about where files live, and what of it another process may see (pure)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

_SECRET_WORDS: Final = (
    "APIKEY",
    "API_KEY",
    "ACCESS_KEY",
    "SECRET",
    "TOKEN",
    "PASSWORD",
    "PASSWD",
    "CREDENTIAL",
)


def without_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """Everything but variables whose name says that they hold a key, a token or a password."""
    return {
        name: value
        for name, value in environ.items()
        if not any(word in name.upper() for word in _SECRET_WORDS)
    }


def state_directory(environ: Mapping[str, str]) -> Path:
    """Where sessions and logs live: `$XDG_STATE_HOME/fido`."""
    given = Path(environ.get("XDG_STATE_HOME") or "")
    base = given if given.is_absolute() else Path(environ.get("HOME") or Path.home()) / ".local" / "state"
    return base / "fido"
