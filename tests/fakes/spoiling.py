"""The ways in which a model server spoils an answer, one line each, and what a turn makes of it."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Any, Final, Literal, get_args

from tests.fakes.chat_script import (
    Dialect,
    Raw,
    Step,
    Text,
    UsageStyle,
    Wait,
    call,
    chunks,
    comment,
    drop,
    gate,
    render,
    say,
    sse,
    stall,
    status,
)

OPEN: Final = "open"
"""A gate that the test opens for good: what waits there is sent, and the next piece goes by itself."""
HOLD: Final = "Hold on"
"""Said before a silence in which the person cancels."""

CALL_AS_TEXT: Final = '<tool_call>{"name": "rm", "arguments": {"path": "seed.txt"}}</tool_call>'

Effect = Literal["right", "again", "round", "told", "ends"]
Spoil = Callable[[Step, Random], Step]


@dataclass(frozen=True)
class Spoiling:
    """One way to go wrong; `codes`: what a turn may end with behind it."""

    name: str
    effect: Effect
    spoil: Spoil
    codes: tuple[str, ...] = ()
    calls: bool | None = None
    """Whether it befalls steps that call, steps that do not, or both."""
    for_chats: bool = False
    """Whether it is written in the words of Chat Completions."""
    is_slow: bool = False
    """Whether the client has to wait for it to become clear."""

    def suits(self, step: Step) -> bool:
        return self.calls in (None, bool(step.calls))


def _text(step: Step) -> str:
    return "".join(part.text for part in step.parts if hasattr(part, "text") and not hasattr(part, "key"))


def _wire(step: Step, dice: Random) -> bytes:
    """All bytes of the step as it should be."""
    parts = render(step, dice.randrange(1 << 30), "chaos", include_usage=True)
    return b"".join(part.data for part in parts if isinstance(part, Raw))


def _of_bytes(*parts: Raw | Wait, **options: Any) -> Step:
    return Step(parts=parts, finish_reason=None, usage_style="none", done=False, **options)


# --- right all the same


def _bytewise(step: Step, dice: Random) -> Step:
    """In pieces of any size, cut also within a character."""
    whole, parts = _wire(step, dice), list[Raw | Wait]()
    while whole:
        size = dice.choice([1, 2, 3, 40])
        parts += [Raw(whole[:size]), *([gate(OPEN)] if dice.random() < 0.2 else [])]
        whole = whole[size:]
    return _of_bytes(*parts)


def _noisy(step: Step, dice: Random) -> Step:
    """Among comments, events without a choice, and members that nobody knows."""
    noise = [
        comment(),
        Raw(sse({"choices": []})),
        Raw(sse({"choices": None, "usage": None, "more": [{}]})),
        Raw(b"event: ping\r\nid: 7\r\nretry: 10\r\n\r\n"),
        Raw(
            sse({"choices": [{"index": 1, "delta": {"content": "another"}}, {"index": 0, "delta": None}, 7]})
        ),
    ]
    return replace(step, parts=(*dice.sample(noise, 3), *step.parts))


def _plain(step: Step, dice: Random) -> Step:
    """As one JSON body: a server that does not stream."""
    made = [
        {
            "id": f"call_{dice.randrange(1 << 30)}",
            "type": "function",
            "function": {"name": one.name, "arguments": one.arguments},
        }
        for one in step.calls
    ]
    message = {"role": "assistant", "content": _text(step) or None, "tool_calls": made}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if made else "stop"}
    return Step(status=201, body=json.dumps({"object": "chat.completion", "choices": [choice]}).encode())


def _carriage_returns(step: Step, dice: Random) -> Step:
    return _of_bytes(Raw(_wire(step, dice).replace(b"\n", b"\r\n")))


def _as(dialect: Dialect) -> Spoil:
    return lambda step, _: replace(step, dialect=dialect)


def _counted(style: UsageStyle) -> Spoil:
    return lambda step, _: replace(step, usage_style=style)


# --- a round of the model's


def _cut_arguments(reason: str) -> Spoil:
    """The last call stops in the middle of its arguments."""

    def spoil(step: Step, dice: Random) -> Step:
        last = step.calls[-1]
        assert last.arguments
        cut = replace(last, arguments=last.arguments[: dice.randrange(1, len(last.arguments))])
        # What came before it is whole, and may be carried out: here nothing does, to keep the course.
        return replace(step, calls=(cut,), finish_reason=reason, parts=())

    return spoil


def _instead(make: Callable[[], Step]) -> Spoil:
    return lambda step, dice: make()


def _too_long() -> Step:
    message = "This model's maximum context length is 9000 tokens; your messages have 9500."
    return status(400, body={"error": {"message": message, "code": "context_length_exceeded"}})


# --- the end of a turn


def _cut(step: Step, dice: Random, *, reset: bool) -> Step:
    """The connection ends somewhere before the finish reason."""
    whole = _wire(replace(step, finish_reason=None, done=False), dice)
    return drop(_of_bytes(Raw(whole[: dice.randrange(1, len(whole))]), gate(OPEN)), reset=reset)


def _cut_text(step: Step, dice: Random) -> Step:
    return say(_text(step)[: dice.randrange(1, 20)], finish_reason="length")


def _ended_by(step: Step, dice: Random, *, reason: str | None) -> Step:
    """All of it, calls too, and an end that does not stand for it."""
    return replace(step, parts=step.parts or (Text("I do it."),), finish_reason=reason)


def _refusal(code: int, message: str = "") -> Spoil:
    headers = {"Retry-After": "0"}
    return _instead(lambda: status(code, headers, body={"error": {"message": message or f"scripted {code}"}}))


def _garbage(step: Step, dice: Random) -> Step:
    junk = dice.choice(
        [b"data: {\n\n", b"data: <html>\n\n", b"data: \xff\xfe{]\n\n", b"data: [1]\n\n", b"data: 7\n\n"]
    )
    return chunks(sse({"choices": [{"index": 0, "delta": {"content": "Well"}}]}), junk)


def _error_inside() -> Step:
    """Not of the kind that passes: such a one is asked again when nothing of the answer was seen yet."""
    return chunks({"choices": [{"delta": {"content": "We"}}]}, {"error": {"message": "no", "code": 400}})


def _page() -> Step:
    return Step(status=201, headers={"Content-Type": "text/html"}, body=b"<html><h1>Log in first</h1></html>")


AGAIN: Final = ("server_error", "rate_limited", "connection_lost")
EMPTY: Final = ("empty_answer", "output_limit")

SPOILINGS: Final = (
    *(
        Spoiling(f"calls: {dialect}", "right", _as(dialect), calls=True, for_chats=True)
        for dialect in get_args(Dialect)
    ),
    *(
        Spoiling(f"usage: {style}", "right", _counted(style), for_chats=True)
        for style in get_args(UsageStyle)
    ),
    Spoiling("cut anywhere into pieces", "right", _bytewise, for_chats=True),
    Spoiling("noise", "right", _noisy, for_chats=True),
    Spoiling("one JSON body", "right", _plain, for_chats=True),
    Spoiling("CRLF", "right", _carriage_returns, for_chats=True),
    Spoiling("no [DONE]", "right", lambda step, _: replace(step, done=False), for_chats=True),
    *(Spoiling(f"{code}", "again", _refusal(code), AGAIN) for code in (408, 409, 429, 500, 502, 503, 529)),
    Spoiling(
        "busy inside", "again", _instead(lambda: chunks({"error": {"message": "busy", "code": 529}})), AGAIN
    ),
    Spoiling("reset before a byte", "again", _instead(partial(drop, reset=True)), AGAIN),
    Spoiling("closed before a byte", "again", _instead(partial(drop, reset=False)), AGAIN),
    Spoiling("arguments cut at the limit", "round", _cut_arguments("length"), calls=True),
    Spoiling("arguments cut", "round", _cut_arguments("tool_calls"), calls=True),
    Spoiling("arguments of another kind", "round", _instead(lambda: call("patch", "[1]"))),
    Spoiling("an unknown tool", "round", _instead(lambda: call("patch_the_file", {"path": "x"}))),
    Spoiling("a wrong argument", "round", _instead(lambda: call("read_file", {"path": ["x"]}))),
    Spoiling(
        "a parameter refused", "round", _refusal(400, "Unknown parameter: stream_options"), ("bad_request",)
    ),
    Spoiling("nothing", "round", _instead(say), EMPTY),
    Spoiling("calls without a call", "round", _instead(lambda: say(finish_reason="tool_calls")), EMPTY),
    Spoiling(
        "only reasoning", "round", _instead(lambda: say(reasoning="Hm.", finish_reason="length")), EMPTY
    ),
    Spoiling("too long", "round", _instead(_too_long), ("context_length_exceeded",)),
    Spoiling("400", "ends", _refusal(400), ("bad_request",)),
    Spoiling("401", "ends", _refusal(401), ("unauthorized",)),
    Spoiling("403", "ends", _refusal(403), ("forbidden",)),
    Spoiling("404", "ends", _refusal(404), ("not_found",)),
    Spoiling("no such model", "ends", _refusal(404, "The model `m` does not exist"), ("model_not_found",)),
    Spoiling("a redirect", "ends", _instead(lambda: status(302, {"Location": "/"})), ("bad_request",)),
    Spoiling("reset in the middle", "ends", partial(_cut, reset=True), ("connection_lost",), for_chats=True),
    Spoiling(
        "closed in the middle", "ends", partial(_cut, reset=False), ("connection_lost",), for_chats=True
    ),
    *(
        Spoiling(
            f"finish_reason {reason}", "ends", partial(_ended_by, reason=reason), (code,), for_chats=True
        )
        for reason, code in ((None, "incomplete"), ("error", "incomplete"), ("sensitive", "content_filter"))
    ),
    Spoiling("silence", "ends", _instead(lambda: stall("We")), ("idle_timeout",), is_slow=True),
    Spoiling(
        "comments only",
        "ends",
        _instead(lambda: stall("We", comment_every_s=0.05)),
        ("idle_timeout",),
        is_slow=True,
    ),
    Spoiling("cancelled in silence", "ends", _instead(lambda: stall(HOLD)), ("cancelled",)),
    Spoiling("a call as text", "told", _instead(lambda: say(CALL_AS_TEXT))),
    Spoiling("text cut at the limit", "ends", _cut_text, ("output_limit",), calls=False),
    Spoiling("garbage", "ends", _garbage, ("bad_stream",), for_chats=True),
    Spoiling(
        "an enormous event", "ends", _instead(lambda: chunks(b"data: " + b"[" * (5 << 20))), ("bad_stream",)
    ),
    Spoiling(
        "deep brackets",
        "ends",
        _instead(lambda: chunks(b"data: " + b"[" * 60_000 + b"\n\n")),
        ("bad_stream",),
    ),
    Spoiling("an error inside", "ends", _instead(_error_inside), ("bad_request",), for_chats=True),
    Spoiling("a page", "ends", _instead(_page), ("bad_stream", "connection_lost")),
)
