"""Servers that are known, and in what each differs: a table.

What is not in it is learnt from a server's first refusal. What a row says comes from the server's own
documentation and from reports of what it refused.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from actors.provider.wires.wire import PLAIN, Quirks


@dataclass(frozen=True, slots=True)
class Dialect:
    """One kind of server."""

    name: str
    """What `provider` in the settings calls it."""
    quirks: Quirks = PLAIN
    hosts: tuple[str, ...] = ()
    """Hosts it answers at; `*` stands for any text."""
    port: int = 0
    """Port it has on a person's own machine unless told otherwise; 0: it is not run there."""
    key_header: str = "Authorization"
    """Where the key goes; as a bearer token in `Authorization`, else alone."""
    window_path: str = ""
    """Path from the server's root that tells the window of a model which `/v1/models` does not tell."""


DIALECTS: Final = (
    Dialect(
        "openai",
        Quirks(limit_name="max_completion_tokens"),
        hosts=("api.openai.com", "*.api.openai.com"),
    ),
    Dialect(
        "azure",
        Quirks(limit_name="max_completion_tokens"),
        hosts=(
            "*.openai.azure.com",
            "*.cognitiveservices.azure.com",
            "*.services.ai.azure.com",
            "*.openai.azure.us",
            "*.cognitiveservices.azure.us",
            "*.openai.azure.cn",
        ),
        key_header="api-key",
    ),
    Dialect("openrouter", Quirks(echo="reasoning_details"), hosts=("openrouter.ai", "*.openrouter.ai")),
    Dialect("deepseek", Quirks(echo="reasoning_content"), hosts=("api.deepseek.com",)),
    Dialect(
        "moonshot",
        Quirks(echo="reasoning_content"),
        hosts=("api.moonshot.ai", "api.moonshot.cn", "api.kimi.com"),
    ),
    Dialect(
        "mistral",
        Quirks(stream_usage=False, alternating=True, short_ids=True),
        hosts=("api.mistral.ai", "codestral.mistral.ai"),
    ),
    Dialect("groq", Quirks(limit_name="max_completion_tokens"), hosts=("api.groq.com",)),
    Dialect("xai", Quirks(limit_name="max_completion_tokens"), hosts=("api.x.ai", "*.api.x.ai")),
    Dialect(
        "gemini",
        Quirks(extras=True),
        hosts=(
            "generativelanguage.googleapis.com",
            "aiplatform.googleapis.com",
            "*-aiplatform.googleapis.com",
        ),
    ),
    Dialect("together", hosts=("api.together.xyz", "api.together.ai")),
    Dialect("ollama", Quirks(text_calls=True), port=11434, window_path="/api/ps"),
    Dialect("llama.cpp", Quirks(text_calls=True), port=8080, window_path="/props"),
    Dialect("vllm", Quirks(text_calls=True), port=8000),
    Dialect(
        "lmstudio",
        Quirks(call_content="empty", text_calls=True),
        port=1234,
        window_path="/api/v0/models",
    ),
    Dialect("generic"),
)
NAMES: Final = tuple(dialect.name for dialect in DIALECTS)
GENERIC: Final = DIALECTS[-1]


def named(name: str) -> Dialect:
    """The dialect of that name. Raises `KeyError`."""
    return {dialect.name: dialect for dialect in DIALECTS}[name]


def dialect_of(base_url: str, name: str = "") -> Dialect:
    """The dialect that is named, else the one whose servers are found at such an address."""
    if name:
        return named(name)
    parts = urlsplit(base_url)
    host = (parts.hostname or "").rstrip(".")
    for dialect in DIALECTS:
        if any(fnmatchcase(host, pattern) for pattern in dialect.hosts):
            return dialect
        if dialect.port and dialect.port == parts.port and is_loopback(host):
            return dialect
    return GENERIC


def is_loopback(host: str) -> bool:
    """Tell this machine from others, by its name or address; `0.0.0.0` is what a server here listens at."""
    try:
        address = ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified
