"""The models that a server says it has, and how many tokens each takes (pure)."""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

WINDOWS: Final = range(256, 1 << 27)
"""What a window may plausibly be, tokens."""
_WINDOW_MEMBERS: Final = (
    ("loaded_context_length",),
    ("default_generation_settings", "n_ctx"),
    ("meta", "n_ctx"),
    ("n_ctx",),
    ("top_provider", "context_length"),
    ("context_length",),
    ("context_window",),
    ("max_model_len",),
    ("max_context_length",),
    ("limits", "max_context_window_tokens"),
    ("meta", "n_ctx_train"),
)
"""As LM Studio, llama.cpp, OpenRouter, Moonshot, Together and Ollama, Groq, vLLM, Mistral and others name it.

What a model is loaded with comes before what it could take.
"""


class Served(NamedTuple):
    """One model of a server."""

    name: str
    window: int
    """Tokens it takes; 0: it is not told."""


def read_models(body: object) -> tuple[Served, ...]:
    """Find the models in a decoded answer of any shape; what makes no sense is passed over."""
    return tuple(_models(body))


def _models(body: Any) -> Iterator[Served]:
    if not isinstance(body, list | Mapping):
        return
    listed = body if isinstance(body, list) else body.get("data", body.get("models"))
    if isinstance(listed, list):
        for entry in listed:
            if isinstance(entry, Mapping):
                yield Served(_name(entry), _window(entry))
    elif isinstance(body, Mapping):  # llama.cpp tells of its one model without a list
        yield Served("", _window(body))


def window_of(models: Iterable[Served], name: str) -> int:
    """Tokens that a model takes; of a server with one model, of that one. 0: it is not told."""
    known = list(models)
    matching = [model for model in known if model.name == name] or (known if len(known) == 1 else [])
    return next((model.window for model in matching if model.window), 0)


def names_of(models: Iterable[Served]) -> tuple[str, ...]:
    """The names, in the server's order."""
    return tuple(dict.fromkeys(model.name for model in models if model.name))


def nearest_names(names: Sequence[str], wanted: str, count: int = 3) -> tuple[str, ...]:
    """The names most like the one that is wanted; the first ones when none is."""
    by_lower = {name.lower(): name for name in names}
    close = difflib.get_close_matches(wanted.lower(), by_lower, n=count, cutoff=0.4)
    return tuple(by_lower[name] for name in close) or tuple(names[:count])


def _name(entry: Mapping[str, Any]) -> str:
    name = entry.get("id", entry.get("name", entry.get("model", "")))
    return name if isinstance(name, str) else ""


def _window(entry: Mapping[str, Any]) -> int:
    for path in _WINDOW_MEMBERS:
        value: Any = entry
        for member in path:
            value = value.get(member) if isinstance(value, Mapping) else None
        if isinstance(value, int) and value in WINDOWS:
            return value
    return 0
