"""A request as the built-in model reads it: the prompt, and what each call since has brought. Pure."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from ipc.messages import ToolCall


@dataclass(frozen=True, slots=True)
class Done:
    """A call of this turn and its result."""

    name: str
    arguments: dict[str, Any]
    content: str

    @property
    def error(self) -> str:
        """Why it failed, one line; empty when it did not."""
        if not self.content.startswith("{"):
            return ""
        try:
            result = msgspec.json.decode(self.content, type=_Result)
        except msgspec.DecodeError:
            return ""
        if result.error is not None:
            return result.error.message or "it failed"
        return result.summary or "it failed" if result.status == "failed" else ""


@dataclass(frozen=True, slots=True)
class Turn:
    """The running turn."""

    prompt: str
    rounds: int
    """How many messages of ours came since the prompt; each made calls."""
    done: tuple[Done, ...]
    is_subagent: bool = False
    task: str = ""
    """Of a subagent: what was delegated."""
    paths: tuple[str, ...] = ()
    """Of a subagent: where to look."""

    def find(self, name: str, arguments: dict[str, Any]) -> Done | None:
        """The result of this very call, if it was made and did not fail."""
        return next(
            (d for d in self.done if (d.name, d.arguments) == (name, arguments) and not d.error), None
        )

    def all(self, name: str) -> tuple[Done, ...]:
        """All calls of a tool that did not fail."""
        return tuple(d for d in self.done if d.name == name and not d.error)


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model answers."""

    text: str
    calls: tuple[ToolCall, ...] = ()


class _Error(msgspec.Struct):
    message: str = ""


class _Result(msgspec.Struct):
    error: _Error | None = None
    status: str = ""
    summary: str = ""


class _Function(msgspec.Struct):
    name: str
    arguments: str


class _Call(msgspec.Struct):
    id: str
    function: _Function


class _Message(msgspec.Struct):
    role: str
    content: str | None = None
    tool_calls: tuple[_Call, ...] = ()
    tool_call_id: str = ""


class _Request(msgspec.Struct):
    messages: tuple[_Message, ...]


class _Bootstrap(msgspec.Struct, tag_field="type", tag="subagent_bootstrap"):
    task: str


_decode = msgspec.json.Decoder(_Request).decode
_decode_bootstrap = msgspec.json.Decoder(_Bootstrap).decode


def read_turn(body: bytes) -> Turn:
    """Read a request body. Raises `ValueError`."""
    messages = _decode(body).messages
    start = max((i for i, m in enumerate(messages) if m.role == "user"), default=-1)
    made = {call.id: call for m in messages for call in m.tool_calls}
    now = messages[start + 1 :]
    done = tuple(
        Done(call.function.name, _arguments(call), m.content or "")
        for m in now
        if m.role == "tool" and (call := made.get(m.tool_call_id))
    )
    prompt = messages[start].content or "" if start >= 0 else ""
    rounds = sum(m.role == "assistant" for m in now)
    for m in reversed(messages[: start + 1]):
        if task := _delegated_task(m):
            scope = _arguments(made[m.tool_call_id]).get("scope") if m.tool_call_id in made else None
            return Turn(prompt, rounds, done, is_subagent=True, task=task, paths=_paths(scope))
    return Turn(prompt, rounds, done)


def call_of(name: str, arguments: dict[str, Any], call_id: str) -> ToolCall:
    # File names that are no UTF-8 come with lone surrogates, which no encoder takes.
    text = json.dumps(arguments, ensure_ascii=False).encode(errors="replace").decode()
    return ToolCall(id=call_id, name=name, arguments=text)


def _delegated_task(message: _Message) -> str:
    if message.role != "tool" or "subagent_bootstrap" not in (message.content or ""):
        return ""
    try:
        return _decode_bootstrap(message.content or "").task or "inspect"
    except msgspec.DecodeError:
        return ""


def _arguments(call: _Call) -> dict[str, Any]:
    try:
        arguments = msgspec.json.decode(call.function.arguments)
    except msgspec.DecodeError:
        return {}
    return arguments if isinstance(arguments, dict) else {}


def _paths(scope: Any) -> tuple[str, ...]:
    paths: Sequence[Any] = scope.get("paths", ()) if isinstance(scope, dict) else ()
    return tuple(path for path in paths if isinstance(path, str) and path)
