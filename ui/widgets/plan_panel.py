"""The whole plan, every item with every field; beside the transcript, or over it when there is no room."""

import itertools
from collections.abc import Sequence
from typing import Final

import urwid
from urwid.widget.widget import AbstractFlowWidget

from ipc.messages import Plan, PlanItem
from ui import figures, keys
from ui.theme import Glyphs, Role
from ui.view import View
from ui.widgets.row import Content, Part, Row, ScrolledPage, Size, parts_width

_STATUS_ROLE: Final[dict[str, Role]] = {
    "pending": "dim",
    "in_progress": "chrome",
    "blocked": "warning",
    "done": "ok",
}


class PlanPanel(urwid.WidgetWrap[urwid.Pile]):
    """A head line and the scrolled items; keeps the active item in view until the person scrolls."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._plan: Plan | None = None
        self._items: list[AbstractFlowWidget] = []
        self._pile = urwid.Pile([])
        self._page = ScrolledPage(self._pile, view.glyphs)
        self._following = True
        self._fill(None)
        head = Row(lambda columns: _head(self._plan, columns), view.glyphs.ellipsis)
        super().__init__(urwid.Pile([(urwid.PACK, head), (urwid.WEIGHT, 1, self._page)]))

    def changed(self) -> None:
        """Draw the plan that the state now has."""
        plan = self._view.state.plan
        if plan is not self._plan:
            self._following = self._following or _active(plan) is not _active(self._plan)
            self._fill(plan)

    def render(self, size: Size, focus: bool = False) -> urwid.Canvas:
        if self._following:
            self._show_active((max(1, size[0] - 1), max(1, size[1] - 1)))
        return super().render(size, focus)

    def scroll(self, key: str) -> None:
        """Scroll by one of `up`, `down`, `page up`, `page down`."""
        self._following = False
        self._page.scroll(key)

    def _fill(self, plan: Plan | None) -> None:
        self._plan = plan
        glyphs = self._view.glyphs
        if plan is None or not plan.items:
            self._items = [urwid.Text(("dim", "No plan yet. Fido makes one when a task has several steps."))]
        else:
            self._items = [_item(item, glyphs) for item in plan.items]
            if plan.reason:
                self._items.append(urwid.Text(("dim", plan.reason)))
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


def plan_strip(view: View, columns: int) -> Content:
    """Return the plan in one row: progress and the active item."""
    plan, glyphs = view.state.plan, view.glyphs
    if plan is None or not plan.items:
        return [], []
    left: list[Part] = [("dim", " Plan "), ("strong", _progress(plan))]
    active = _active(plan)
    if active is not None:
        left += [
            (None, "  "),
            (_STATUS_ROLE[active.status], glyphs.plan[active.status] + " "),
            (None, active.title),
        ]
    return left, [("dim", keys.shown("plan") + " ")]


def _head(plan: Plan | None, columns: int) -> Content:
    if plan is None or not plan.items:
        return [("strong", "Plan")], []
    left: list[Part] = [("strong", f"Plan {_progress(plan)}")]
    blocked = sum(item.status == "blocked" for item in plan.items)
    if blocked:
        left.append(("warning", f"  {blocked} blocked"))
    right: list[Part] = [("dim", f"{figures.local_time(plan.updated_at)} ")]
    return left, right if parts_width(left) + parts_width(right) < columns else []


def _progress(plan: Plan) -> str:
    return f"{sum(item.status == 'done' for item in plan.items)}/{len(plan.items)}"


def _active(plan: Plan | None) -> PlanItem | None:
    """Return the item in progress, else the first that is not done."""
    if plan is None:
        return None
    running = next((item for item in plan.items if item.status == "in_progress"), None)
    return running or next((item for item in plan.items if item.status != "done"), None)


def _item(item: PlanItem, glyphs: Glyphs) -> AbstractFlowWidget:
    role = _STATUS_ROLE[item.status]
    title = ("strong" if item.status == "in_progress" else None, item.title)
    second: list[Part] = [(role, item.status.replace("_", " ")), ("dim", f" {glyphs.dot} {item.id}")]
    if item.dependencies:
        second.append(("dim", f" {glyphs.dot} after {', '.join(item.dependencies)}"))
    fields: list[list[Part]] = [second]
    if item.details:
        fields.append([("dim", item.details)])
    if item.next_action:
        fields.append([("dim", "next "), (None, item.next_action)])
    fields += [[("dim", "evidence "), (None, proof)] for proof in item.evidence]
    lines: list[AbstractFlowWidget] = [
        urwid.Columns([(2, urwid.Text((role, glyphs.plan[item.status]))), urwid.Text(_markup([title]))]),
        *(urwid.Padding(urwid.Text(_markup(field)), left=2) for field in fields),
        urwid.Divider(),
    ]
    return urwid.Pile([(urwid.PACK, line) for line in lines])


def _markup(parts: Sequence[Part]) -> list[Part] | str:
    return [part for part in parts if part[1]] or ""
