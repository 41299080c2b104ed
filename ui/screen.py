"""The whole screen for any size: which part stands where, and what is under the pointer."""

from collections.abc import Callable
from typing import ClassVar, Final, NamedTuple

import urwid
from urwid.widget.widget import AbstractFlowWidget, AbstractWidget

from ui import asking
from ui.composer.completer import Completer
from ui.composer.composer import PLACEHOLDER, Composer
from ui.composer.popup import Popup
from ui.transcript.listing import TranscriptView
from ui.transcript.rule import Rule
from ui.view import View
from ui.widgets import activity_bar, header, help_page, plan_panel, status_line
from ui.widgets.approval import AskForm
from ui.widgets.help_page import HelpPage
from ui.widgets.hints import Around
from ui.widgets.jobs import jobs_markup
from ui.widgets.notes import notes
from ui.widgets.overlay import WIDEST as OVERLAY_WIDEST
from ui.widgets.overlay import Page, TextPage, overlaid, overlay_box
from ui.widgets.plan_panel import PlanPanel
from ui.widgets.recall import RecallList
from ui.widgets.row import Content, Row, Size, constant_row
from ui.widgets.usage import usage_markup

MIN_COLUMNS: Final = 40
MIN_ROWS: Final = 10
NARROW: Final = 80
"""Below this width the plan is a strip and an overlay, from it on a panel."""
WIDE: Final = 110
"""From this width on the panel has a third of it."""
_COMPOSER_ROWS: Final = 8
_ROOM_FOR_BOTH: Final = 10
"""Rows from which on an ask and the draft both find room."""
_TRANSCRIPT_ROWS: Final = 2
"""Rows the transcript keeps whatever else wants room."""

Overlay = PlanPanel | Page | RecallList


class Part(NamedTuple):
    """A widget somewhere on the screen; of a point in it, the place within the widget."""

    widget: AbstractWidget
    size: Size
    column: int
    row: int
    rows: int

    def at(self, column: int, row: int) -> "Part | None":
        """Return the part with a point of the screen as its own; None when the point is elsewhere."""
        inside = self._replace(column=column - self.column, row=row - self.row)
        return inside if 0 <= inside.column < self.size[0] and 0 <= inside.row < self.rows else None


class Screen(urwid.Widget):
    """Header, activity bar, transcript and plan, composer, status line."""

    _sizing = frozenset([urwid.BOX])
    _selectable = True
    no_cache: ClassVar[list[str]] = ["render"]

    def __init__(
        self, view: View, on_key: Callable[[Size, str], str | None], before: "Screen | None" = None
    ) -> None:
        """`before`: the screen whose composer goes on in this one."""
        super().__init__()
        self.view = view
        self.transcript = TranscriptView(view)
        self.panel = PlanPanel(view)
        self.plan = PlanPanel(view)
        """The same over the screen, scrolled for itself."""
        self.help = HelpPage(view)
        self.usage = TextPage("Usage", lambda: usage_markup(view.state.conversation), view.glyphs)
        self.jobs = TextPage("Running in the background", lambda: jobs_markup(view), view.glyphs)
        self.recall = RecallList(view)
        self.composer: Composer = Composer(view.glyphs) if before is None else before.composer
        self.composer.wear(view.glyphs)
        self.completer: Completer = Completer(view, self.composer) if before is None else before.completer
        self.popup = Popup(view, self.completer)
        self.form: AskForm | None = None
        self.forms: dict[str, AskForm] = {} if before is None else before.forms
        """What was begun at each ask that is open, by its id."""
        for begun in self.forms.values():
            begun.wear()
        self._on_key = on_key
        self._parts: list[Part] = []
        self._unsaid = self._names = False
        """Whether the line for the person has no place, and whether a row above names model and session."""
        self._header = self._row(lambda columns: header.header(view, columns))
        self._strip = self._row(lambda columns: plan_panel.plan_strip(view, columns))
        self._status = self._row(
            lambda columns: status_line.status_line(view, columns, self._around(columns))
        )
        self._rule = Rule(view, self.transcript.below, self.transcript.to_newest)

    def changed(self) -> None:
        """Draw what the state now says."""
        self.view.keep_time()
        self.transcript.changed()
        self.panel.changed()
        self._open_plan()
        self.recall.changed()
        while self.view.desk.taken_late:
            self.composer.take_away(self.view.desk.taken_late.pop())
        self.completer.changed()
        self._look_at_asks()

    def drawn(self) -> float | None:
        """Note that the person sees the last frame; return the seconds until keys mean something else."""
        in_sight = [part.widget for part in self._parts] if self.overlay is None else []
        for begun in self.forms.values():
            if begun not in in_sight:
                begun.grace.covered()
        form = self.form
        return form.grace.seen(self.view.clock()) if form is not None and form in in_sight else None

    def _look_at_asks(self) -> None:
        """Show the oldest that has no answer; what was written at one that is gone becomes a draft."""
        asks, ask = self.view.state.conversation.asks, self.view.waiting_ask
        for ask_id, begun in list(self.forms.items()):
            if asks.get(ask_id) != begun.ask:
                del self.forms[ask_id]
                for written in begun.take_unsent():
                    self.composer.give_back(written)
        if ask is None:
            self.form = None
        else:
            editor = self.composer.editor
            if ask.ask_id not in self.forms:
                self.forms[ask.ask_id] = AskForm(self.view, ask, lambda: editor.edit_text)
            self.form = self.forms[ask.ask_id]
            self.form.reopen()
        self.composer.editor.placeholder = ("dim", PLACEHOLDER if ask is None else asking.placeholder(ask))

    def _open_plan(self) -> None:
        """Let the plan over the screen begin with the active item each time that it is opened."""
        if self.overlay is self.plan:
            self.plan.changed()
        else:
            self.plan.follow()

    def keypress(self, size: Size, key: str) -> str | None:
        return self._on_key(size, key)

    def part_at(self, column: int, row: int) -> Part | None:
        """Return what was drawn last at a point of the screen, with the point's place in it."""
        found = (part.at(column, row) for part in reversed(self._parts))
        return next((part for part in found if part is not None), None)

    def render(self, size: Size, focus: bool = False) -> urwid.Canvas:
        columns, rows = size
        self._parts = []
        if too_small(size):
            return _too_small(columns, rows, self.view.keymap.shown("cancel"))
        if self.view.desk.reading.selecting:
            return self.transcript.render(size)
        above = self._above(columns, rows)
        below = self._below(columns, rows - len(above) - (0 if self._crowded(rows) else _TRANSCRIPT_ROWS))
        middle = rows - len(above) - sum(widget.rows((columns,)) for widget in below)
        stack = [(widget.render((columns,)), None, False) for widget in above]
        if middle > 0:
            body = self._body(columns, middle, len(above), rows)
            stack.append((body, None, self._writing_in is self.transcript))
        top = len(above) + middle
        for widget in below:
            has_focus = self.overlay is None and widget is self._writing_in
            canvas = widget.render((columns,), has_focus)
            stack.append((canvas, None, has_focus))
            self._parts.append(Part(widget, (columns,), 0, top, canvas.rows()))
            top += canvas.rows()
        screen = self._offered(urwid.CanvasCombine(stack))
        return screen if self.overlay is None else self._laid_over(screen, self.overlay)

    @property
    def overlay(self) -> Overlay | None:
        """What lies over everything, if anything does."""
        match self.view.desk.overlay:
            case "plan":
                return self.plan
            case "help":
                return self.help
            case "usage":
                return self.usage
            case "jobs":
                return self.jobs
            case "recall":
                return self.recall
            case None:
                return None

    def _offered(self, screen: urwid.Canvas) -> urwid.Canvas:
        """Lay what the composer offers over the last rows of the transcript."""
        below = next((part for part in self._parts if part.widget is self.transcript), None)
        writing = self.overlay is None and self._writing_in is self.composer
        if below is None or not writing or not self.completer.is_open:
            return screen
        # Beside the panel where that leaves it as wide as it reads well, else over the panel, too.
        columns = below.size[0] if below.size[0] >= NARROW - 8 else screen.cols()
        self.popup.limit = below.rows
        canvas = self.popup.render((columns,), focus=True)
        top = below.row + below.rows - canvas.rows()
        self._parts.append(Part(self.popup, (columns,), 0, top, canvas.rows()))
        return urwid.CanvasOverlay(canvas, screen, 0, top)

    def _laid_over(self, screen: urwid.Canvas, overlay: Overlay) -> urwid.Canvas:
        widest = help_page.WIDEST if isinstance(overlay, HelpPage) else OVERLAY_WIDEST
        box = overlay_box((screen.cols(), screen.rows()), overlay, widest)
        self._parts.append(Part(overlay, (box.columns, box.rows), box.left, box.top, box.rows))
        return overlaid(screen, overlay, box, self.view.glyphs)

    def _above(self, columns: int, rows: int) -> list[Row]:
        """Return the rows at the top. Where there is room, the bar's place is kept: nothing moves with it."""
        above = [self._header]
        ellipsis, role = self.view.glyphs.ellipsis, activity_bar.role(self.view)
        bar = activity_bar.activity_bar(self.view, columns, rows)
        place = activity_bar.place(columns, rows)
        if not bar and place:
            named: list[Content] = [(header.below(self.view), [])] * (place - 1)
            bar = [*named, ([("rule", self.view.glyphs.rule * columns)], [])]
        self._names = self.view.state.conversation.activity is None and place > 1
        above += [constant_row(left, ellipsis, role, right) for left, right in bar]
        plan = self.view.state.plan
        if columns < NARROW and plan is not None and plan.items and not self._crowded(rows):
            above.append(self._strip)
        return above

    def _crowded(self, rows: int) -> bool:
        """Tell whether an ask needs every row: nobody may overlook an answer for want of room."""
        return self.form is not None and rows < activity_bar.ROOMY

    def _around(self, columns: int) -> Around:
        form = self.form
        around = Around(
            offered=self.completer.offers,
            session_head=self.panel.tells_usage and any(part.widget is self.panel for part in self._parts),
            unsaid=self._unsaid,
            names=self._names,
        )
        if form is None or self._writing_in is not form:
            return around
        return around._replace(
            answering=form.answering, choices=form.choices, cut=form.is_cut(columns), offered="nothing"
        )

    @property
    def _writing_in(self) -> AbstractFlowWidget | TranscriptView:
        """What has the cursor."""
        if self.view.desk.reading.active:
            return self.transcript
        return self.composer if self.form is None or not self.form.armed else self.form

    def _below(self, columns: int, room: int) -> list[AbstractFlowWidget]:
        """Return what stands below the transcript, in at most `room` rows."""
        form = self.form
        room -= 1  # The status line.
        alone = form is not None and form.answering == "writing" and not self.composer.editor.edit_text
        if form is not None and (alone or room <= _ROOM_FOR_BOTH):
            return self._ask_alone(form, columns, room)
        room -= 1  # The rule above the composer.
        self.composer.limit = max(1, min(_COMPOSER_ROWS, room // 3))
        room -= self.composer.rows((columns,))
        noted = self._notes(columns, room if form is None else min(room // 3, room - form.least))
        writing = [*noted, self._rule, self.composer, self._status]
        if form is None:
            return writing
        form.limit = room - _height(noted, columns)
        return [form, *writing]

    def _ask_alone(self, form: AskForm, columns: int, room: int) -> list[AbstractFlowWidget]:
        """Let an ask have all the room; while keys still go to the draft, that keeps a row to be seen in."""
        writes: list[AbstractFlowWidget] = [] if form.armed else [self.composer]
        self.composer.limit = 1
        room -= len(writes)
        said = (
            self._notes(columns, min(max(1, room // 3), room - form.least)) if self.view.desk.message else []
        )
        form.limit = max(1, room - _height(said, columns))
        return [*said, form, *writes, self._status]

    def _notes(self, columns: int, room: int) -> list[AbstractFlowWidget]:
        self._unsaid = room <= 0
        return notes(self.view, columns, room)

    def _body(self, columns: int, rows: int, top: int, screen_rows: int) -> urwid.Canvas:
        """Draw the transcript, and beside it the panel where the screen is wide enough."""
        self.transcript.divides = columns >= NARROW
        focus = self._writing_in is self.transcript
        if columns < NARROW:
            self._parts.append(Part(self.transcript, (columns, rows), 0, top, rows))
            return self.transcript.render((columns, rows), focus)
        beside = panel_columns(columns)
        left = columns - beside - 1
        self.panel.screen_rows = screen_rows
        self._parts.append(Part(self.panel, (beside, rows), left + 1, top, rows))
        self._parts.append(Part(self.transcript, (left, rows), 0, top, rows))
        return urwid.CanvasJoin(
            [
                (self.transcript.render((left, rows), focus), None, focus, left + 1),
                (self.panel.render((beside, rows)), None, False, beside),
            ]
        )

    def _row(self, content: Callable[[int], Content]) -> Row:
        return Row(content, self.view.glyphs.ellipsis)


def panel_columns(columns: int) -> int:
    """Return the width of the panel: a third of a wide screen, else as little as reads well."""
    return min(60, columns // 3) if columns >= WIDE else max(28, columns * 3 // 10)


def too_small(size: Size) -> bool:
    """Tell whether nothing but that fits on a screen of so many columns and rows."""
    return size[0] < MIN_COLUMNS or size[1] < MIN_ROWS


def _height(widgets: list[AbstractFlowWidget], columns: int) -> int:
    return sum(widget.rows((columns,)) for widget in widgets)


def _too_small(columns: int, rows: int, stops: str) -> urwid.Canvas:
    lines = header.too_small((columns, rows), (MIN_COLUMNS, MIN_ROWS), stops)
    text = urwid.CompositeCanvas(urwid.Text("\n".join(lines), wrap=urwid.CLIP).render((columns,)))
    text.pad_trim_top_bottom(0, rows - text.rows())
    return text
