"""Where Fido's own files live for a person, by the XDG rules."""

from collections.abc import Mapping
from pathlib import Path


def state_directory(environ: Mapping[str, str]) -> Path:
    """Sessions and logs."""
    return _base_directory(environ, "XDG_STATE_HOME", ".local/state") / "fido"


def user_file(environ: Mapping[str, str]) -> Path:
    """The person's own settings."""
    return _base_directory(environ, "XDG_CONFIG_HOME", ".config") / "fido" / "config.toml"


def make_private(folder: Path) -> None:
    """Make a folder, and what is missing above it, for its owner alone, whatever the umask. Raises `OSError`.

    `mkdir` gives its mode to the last folder only, and leaves the others open.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)


def _base_directory(environ: Mapping[str, str], name: str, below_home: str) -> Path:
    """A folder of the XDG rules, which ignore relative paths."""
    given = Path(environ.get(name) or "")
    return given if given.is_absolute() else Path(environ.get("HOME") or Path.home()) / below_home
