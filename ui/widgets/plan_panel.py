"""The whole plan, every item with every field; beside the transcript, or over it when there is no room."""

import itertools
from collections.abc import Callable, Sequence
from typing import ClassVar, Final

import urwid
from urwid.widget.widget import AbstractFlowWidget

from ipc.messages import Plan, PlanItem, Verdict
from ui import figures, keys
from ui.plan_origin import Look, look, origin, provenance
from ui.theme import PALETTE, Glyphs, Role
from ui.view import View
from ui.widgets.row import Content, Part, ScrolledPage, Size, draw, fit, parts_width

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
_FADED: Final[dict[str | None, str]] = {None: "dim"} | {entry[0]: "dim" for entry in PALETTE}


class PlanPanel(urwid.WidgetWrap[urwid.Pile]):
    """A head and the scrolled items; keeps the active item in view until the person scrolls."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._plan: Plan | None = None
        self._look: Look = "past"
        self._items: list[AbstractFlowWidget] = []
        self._pile = urwid.Pile([])
        self._page = ScrolledPage(self._pile, view.glyphs)
        self._following = True
        self._fill(None)
        self._head = _Head(lambda: self._plan, view)
        super().__init__(urwid.Pile([(urwid.PACK, self._head), (urwid.WEIGHT, 1, self._page)]))

    def changed(self) -> None:
        """Draw the plan that the state now has."""
        plan = self._view.state.plan
        now: Look = "past" if plan is None else look(plan, self._view)
        if plan is not self._plan or now != self._look:
            self._following = self._following or _active(plan) != _active(self._plan)
            self._look = now
            self._fill(plan)

    def render(self, size: Size, focus: bool = False) -> urwid.Canvas:
        if self._following:
            self._show_active((max(1, size[0] - 1), max(1, size[1] - self._head.rows(size[:1]))))
        return super().render(size, focus)

    def scroll(self, key: str) -> None:
        """Scroll by one of `up`, `down`, `page up`, `page down`."""
        self._following = False
        self._page.scroll(key)

    def _fill(self, plan: Plan | None) -> None:
        self._plan = plan
        if plan is None or not plan.items:
            self._items = [urwid.Text(("dim", "No plan yet. Fido makes one when a task has several steps."))]
        else:
            self._items = [_item(item, self._view.glyphs, self._look) for item in plan.items]
            if plan.reason:
                self._items.append(urwid.Text(("dim", f"last change: {plan.reason}")))
            if self._look == "past" and origin(plan, self._view) != "unknown":
                self._items.append(urwid.Text(("dim", "/plan clear starts over.")))
        self._pile.contents = [(item, (urwid.PACK, None)) for item in self._items]

    def _show_active(self, size: tuple[int, int]) -> None:
        """Scroll as little as needed for the active item, and begin with a whole item when that is enough."""
        columns, rows = size
        active = _active(self._plan)
        if active is None or self._plan is None:
            self._page.page.set_scrollpos(0)
            return
        ends = list(itertools.accumulate(item.rows((columns,)) for item in self._items))
        starts = [0, *ends[:-1]]
        index = self._plan.items.index(active)
        at = self._page.page.get_scrollpos(size)
        if ends[index] > at + rows or starts[index] < at or at not in starts:
            whole = (start for start in starts[: index + 1] if ends[index] - start <= rows)
            self._page.page.set_scrollpos(next(whole, starts[index]))


class _Head(urwid.Widget):
    """Progress, and when it last changed; of a plan that is not the open session's, where it comes from."""

    _sizing = frozenset([urwid.FLOW])
    _selectable = False
    # Its words change with the clock.
    no_cache: ClassVar[list[str]] = ["render", "rows"]

    def __init__(self, plan: Callable[[], Plan | None], view: View) -> None:
        super().__init__()
        self._plan = plan
        self._view = view

    def rows(self, size: Size, focus: bool = False) -> int:
        return self.render(size).rows()

    def render(self, size: Size, focus: bool = False) -> urwid.Canvas:
        plan, view, columns = self._plan(), self._view, size[0]
        if plan is None or not plan.items:
            return draw([("strong", "Plan")], columns)
        left: list[Part] = [("strong", f"Plan {_progress(plan)}")]
        blocked = sum(item.status == "blocked" for item in plan.items)
        if blocked:
            left.append(("warning", f"  {blocked} blocked"))
        if said := provenance(plan, view):
            beside: list[Part] = [*left, ("dim", f" {view.glyphs.dot} "), ("warning", said)]
            fits = parts_width(beside) <= columns
            return urwid.Text(beside if fits else [*left, ("warning", f"\n{said}")]).render((columns,))
        right: list[Part] = [("dim", f"{figures.day(plan.updated_at, view.wall())} ")]
        right = right if parts_width(left) + parts_width(right) < columns else []
        return draw(fit(left, right, columns, view.glyphs.ellipsis), columns)


def plan_strip(view: View, columns: int) -> Content:
    """Return the plan in one row: progress, where it comes from, and the active item."""
    plan, glyphs = view.state.plan, view.glyphs
    if plan is None or not plan.items:
        return [], []
    left: list[Part] = [("dim", " Plan "), ("strong", _progress(plan))]
    if said := provenance(plan, view):
        left.append(("warning", f" {said}"))
    right: list[Part] = [("dim", keys.shown("plan") + " ")]
    if parts_width(left) + parts_width(right) >= columns:
        right = []
    active = _active(plan)
    if active is not None:
        now = look(plan, view)
        left += [
            (None, "  "),
            (_role(active, now), _sign(active, now, glyphs) + " "),
            (None if now != "past" else "dim", active.title),
        ]
    return left, right


def _progress(plan: Plan) -> str:
    return f"{sum(item.status == 'done' for item in plan.items)}/{len(plan.items)}"


def _active(plan: Plan | None) -> PlanItem | None:
    """Return the item in progress, else the first that is not done."""
    if plan is None:
        return None
    running = next((item for item in plan.items if item.status == "in_progress"), None)
    return running or next((item for item in plan.items if item.status != "done"), None)


def _role(item: PlanItem, now: Look) -> Role:
    stalled = now == "past" or (item.status == "in_progress" and now == "idle")
    return "dim" if stalled else _STATUS_ROLE[item.status]


def _sign(item: PlanItem, now: Look, glyphs: Glyphs) -> str:
    return glyphs.stalled if item.status == "in_progress" and now != "working" else glyphs.plan[item.status]


def _item(item: PlanItem, glyphs: Glyphs, now: Look) -> AbstractFlowWidget:
    role = _role(item, now)
    status = _IN_PROGRESS[now] if item.status == "in_progress" else item.status
    title = ("strong" if status == "in progress" else None, item.title)
    second: list[Part] = [(role, status), ("dim", f" {glyphs.dot} {item.id}")]
    if item.dependencies:
        second.append(("dim", f" {glyphs.dot} after {', '.join(item.dependencies)}"))
    fields: list[list[Part]] = [second]
    if item.details:
        fields.append([("dim", item.details)])
    if item.next_action:
        fields.append([("dim", "next "), (None, item.next_action)])
    fields += [_proof(item, at, glyphs) for at in range(len(item.evidence))]
    lines: list[AbstractFlowWidget] = [
        urwid.Columns([(2, urwid.Text((role, _sign(item, now, glyphs)))), urwid.Text(_markup([title]))]),
        *(urwid.Padding(urwid.Text(_markup(field)), left=2) for field in fields),
        urwid.Divider(),
    ]
    pile = urwid.Pile([(urwid.PACK, line) for line in lines])
    return urwid.AttrMap(pile, _FADED) if now == "past" else pile


def _proof(item: PlanItem, at: int, glyphs: Glyphs) -> list[Part]:
    """Return one entry of the evidence behind the store's verdict: in front, no text can imitate it."""
    verdict = item.verdicts[at] if at < len(item.verdicts) else "claimed"
    return [(_VERDICT_ROLE[verdict], f"{glyphs.verdict[verdict]} {verdict} "), (None, item.evidence[at])]


def _markup(parts: Sequence[Part]) -> list[Part] | str:
    return [part for part in parts if part[1]] or ""
