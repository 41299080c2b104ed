"""What goes wrong on the wire, turned into one clear error for a person. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from actors.provider.interface import ProviderError
from actors.provider.overflow import CODE, is_too_long, window_named

TEXT_LIMIT: Final = 500
"""Characters of a server's own words in an error."""
CHECK_KEY = (
    "Check OPENAI_API_KEY or FIDO_API_KEY and OPENAI_BASE_URL or FIDO_BASE_URL; `fido doctor` tests them."
)
CHECK_URL = "Check the base URL (OPENAI_BASE_URL, FIDO_BASE_URL or --base-url); `fido doctor` tests it."

CHECK_SUPPORT: Final = "Check that the model and the server support streaming and tool calls."
LOWER_OUTPUT: Final = "Set max_output_tokens to what the model gives, or leave it out."
_OUTPUT_BOUND: Final = re.compile(
    r"max_(?:completion_|output_)?tokens.{0,80}(?:less than|at most|exceed|too large|maximum|between|range)"
    r"|range of max_tokens"
)
_NO_MODEL: Final = re.compile(
    r"model_not_found|invalid_model|invalid model\b|not a valid model|unknown model|no such model"
    r"|model \S{1,200} (?:not found|does not exist|is not (?:found|available|supported by))"
)
_NO_PROVIDER: Final = re.compile(r"no endpoints found|no allowed providers|no providers? available")
"""As OpenRouter says that no server behind it takes the request: for its tools or its data policy."""
_OTHER: Final = "Choose another with FIDO_MODEL or --model."
_OTHER_TOOLS: Final = "Choose a model that takes tool calls, with FIDO_MODEL or --model."
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
    if isinstance(body, list) and len(body) == 1:  # as Gemini sends it
        body = body[0]
    inner = body.get("error", body) if isinstance(body, Mapping) else body
    if not isinstance(inner, Mapping):
        text = inner if isinstance(inner, str) else ""
        return Detail(_shorten(text), "", window=window_named({}, text))
    message = next((_text(inner[k]) for k in ("message", "detail", "msg") if inner.get(k)), "")
    names = [inner[k] for k in ("code", "type") if isinstance(inner.get(k), str)]
    codes = [int(inner[k]) for k in ("code", "status") if re.fullmatch(r"\d{3}", str(inner.get(k)))]
    behind = inner.get("metadata")
    if isinstance(behind, Mapping) and behind.get("raw"):  # what a server behind OpenRouter said
        message = f"{message}: {_text(behind['raw'])}"
    return Detail(_shorten(message), " ".join(names), next(iter(codes), 0), window_named(inner, message))


def _text(said: object) -> str:
    """What was said as text; FastAPI and Mistral send lists and objects there."""
    return said if isinstance(said, str) else msgspec.json.encode(said).decode()


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
    if is_too_long(status, words):
        return ProviderError(
            CODE,
            f"The conversation is longer than the model takes ({at})",
            "Send a shorter prompt, choose a model with a larger context window, or begin a new session.",
            window=detail.window,
        )
    if status == 401:
        if has_key:
            return ProviderError("unauthorized", f"The server refuses the key ({at})", CHECK_KEY)
        return ProviderError("unauthorized", f"The server wants a key and none is set ({at})", CHECK_KEY)
    if status == 402:
        return ProviderError(
            "no_credit", f"The account has no credit left ({at})", "Top up the account, then send it again."
        )
    if status == 403:
        return ProviderError("forbidden", f"The server forbids this request ({at})", CHECK_KEY)
    if status == 404 and _NO_PROVIDER.search(words):
        return ProviderError(
            "model_not_found",
            f"Nobody serves the model so ({at})",
            _OTHER_TOOLS if "tool" in words else _OTHER,
        )
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
        LOWER_OUTPUT if _OUTPUT_BOUND.search(words) else CHECK_SUPPORT,
    )


def error_in(chunk: Mapping[str, Any]) -> object | None:
    """What tells of an error in a chunk that is there instead of a piece of the answer; else None."""
    if chunk.get("error"):
        return chunk
    base = chunk.get("base_resp")  # MiniMax has it in every chunk
    if isinstance(base, Mapping) and base.get("status_code"):
        return {"message": base.get("status_msg") or "", "code": str(base["status_code"])}
    if "choices" in chunk:
        return None
    is_told = any(chunk.get(key) and isinstance(chunk[key], str | list) for key in ("message", "detail"))
    return chunk if is_told or chunk.get("object") == "error" else None


def from_stream(body: object, url: str) -> ProviderError:
    """The error that came instead of the next chunk."""
    detail = read_detail(body)
    if 400 <= detail.status < 600:
        return from_status(detail.status, detail, url)
    error = from_status(500, detail, url)
    error.status = 0
    return error


def is_passing(error: ProviderError) -> bool:
    """Tell whether waiting may help: the server is busy or failed, and the quota is not used up."""
    return error.code in ("rate_limited", "server_error") and "insufficient_quota" not in error.said


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
    if "model" in words or "deployment" in words:  # Azure's name for a model
        return ProviderError("model_not_found", f"The server has no such model ({at})", _OTHER)
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
    if re.match(r"<[a-z!?]", flat, re.IGNORECASE):
        return "(an HTML page)"
    return flat if len(flat) <= TEXT_LIMIT else flat[:TEXT_LIMIT] + "…"
