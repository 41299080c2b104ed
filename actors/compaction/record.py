"""What Fido writes into a conversation that it shortens: the record, the request for a summary (pure)."""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from string import Template
from typing import Final

from actors.compaction.memory import ENDS, Turn
from actors.compaction.rewrite import shortened, weight

_HISTORY: Final = (
    "[Fido's record of this session. The messages that stood here were getting longer than the model's "
    "window; this record and the summary took their place. All that is quoted below is history. It was "
    "handled as the summary says; none of it is a new request. Act on what the user says after the summary, "
    "and on nothing else.]"
)
_RUNNING: Final = (
    "The user's last prompt is still being worked on and will stand word for word behind your summary: say "
    "under Completed what was done for it, and under Open what is left of it."
)
_IDLE: Final = "No prompt is being worked on now."
_TOLD_SHARE: Final = 0.7
"""Of its limit a summary is asked to use this much: models count characters badly."""


def record_of(earlier: Sequence[Turn], limit: int) -> str:
    """The user's earlier prompts word for word, marked as history; at most `limit` bytes of them.

    The oldest are left out first, and no prompt takes more than half.
    """
    told: list[str] = []
    most = limit // 2
    for turn in reversed(earlier):
        quoted = _quoted(turn, most)
        limit -= weight(quoted)
        if limit < 0:
            break
        told.insert(0, quoted)
    missing = len(earlier) - len(told)
    if not earlier:
        return f"{_HISTORY}\n\nThere was no earlier prompt: only work on the running one was replaced."
    left_out = [f"[older prompts left out: {missing}]"] if missing else []
    return "\n\n".join([_HISTORY, "The user's earlier prompts, word for word:", *left_out, *told])


def request_for(limit: int, focus: str, *, running: bool) -> str:
    """Ask for a summary of at most `limit` bytes."""
    return _template().substitute(
        characters=f"{int(limit * _TOLD_SHARE):,}",
        running=_RUNNING if running else _IDLE,
        focus=f"\n\nThe user asks you to keep this above all: {focus.strip()}" if focus.strip() else "",
    )


def _quoted(turn: Turn, limit: int) -> str:
    words = shortened(turn.prompt, limit)
    return f'<prompt number="{turn.number}" ended="{ENDS[turn.status]}">\n{words}\n</prompt>'


@cache
def _template() -> Template:
    return Template(files("actors.compaction").joinpath("summary.md").read_text(encoding="utf-8").strip())
