"""Real servers, each as strict as it is known to be, and what it says when it refuses.

The words are those that people have quoted from the servers; the rules are what they are about.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from tests.fakes import chat_rules
from tests.fakes.apis import CHAT, Api
from tests.fakes.chat_request import Request
from tests.fakes.chat_script import Step, status

Words = Callable[[str, str], tuple[int, Any]]
"""From what is wrong, and a name, to status and body."""


@dataclass(frozen=True)
class Strict:
    """What one server refuses."""

    dialect: str
    unknown: frozenset[str] = frozenset()
    """Members of a request that it does not know."""
    contents: frozenset[str] = frozenset({"null", "empty", "absent"})
    """Forms of the content of a message that only calls tools."""
    takes: frozenset[str] = frozenset()
    """Further members of an assistant's message."""
    demands: str = ""
    """Member that every message with calls needs."""
    alternating: bool = False
    short_ids: bool = False
    single: bool = False
    signed: bool = False
    """Whether the first call of each message needs a signature."""
    words: Words = field(default=lambda wrong, name: (400, {"error": {"message": f"{wrong}: {name}"}}))
    key_header: str = "authorization"
    models: Any = None
    """What `/v1/models` says; null: the model's name alone."""
    pages: Mapping[str, Any] = field(default_factory=dict)
    """What other paths say."""
    window: int = 0
    """What can be learnt of the window of `m`."""
    lessons: int = 0
    """How much of it depends on the model, so that also its dialect has to learn it."""

    @property
    def api(self) -> Api:
        return Api(
            CHAT.path,
            lambda request: chat_rules.check(request, self.takes, ["extra_content"] if self.signed else ()),
            CHAT.messages,
            CHAT.render,
        )

    def refuse(self, request: Request) -> Step | None:
        """The refusal of a request, as this server words it."""
        wrong = next(self._faults(request.data), None)
        if wrong is None:
            return None
        code, body = self.words(*wrong)
        return status(code, body=body)

    def get_pages(self, prefix: str) -> dict[str, bytes]:
        models = self.models or {"object": "list", "data": [{"id": "m", "object": "model"}]}
        pages = {f"{prefix}/models": models, **self.pages}
        return {path: json.dumps(page).encode() for path, page in pages.items()}

    def _faults(self, request: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        for name in sorted(self.unknown & set(request)):
            yield "unknown", name
        messages: Sequence[Mapping[str, Any]] = request["messages"]
        for message in messages:
            calls = message.get("tool_calls") or ()
            if calls and not message.get("content") and _form(message) not in self.contents:
                yield "content", _form(message)
            if calls and self.demands and not message.get(self.demands):
                yield "demanded", self.demands
            if self.signed and calls and not calls[0].get("extra_content", {}).get("google"):
                yield "signature", calls[0]["function"]["name"]
            if self.single and len(calls) > 1:
                yield "single", ""
            ids = [
                *(call["id"] for call in calls),
                *([message["tool_call_id"]] if "tool_call_id" in message else []),
            ]
            if self.short_ids and (bad := [one for one in ids if not re.fullmatch("[a-zA-Z0-9]{9}", one)]):
                yield "id", bad[0]
        roles = [message["role"] for message in messages]
        for one, next_one in pairwise(roles):
            if self.alternating and next_one == "user" and one in ("user", "tool"):
                yield "roles", one


def _form(message: Mapping[str, Any]) -> str:
    return "absent" if "content" not in message else "null" if message["content"] is None else "empty"


def _openai(wrong: str, name: str) -> tuple[int, Any]:
    other = "max_completion_tokens" if name == "max_tokens" else "max_tokens"
    message = f"Unsupported parameter: '{name}' is not supported with this model. Use '{other}' instead."
    error = {
        "message": message,
        "type": "invalid_request_error",
        "param": name,
        "code": "unsupported_parameter",
    }
    return 400, {"error": error}


def _azure(wrong: str, name: str) -> tuple[int, Any]:
    message = f"Unrecognized request argument supplied: {name}"
    return 400, {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}


def _mistral(wrong: str, name: str) -> tuple[int, Any]:
    if wrong == "unknown":
        detail = [{"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs are not permitted"}]
        return 422, {"object": "error", "message": {"detail": detail}, "type": "invalid_request_error"}
    messages = {
        "roles": f"Unexpected role 'user' after role '{name}'",
        "id": f"Tool call id was {name} but must be a-z, A-Z, 0-9, with a length of 9.",
    }
    kind = "invalid_request_message_order" if wrong == "roles" else "invalid_request_error"
    return 400, {"object": "error", "message": messages[wrong], "type": kind, "param": None, "code": "3230"}


def _deepseek(wrong: str, name: str) -> tuple[int, Any]:
    message = f"The `{name}` in the thinking mode must be passed back to the API."
    return 400, {"error": {"message": message, "type": "invalid_request_error", "param": None}}


def _moonshot(wrong: str, name: str) -> tuple[int, Any]:
    message = f"thinking is enabled but {name} is missing in assistant tool call message at index 2"
    return 400, {"error": {"message": message, "type": "invalid_request_error"}}


def _lmstudio(wrong: str, name: str) -> tuple[int, Any]:
    return 400, {"error": "Invalid 'content': 'content' field must be a string or an array of objects."}


def _llama_cpp(wrong: str, name: str) -> tuple[int, Any]:
    said = {
        "roles": "After the optional system message, conversation roles must alternate user/assistant/...",
        "single": "This model only supports single tool-calls at once!",
    }[wrong]
    return 500, {"error": {"code": 500, "message": f"Value is not callable: {said}", "type": "server_error"}}


def _openrouter(wrong: str, name: str) -> tuple[int, Any]:
    raw = json.dumps({"object": "error", "message": f"Unexpected role 'user' after role '{name}'"})
    metadata = {"raw": raw, "provider_name": "Mistral"}
    return 400, {"error": {"message": "Provider returned error", "code": 400, "metadata": metadata}}


def _vllm(wrong: str, name: str) -> tuple[int, Any]:
    message = "[{'type': 'missing', 'loc': ('body', 'messages', 2, 'content'), 'msg': 'Field required'}]"
    return 400, {"object": "error", "message": message, "type": "BadRequestError", "code": 400}


def _gemini(wrong: str, name: str) -> tuple[int, Any]:
    message = (
        "Function call is missing a thought_signature in functionCall parts. This is required for tools to "
        f"work correctly. Additional data, function call `default_api:{name}`, position 2."
    )
    return 400, [{"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}]


def _xai(wrong: str, name: str) -> tuple[int, Any]:
    return 400, {"code": "Client specified an invalid argument", "error": f"Argument not supported: {name}"}


def _entry(**members: Any) -> dict[str, Any]:
    return {"object": "list", "data": [{"id": "other", "object": "model"}, {"id": "m", **members}]}


_TEXT = frozenset({"null", "empty"})
STRICT = (
    Strict("openai", frozenset({"max_tokens"}), words=_openai),
    Strict("azure", frozenset({"max_tokens"}), words=_azure, key_header="api-key"),
    Strict(
        "openrouter",
        takes=frozenset({"reasoning_details", "reasoning"}),
        alternating=True,
        words=_openrouter,
        lessons=1,
        models=_entry(context_length=200_000, top_provider={"context_length": 131_072}),
        window=131_072,
    ),
    Strict(
        "deepseek",
        contents=_TEXT,
        takes=frozenset({"reasoning_content"}),
        demands="reasoning_content",
        words=_deepseek,
    ),
    Strict(
        "moonshot",
        takes=frozenset({"reasoning_content"}),
        demands="reasoning_content",
        words=_moonshot,
        models=_entry(context_length=262_144),
        window=262_144,
    ),
    Strict(
        "mistral",
        frozenset({"stream_options", "max_completion_tokens"}),
        alternating=True,
        short_ids=True,
        words=_mistral,
        models=_entry(max_context_length=128_000),
        window=128_000,
    ),
    Strict("groq", contents=_TEXT, models=_entry(context_window=131_072), window=131_072),
    Strict("xai", frozenset({"max_tokens"}), words=_xai),
    Strict("gemini", signed=True, words=_gemini),
    Strict("together", models=[{"id": "m", "context_length": 32_768}], window=32_768),
    Strict(
        "ollama",
        contents=_TEXT,
        takes=frozenset({"reasoning"}),
        pages={"/api/ps": {"models": [{"name": "m", "model": "m", "context_length": 4_096}]}},
        window=4_096,
    ),
    Strict(
        "llama.cpp",
        contents=_TEXT,
        alternating=True,
        single=True,
        words=_llama_cpp,
        lessons=2,
        models={"object": "list", "data": [{"id": "/models/a.gguf", "meta": {"n_ctx_train": 131_072}}]},
        pages={"/props": {"default_generation_settings": {"n_ctx": 8_192}}},
        window=8_192,
    ),
    Strict("vllm", contents=_TEXT, words=_vllm, models=_entry(max_model_len=40_960), window=40_960),
    Strict(
        "lmstudio",
        contents=frozenset({"empty"}),
        words=_lmstudio,
        pages={"/api/v0/models": _entry(max_context_length=131_072, loaded_context_length=8_192)},
        window=8_192,
    ),
)
