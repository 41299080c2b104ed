"""Assembly of Chat Completions chunks into stream events and the final answer. Pure."""

from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from actors.provider import errors
from actors.provider.answers.call_assembly import CallAssembly, sound_name, unique_id
from actors.provider.answers.echo import REASONING, EchoAssembly
from actors.provider.answers.endings import ending_of
from actors.provider.answers.pieces import Pieces
from actors.provider.answers.text_calls import Holding, tagged_calls
from actors.provider.answers.thoughts import Thoughts
from actors.provider.wires.wire import PLAIN, Quirks
from ipc.messages import ModelAnswer, ReasoningDelta, StreamEvent, TextDelta, ToolCall, Usage

REFUSED: Final = "refusal"
"""Finish reason of an answer whose text is the model's refusal, said as such."""
ANSWER_LIMIT: Final = 8 << 20
"""Characters of one answer, all of it; a server that sends more is not answering a prompt."""


class Assembly:
    """Takes decoded chunks in order; gives events as they become known and the answer at the end.

    `feed` and `answer` raise `ProviderError`.
    """

    def __init__(self, url: str, new_id: Callable[[], str] = unique_id, quirks: Quirks = PLAIN) -> None:
        self.size = 0
        """Characters of meaning so far; a chunk that leaves it as it is was a keep-alive."""
        self.finish_reason = ""
        self._url = url
        self._thoughts = Thoughts()
        self._is_refused = False
        self._came_whole = False
        """Whether it came as one message, not in pieces: that needs no word of its end."""
        self._text = Pieces()
        self._reasoning = Pieces()
        self._fresh: list[tuple[type[TextDelta] | type[ReasoningDelta], str]] = []
        self._calls = CallAssembly(new_id)
        self._usage: Usage | None = None
        self._echo = EchoAssembly(quirks.echo, keeps=quirks.keeps_reasoning)
        self._new_id = new_id
        self._held: Holding | None = Holding() if quirks.text_calls else None

    @property
    def text(self) -> str:
        return str(self._text)

    def feed(self, chunk: Any) -> None:
        """Take one decoded chunk: any JSON value; members that make no sense are passed over."""
        if not isinstance(chunk, dict):
            raise errors.bad_stream(self._url, "a chunk is no object")
        if (told := errors.error_in(chunk)) is not None:
            raise errors.from_stream(told, self._url)
        self._take_usage(chunk.get("usage"))
        if isinstance(own := chunk.get("x_groq"), dict):
            self._take_usage(own.get("usage"))
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and choice.get("index") in (0, None):
                self._take_choice(choice)
        if self.size > ANSWER_LIMIT:
            raise errors.bad_stream(self._url, "the answer never ends")

    def take(self) -> list[StreamEvent]:
        """Return what came since the last call; neighbours of one kind are one event."""
        events: list[StreamEvent] = []
        run: list[str] = []
        fresh, self._fresh = self._fresh, []
        for position, (kind, text) in enumerate(fresh):
            run.append(text)
            if position + 1 == len(fresh) or fresh[position + 1][0] is not kind:
                events.append(kind(text="".join(run)))
                run.clear()
        return events

    def answer(self, *, done: bool) -> ModelAnswer:
        """Return the whole answer; `done` tells whether `[DONE]` came.

        An end without a finish reason is a cut: `connection_lost`, or `incomplete` behind `[DONE]`. So is a
        reason that says the server failed; one that says it keeps the rest to itself is `content_filter`. One
        that tells of a limit is `length` in the answer, whatever its name. There may be something more to
        `take` behind it: text that had looked like the beginning of a call.
        """
        finish_reason = self._checked_reason(done=done)
        self._end_thoughts()
        text, calls, reasoning = self.text, self._calls.calls(), str(self._reasoning)
        if self._held is not None:
            if not calls and (tagged := tagged_calls(text)) and tagged.calls:
                text, calls = tagged.text, tuple(map(self._identified, tagged.calls))
            else:
                self._show(TextDelta, self._held.rest())
        return ModelAnswer(
            text=text,
            reasoning=reasoning,
            tool_calls=calls,
            finish_reason=finish_reason,
            usage=self._usage,
            echo=self._echo.members(reasoning, self._calls.extras) if calls else "",
        )

    def _checked_reason(self, *, done: bool) -> str:
        if not self.finish_reason and not self._came_whole:
            raise errors.incomplete(self._url) if done else errors.connection_lost(self._url)
        match ending_of(self.finish_reason):
            case "length":
                return "length"
            case "withheld":
                raise errors.content_filter(self._url, self.finish_reason)
            case "broken":
                raise errors.incomplete(self._url, self.finish_reason)
            case "whole" | None:
                return REFUSED if self._is_refused else self.finish_reason

    def _identified(self, call: ToolCall) -> ToolCall:
        return msgspec.structs.replace(call, id=self._new_id(), name=sound_name(call.name))

    def _take_choice(self, choice: dict[str, Any]) -> None:
        delta = choice.get("delta")
        piece = delta or choice.get("message")
        if isinstance(piece, dict):
            self._take_delta(piece)
            self._came_whole |= not delta
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self.finish_reason = reason
            self.size += 1

    def _take_delta(self, delta: dict[str, Any]) -> None:
        for key in REASONING:
            if (text := delta.get(key)) and isinstance(text, str):
                self._add(ReasoningDelta, text)
                break
        self.size += self._echo.feed(delta)
        for kind, text in _texts(delta.get("content")):
            if kind is TextDelta:
                self._take_text(text)
            else:
                self._add(kind, text)
        if (refusal := delta.get("refusal")) and isinstance(refusal, str):
            self._is_refused = True
            self._add(TextDelta, refusal)
        entries = delta.get("tool_calls")
        for entry in entries if isinstance(entries, list) else ():
            self.size += self._calls.feed(entry)

    def _take_text(self, text: str) -> None:
        """Take a piece of the content, which may begin with reasoning."""
        thought, said = self._thoughts.feed(text)
        for kind, part in ((ReasoningDelta, thought), (TextDelta, said)):
            if part:
                self._add(kind, part)

    def _end_thoughts(self) -> None:
        """Take what was held back; an answer that is all reasoning and says it is whole was no reasoning."""
        rest = self._thoughts.rest()
        if not self._thoughts.is_open:
            if rest:
                self._add(TextDelta, rest)
            return
        self._add(ReasoningDelta, rest)
        if ending_of(self.finish_reason) == "whole" and not self.text:
            self._add(TextDelta, str(self._reasoning))

    def _add(self, kind: type[TextDelta] | type[ReasoningDelta], text: str) -> None:
        (self._text if kind is TextDelta else self._reasoning).append(text)
        self.size += len(text)
        self._show(kind, self._held.feed(text) if self._held and kind is TextDelta else text)

    def _show(self, kind: type[TextDelta] | type[ReasoningDelta], text: str) -> None:
        if text:
            self._fresh.append((kind, text))

    def _take_usage(self, given: Any) -> None:
        if isinstance(given, dict):
            self._usage = _merge_usage(self._usage, given)


def _texts(content: Any) -> Iterator[tuple[type[TextDelta] | type[ReasoningDelta], str]]:
    """The texts of `content`: a string, null, or a list of parts as Mistral's reasoning models send it."""
    if isinstance(content, str):
        if content:
            yield TextDelta, content
        return
    for part in content if isinstance(content, list) else ():
        if not isinstance(part, dict):
            continue
        if (text := part.get("text")) and isinstance(text, str):
            yield TextDelta, text
        for _, thought in _texts(part.get("thinking")):
            yield ReasoningDelta, thought


def _merge_usage(known: Usage | None, given: dict[str, Any]) -> Usage | None:
    """The newest number of each kind; None while there is none."""
    details = given.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    found = {
        "prompt_tokens": _count(given.get("prompt_tokens")),
        "completion_tokens": _count(given.get("completion_tokens")),
        "cached_tokens": _count(cached if cached is not None else given.get("prompt_cache_hit_tokens")),
        "cost_usd": _dollars(given.get("cost")),
    }
    numbers = {name: number for name, number in found.items() if number is not None}
    if known is None and not any(numbers.values()):
        return None
    return msgspec.structs.replace(known or Usage(), **numbers)


def _count(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1 << 53:
        return None
    return int(value)


def _dollars(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
        return None
    return float(value)
