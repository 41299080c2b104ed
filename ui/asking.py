"""What can be answered to an approval or a question, and when a key may count as the answer; pure."""

import re
from dataclasses import dataclass
from typing import Final

from ipc.messages import AskRaised, Decision
from ipc.terminal_text import LINE_END, on_one_line
from ui.diffs import creates, shows_diff

GRACE_S: Final = 0.5
"""Seconds without a key after which keys belong to the ask: what was typed ahead can't answer it."""
NUMBERED: Final = 9
"""Answers that a digit gives; the arrows reach the others."""
_BLANK: Final = "[ \\t\u00a0\u115f\u1160\u1680\u2000-\u200a\u202f\u205f\u2800\u3000\u3164\uffa0]"
"""Everything that looks like nothing, whatever Unicode calls it."""
_LONG_GAP: Final = re.compile(rf"{_BLANK}{{24,}}|(?:{_BLANK}*\n){{6,}}")


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to answer."""

    label: str
    decision: Decision
    text: str = ""
    """Goes with the decision."""
    writes: bool = False
    """Whether the person adds a sentence."""


_ONCE: Final = Choice("Allow once", "allow_once")
_DENY: Final = Choice("Deny, and say why", "deny", writes=True)
_DOES: Final = {
    "bash_exec": "Run this command",
    "mkdir": "Make this folder, with what is missing above it",
    "rm": "Remove this file",
    "rmdir": "Remove this folder",
    "browse_url": "Fetch this page from the web",
    "websearch": "Send these words to the search server",
}
"""What a yes lets a tool do; the body holds what it does it to."""


def choices(ask: AskRaised) -> tuple[Choice, ...]:
    """Return the answers to choose from, in order.

    Yes and no have the same places in every approval, and what lasts stands behind them: who answers by
    habit answers for this once.
    """
    if ask.kind == "approval" and ask.grant:
        session = Choice(f"Allow for this session: {ask.grant}", "allow_session")
        always = Choice(f"Allow always here: {ask.grant}", "allow_always")
        return _ONCE, _DENY, session, always
    if ask.kind == "approval":
        return _ONCE, _DENY
    offered = tuple(Choice(option, "allow_once", text=option) for option in ask.options)
    own = Choice("Another answer" if offered else "Answer", "allow_once", writes=True)
    return (*offered, own, Choice("Do not answer", "deny"))


def title(ask: AskRaised) -> str:
    """Return the line above the body: what the tool would do; empty when the body says the same."""
    subject = ask.title.removeprefix(f"{ask.tool}: ")
    if ask.kind == "approval" and shows_diff(ask.tool):
        return f"{'Create' if creates(ask.body) else 'Change' if ask.body else 'Write'} {subject}?"
    where = "" if subject != ask.title else _where(ask)
    if ask.kind == "approval" and ask.tool in _DOES and where is not None:
        return f"{_DOES[ask.tool]}{where}?"
    return "" if _words(ask.body).startswith(_words(subject)) else ask.title


def placeholder(ask: AskRaised) -> str:
    """Return what stands in the empty composer below an ask: what typing does there."""
    return "Type to say no, and why" if ask.kind == "approval" else "Type to answer in your own words"


def _where(ask: AskRaised) -> str | None:
    """Return what a title has between the tool and what is in the body, as ` in web`; None if it has not.

    A folder can have any name: only what is followed by the beginning of the body is one.
    """
    said = _words(ask.body)
    for colon in re.finditer(": ", ask.title):
        if said.startswith(_words(ask.title[colon.end() :].removesuffix("…"))):
            return ask.title[: colon.start()].removeprefix(ask.tool)
    return None


def _words(text: str) -> str:
    """Return a text to compare with another, whichever way its lines are divided."""
    return " ".join(on_one_line(text, 3 * len(text) + 1).replace(LINE_END, " ").split())


def body(ask: AskRaised) -> str:
    """Return what is asked in full, with gaps that could push something out of sight counted instead."""
    return _LONG_GAP.sub(_count_gap, ask.body.rstrip("\n"))


def _count_gap(gap: re.Match[str]) -> str:
    lines = gap[0].count("\n")
    if lines:
        return f"\n⟨{lines - 1} empty lines⟩\n"
    return f"⟨{len(gap[0])} {'blanks' if gap[0].strip(' ') else 'spaces'}⟩"


class Grace:
    """Tells typing ahead from answering: nobody answers what they have not seen for a moment."""

    def __init__(self) -> None:
        self._until: float | None = None

    def seen(self, now: float) -> float | None:
        """Note that a frame shows the ask; return the seconds until keys answer, None when they do."""
        if self._until is None:
            self._until = now + GRACE_S
        return None if self.armed(now) else self._until - now

    def covered(self) -> None:
        """Note that the ask is not in sight: once it is, the grace begins anew."""
        self._until = None

    def typed(self, now: float) -> None:
        """Note a key; while the grace lasts, it begins again."""
        if self._until is not None and not self.armed(now):
            self._until = now + GRACE_S

    def armed(self, now: float) -> bool:
        """Tell whether keys answer now."""
        return self._until is not None and now >= self._until
