"""What can be answered to an approval or a question, and when a key may count as the answer; pure."""

import re
from dataclasses import dataclass
from typing import Final

from ipc.messages import AskRaised, Decision

GRACE_S: Final = 0.5
"""Seconds without a key after which keys belong to the ask: what was typed ahead can't answer it."""
_LONG_GAP: Final = re.compile(r" {24,}|(?:[ ]*\n){6,}")


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to answer."""

    label: str
    decision: Decision
    text: str = ""
    """Goes with the decision."""
    writes: bool = False
    """Whether the person adds a sentence."""


_APPROVAL: Final = (
    Choice("Allow once", "allow_once"),
    Choice("Allow for this session", "allow_session"),
    Choice("Deny, and say why", "deny", writes=True),
)


def choices(ask: AskRaised) -> tuple[Choice, ...]:
    """Return the answers to choose from, in order."""
    if ask.kind == "approval":
        return _APPROVAL
    offered = tuple(Choice(option, "allow_once", text=option) for option in ask.options)
    own = Choice("Another answer" if offered else "Answer", "allow_once", writes=True)
    return (*offered, own, Choice("Do not answer", "deny"))


def title(ask: AskRaised) -> str:
    """Return the line above the body; empty when the body says the same."""
    said = ask.title.removeprefix(f"{ask.tool}: ")
    return "" if said.strip() == " ".join(ask.body.split()) else ask.title


def body(ask: AskRaised) -> str:
    """Return what is asked in full, with gaps that could push something out of sight counted instead."""
    return _LONG_GAP.sub(_count_gap, ask.body.rstrip("\n"))


def _count_gap(gap: re.Match[str]) -> str:
    lines = gap[0].count("\n")
    return f"\n⟨{lines - 1} empty lines⟩\n" if lines else f"⟨{len(gap[0])} spaces⟩"


class Grace:
    """Tells typing ahead from answering."""

    def __init__(self, now: float) -> None:
        self.until = now + GRACE_S
        self._armed = False

    def typed(self, now: float) -> None:
        """Note a key; while the grace lasts, it begins again."""
        if not self.armed(now):
            self.until = now + GRACE_S

    def armed(self, now: float) -> bool:
        """Tell whether keys answer now; once they do, they go on doing so."""
        self._armed = self._armed or now >= self.until
        return self._armed
