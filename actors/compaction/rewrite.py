"""The conversation that takes the place of a longer one (pure).

Rules
-----
The system message stays as it is. Behind it stand the record of earlier prompts as history, the summary, the
live prompt if a turn runs, the newest rounds of that turn, and the plan. Where rounds are missing in front of
them, the first message behind the prompt says so. The plan is the newest tool result, complete; every call
has its result; two messages of the assistant never follow each other.
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final, NamedTuple

import msgspec

from actors.conversation import encode_assistant, encode_tool_result, encode_user, without_echo
from actors.plan.delivery import TOOL
from actors.sent_message import read
from ipc.messages import ToolCall

Messages = Sequence[bytes]
Rounds = Sequence[Messages]
"""Messages of the assistant, each with the results behind it."""
Pair = tuple[bytes, bytes] | tuple[()]
"""A call of `update_plan` and its result; empty when there is no plan."""

_CUT: Final = "[{:,} characters dropped by Fido to fit the model's window]"


_LEAST_SHARE: Final = 2_000
BRIEF: Final = 240
"""Bytes of a result that was cut down to its beginning, a mark and its end."""
WORTH: Final = 400
"""Bytes of a result's message below which cutting it saves nothing."""
DROPPED: Final = (
    "[Earlier rounds of tool calls stood here; they were dropped by Fido to fit the model's window. What was "
    "done in them is told before the prompt.]"
)


class Share(NamedTuple):
    """What each part of a rewritten conversation may take, bytes."""

    summary: int
    words: int
    rounds: int


def share_of(window_bytes: int) -> Share:
    """Half of the window at most: a quarter for rounds, an eighth each for summary and the user's words."""
    eighth = max(_LEAST_SHARE, window_bytes // 8)
    return Share(min(16_000, eighth), min(48_000, eighth), window_bytes // 4)


def weight(text: str) -> int:
    """Bytes that a text takes in a message."""
    return len(encode_user(text)) - _EMPTY


_EMPTY: Final = len(encode_user(""))


def cut_mark(characters: int) -> str:
    return _CUT.format(characters)


def shortened(text: str, limit: int) -> str:
    """The text if it weighs at most `limit` bytes, else its beginning and end around a mark.

    When not even the mark fits, it is what is left.
    """
    if len(text) * 6 <= limit or (heavy := weight(text)) <= limit:
        return text
    keep = len(text) * limit // heavy
    while keep:
        head, tail = keep - keep // 3, keep // 3
        mark = cut_mark(len(text) - keep)
        cut = f"{text[:head]}\n{mark}\n{text[len(text) - tail :]}"
        if weight(cut) <= limit:
            return cut
        keep = keep * 7 // 8
    return cut_mark(len(text))


def live_position(messages: Messages) -> int:
    """Where the prompt of the running turn stands: the last user message. 0 when there is none."""
    places = range(len(messages) - 1, 0, -1)
    return next((place for place in places if read(messages[place]).role == "user"), 0)


def rounds_of(messages: Messages) -> list[list[bytes]]:
    """Each message of the assistant with the results behind it."""
    rounds: list[list[bytes]] = []
    for message in messages:
        if rounds and read(message).role == "tool":
            rounds[-1].append(message)
        else:
            rounds.append([message])
    return rounds


def is_restored_plan(one: Sequence[bytes]) -> bool:
    """Tell a call that Fido itself made to restore a plan, with its result."""
    calls = read(one[0]).tool_calls or ()
    return [(call.function.name, call.function.arguments) for call in calls] == [(TOOL, "{}")]


def newest_rounds(rounds: Rounds, limit: int) -> Rounds:
    """As many of the newest rounds as weigh at most `limit` bytes.

    Older results are cut before a round is dropped, so that the model still sees what it has called. The
    newest round is cut only if it is too long alone, to what the others leave of the limit, or most of it.
    """
    if not rounds or sum(map(size, rounds)) <= limit:
        return rounds
    older = rounds[-2::-1]
    short = [[brief(message) for message in one] for one in older]
    newest = rounds[-1]
    if size(newest) > limit:
        newest = fitted(newest, max(limit * 7 // 8, limit - sum(map(size, short))))
    left = limit - size(newest)
    return [*reversed(_fitting(older, short, left)), newest] if left >= 0 else []


def _fitting(older: Rounds, short: Rounds, limit: int) -> Rounds:
    """From the newest on: short in half of the limit, then whole where there is room, then more short."""
    count, left = 0, limit // 2
    while count < len(short) and size(short[count]) <= left:
        left -= size(short[count])
        count += 1
    left += limit - limit // 2
    kept = list(short[:count])
    for place in range(count):
        more = size(older[place]) - size(short[place])
        if more > left:
            break
        kept[place] = older[place]
        left -= more
    for one in short[count:]:
        left -= size(one)
        if left < 0:
            break
        kept.append(one)
    return kept


def brief(message: bytes) -> bytes:
    """A tool result as its beginning and its end around a mark; any other message as it is."""
    if len(message) <= WORTH or read(message).role != "tool":
        return message
    return _with_result(message, BRIEF)


def fitted(one: Sequence[bytes], limit: int) -> list[bytes]:
    """A round with its results cut to equal parts of what its calls leave."""
    share = (limit - len(one[0]) - 100 * len(one)) // max(1, len(one) - 1)
    return [one[0], *(_with_result(message, max(0, share)) for message in one[1:])]


def _with_result(message: bytes, limit: int) -> bytes:
    result = read(message)
    shorter = encode_tool_result(result.tool_call_id, shortened(result.text, limit))
    return min(message, shorter, key=len)


def latest_plan(messages: Messages, call_id: str) -> Pair:
    """The last full plan that the model was given, word for word, under another call id."""
    for message, name in reversed(list(named_results(messages))):
        if name == TOOL and is_plan(text := read(message).text):
            call = ToolCall(id=call_id, name=TOOL, arguments="{}")
            return encode_assistant("", [call]), encode_tool_result(call_id, text)
    return ()


def named_results(messages: Messages) -> Iterable[tuple[bytes, str]]:
    """Every tool result with the name of its tool."""
    names: dict[str, str] = {}
    for message in messages:
        said = read(message)
        names |= {call.id: call.function.name for call in said.tool_calls or ()}
        if said.role == "tool":
            yield message, names.get(said.tool_call_id, "")


def is_plan(text: str) -> bool:
    """Tell the state of a plan from a refusal."""
    try:
        plan = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return False
    return isinstance(plan, dict) and {"version", "revision", "items"} <= plan.keys()


def rounds_behind(messages: Messages, plan: Pair) -> Rounds:
    """The rounds of the running turn; without those that restore a plan, if `plan` takes their place."""
    rounds = rounds_of(messages[live_position(messages) + 1 :])
    return [one for one in rounds if not is_restored_plan(one)] if plan else rounds


def rewritten(
    messages: Messages, record: str, summary: str, plan: Pair, kept: Rounds, *, running: bool
) -> list[bytes]:
    """The whole new conversation, system message first; `kept` are the newest rounds of the running turn."""
    start = [messages[0], encode_user(record)]
    if not running:
        return [*start, *plan, encode_assistant(summary)]
    end = [*chain.from_iterable(kept), *plan]
    if end and len(kept) < len(rounds_behind(messages, plan)):
        end[0] = _marked(end[0])
    return [*start, encode_assistant(summary), messages[live_position(messages)], *end]


def _marked(message: bytes) -> bytes:
    """A message of the assistant with the mark for dropped rounds in front of its text."""
    said = read(message)
    if said.text.startswith(DROPPED):
        return message
    calls = [
        ToolCall(id=c.id, name=c.function.name, arguments=c.function.arguments) for c in said.tool_calls or ()
    ]
    return encode_assistant(f"{DROPPED}\n{said.text}".strip(), calls, without_echo(message)[1])


def size(messages: Messages) -> int:
    """Bytes in a request."""
    return sum(map(len, messages)) + len(messages)
