"""Whether a subagent may work behind the wall that there is, and what a person is told of it (pure)."""

from typing import NamedTuple

from actors.settings import Sandbox
from ipc.messages import Level, NoticeRaised, Problem

BARRED = "sandbox_unavailable"
"""The code of a delegation that was refused because the wall is not whole."""


class Standing(NamedTuple):
    """What holds for every delegation of this run."""

    notice: NoticeRaised
    barred: Problem | None
    """Why nothing can be delegated, if so."""


def standing(required: Sandbox, *, whole: bool, wall: str) -> Standing:
    """Judge a wall, `wall` being one sentence on what it holds and what it lacks."""
    if required == "off":
        off = 'sandbox is "off" in the settings: nothing but their tools keeps subagents from writing.'
        return Standing(_notice("warning", off), None)
    if whole:
        return Standing(_notice("info", wall), None)
    if required == "best-effort":
        return Standing(_notice("warning", f'{wall} They run so, since sandbox is "best-effort".'), None)
    barred = Problem(
        code=BARRED,
        message=f"{wall} So no subagent runs here.",
        next_step='To delegate all the same, set sandbox = "best-effort" in your own config.toml.',
    )
    return Standing(_notice("warning", f"{barred.message} {barred.next_step}"), barred)


def _notice(level: Level, message: str) -> NoticeRaised:
    return NoticeRaised(level=level, message=message)
