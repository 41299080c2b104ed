"""Events of the Responses API read as the chunks of a chat that they stand for. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from actors.provider import errors
from actors.provider.answers.stream import Assembly
from actors.provider.interface import ProviderError
from actors.provider.wires.wire import Quirks
from ipc.messages import ModelAnswer

SEALED: Final = "reasoning_items"
"""Member of a message that holds the sealed reasoning to send back."""
_KEPT: Final = ("type", "id", "summary", "encrypted_content")
"""Members of sealed reasoning that go back; some servers refuse `status` and the like."""
_TEXT: Final = {"response.output_text.delta": "content", "response.refusal.delta": "refusal"}
"""Events that bring text, and the member of a chat's chunk that it would be."""
_REASONING: Final = frozenset({"response.reasoning_summary_text.delta", "response.reasoning_text.delta"})
_ENDS: Final = frozenset({f"response.{how}" for how in ("completed", "incomplete", "failed", "cancelled")})
_STATUS: Final = {"rate_limit_exceeded": 429, "invalid_prompt": 400, "context_length_exceeded": 400}
"""What an error inside of a stream would have been as a response."""


@dataclass(slots=True)
class _Output:
    """One item of the answer on its way."""

    call: int | None = None
    """Number of the call that it is."""
    is_named: bool = False
    """Whether the call's name is known."""
    is_done: bool = False
    """Whether it came whole."""
    seen: int = 0
    """Characters that came so far."""


class ResponsesAssembly(Assembly):
    """Takes decoded events in order. `feed` and `answer` raise `ProviderError`."""

    def __init__(self, url: str, quirks: Quirks) -> None:
        super().__init__(url, quirks=replace(quirks, echo="", keeps_reasoning=False))
        self._outputs: dict[object, _Output] = {}
        self._sealed: list[dict[str, Any]] = []
        self._begun = 0
        """Texts and calls that have begun; texts that follow each other are one."""
        self._call_count = 0
        self._says = False
        """Whether the newest of them is text."""

    def feed(self, chunk: Any) -> None:
        """Take one event: any JSON value; events that nobody knows are passed over."""
        if not isinstance(chunk, dict):
            raise errors.bad_stream(self._url, "an event is no object")
        if "choices" in chunk:
            raise errors.bad_stream(self._url, "these are Chat Completions; set wire_api to chat")
        kind, delta = chunk.get("type"), chunk.get("delta")
        delta = delta if isinstance(delta, str) else ""
        if kind in _TEXT:
            self._say(self._output(chunk), delta, _TEXT[kind])
        elif kind in _REASONING:
            self._think(self._output(chunk), delta)
        elif kind == "response.reasoning_summary_part.added" and chunk.get("summary_index"):
            self._think(self._output(chunk), "\n\n")
        elif kind == "response.function_call_arguments.delta":
            self._call(self._output(chunk), arguments=delta)
        elif kind == "response.function_call_arguments.done":
            output = self._output(chunk)
            self._call(output, arguments=_text(chunk.get("arguments"))[output.seen :])
        elif kind == "response.output_item.added":
            self._begin(self._output(chunk), _object(chunk.get("item")))
        elif kind == "response.output_item.done":
            self._complete(self._output(chunk), _object(chunk.get("item")))
        elif kind in _ENDS:
            response = _object(chunk.get("response"))
            told = {} if kind == "response.completed" else {"status": kind.removeprefix("response.")}
            self._end(response | told)
        elif chunk.get("object") == "response":
            self._end(chunk)
        elif kind == "error" or chunk.get("error"):
            raise self._failed(chunk)
        elif kind is None and (said := errors.error_in(chunk)) is not None:
            raise errors.from_stream(said, self._url)

    def answer(self, *, done: bool) -> ModelAnswer:
        """Return the whole answer, with the reasoning that its server wants back where it calls tools."""
        answer = super().answer(done=done)
        if not (answer.tool_calls and self._sealed):
            return answer
        return msgspec.structs.replace(answer, echo=msgspec.json.encode({SEALED: self._sealed}).decode())

    def _output(self, event: dict[str, Any]) -> _Output:
        """The item that an event is about: by its place, as some servers change its id in every event."""
        place = event.get("output_index")
        key = (
            place if isinstance(place, int) else event.get("item_id") or _object(event.get("item")).get("id")
        )
        return self._outputs.setdefault(key if isinstance(key, int | str) else None, _Output())

    def _begin(self, output: _Output, item: dict[str, Any]) -> None:
        if item.get("type") == "function_call":
            self._call(output, item, _text(item.get("arguments")))

    def _complete(self, output: _Output, item: dict[str, Any]) -> None:
        """Take a whole item: what of it has not come in pieces, nor whole already."""
        if output.is_done:
            return
        output.is_done = True
        match item.get("type"):
            case "message":
                self._say(output, "".join(_texts(item.get("content")))[output.seen :])
            case "function_call":
                self._call(output, item, _text(item.get("arguments"))[output.seen :])
            case "reasoning":
                if not output.seen:
                    self._think(
                        output, "\n\n".join([*_texts(item.get("summary")), *_texts(item.get("content"))])
                    )
                if sealed := _text(item.get("encrypted_content")):
                    kept = {name: item[name] for name in _KEPT if item.get(name) is not None}
                    self._sealed.append({"at": self._begun, "item": kept})
                    self.size += len(sealed)
            case _:
                pass

    def _say(self, output: _Output, text: str, member: str = "content") -> None:
        if not text:
            return
        gap = "\n\n" if not output.seen and self.text else ""
        self._begun += not self._says
        self._says = True
        output.seen += len(text)
        self._take({member: gap + text})

    def _think(self, output: _Output, text: str) -> None:
        output.seen += len(text)
        self._take({"reasoning_content": text})

    def _call(self, output: _Output, item: dict[str, Any] | None = None, arguments: str = "") -> None:
        if output.call is None:
            output.call = self._call_count
            self._call_count += 1
            self._begun += 1
            self._says = False
        entry: dict[str, Any] = {"index": output.call, "function": {"arguments": arguments}}
        if item is not None and not output.is_named:
            output.is_named = bool(item.get("name"))
            # Name and arguments apart: together they might be taken for another call.
            named = {"index": output.call, "id": item.get("call_id"), "function": {"name": item.get("name")}}
            self._take({"tool_calls": [named]})
        output.seen += len(arguments)
        self._take({"tool_calls": [entry]})

    def _take(self, delta: dict[str, Any], finish_reason: str | None = None, usage: Any = None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        super().feed({"choices": [choice], "usage": usage})

    def _end(self, response: dict[str, Any]) -> None:
        if response.get("error") or response.get("status") in ("failed", "cancelled"):
            raise self._failed(response)
        output = response.get("output")
        came_none = not any(one.seen or one.is_done or one.call is not None for one in self._outputs.values())
        for place, item in enumerate(map(_object, output if isinstance(output, list) else ())):
            known = self._outputs.get(place) or self._outputs.get(_text(item.get("id")))
            if known or came_none:
                self._complete(known or _Output(), item)
        usage = _object(response.get("usage"))
        given = {
            "prompt_tokens": usage.get("input_tokens"),
            "completion_tokens": usage.get("output_tokens"),
            "prompt_tokens_details": usage.get("input_tokens_details"),
        }
        self._take({}, _reason(response, calls=bool(self._call_count)), given if usage else None)

    def _failed(self, event: dict[str, Any]) -> ProviderError:
        error = event.get("error")
        told = error if isinstance(error, dict) else event
        code = told.get("code")
        status = _STATUS.get(_text(code)) or (code if isinstance(code, int) else None)
        body = {"message": told.get("message"), "type": code, "code": status}
        return errors.from_stream({"error": body}, self._url)


def _reason(response: dict[str, Any], *, calls: bool) -> str:
    if response.get("status") == "incomplete":
        reason = _text(_object(response.get("incomplete_details")).get("reason"))
        return "length" if reason in ("max_output_tokens", "") else reason
    return "tool_calls" if calls else "stop"


def _texts(parts: Any) -> Iterator[str]:
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, dict):
            yield _text(part.get("text")) or _text(part.get("refusal"))


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
