"""Shortens a conversation without a model: the oldest results go, wishes and plan stay (pure)."""

from collections.abc import Sequence
from typing import Final

from actors.compaction.rewrite import Messages, Pair, cut_mark, live_position, rounds_of
from actors.conversation import encode_tool_result
from actors.sent_message import read

WORTH: Final = 400
"""Bytes of a result below which a mark in its place saves nothing."""


def trimmed(messages: Messages, limit: int) -> list[bytes]:
    """Put a mark in place of tool results, the oldest first, until all messages weigh at most `limit` bytes.

    The results of the newest round stay as they are.
    """
    kept = list(messages)
    size = sum(map(len, kept)) + len(kept)
    for place in range(1, len(kept) - len(_newest_round(kept))):
        if size <= limit:
            break
        if len(kept[place]) > WORTH and (result := read(kept[place])).role == "tool":
            shorter = encode_tool_result(result.tool_call_id, cut_mark(len(result.text)))
            size -= len(kept[place]) - len(shorter)
            kept[place] = shorter
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
