"""Settings as layers: reading one file, merging tables deeply, remembering who said what."""

import difflib
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_origin

from pydantic import BaseModel

from actors.files.regular import open_regular

SIZE_LIMIT = 1 << 20
"""A settings file past this is a mistake, bytes."""


class SettingsError(Exception):
    """The settings cannot be used; the text is one line for a person: source, key, reason."""


@dataclass(slots=True)
class Layer:
    """One place that settings come from, with the names its values go by there."""

    name: str
    values: dict[str, Any]
    names: Mapping[str, str] = field(default_factory=dict)
    """Setting to what a person calls it: a variable, a flag."""

    def source(self, key: str) -> str:
        """What to call the place of a top-level key."""
        return f"{self.name} {self.names[key]}" if key in self.names else self.name


def read_file(path: Path) -> Layer:
    """Read a TOML file; a missing or empty one is an empty layer. Raises `SettingsError`."""
    try:
        with open(open_regular(path), "rb") as file:
            raw = file.read(SIZE_LIMIT + 1)
    except FileNotFoundError:
        return Layer(str(path), {})
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {(error.strerror or str(error)).lower()}") from None
    if len(raw) > SIZE_LIMIT:
        raise SettingsError(f"{path}: larger than {SIZE_LIMIT} bytes, so it is no settings file")
    if raw.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        raise SettingsError(f"{path}: starts with a byte order mark; save it as UTF-8 without one")
    try:
        return Layer(str(path), tomllib.loads(raw.decode("utf-8")))
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path}: is not UTF-8 at byte {error.start}; save it as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: is not TOML: {str(error).splitlines()[0]}") from None


def merge(layers: Sequence[Layer], model: type[BaseModel]) -> tuple[dict[str, Any], dict[str, str]]:
    """Merge layers, a later one wins: tables key by key, everything else as a whole.

    Returns the values and the source of each leaf by its dotted key. Raises `SettingsError` for a key that
    `model` does not know.
    """
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for layer in layers:
        for key, value in layer.values.items():
            _put(values, sources, layer.source(key), key, value, model)
    return values, sources


def _put(
    into: dict[str, Any],
    sources: dict[str, str],
    source: str,
    key: str,
    value: object,
    model: type[BaseModel] | None,
    prefix: str = "",
) -> None:
    dotted = prefix + key
    if model is not None and key not in model.model_fields:
        raise SettingsError(f"{source}: {dotted!r}: unknown setting{nearest(key, model.model_fields)}")
    if not isinstance(value, dict):
        for old in [name for name in sources if name.startswith(dotted + ".")]:
            del sources[old]
        into.pop(key, None)  # of rules on paths the last one counts, so a later layer's comes last
        into[key] = value
        sources[dotted] = source
        return
    below = into.get(key)
    if not isinstance(below, dict):
        into[key] = below = {}
        sources.pop(dotted, None)
    inner = None if model is None else _table_of(model, key)
    for name, entry in value.items():
        _put(below, sources, source, name, entry, inner, dotted + ".")


def _table_of(model: type[BaseModel], key: str) -> type[BaseModel] | None:
    """The model of a nested table, none when the field is a plain value or a free table."""
    annotation = model.model_fields[key].annotation
    if get_origin(annotation) is dict:
        return None
    candidates = (annotation, *getattr(annotation, "__args__", ()))
    return next((kind for kind in candidates if isinstance(kind, type) and issubclass(kind, BaseModel)), None)


def nearest(key: str, known: Iterable[str]) -> str:
    """A hint that names the closest known keys, or all of them."""
    names = sorted(known)
    close = difflib.get_close_matches(key, names, n=2, cutoff=0.7)
    return f"; did you mean {' or '.join(close)}?" if close else f"; known are {', '.join(names)}"
