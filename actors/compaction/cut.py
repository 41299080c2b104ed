"""Shortens a conversation without a model: results first, then the oldest messages (pure)."""

from collections.abc import Iterator
from typing import Final

from actors.compaction.deeds import in_place_of_summary
from actors.compaction.memory import Memory
from actors.compaction.record import record_of
from actors.compaction.rewrite import (
    DROPPED,
    Messages,
    Pair,
    Rounds,
    Share,
    is_restored_plan,
    live_position,
    newest_rounds,
    rewritten,
    rounds_behind,
    size,
    weight,
)
from actors.compaction.trim import trimmed, with_plan
from actors.sent_message import read

_SLACK: Final = 120
"""Bytes by which the log's text may grow when calls that stand in the conversation leave it."""


def fixed(messages: Messages, plan: Pair, *, running: bool) -> int:
    """Bytes of what is never cut: system message, running prompt, plan."""
    live = live_position(messages) if running else 0
    return size([messages[0], *plan, *([messages[live]] if live else [])])


def limit_for(messages: Messages, plan: Pair, window: int, *, running: bool, is_known: bool) -> int:
    """Bytes to cut to, of a `window` without the request's head; `is_known`: it is no guess from a refusal.

    Half of what the window leaves behind that which is never cut stays free. A newest round, which the model
    has not seen yet, may take more: three quarters of a known window, or what the server took before it.
    """
    never_cut = fixed(messages, plan, running=running)
    half = (window + never_cut) // 2
    newest = sum(map(size, rounds_behind(messages, plan)[-1:])) if running else 0
    if not newest:
        return half
    accepted = min(window, size(messages) - newest)
    most = max(half, accepted, (3 * window + never_cut) // 4 if is_known else 0)
    return min(most, half + newest)


def cut(
    messages: Messages, plan: Pair, memory: Memory, limit: int, share: Share, *, running: bool
) -> list[bytes]:
    """The first of these that weighs at most `limit` bytes, else the shortest; as long as before if need be.

    Tool results are cut; then the record and what the log says take the place of all but the running turn,
    with ever less room for them, while its newest rounds have too little.
    """
    best = with_plan(trimmed(messages, limit - size(plan)), plan)
    if size(best) <= limit:
        return best
    for words, text in _steps(share):
        new, is_enough = _rewritten(messages, plan, memory, limit, words, text, running=running)
        if size(new) <= limit and is_enough:
            return new
        best = min(best, new, key=size)
    return best


def _steps(share: Share) -> Iterator[tuple[int, int]]:
    """Bytes for the user's words and for what the log says."""
    for words, text in ((1, 1), (1, 4), (2, 16), (8, 64)):
        yield share.words // words, share.summary // text


def _rewritten(
    messages: Messages, plan: Pair, memory: Memory, limit: int, words: int, text: int, *, running: bool
) -> tuple[list[bytes], bool]:
    """The new conversation, and whether the newest round has the half of the room that it may need."""
    record = record_of(memory.turns[:-1] if running else memory.turns, words)
    told = in_place_of_summary(memory, 0, text)
    if not running:
        return rewritten(messages, record, told, plan, (), running=False), True
    rounds = rounds_behind(messages, plan)
    rest = size(rewritten(messages, record, told, plan, (), running=True))
    room = limit - rest - len(DROPPED) - _SLACK
    kept = newest_rounds(rounds, room)
    told = in_place_of_summary(memory, _calls_in(kept), min(text, weight(told) + _SLACK))
    new = rewritten(messages, record, told, plan, kept, running=True)
    least = (limit - fixed(messages, plan, running=True)) // 2
    return new, not rounds or room >= min(size(rounds[-1]), least)


def _calls_in(rounds: Rounds) -> int:
    """How many calls the model itself made in these rounds."""
    return sum(len(read(one[0]).tool_calls or ()) for one in rounds if not is_restored_plan(one))
