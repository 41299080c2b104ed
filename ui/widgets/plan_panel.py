"""The whole plan, every item with every field; beside the transcript, or over it when there is no room."""

from collections.abc import Sequence
from typing import Final

import urwid
from urwid.widget.widget import AbstractFlowWidget

from ipc.messages import Plan, PlanItem
from ui.theme import Glyphs, Role
from ui.view import View
from ui.widgets.row import Content, Part, Size, scroll_bar

_STATUS_ROLE: Final[dict[str, Role]] = {
    "pending": "dim",
    "in_progress": "chrome",
    "blocked": "warning",
    "done": "ok",
}
_STATUS_WORD: Final = {"in_progress": "in progress", "blocked": "blocked"}


class PlanPanel(urwid.WidgetWrap[urwid.Pile]):
    """A head line and the scrolled items; keeps the active item in view until the person scrolls."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._plan: Plan | None = None
        self._items: list[AbstractFlowWidget] = []
        self._pile = urwid.Pile([])
        self._scrolled = urwid.Scrollable(self._pile)
        self._bar = scroll_bar(self._scrolled, view.glyphs)
        self._size = (1, 1)
        self._following = True
        self._head = urwid.Text("", wrap=urwid.ELLIPSIS)
        self._fill(None)
        super().__init__(urwid.Pile([(urwid.PACK, self._head), (urwid.WEIGHT, 1, self._bar)]))

    def changed(self) -> None:
        """Draw the plan that the state now has."""
        plan = self._view.state.plan
        if plan is not self._plan:
            self._following = self._following or _active(plan) is not _active(self._plan)
            self._fill(plan)

    def render(self, size: Size, focus: bool = False) -> urwid.Canvas:
        columns, rows = size
        self._size = (max(1, columns - 1), max(1, rows - 1))
        if self._following:
            self._show_active()
        return super().render(size, focus)

    def scroll(self, key: str) -> None:
        """Scroll by one of `up`, `down`, `page up`, `page down`."""
        self._following = False
        self._scrolled.keypress(self._size, key)
        self._invalidate()

    def _fill(self, plan: Plan | None) -> None:
        self._plan = plan
        glyphs = self._view.glyphs
        self._head.set_text(_markup(_head(plan)))
        if plan is None or not plan.items:
            self._items = [urwid.Text(("dim", "No plan yet. Fido makes one when a task has several steps."))]
        else:
            self._items = [_item(item, glyphs) for item in plan.items]
            if plan.reason:
                self._items.append(urwid.Text(("dim", plan.reason)))
        self._pile.contents = [(item, (urwid.PACK, None)) for item in self._items]

    def _show_active(self) -> None:
        """Scroll as little as needed so that the active item is whole, or at least begins, in view."""
        columns, rows = self._size
        active = _active(self._plan)
        if active is None or self._plan is None:
            return
        index = self._plan.items.index(active)
        top = sum(item.rows((columns,)) for item in self._items[:index])
        end = top + self._items[index].rows((columns,))
        at = self._scrolled.get_scrollpos(self._size)
        if end > at + rows:
            self._scrolled.set_scrollpos(max(0, min(top, end - rows)))
        elif top < at:
            self._scrolled.set_scrollpos(top)


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
    return left, []


def _head(plan: Plan | None) -> list[Part]:
    if plan is None or not plan.items:
        return [("strong", "Plan")]
    blocked = sum(item.status == "blocked" for item in plan.items)
    head: list[Part] = [("strong", "Plan "), ("strong", _progress(plan))]
    if blocked:
        head.append(("warning", f"  {blocked} blocked"))
    if plan.updated_at:
        head.append(("dim", f"  {plan.updated_at[11:16]} UTC"))
    return head


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
    title: list[Part] = [("strong" if item.status == "in_progress" else None, item.title)]
    title.append(("dim", f"  {item.id}"))
    if item.status in _STATUS_WORD:
        title.append((role, f"  {_STATUS_WORD[item.status]}"))
    fields: list[list[Part]] = [[("dim", item.details)]] if item.details else []
    if item.dependencies:
        fields.append([("dim", "after "), (None, ", ".join(item.dependencies))])
    if item.next_action:
        fields.append([("dim", "next "), (None, item.next_action)])
    fields += [[("dim", "evidence "), (None, proof)] for proof in item.evidence]
    lines: list[AbstractFlowWidget] = [
        urwid.Columns([(2, urwid.Text((role, glyphs.plan[item.status]))), urwid.Text(_markup(title))]),
        *(urwid.Padding(urwid.Text(_markup(field)), left=2) for field in fields),
        urwid.Divider(),
    ]
    return urwid.Pile([(urwid.PACK, line) for line in lines])


def _markup(parts: Sequence[Part]) -> list[Part] | str:
    return [part for part in parts if part[1]] or ""
