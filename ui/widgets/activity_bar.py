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
"""Rows of the screen from which on the bar keeps its place and may have a second row: nothing misses them."""


def role(view: View) -> Role | None:
    """Return the colours of the whole bar: it is filled while the subagent works."""
    activity = view.state.conversation.activity
    return "activity" if activity is not None and activity.fact.active else None


def activity_bar(view: View, columns: int, screen_rows: int) -> list[Content]:
    """Return the rows of the bar: none without a subagent in this turn, two on a narrow screen.

    An outcome has two as well, when it is too long for one; while it works a bar that grows would disturb.
    """
    activity = view.state.conversation.activity
    if activity is None:
        return []
    who, phase = _who(activity, view), activity.fact.phase
    wait = view.wait_left(activity.fact.agent_id) if activity.fact.active else ""
    said = f"{activity.detail} in {wait}" if wait else activity.detail
    detail: list[Part] = [(None, f"  {said}")] if said else []
    left: list[Part] = [who, (None, f" {phase}")]
    shown = _figures(activity, cost=columns >= _COST_FROM) if columns >= WIDE else []
    right = _right(activity, view, shown, columns - parts_width(left))
    is_cut = parts_width([*left, *detail, *right]) >= columns
    if screen_rows >= ROOMY and (columns < WIDE or (is_cut and not activity.fact.active)):
        right = _right(activity, view, _figures(activity, cost=True), columns - parts_width([who]))
        return [([who], right), ([(None, f"   {phase}"), *detail], [])]
    return [([*left, *detail], right)]


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
        elapsed_ms += round(1000 * (view.clock() - activity.seen_at))
    text = figures.elapsed(elapsed_ms) + ("+" if activity.longer and activity.fact.active else " ")
    for count in range(len(shown), 0, -1):
        longer = "  ".join([*shown[:count], text])
        if len(longer) + 1 <= room:
            return [(None, longer)]
    return [(None, text)]
