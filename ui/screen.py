"""The whole screen for any size: which part stands where, and who gets a key."""

from collections.abc import Callable, Sequence
from typing import ClassVar, Final

import urwid
from urwid.widget.widget import AbstractFlowWidget

from ui.composer.composer import Composer
from ui.desk import SILENT, Message
from ui.transcript.drawing import LEVEL_ROLE
from ui.transcript.listing import TranscriptView
from ui.view import View
from ui.widgets import activity_bar, header, plan_panel, status_line
from ui.widgets.approval import AskForm
from ui.widgets.jobs import jobs_markup
from ui.widgets.overlay import TextPage, help_markup, overlaid
from ui.widgets.plan_panel import PlanPanel
from ui.widgets.recall import RecallList
from ui.widgets.row import Content, Part, Row, Size, hanging
from ui.widgets.usage import usage_markup

MIN_COLUMNS: Final = 40
MIN_ROWS: Final = 10
NARROW: Final = 80
"""Below this width the plan is a strip and an overlay, from it on a panel."""
_QUEUE_SHOWN: Final = 3
_MESSAGE_ROWS: Final = 4
_COMPOSER_ROWS: Final = 8
_ROOM_FOR_BOTH: Final = 10
"""Rows from which on an ask and the draft both find room."""
_TRANSCRIPT_ROWS: Final = 2
"""Rows the transcript keeps whatever else wants room."""

Placed = tuple[AbstractFlowWidget, bool]
"""A widget and whether it has the cursor."""


class Screen(urwid.Widget):
    """Header, activity bar, transcript and plan, composer, status line."""

    _sizing = frozenset([urwid.BOX])
    _selectable = True
    no_cache: ClassVar[list[str]] = ["render"]

    def __init__(self, view: View, on_key: Callable[[Size, str], str | None]) -> None:
        super().__init__()
        self.view = view
        self.transcript = TranscriptView(view)
        self.panel = PlanPanel(view)
        self.help = TextPage("Keys and commands", help_markup, view.glyphs)
        self.usage = TextPage("Usage", lambda: usage_markup(view.state.conversation), view.glyphs)
        self.jobs = TextPage("Running in the background", lambda: jobs_markup(view), view.glyphs)
        self.recall = RecallList(view)
        self.composer = Composer(view.glyphs)
        self.form: AskForm | None = None
        self._on_key = on_key
        self._header = self._row(lambda columns: header.header(view, columns))
        self._strip = self._row(lambda columns: plan_panel.plan_strip(view, columns))
        self._status = self._row(lambda columns: status_line.status_line(view, columns, self._answering))

    def changed(self) -> None:
        """Draw what the state now says."""
        self.transcript.changed()
        self.panel.changed()
        self.recall.changed()
        ask = self.view.waiting_ask
        if ask is None:
            self.form = None
        elif self.form is None or self.form.ask.ask_id != ask.ask_id:
            self.form = AskForm(self.view, ask, drafting=bool(self.composer.editor.edit_text))

    def keypress(self, size: Size, key: str) -> str | None:
        return self._on_key(size, key)

    def render(self, size: Size, focus: bool = False) -> urwid.Canvas:
        columns, rows = size
        if columns < MIN_COLUMNS or rows < MIN_ROWS:
            return _too_small(columns, rows)
        above = self._above(columns, rows)
        below = self._below(columns, rows - len(above) - _TRANSCRIPT_ROWS)
        overlay = self.overlay
        parts = [(row.render((columns,)), None, False) for row in above]
        tail = [
            (widget.render((columns,), has_focus and overlay is None), None, has_focus)
            for widget, has_focus in below
        ]
        middle = rows - len(above) - sum(canvas.rows() for canvas, _, _ in tail)
        parts.append((self._body(columns, middle), None, False))
        screen = urwid.CanvasCombine([*parts, *tail])
        return screen if overlay is None else overlaid(screen, overlay, self.view.glyphs)

    @property
    def overlay(self) -> PlanPanel | TextPage | RecallList | None:
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

    def _above(self, columns: int, rows: int) -> list[Row]:
        above = [self._header]
        ellipsis, role = self.view.glyphs.ellipsis, activity_bar.role(self.view)
        for left, right in activity_bar.activity_bar(self.view, columns, rows):
            above.append(Row(_constant(left, right), ellipsis, role))
        plan = self.view.state.plan
        if columns < NARROW and plan is not None and plan.items:
            above.append(self._strip)
        return above

    @property
    def _answering(self) -> status_line.Answering:
        return "not" if self.form is None or not self.form.armed else self.form.answering

    def _below(self, columns: int, room: int) -> list[Placed]:
        """Return what stands below the transcript, in at most `room` rows."""
        form, answering = self.form, self._answering != "not"
        status: Placed = (self._status, False)
        room -= 2  # The status line and the rule above the composer.
        if form is not None and room < _ROOM_FOR_BOTH:
            form.limit = room + 1
            return [(form, answering), status]
        self.composer.limit = max(1, min(_COMPOSER_ROWS, room // 3))
        room -= self.composer.rows((columns,))
        notes = self._notes(columns, room if form is None else room // 3)
        rule = urwid.AttrMap(urwid.Divider(self.view.glyphs.rule), "dim")
        writing: list[Placed] = [
            *((note, False) for note in notes),
            (rule, False),
            (self.composer, not answering),
            status,
        ]
        if form is None:
            return writing
        form.limit = room - sum(note.rows((columns,)) for note in notes)
        return [(form, answering), *writing]

    def _notes(self, columns: int, room: int) -> list[AbstractFlowWidget]:
        """Return what waits to be sent and the line for the person, in at most `room` rows."""
        message = self._message(columns, room)
        queued = [" ".join(text.split()) for text in self.view.desk.queue]
        shown = min(_QUEUE_SHOWN, max(0, room - sum(widget.rows((columns,)) for widget in message)))
        if len(queued) > shown:
            queued[max(0, shown - 1) :] = [f"and {len(queued) - shown + 1} more"][:shown]
        return [*(self._row(_constant([("dim", " queued  "), (None, text)])) for text in queued), *message]

    def _message(self, columns: int, room: int) -> list[AbstractFlowWidget]:
        desk = self.view.desk
        message = desk.message
        if message is None and desk.opening:
            message = Message("info", f"Opening {desk.opening}{self.view.glyphs.ellipsis}")
        elif message is None and self.view.state.cut_off and self.view.state.parent_lost is None:
            message = Message("warning", SILENT)
        if message is None or room <= 0:
            return []
        role, mark = LEVEL_ROLE[message.level], f" {self.view.glyphs.level[message.level]} "
        text = hanging((role, mark), (role, message.text))
        if text.rows((columns,)) <= min(room, _MESSAGE_ROWS):
            return [text]
        return [self._row(_constant([(role, mark + message.line)]))]

    def _body(self, columns: int, rows: int) -> urwid.Canvas:
        if columns < NARROW:
            return self.transcript.render((columns, rows))
        beside = _panel_columns(columns)
        left = columns - beside - 2
        bar = urwid.AttrMap(urwid.SolidFill(self.view.glyphs.bar), "dim")
        return urwid.CanvasJoin(
            [
                (self.transcript.render((left, rows)), None, False, left),
                (bar.render((1, rows)), None, False, 2),
                (self.panel.render((beside, rows)), None, False, beside),
            ]
        )

    def _row(self, content: Callable[[int], Content]) -> Row:
        return Row(content, self.view.glyphs.ellipsis)


def _constant(left: Sequence[Part], right: Sequence[Part] = ()) -> Callable[[int], Content]:
    return lambda _: (left, right)


def _panel_columns(columns: int) -> int:
    """Return the width of the plan panel: a third, within what reads well."""
    return max(28, min(52, columns // 3))


def _too_small(columns: int, rows: int) -> urwid.Canvas:
    lines = header.too_small(columns, rows)
    text = urwid.CompositeCanvas(urwid.Text("\n".join(lines), wrap=urwid.CLIP).render((columns,)))
    text.pad_trim_top_bottom(0, rows - text.rows())
    return text
