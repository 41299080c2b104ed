"""What goes wrong on the wire, turned into one clear error for a person. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from actors.provider.interface import ProviderError
from actors.provider.servers.served import WINDOWS

TEXT_LIMIT: Final = 500
"""Characters of a server's own words in an error."""
CHECK_KEY = (
    "Check OPENAI_API_KEY or FIDO_API_KEY and OPENAI_BASE_URL or FIDO_BASE_URL; `fido doctor` tests them."
)
CHECK_URL = "Check the base URL (OPENAI_BASE_URL, FIDO_BASE_URL or --base-url); `fido doctor` tests it."

TOO_LONG = (
    "context_length_exceeded", "context length", "exceed_context_size", "context window", "context size",
    "prompt is too long", "too many tokens", "maximum number of tokens", "maximum prompt length",
    "input is too long",
)  # fmt: skip
"""As OpenAI, vLLM, llama.cpp, LM Studio, Anthropic, Groq, Gemini, xAI and Bedrock say it."""
TOO_FAST = ("rate limit", "rate_limit", "throttl", "per minute", "per day", "please wait", "quota")
"""Words of a server that counts tokens by time: waiting helps there, a shorter conversation does not."""
_WINDOW: Final = re.compile(
    r"(?:context (?:length|size|window)|prompt length|number of tokens allowed)"
    r"(?: of)?(?: only| is)?[ :(]+(\d[\d,]*)"
    r"|> (\d[\d,]*) maximum|(\d[\d,]*) (?:tokens )?maximum context length|limit (\d[\d,]*), requested"
)
"""The number beside it: OpenAI and vLLM, llama.cpp, LM Studio, Gemini, xAI; Anthropic; Mistral; Groq."""


_NO_MODEL: Final = re.compile(
    r"model_not_found|invalid_model|invalid model\b|not a valid model|unknown model|no such model"
    r"|model \S{1,200} (?:not found|does not exist|is not (?:found|available|supported by))"
)
_TOOL_AT: Final = re.compile(r"\btools?(?:\[|[./ ]|\", ?)(\d{1,3})\b")
"""A place in `tools` as OpenAI, FastAPI and others write it: `tools[3]`, `tools.3`, `"tools",3`."""


@dataclass(frozen=True, slots=True)
class Detail:
    """What a server says about an error."""

    message: str
    code: str
    """Its `code` and `type`, one after the other."""
    status: int = 0
    """A status inside the body, as some send it in a stream."""
    window: int = 0
    """Tokens the model takes, where the server names them; else 0."""


def read_detail(body: object) -> Detail:
    """Find the message in an error body: decoded JSON of any shape, or text."""
    inner = body.get("error", body) if isinstance(body, Mapping) else body
    if not isinstance(inner, Mapping):
        return Detail(_shorten(inner if isinstance(inner, str) else ""), "")
    message = next((_text(inner[k]) for k in ("message", "detail", "msg") if inner.get(k)), "")
    names = [inner[k] for k in ("code", "type") if isinstance(inner.get(k), str)]
    codes = [int(inner[k]) for k in ("code", "status") if re.fullmatch(r"\d{3}", str(inner.get(k)))]
    behind = inner.get("metadata")
    if isinstance(behind, Mapping) and behind.get("raw"):  # what a server behind OpenRouter said
        message = f"{message}: {_text(behind['raw'])}"
    return Detail(_shorten(message), " ".join(names), next(iter(codes), 0), _window(inner, message))


def _text(said: object) -> str:
    """What was said as text; FastAPI and Mistral send lists and objects there."""
    return said if isinstance(said, str) else msgspec.json.encode(said).decode()


def _window(inner: Mapping[str, Any], message: str) -> int:
    """The window that an error names: llama.cpp as a member, the others in words; 0 when none does."""
    named = _WINDOW.search(message[: 4 * TEXT_LIMIT].lower())
    told = inner.get("n_ctx", named[named.lastindex or 0] if named else 0)
    try:
        tokens = int(str(told).replace(",", ""))
    except ValueError:
        return 0
    return tokens if tokens in WINDOWS else 0


def from_status(
    status: int, detail: Detail, url: str, *, has_key: bool = True, location: str = ""
) -> ProviderError:
    """The error of a response that is no answer."""
    error = _of_status(status, detail, url, has_key, location)
    error.status = status
    error.said = f"{detail.code} {detail.message}"
    return error


def _of_status(status: int, detail: Detail, url: str, has_key: bool, location: str) -> ProviderError:
    said = f": {detail.message}" if detail.message else "."
    at = f"{status} from {url}{said}"
    words = f"{detail.code} {detail.message}".lower()
    if 300 <= status < 400:
        return ProviderError(
            "bad_request", f"The server redirects {url} to {location or 'another address'}.", CHECK_URL
        )
    if _is_too_long(status, words):
        return ProviderError(
            "context_length_exceeded",
            f"The conversation is longer than the model takes ({at})",
            "Send a shorter prompt, choose a model with a larger context window, or begin a new session.",
            window=detail.window,
        )
    if status == 401:
        if has_key:
            return ProviderError("unauthorized", f"The server refuses the key ({at})", CHECK_KEY)
        return ProviderError("unauthorized", f"The server wants a key and none is set ({at})", CHECK_KEY)
    if status == 403:
        return ProviderError("forbidden", f"The server forbids this request ({at})", CHECK_KEY)
    if status == 404 or (status < 500 and _NO_MODEL.search(words)):
        return _not_found(at, words)
    if status == 429:
        return _rate_limited(at, words)
    if status >= 500 or status in (408, 409):
        return ProviderError(
            "server_error", f"The server failed ({at})", "Send the prompt again; the conversation is kept."
        )
    return ProviderError(
        "bad_request",
        f"The server does not take this request ({at})",
        "Check that the model and the server support streaming and tool calls.",
    )


def _is_too_long(status: int, words: str) -> bool:
    if status == 413:
        return True
    said = any(map(words.__contains__, TOO_LONG)) and not any(map(words.__contains__, TOO_FAST))
    return said and status not in (401, 403, 404, 429, 503)


def from_stream(body: object, url: str) -> ProviderError:
    """The error that came instead of the next chunk."""
    detail = read_detail(body)
    if 400 <= detail.status < 600:
        return from_status(detail.status, detail, url)
    return from_status(500, detail, url)


def is_hopeless(status: int, detail: Detail) -> bool:
    """Tell whether waiting cannot help although the status says so: the account has no quota."""
    return status == 429 and "insufficient_quota" in detail.code


def unreachable(url: str, reason: str) -> ProviderError:
    return ProviderError("unreachable", f"No connection to {url}: {reason}.", CHECK_URL)


def connection_lost(url: str) -> ProviderError:
    return ProviderError(
        "connection_lost",
        f"The connection to {url} ended before the answer did.",
        "Send the prompt again; nothing of this answer was carried out.",
    )


def incomplete(url: str, reason: str = "") -> ProviderError:
    """The server ended an answer that is not at its end: it says so, or gives no finish reason."""
    how = f"with finish_reason {_shorten(reason)!r}" if reason else "without a finish reason"
    return ProviderError(
        "incomplete",
        f"The server at {url} ended its answer {how}: it is incomplete.",
        "Send the prompt again; nothing of this answer was carried out.",
    )


def content_filter(url: str, reason: str) -> ProviderError:
    return ProviderError(
        "content_filter",
        f"The server at {url} withheld the rest of its answer (finish_reason {_shorten(reason)!r}).",
        "Put the prompt in other words, or choose another model; nothing of this answer was carried out.",
    )


def bad_stream(url: str, reason: str) -> ProviderError:
    return ProviderError(
        "bad_stream",
        f"The server at {url} sent what is no answer of a model: {reason}.",
        CHECK_URL,
    )


def idle_timeout(url: str, seconds: float) -> ProviderError:
    return ProviderError(
        "idle_timeout",
        f"The server at {url} was silent for {seconds:g} s.",
        "Send the prompt again, or raise timeouts.idle_s.",
    )


def total_timeout(url: str, seconds: float) -> ProviderError:
    return ProviderError(
        "total_timeout",
        f"The answer from {url} was not complete within {seconds:g} s.",
        "Ask for less at once, or raise timeouts.total_s.",
    )


def unusable_key() -> ProviderError:
    return ProviderError(
        "unauthorized", "The key holds characters that no HTTP header can carry; it was not sent.", CHECK_KEY
    )


def tool_in_question(said: str, names: Sequence[str]) -> str:
    """The tool that a refusal points at by its place in the request; empty when it names none so."""
    found = _TOOL_AT.search(said.lower())
    return names[int(found[1])] if found and int(found[1]) < len(names) else ""


def _not_found(at: str, words: str) -> ProviderError:
    if "model" in words:
        return ProviderError(
            "model_not_found",
            f"The server has no such model ({at})",
            "Choose another with FIDO_MODEL or --model.",
        )
    if "/responses" in at:
        return ProviderError(
            "not_found",
            f"There is no Responses endpoint ({at})",
            'Set wire_api = "chat", which every server has, or check the base URL.',
        )
    return ProviderError("not_found", f"There is no Chat Completions endpoint ({at})", CHECK_URL)


def _rate_limited(at: str, words: str) -> ProviderError:
    if "quota" in words:
        return ProviderError(
            "rate_limited",
            f"The account has used up its quota ({at})",
            "Check the plan and billing of the account.",
        )
    return ProviderError(
        "rate_limited", f"The server is too busy for this account ({at})", "Wait, then send it again."
    )


def _shorten(text: Any) -> str:
    """One bounded line; a page of HTML says nothing to a person."""
    flat = " ".join(str(text).split())
    if flat[:1] == "<":
        return "(an HTML page)"
    return flat if len(flat) <= TEXT_LIMIT else flat[:TEXT_LIMIT] + "…"
