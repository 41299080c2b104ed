"""Steps of the scripted server as a Responses server streams them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.fakes.chat_script import Call, Drop, Raw, Reasoning, Stall, Step, Text, Wait, sse
from tests.fakes.responses_rules import SEAL

Part = Raw | Wait | Stall | Drop


def render(step: Step, number: int, request: Mapping[str, Any]) -> list[Part]:
    """The body of a 200 response: bytes, and the places where something else happens."""
    return list(_Answer(step, number, request).parts())


class _Answer:
    """One answer as events; `whole` of a step's dialects sends items without their pieces."""

    def __init__(self, step: Step, number: int, request: Mapping[str, Any]) -> None:
        self._step = step
        self._number = number
        self._seals = "reasoning.encrypted_content" in request.get("include", ())
        self._output: list[dict[str, Any]] = []
        self._in_pieces = step.dialect != "whole"

    def parts(self) -> Iterator[Part]:
        yield self._event("response.created", response=self._response("in_progress"))
        said: list[Text | Part] = []
        for part in self._step.parts:
            if isinstance(part, Reasoning):
                yield from self._message(said)
                yield from self._reasoning(part.text)
                said = []
            else:
                said.append(part)
        yield from self._message(said)
        for position, call in enumerate(self._step.calls):
            yield from self._call(call, position)
        yield from [self._step.after_part] if self._step.after_part else self._end()

    def _message(self, said: Sequence[Text | Part]) -> Iterator[Part]:
        """One message, with what comes between its pieces."""
        text = "".join(part.text for part in said if isinstance(part, Text))
        item: dict[str, Any] = {"type": "message", "id": self._id("msg"), "role": "assistant"}
        if text:
            yield self._added(item | {"content": [], "status": "in_progress"})
        place = self._place(item) | {"content_index": 0}
        for part in said:
            if not isinstance(part, Text):
                yield part
            elif self._in_pieces:
                yield self._event("response.output_text.delta", **place, delta=part.text)
        if text:
            content = [{"type": "output_text", "text": text, "annotations": []}]
            yield self._done(item | {"content": content, "status": "completed"})

    def _reasoning(self, text: str) -> Iterator[Part]:
        item: dict[str, Any] = {"type": "reasoning", "id": self._id("rs"), "status": "completed"}
        item["summary"] = [{"type": "summary_text", "text": text}]
        yield self._added({**item, "summary": []})
        if self._in_pieces:
            place = self._place(item) | {"summary_index": 0}
            yield self._event("response.reasoning_summary_part.added", **place, part={})
            yield self._event("response.reasoning_summary_text.delta", **place, delta=text)
        yield self._done(item | ({"encrypted_content": f"{SEAL}{item['id']}"} if self._seals else {}))

    def _call(self, call: Call, position: int) -> Iterator[Part]:
        item = {"type": "function_call", "id": self._id("fc"), "status": "completed", "name": call.name}
        item |= {"call_id": call.id or f"call_{self._number}_{position}", "arguments": call.arguments or ""}
        yield self._added({**item, "arguments": "", "status": "in_progress"})
        text = item["arguments"] if self._in_pieces else ""
        for start in range(0, len(text), self._step.piece):
            piece = text[start : start + self._step.piece]
            yield self._event("response.function_call_arguments.delta", **self._place(item), delta=piece)
        yield self._done(item)

    def _end(self) -> Iterator[Part]:
        reason = self._step.finish_reason
        if reason is None:
            return
        if reason in ("length", "content_filter"):
            why = {"reason": "max_output_tokens" if reason == "length" else reason}
            response = self._response("incomplete") | {"incomplete_details": why}
            yield self._event("response.incomplete", response=response)
        else:
            yield self._event("response.completed", response=self._response("completed"))

    def _response(self, status: str) -> dict[str, Any]:
        response = {
            "id": f"resp_{self._number}",
            "object": "response",
            "status": status,
            "output": self._output,
        }
        if status == "in_progress" or self._step.usage_style in ("none", "null"):
            return response | {"usage": None}
        given = self._step.usage
        usage = {"input_tokens": given["prompt_tokens"], "output_tokens": given["completion_tokens"]}
        return response | {"usage": usage | {"input_tokens_details": given.get("prompt_tokens_details")}}

    def _added(self, item: Mapping[str, Any]) -> Raw:
        return self._event("response.output_item.added", **self._place(), item=item)

    def _done(self, item: dict[str, Any]) -> Raw:
        event = self._event("response.output_item.done", **self._place(), item=item)
        self._output.append(item)
        return event

    def _place(self, item: Mapping[str, Any] | None = None) -> dict[str, Any]:
        place = {} if self._step.dialect == "no_index" else {"output_index": len(self._output)}
        return place | ({"item_id": item["id"]} if item else {})

    def _event(self, kind: str, **members: Any) -> Raw:
        return Raw(f"event: {kind}\n".encode() + sse({"type": kind, **members}))

    def _id(self, kind: str) -> str:
        return f"{kind}_{self._number}_{len(self._output)}"
