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
        self.help = HelpPage(view)
        self.usage = TextPage("Usage", lambda: usage_markup(view.state.conversation), view.glyphs)
        self.jobs = TextPage("Running in the background", lambda: jobs_markup(view), view.glyphs)
        self.recall = RecallList(view)
        self.composer: Composer = Composer(view.glyphs) if before is None else before.composer
        self.composer.wear(view.glyphs)
        self.completer: Completer = Completer(view, self.composer) if before is None else before.completer
        self.popup = Popup(view, self.completer)
        self.form: AskForm | None = None
        self._on_key = on_key
        self._parts: list[Part] = []
        self._header = self._row(lambda columns: header.header(view, columns))
        self._strip = self._row(lambda columns: plan_panel.plan_strip(view, columns))
        self._status = self._row(
            lambda columns: status_line.status_line(view, columns, self._around(columns))
        )
        self._rule = Rule(view, self.transcript.below, self.transcript.to_newest)

    def changed(self) -> None:
        """Draw what the state now says."""
        self.transcript.changed()
        self.panel.changed()
        self.recall.changed()
        while self.view.desk.taken_late:
            self.composer.take_away(self.view.desk.taken_late.pop())
        self.completer.changed()
        ask = self.view.waiting_ask
        if ask is None:
            self.form = None
        elif self.form is None or self.form.ask.ask_id != ask.ask_id:
            self.form = AskForm(self.view, ask, drafting=bool(self.composer.editor.edit_text))
        self.composer.editor.placeholder = ("dim", PLACEHOLDER if ask is None else asking.placeholder(ask))

    def keypress(self, size: Size, key: str) -> str | None:
        return self._on_key(size, key)

    def part_at(self, column: int, row: int) -> Part | None:
        """Return what was drawn last at a point of the screen, with the point's place in it."""
        found = (part.at(column, row) for part in reversed(self._parts))
        return next((part for part in found if part is not None), None)

    def render(self, size: Size, focus: bool = False) -> urwid.Canvas:
        columns, rows = size
        self._parts = []
        if columns < MIN_COLUMNS or rows < MIN_ROWS:
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
                return self.panel
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
        if isinstance(overlay, PlanPanel):
            overlay.screen_rows = plan_panel.ALONE
        widest = help_page.WIDEST if isinstance(overlay, HelpPage) else OVERLAY_WIDEST
        box = overlay_box((screen.cols(), screen.rows()), overlay, widest)
        self._parts.append(Part(overlay, (box.columns, box.rows), box.left, box.top, box.rows))
        return overlaid(screen, overlay, box, self.view.glyphs)

    def _above(self, columns: int, rows: int) -> list[Row]:
        """Return the rows at the top. Where there is room, the bar's place is kept: nothing moves with it."""
        above = [self._header]
        ellipsis, role = self.view.glyphs.ellipsis, activity_bar.role(self.view)
        bar = activity_bar.activity_bar(self.view, columns, rows)
        if not bar and rows >= activity_bar.ROOMY:
            bar, role = [([(None, self.view.glyphs.rule * columns)], [])], "rule"
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
        head = self.panel.tells_usage and any(part.widget is self.panel for part in self._parts[:1])
        if form is None or self._writing_in is not form:
            return Around(offered=self.completer.offers, session_head=head)
        return Around(form.answering, form.choices, form.is_cut(columns), session_head=head)

    @property
    def _writing_in(self) -> AbstractFlowWidget | TranscriptView:
        """What has the cursor."""
        if self.view.desk.reading.active:
            return self.transcript
        return self.composer if self.form is None or not self.form.armed else self.form

    def _below(self, columns: int, room: int) -> list[AbstractFlowWidget]:
        """Return what stands below the transcript, in at most `room` rows."""
        form = self.form
        room -= 2  # The status line and the rule above the composer.
        written = form is not None and form.answering == "writing" and not self.composer.editor.edit_text
        if form is not None and (written or room < _ROOM_FOR_BOTH):
            said = notes(self.view, columns, max(1, room // 3)) if self.view.desk.message else []
            form.limit = room + 1 - sum(note.rows((columns,)) for note in said)
            return [*said, form, self._status]
        self.composer.limit = max(1, min(_COMPOSER_ROWS, room // 3))
        room -= self.composer.rows((columns,))
        noted = notes(self.view, columns, room if form is None else room // 3)
        writing = [*noted, self._rule, self.composer, self._status]
        if form is None:
            return writing
        form.limit = room - sum(note.rows((columns,)) for note in noted)
        return [form, *writing]

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


def _too_small(columns: int, rows: int, stops: str) -> urwid.Canvas:
    lines = header.too_small(columns, rows, stops)
    text = urwid.CompositeCanvas(urwid.Text("\n".join(lines), wrap=urwid.CLIP).render((columns,)))
    text.pad_trim_top_bottom(0, rows - text.rows())
    return text
