"""What the session's log says was done: in place of a summary, and behind one that was cut (pure)."""

from collections.abc import Iterable, Sequence
from typing import Final

from actors.compaction.memory import ENDS, Call, Memory, Turn
from actors.compaction.rewrite import shortened, weight

ANSWER_BYTES: Final = 600
"""The most of one answer."""
_LOG_ONLY: Final = (
    "[No summary by the model: Fido put this together from the session's log. Look again before you rely on "
    "it.]"
)
_LAST_ONE: Final = "[No new summary by the model. This is its last one, written at prompt {}:]\n{}"
_SINCE: Final = "[From the session's log. Look again before you rely on it.]"
_NOTHING: Final = "[What stood here was dropped by Fido to fit the model's window.]"
_STATUS: Final = {"ok": "ok", "error": "failed", "denied": "denied", "cancelled": "cancelled"}
_MARK_BYTES: Final = 50


def told(turns: Sequence[Turn], calls: Iterable[Call], limit: int) -> str:
    """Each turn with its answer and its calls, a line each: the newest, at most `limit` bytes.

    A call that was made several times in a turn is told where it was made last. Empty when there is nothing
    to tell, or no room.
    """
    made: dict[int, dict[str, None]] = {}
    for call in calls:
        lines = made.setdefault(call.turn, {})
        lines.pop(line := _line(call), None)
        lines[line] = None
    worth_it = [turn for turn in turns if turn.status or turn.number in made]
    blocks: list[str] = []
    limit -= _MARK_BYTES
    for turn in reversed(worth_it):
        block = _block(turn, list(made.get(turn.number, ())), limit)
        limit -= weight(block) + 2
        if limit < 0:
            break
        blocks.insert(0, block)
    missing = len(worth_it) - len(blocks)
    if blocks and missing:
        blocks.insert(0, f"- [older prompts left out: {missing}]")
    return "\n".join(blocks)


def in_place_of_summary(memory: Memory, standing: int, limit: int) -> str:
    """What a model that was not asked is given, at most `limit` bytes, or the mark alone.

    The newest `standing` calls of the running turn are left out: they stand in the conversation.
    """
    parts: list[str] = []
    if memory.summary and limit > 2 * weight(_LAST_ONE):
        last = shortened(memory.summary, limit // 2 - weight(_LAST_ONE))
        parts.append(_LAST_ONE.format(memory.summary_turn, last))
    title = _SINCE if parts else _LOG_ONLY
    left = limit - sum(map(weight, parts)) - weight(title) - 6
    calls = list(memory.calls)
    if deeds := told(memory.turns, calls[: max(0, len(calls) - standing)], left):
        parts.append(f"{title}\n{deeds}")
    return "\n\n".join(parts) or _NOTHING


def behind_cut(summary: str, memory: Memory, limit: int) -> str:
    """A summary of which a part is missing, and behind it what the log says, at most `limit` bytes."""
    deeds = told(memory.turns, memory.calls, limit - weight(_SINCE))
    return f"{summary}\n\n{_SINCE}\n{deeds}" if deeds else summary


def _block(turn: Turn, lines: Sequence[str], limit: int) -> str:
    """One turn; its oldest calls are left out when it weighs more than `limit` bytes."""
    head = f"- Prompt {turn.number} ({ENDS[turn.status]})"
    if turn.status:
        head += f": {shortened(turn.answer.strip(), ANSWER_BYTES) or '(no answer)'}"
    limit -= weight(head) + _MARK_BYTES
    kept: list[str] = []
    for line in reversed(lines):
        limit -= weight(line) + 2
        if limit < 0:
            break
        kept.insert(0, line)
    missing = len(lines) - len(kept)
    return "\n".join([head, *([f"  [earlier calls left out: {missing}]"] if missing else []), *kept])


def _line(call: Call) -> str:
    return f"  - {call.what}: {_STATUS.get(call.status or '', 'no result')}"
