"""The row right below the header that belongs to subagents alone, in their own colour."""

from typing import Final

from ipc.messages import ToolStatus
from ui import figures
from ui.state import Activity
from ui.theme import Role
from ui.view import View
from ui.widgets.row import Content

_ENDS: Final[dict[str, ToolStatus]] = {"completed": "ok", "cancelled": "cancelled"}
"""How it ended well, or by the person; everything else is an error, a part of a result, too."""


def is_shown(view: View) -> bool:
    """Tell whether a subagent works, or has ended in this turn."""
    return view.state.conversation.activity is not None


def role(view: View) -> Role:
    """Return the colours: filled while it works, only the letters once it has ended."""
    activity = view.state.conversation.activity
    return "activity" if activity is not None and activity.fact.active else "activity_over"


def activity_bar(view: View, columns: int) -> Content:
    """Return who, phase and detail on the left, elapsed time on the right."""
    activity = view.state.conversation.activity
    if activity is None:
        return [], []
    fact, glyphs = activity.fact, view.glyphs
    sign = glyphs.agent[view.phase] if fact.active else glyphs.tool[_ENDS.get(fact.phase, "error")]
    name = fact.agent_id.removeprefix("subagent-")
    phase = fact.phase if not fact.detail else f"{fact.phase}  {fact.detail}"
    return [(None, f" {sign} SUBAGENT {name}  {phase}")], [(None, f"{_elapsed(activity, view)} ")]


def _elapsed(activity: Activity, view: View) -> str:
    fact = activity.fact
    if not fact.active:
        return figures.duration(fact.elapsed_ms)
    since = 0.0 if activity.seen_at is None else view.clock() - activity.seen_at
    return figures.clock(fact.elapsed_ms / 1_000 + since)
