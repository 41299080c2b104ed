"""Steps that the scripted server plays, the builders for them, and their bytes on the wire."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Dialect = Literal[
    "standard",
    "no_index",
    "id_in_every_piece",
    "name_in_every_piece",
    "same_index",
    "two_entries",
    "whole",
    "no_id",
    "same_id",
    "object_arguments",
]
"""How real servers cut tool calls into deltas; `standard` is what OpenAI sends."""

UsageStyle = Literal["final", "every", "with_finish", "null", "null_members", "none"]

DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Reasoning:
    text: str
    key: str = "reasoning_content"


@dataclass(frozen=True)
class Raw:
    """Bytes that go out as they are, one HTTP chunk."""

    data: bytes


@dataclass(frozen=True)
class Wait:
    """Hold the response until `server.open(name)`."""

    name: str


@dataclass(frozen=True)
class Stall:
    """Say nothing more, until the client leaves; comments every so many seconds if asked for."""

    comment_every_s: float | None = None


@dataclass(frozen=True)
class Drop:
    """End the connection in mid-response: by a reset, or by an orderly close."""

    reset: bool = True


Part = Text | Reasoning | Raw | Wait | Stall | Drop


@dataclass(frozen=True)
class Call:
    """One tool call; `arguments` is JSON text, or null to leave the member out."""

    name: str
    arguments: str | None
    id: str


@dataclass(frozen=True, kw_only=True)
class Step:
    """One response. `when` picks the request that it answers; null takes any."""

    parts: tuple[Part, ...] = ()
    calls: tuple[Call, ...] = ()
    dialect: Dialect = "standard"
    piece: int = 24
    """Characters of arguments in one delta."""
    finish_reason: str | None = ""
    """Empty: `stop` or `tool_calls`, as it fits; null: none is sent."""
    done: bool = True
    """Whether `[DONE]` ends the stream."""
    usage: Mapping[str, Any] = field(
        default_factory=lambda: {
            "prompt_tokens": 100,
            "completion_tokens": 10,
            "total_tokens": 110,
            "prompt_tokens_details": {"cached_tokens": 60},
        }
    )
    usage_style: UsageStyle = "final"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    """Of a status other than 200."""
    when: Callable[[Any], bool] | None = None
    after_part: Stall | Drop | None = None
    """What comes instead of the end: a stall or a drop."""


def subagent(request: Any) -> bool:
    """Tell a subagent's request: its messages hold a bootstrap result."""
    return bool(request.is_subagent)


def parent(request: Any) -> bool:
    """Tell a request of the main agent."""
    return not request.is_subagent


def say(text: str | Iterable[str | Part] = "", *, reasoning: str = "", **options: Any) -> Step:
    """Answer with text: one piece, or pieces with waits and the like between them."""
    pieces = [text] if isinstance(text, str) else list(text)
    parts: list[Part] = [Reasoning(reasoning)] if reasoning else []
    parts += [Text(p) if isinstance(p, str) else p for p in pieces if p != ""]
    return Step(parts=tuple(parts), **options)


def call(
    name: str,
    args: Mapping[str, Any] | str | None = None,
    *,
    id: str = "",  # noqa: A002 - as the wire calls it
    text: str = "",
    **options: Any,
) -> Step:
    """Answer with one tool call; ids default to unique ones.

    `args` as text goes out as it is, also when it is no JSON; null leaves the member out.
    """
    arguments = json.dumps(args, ensure_ascii=False) if isinstance(args, Mapping) else args
    return Step(parts=(Text(text),) if text else (), calls=(Call(name, arguments, id),), **options)


def calls(steps: Iterable[Step], *, text: str = "", **options: Any) -> Step:
    """Answer with the calls of several `call(...)` in one message."""
    return Step(
        parts=(Text(text),) if text else (), calls=tuple(c for step in steps for c in step.calls), **options
    )


def chunks(*items: Mapping[str, Any] | str | bytes, done: bool = True, **options: Any) -> Step:
    """Answer with hand-made events: mappings become `data:` lines, bytes go out as they are."""
    raw = tuple(Raw(i if isinstance(i, bytes) else sse(i)) for i in items)
    return Step(parts=raw, finish_reason=None, usage_style="none", done=done, **options)


def status(code: int, headers: Mapping[str, str] | None = None, *, body: Any = None, **options: Any) -> Step:
    """Answer with an error status and, unless given, an error body as OpenAI writes it."""
    if body is None:
        body = {"error": {"message": f"scripted {code}", "type": "error", "code": None}}
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Step(status=code, headers=dict(headers or {}), body=raw, **options)


def stall(after: str | Step = "", *, comment_every_s: float | None = None, **options: Any) -> Step:
    """Send the head and perhaps a beginning, then nothing until the client leaves."""
    return replace(_beginning(after), after_part=Stall(comment_every_s), **options)


def drop(after: str | Step | None = None, *, reset: bool = True, **options: Any) -> Step:
    """Break the connection after a beginning; null: before the first byte of the response."""
    if after is None:
        return Step(status=0, after_part=Drop(reset), **options)
    return replace(_beginning(after), after_part=Drop(reset), **options)


def gate(name: str) -> Wait:
    """A place in `say([...])` where the response waits for `server.open(name)`."""
    return Wait(name)


def comment(text: str = "keep-alive") -> Raw:
    return Raw(f": {text}\n\n".encode())


def from_json(item: Mapping[str, Any]) -> Step:
    """Read one step of a script file.

    `{"say": "text"}`, `{"calls": [{"name", "arguments", "id"?}], "say"?}`,
    `{"status": 429, "headers"?, "body"?}`, `{"stall": "beginning"}`, `{"drop": "beginning" | null}`; each
    with an optional `"when": "parent" | "subagent"` and any field of `Step`.
    """
    rest = dict(item)
    when = rest.pop("when", None)
    options: dict[str, Any] = {"when": {"parent": parent, "subagent": subagent}[when]} if when else {}
    text = rest.pop("say", "")
    if "status" in rest:
        return status(rest.pop("status"), rest.pop("headers", None), body=rest.pop("body", None), **options)
    if "stall" in rest:
        return stall(rest.pop("stall"), **rest, **options)
    if "drop" in rest:
        return drop(rest.pop("drop"), **rest, **options)
    made = [call(c["name"], c.get("arguments"), id=c.get("id", "")) for c in rest.pop("calls", ())]
    return calls(made, text=text, **rest, **options) if made else say(text, **rest, **options)


def sse(data: Mapping[str, Any] | str) -> bytes:
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"data: {text}\n\n".encode()


def render(step: Step, number: int, model: str, include_usage: bool) -> list[Raw | Wait | Stall | Drop]:
    """The body of a 200 response: bytes, and the places where something else happens."""
    wire = _Wire(step, number, model, include_usage and step.usage_style != "none")
    out: list[Raw | Wait | Stall | Drop] = []
    for part in step.parts:
        match part:
            case Text():
                out.append(Raw(wire.delta({"content": part.text})))
            case Reasoning():
                out.append(Raw(wire.delta({part.key: part.text})))
            case _:
                out.append(part)
    out += [Raw(wire.delta(d)) for d in _call_deltas(step, number)]
    return [*out, step.after_part] if step.after_part else [*out, Raw(wire.ending())]


@dataclass(frozen=True)
class _Wire:
    step: Step
    number: int
    model: str
    with_usage: bool

    def delta(self, delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        extra = {"usage": self._usage(in_final=finish is not None)} if self.with_usage else {}
        return self._chunk([{"index": 0, "delta": delta, "finish_reason": finish}], extra)

    def ending(self) -> bytes:
        finish = self.step.finish_reason
        if finish == "":
            finish = "tool_calls" if self.step.calls else "stop"
        out = b"" if finish is None else self.delta({}, finish)
        if self.with_usage and self.step.usage_style in ("final", "every", "null_members"):
            out += self._chunk([], {"usage": self._final_usage()})
        return out + (DONE if self.step.done else b"")

    def _usage(self, *, in_final: bool) -> Any:
        style = self.step.usage_style
        return self.step.usage if style == "every" or (style == "with_finish" and in_final) else None

    def _final_usage(self) -> Any:
        if self.step.usage_style == "null_members":
            return {**self.step.usage, "completion_tokens": None, "prompt_tokens_details": None}
        return self.step.usage

    def _chunk(self, choices: list[Any], extra: Mapping[str, Any]) -> bytes:
        head = {
            "id": f"chatcmpl-{self.number}",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": self.model,
        }
        return sse({**head, "choices": choices, **extra})


def _beginning(after: str | Step) -> Step:
    return say(after) if isinstance(after, str) else after


def _call_deltas(step: Step, number: int) -> Iterable[Mapping[str, Any]]:
    for position, one in enumerate(step.calls):
        call_id = "call_same" if step.dialect == "same_id" else one.id or f"call_{number}_{position}"
        for entries in _entries(step, one, position, call_id):
            yield {"tool_calls": entries}


def _entries(step: Step, one: Call, position: int, call_id: str) -> Iterable[list[dict[str, Any]]]:
    """The `tool_calls` arrays of one call's deltas, as the step's dialect cuts them."""
    dialect = step.dialect
    index = {} if dialect == "no_index" else {"index": 0 if dialect == "same_index" else position}
    ident = {} if dialect == "no_id" else {"id": call_id}
    text = one.arguments
    first: dict[str, Any] = {**index, **ident, "type": "function", "function": {"name": one.name}}
    if dialect == "object_arguments":
        first["function"]["arguments"] = json.loads(text or "{}")
        yield [first]
        return
    if text is None or dialect == "whole":
        first["function"] |= {} if text is None else {"arguments": text}
        yield [first]
        return
    pieces = [text[i : i + step.piece] for i in range(0, len(text), step.piece)]
    if dialect == "two_entries":
        yield [first, {**index, "function": {"arguments": pieces.pop(0) if pieces else ""}}]
    else:
        first["function"]["arguments"] = ""
        yield [first]
    for piece in pieces:
        entry: dict[str, Any] = {**index, "function": {"arguments": piece}}
        if dialect in ("id_in_every_piece", "same_index"):
            entry |= ident
        if dialect == "name_in_every_piece":
            entry["function"]["name"] = one.name
        yield [entry]
