"""Keys and headers among the settings: which one counts, and whose they are."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import AfterValidator, SecretStr, StringConstraints

from actors.secrets.sources import KeyUnavailable, ask_command, read_key_file
from actors.settings.addresses import origin
from actors.settings.layers import Layer, SettingsError

KEY_SOURCES: Final = ("api_key", "api_key_variable", "api_key_file", "api_key_command")
"""Settings of which one says what the key is."""
_OF_A_SERVER: Final = (*KEY_SOURCES, "headers")


def _sendable(value: SecretStr) -> SecretStr:
    text = value.get_secret_value()
    if not (text.isascii() and text.isprintable()) or text != text.strip():
        raise ValueError("holds characters that no HTTP header can carry")
    return value


HeaderName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$")]
HeaderValue = Annotated[SecretStr, AfterValidator(_sendable)]
Command = (
    Annotated[str, StringConstraints(pattern=r"\S")]
    | Annotated[list[str], AfterValidator(lambda words: _not_empty(words))]
)
"""A string for `sh`, or a program and its arguments."""


def _not_empty(words: list[str]) -> list[str]:
    if not words or not words[0]:
        raise ValueError("has to name a program")
    return words


def pair(user: Layer, surroundings: Layer, default_url: str, moved: object) -> tuple[str, ...]:
    """Leave in both layers what is meant for the server in use; return what a person should be told.

    What stands in the user's file belongs to the base URL in that file; `moved` is the one that a flag or a
    variable sets. There, `OPENAI_API_KEY` gives way to the key of another server. Raises `SettingsError`.
    """
    named = [key for key in KEY_SOURCES if key in user.values]
    if len(named) > 1:
        raise SettingsError(f"{user.name}: {' and '.join(named)}: only one of them may say what the key is")
    own = origin(str(user.values.get("base_url", default_url)))
    if moved is not None and origin(str(moved)) != own:
        return _leave_behind(user, replaced="api_key" in surroundings.values)
    if named and "api_key" in surroundings.values:
        is_of_openai = surroundings.names["api_key"] == "OPENAI_API_KEY" and own != origin(default_url)
        layer, keys = (surroundings, ["api_key"]) if is_of_openai and moved is None else (user, named)
        for key in keys:
            del layer.values[key]
    return ()


def _leave_behind(user: Layer, *, replaced: bool) -> tuple[str, ...]:
    left = [key for key in _OF_A_SERVER if user.values.pop(key, None) is not None]
    missed = [key for key in left if key == "headers" or not replaced]
    if not missed:
        return ()
    step = "" if replaced else " Set FIDO_API_KEY for this server."
    return (
        f"{' and '.join(missed)} of {user.name}: belongs to another server than the base URL in use, "
        f"so it is not sent.{step}",
    )


def find_key(
    values: Mapping[str, Any], sources: Mapping[str, str], environ: Mapping[str, str], folder: Path
) -> tuple[str, str] | None:
    """The key and its source, where a variable, a file or a command has it; `values` are validated settings.

    A relative path starts at `folder`, that of the user's file. Raises `SettingsError`.
    """
    named = next((key for key in KEY_SOURCES[1:] if values.get(key)), None)
    if named is None:
        return None
    place = f"{sources.get(named, 'settings')} {named}"
    try:
        return _key_of(named, values[named], environ, folder), place
    except KeyUnavailable as error:
        raise SettingsError(f"{sources.get(named, 'settings')}: {named}: {error}") from None


def _key_of(named: str, value: Any, environ: Mapping[str, str], folder: Path) -> str:
    match named:
        case "api_key_variable":
            key = environ.get(value, "").strip()
            if not key:
                named = f" {value}" if value.isupper() else ""  # else it may be the key itself
                raise KeyUnavailable(f"the variable{named} is not set")
            return key
        case "api_key_file":
            return read_key_file(folder / _in_home(value, environ))
        case _:
            return ask_command(value, environ)


def _in_home(path: str, environ: Mapping[str, str]) -> str:
    return f"{environ.get('HOME') or Path.home()}{path[1:]}" if path.startswith("~/") else path
