"""The session's figures and the whole plan: beside the transcript, or over it when there is no room."""

from typing import ClassVar, Final

import urwid
from urwid.widget.widget import AbstractFlowWidget

from ipc.messages import Plan, PlanItem
from ui import figures
from ui.plan_origin import Look, look, origin, provenance
from ui.view import View
from ui.widgets.plan_items import item_role, item_sign, item_widget
from ui.widgets.row import Content, Part, ScrolledPage, Size, draw, fit, parts_width, width
from ui.widgets.session_head import extent, session_head
from ui.widgets.stack import Stack

EMPTY: Final = "No plan yet. Fido makes one when a task has several steps."
_TITLE: Final = 12
"""Columns of the active item's title before which the strip's other words give way."""
_GAPS: Final = 3
"""Columns between the parts of the plan's heading, and behind them."""


class PlanPanel(urwid.Widget):
    """A head and the scrolled items; keeps the active item in view until the person scrolls."""

    _sizing = frozenset([urwid.BOX])
    _selectable = False
    # Its head changes with the clock and with what is used.
    no_cache: ClassVar[list[str]] = ["render"]

    def __init__(self, view: View) -> None:
        super().__init__()
        self.screen_rows: int | None = None
        """Rows of the whole screen; None where the panel lies over it."""
        self._view = view
        self._plan: Plan | None = None
        self._look: Look = "past"
        self._extent = extent(0, 0)
        self._drawn: dict[PlanItem, AbstractFlowWidget] = {}
        """The widget of each item as it looks now."""
        self._stack = Stack()
        self._page = ScrolledPage(self._stack, view.glyphs)
        self._following = True
        self._fill(None)

    def changed(self) -> None:
        """Draw the plan that the state now has."""
        plan = self._view.state.plan
        now: Look = "past" if plan is None else look(plan, self._view)
        if plan is not self._plan or now != self._look:
            if _active_id(plan) != _active_id(self._plan):
                self.follow()
            if now != self._look:
                self._drawn.clear()
            self._look = now
            self._fill(plan)

    def render(self, size: Size, focus: bool = False) -> urwid.Canvas:
        columns, rows = size
        self._extent = extent(self.screen_rows, rows)
        head = urwid.CanvasCombine([(row, None, False) for row in self._head(columns)])
        room = rows - head.rows()
        if room <= 0:
            head.trim(0, rows)
            return head
        if self._following:
            self._show_active((max(1, columns - 1), room))
        return urwid.CanvasCombine([(head, None, False), (self._page.render((columns, room)), None, False)])

    @property
    def tells_usage(self) -> bool:
        """Whether it showed what the session has used when it was drawn last."""
        return self._extent != "none"

    def scroll(self, key: str) -> None:
        """Scroll by one of `up`, `down`, `page up`, `page down`, `home`; with `end` follow the plan again."""
        self._following = key == "end"
        if not self._following:
            self._page.scroll(key)

    def follow(self) -> None:
        """Keep the active item in view from now on."""
        self._following = True

    def _head(self, columns: int) -> list[urwid.Canvas]:
        """Draw the session's figures, then the plan's progress and when it changed or where it comes from."""
        ellipsis = self._view.glyphs.ellipsis
        session = session_head(self._view, columns - 1, self._extent)
        rows = [draw(fit(left, right, columns, ellipsis), columns) for left, right in session]
        return [*rows, *_progress_rows(self._view, columns)]

    def _fill(self, plan: Plan | None) -> None:
        self._plan = plan
        if plan is None or not plan.items:
            self._stack.hold([urwid.Text(("dim", "" if plan is None else EMPTY))])
        else:
            known = self._drawn
            self._drawn = {
                item: known.get(item) or item_widget(item, self._view.glyphs, self._look)
                for item in plan.items
            }
            shown = [self._drawn[item] for item in plan.items]
            if plan.reason:
                shown.append(urwid.Text(("dim", f"last change: {plan.reason}")))
            if self._look == "past" and origin(plan, self._view) != "unknown":
                shown.append(urwid.Text(("dim", "/plan clear starts over.")))
            self._stack.hold(shown)

    def _show_active(self, size: tuple[int, int]) -> None:
        """Scroll as little as needed for the active item, and begin with a whole item when that is enough."""
        columns, rows = size
        active = _active(self._plan)
        if active is None or self._plan is None:
            self._page.to(0)
            return
        ends = self._stack.ends(columns)
        starts = [0, *ends[:-1]]
        index = self._plan.items.index(active)
        at = self._page.page.get_scrollpos(size)
        if ends[index] > at + rows or starts[index] < at or at not in starts:
            whole = (start for start in starts[: index + 1] if ends[index] - start <= rows)
            self._page.to(next(whole, starts[index]))


def _progress_rows(view: View, columns: int) -> list[urwid.Canvas]:
    """Draw how far the plan is, and its age; of another's plan the origin, below where it has no room."""
    plan = view.state.plan
    left: list[Part] = [("strong", "Plan")]
    age, said = "", ""
    if plan is not None and plan.items:
        left = [("strong", f"Plan {_progress(plan)}")]
        if blocked := sum(item.status == "blocked" for item in plan.items):
            left.append(("warning", f"  {blocked} blocked"))
        age, said = figures.day(plan.updated_at, view.wall()), provenance(plan, view)
    right: Part = ("warning", said) if said else ("dim", age)
    beside = bool(right[1]) and parts_width([*left, right]) + _GAPS < columns
    shown = [right, (None, " ")] if beside else []
    line = columns - parts_width([*left, *shown]) - (_GAPS - 1)
    rule: Part = ("rule", f" {view.glyphs.rule * max(0, line)} ")
    rows: list[urwid.Canvas] = [draw(fit([*left, rule, *shown], [], columns, ""), columns)]
    return rows if beside or not right[1] else [*rows, urwid.Text(right).render((columns,))]


def plan_strip(view: View, columns: int) -> Content:
    """Return the plan in one row: progress, where it comes from, and the active item."""
    plan, glyphs = view.state.plan, view.glyphs
    if plan is None or not plan.items:
        return [], []
    left: list[Part] = [("dim", " Plan "), ("strong", _progress(plan))]
    right: list[Part] = [("dim", view.keymap.shown("plan") + " ")]
    active, said = _active(plan), provenance(plan, view)
    room = columns - parts_width(left) - parts_width(right) - (_TITLE if active is not None else 0)
    if said:
        said = said if width(said) + 1 < room else provenance(plan, view, brief=True)
        left.append(("warning", f" {said}"))
    if parts_width(left) + parts_width(right) >= columns:
        right = []
    if active is not None:
        now = look(plan, view)
        left += [
            (None, "  "),
            (item_role(active, now), item_sign(active, now, glyphs) + " "),
            (None if now != "past" else "dim", active.title),
        ]
    elif not said:
        left.append(("ok", "  all done"))
    return left, right


def _progress(plan: Plan) -> str:
    return f"{sum(item.status == 'done' for item in plan.items)}/{len(plan.items)}"


def _active_id(plan: Plan | None) -> str | None:
    active = _active(plan)
    return None if active is None else active.id


def _active(plan: Plan | None) -> PlanItem | None:
    """Return the item in progress, else the first that is not done."""
    if plan is None:
        return None
    running = next((item for item in plan.items if item.status == "in_progress"), None)
    return running or next((item for item in plan.items if item.status != "done"), None)
