"""Whose plan the panel shows, how old it is, and whether somebody works on it now; pure."""

from typing import Literal, assert_never

from ipc.messages import Plan
from ui import figures
from ui.view import View

Origin = Literal["unknown", "ours", "earlier", "hand"]
"""Not told yet which session is open, the open session's, another session's, or written by no session."""
Look = Literal["working", "idle", "past"]
"""Whether steps in progress are under way, stand still, or belong to what is over."""


def origin(plan: Plan, view: View) -> Origin:
    """Tell whose plan it is."""
    session = view.state.conversation.session
    if session is None:
        return "unknown"
    if not plan.session:
        return "hand"
    return "ours" if plan.session == session.session_id else "earlier"


def look(plan: Plan, view: View) -> Look:
    """Tell how its steps may be drawn; nothing looks under way that is not."""
    if origin(plan, view) != "ours":
        return "past"
    return "working" if view.alive and view.state.conversation.running else "idle"


def provenance(plan: Plan, view: View, *, brief: bool = False) -> str:
    """Return in words where a plan comes from that is not the open session's; else an empty text.

    `brief`: without the time.
    """
    now = view.wall()
    when = figures.day(plan.updated_at, now)
    when = f"today {when}" if ":" in when else when
    match origin(plan, view):
        case "earlier":
            return "carried over" if brief else f"carried over from {when or 'an earlier session'}"
        case "hand":
            return "changed by hand" if brief else f"changed by hand {when}".rstrip()
        case "ours" | "unknown":
            return ""
        case other:
            assert_never(other)
