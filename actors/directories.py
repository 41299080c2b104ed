"""Where Fido's own files live for a person, by the XDG rules."""

from collections.abc import Mapping
from pathlib import Path


def state_directory(environ: Mapping[str, str]) -> Path:
    """Sessions and logs."""
    return _base_directory(environ, "XDG_STATE_HOME", ".local/state") / "fido"


def user_file(environ: Mapping[str, str]) -> Path:
    """The person's own settings."""
    return _base_directory(environ, "XDG_CONFIG_HOME", ".config") / "fido" / "config.toml"


def _base_directory(environ: Mapping[str, str], name: str, below_home: str) -> Path:
    """A folder of the XDG rules, which ignore relative paths."""
    given = Path(environ.get(name) or "")
    return given if given.is_absolute() else Path(environ.get("HOME") or Path.home()) / below_home
