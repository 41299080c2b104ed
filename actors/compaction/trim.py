"""Shortens a conversation without a model: the oldest results go, wishes and plan stay (pure)."""

from collections.abc import Sequence

from actors.compaction.rewrite import Messages, Pair, brief, fitted, live_position, rounds_of, size
from actors.sent_message import read


def trimmed(messages: Messages, limit: int) -> list[bytes]:
    """Cut tool results to a mark and their ends, the oldest first, until all weighs at most `limit` bytes.

    The results of the newest round come last: only if they are too long alone, and most of the limit is left.
    """
    kept = list(messages)
    newest = _newest_round(kept)
    start, whole = len(kept) - len(newest), size(kept)
    for place in range(1, start):
        if whole <= limit:
            return kept
        shorter = brief(kept[place])
        whole -= len(kept[place]) - len(shorter)
        kept[place] = shorter
    room = limit - size(kept[:start])
    most = limit - size([kept[0], kept[live_position(kept)]])
    if size(newest) > most and room >= most * 3 // 4 > 0:
        kept[start:] = fitted(newest, room)
    return kept


def _newest_round(messages: Messages) -> Sequence[bytes]:
    rounds = rounds_of(messages[live_position(messages) + 1 :])
    return rounds[-1] if rounds else ()


def with_plan(messages: Messages, plan: Pair) -> list[bytes]:
    """Put the plan's call and result where it is the newest tool result, unless it is that already."""
    newest = next((said for m in reversed(messages) if (said := read(m)).role == "tool"), None)
    if not plan or (newest and newest.text == read(plan[1]).text):
        return list(messages)
    end = len(messages) - (read(messages[-1]).role == "assistant")
    return [*messages[:end], *plan, *messages[end:]]
