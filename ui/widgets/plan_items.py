"""One item of the plan with every field of it, wrapped as its place is wide."""

from collections.abc import Sequence
from typing import Final, get_args

import urwid
from urwid.widget.widget import AbstractFlowWidget

from ipc.messages import PlanItem, Verdict
from ui.palettes import Role
from ui.plan_origin import Look
from ui.theme import Glyphs
from ui.widgets.row import Part, hanging

_STATUS_ROLE: Final[dict[str, Role]] = {
    "pending": "dim",
    "in_progress": "chrome",
    "blocked": "warning",
    "done": "ok",
}
_VERDICT_ROLE: Final[dict[Verdict, Role]] = {"verified": "ok", "claimed": "dim"}
_IN_PROGRESS: Final[dict[Look, str]] = {
    "working": "in progress",
    "idle": "in progress (idle)",
    "past": "was in progress",
}
_FADED: Final[dict[str | None, str]] = {None: "dim"} | dict.fromkeys(get_args(Role), "dim")


def item_widget(item: PlanItem, glyphs: Glyphs, now: Look) -> AbstractFlowWidget:
    """Return an item's sign and title, its fields below them, and an empty row."""
    status = _IN_PROGRESS[now] if item.status == "in_progress" else item.status
    title = ("strong" if status == "in progress" else None, item.title)
    second: list[Part] = [(item_role(item, now), status), ("dim", f" {glyphs.dot} {item.id}")]
    if item.dependencies:
        second.append(("dim", f" {glyphs.dot} after {', '.join(item.dependencies)}"))
    fields: list[list[Part]] = [second]
    if item.details:
        fields.append([("dim", item.details)])
    if item.next_action:
        fields.append([("dim", "next "), (None, item.next_action)])
    fields += [_proof(item, at, glyphs) for at in range(len(item.evidence))]
    lines: list[AbstractFlowWidget] = [
        hanging((item_role(item, now), item_sign(item, now, glyphs) + " "), title),
        *(urwid.Padding(urwid.Text(_markup(field)), left=2) for field in fields),
        urwid.Divider(),
    ]
    pile = urwid.Pile([(urwid.PACK, line) for line in lines])
    return urwid.AttrMap(pile, _FADED) if now == "past" else pile


def item_role(item: PlanItem, now: Look) -> Role:
    """Return the colour of an item's status."""
    stalled = now == "past" or (item.status == "in_progress" and now == "idle")
    return "dim" if stalled else _STATUS_ROLE[item.status]


def item_sign(item: PlanItem, now: Look, glyphs: Glyphs) -> str:
    """Return the sign of an item's status; nothing looks under way that is not."""
    return glyphs.stalled if item.status == "in_progress" and now != "working" else glyphs.plan[item.status]


def _proof(item: PlanItem, at: int, glyphs: Glyphs) -> list[Part]:
    """Return one entry of the evidence behind the store's verdict: in front, no text can imitate it."""
    verdict = item.verdicts[at] if at < len(item.verdicts) else "claimed"
    return [(_VERDICT_ROLE[verdict], f"{glyphs.verdict[verdict]} {verdict} "), (None, item.evidence[at])]


def _markup(parts: Sequence[Part]) -> list[Part] | str:
    return [part for part in parts if part[1]] or ""
