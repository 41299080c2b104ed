"""The place right below the header that belongs to subagents alone, in their own colour."""

from typing import Final

from ui import figures
from ui.palettes import Role
from ui.state import Activity
from ui.theme import Glyphs
from ui.view import View
from ui.widgets.row import Content, Part, parts_width

WIDE: Final = 80
"""Columns from which on one row holds everything; below it phase and detail have a row of their own."""
_COST_FROM: Final = 100
"""Columns from which on one row has room for what the subagent costs, too."""
ROOMY: Final = 16
"""Rows of the screen from which on the bar keeps its place: nothing misses them."""


def place(columns: int, screen_rows: int) -> int:
    """Return how many rows are kept for the bar, so that nothing moves when it comes, changes and goes."""
    if screen_rows < ROOMY:
        return 0
    return 1 if columns >= WIDE else 2


def role(view: View) -> Role | None:
    """Return the colours of the whole bar: it is filled while the subagent works."""
    activity = view.state.conversation.activity
    return "activity" if activity is not None and _works(activity, view) else None


def _works(activity: Activity, view: View) -> bool:
    return activity.fact.active and view.alive


def activity_bar(view: View, columns: int, screen_rows: int) -> list[Content]:
    """Return the rows of the bar: none without a subagent in this turn, else as its place has."""
    activity = view.state.conversation.activity
    if activity is None:
        return []
    who, phase = _who(activity, view), activity.fact.phase
    wait = view.wait_left(activity.fact.agent_id) if activity.fact.active else ""
    said = f"{activity.detail} in {wait}" if wait else activity.detail
    detail: list[Part] = [(None, f"  {said}")] if said else []
    if place(columns, screen_rows) == 2:
        right = _right(activity, view, _figures(activity, cost=True), columns - parts_width([who]))
        return [([who], right), ([(None, f"   {phase}"), *detail], [])]
    left: list[Part] = [who, (None, f" {phase}")]
    shown = _figures(activity, cost=columns >= _COST_FROM) if columns >= WIDE else []
    # Of what goes on the figures stay; of an outcome the words do.
    kept = left if activity.fact.active else [*left, *detail]
    return [([*left, *detail], _right(activity, view, shown, columns - parts_width(kept) - 1))]


def _who(activity: Activity, view: View) -> Part:
    fact = activity.fact
    sign = view.glyphs.agent[view.phase] if fact.active else _end_sign(fact.phase, view.glyphs)
    return "activity", f" {sign} SUBAGENT {fact.agent_id.removeprefix('subagent-')} "


def _end_sign(phase: str, glyphs: Glyphs) -> str:
    match phase:
        case "completed":
            return glyphs.tool["ok"]
        case "partial":
            return glyphs.tool["partial"]
        case "cancelled":
            return glyphs.tool["cancelled"]
        case _:
            return glyphs.tool["error"]


def _figures(activity: Activity, *, cost: bool) -> list[str]:
    """Return what waits, what was used, and with `cost` its price; the first matters most."""
    fact, usage = activity.fact, activity.fact.usage
    shown = []
    if fact.queued and fact.phase != "cancelled":
        shown.append(f"{fact.queued} more {'waits' if fact.queued == 1 else 'wait'}")
    if tokens := usage.prompt_tokens + usage.completion_tokens:
        shown.append(f"{figures.count(tokens)} tokens")
    if cost and usage.cost_usd is not None:
        shown.append(figures.money(usage.cost_usd))
    return shown


def _right(activity: Activity, view: View, shown: list[str], room: int) -> list[Part]:
    """Return as many figures as there is room for, then the time, which is always as wide."""
    elapsed_ms = activity.fact.elapsed_ms
    if activity.fact.active and activity.seen_at is not None:
        elapsed_ms += round(1000 * (view.now - activity.seen_at))
    text = figures.elapsed(elapsed_ms) + ("+" if activity.longer and activity.fact.active else " ")
    for count in range(len(shown), 0, -1):
        longer = "  ".join([*shown[:count], text])
        if len(longer) + 1 <= room:
            return [(None, longer)]
    return [(None, text)]
