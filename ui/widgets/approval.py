"""An approval or a question, asked right above the composer."""

import functools
from collections.abc import Callable
from typing import ClassVar, Final, Literal

import urwid
from urwid.widget.widget import AbstractFlowWidget

from ipc.messages import AskRaised, SettleAsk
from ui import asking, keys
from ui.composer.editor import LineEditor
from ui.diffs import diff_lines, shows_diff
from ui.theme import Glyphs
from ui.view import View
from ui.widgets.diff import diff_text
from ui.widgets.row import Content, Part, Row, ScrolledPage, Size, cut_rows, hanging, width

_AROUND_CHOICES: Final = 5
"""Rows that head, title and a useful part of the body take; with less, only the chosen answer is shown."""
_LABEL_ROWS: Final = 2
_MARGIN: Final = 2


class AskForm(urwid.Widget):
    """One open ask: title, body, numbered choices; asks for a sentence where the choice wants one."""

    _sizing = frozenset([urwid.FLOW])
    _selectable = True
    no_cache: ClassVar[list[str]] = ["render"]

    def __init__(self, view: View, ask: AskRaised, *, drafting: bool = False) -> None:
        """`drafting`: the person was writing, so Enter may be meant for that and does not say yes."""
        super().__init__()
        self.ask = ask
        self.grace = asking.Grace(view.clock())
        self.limit = 1
        """Most rows it may take."""
        self._view = view
        self._choices = asking.choices(ask)
        self._chosen = self._writing_choice if drafting else 0
        self._editor: LineEditor | None = None
        self._body = _body(ask, view.glyphs)
        self._page = ScrolledPage(self._body, view.glyphs)

    @property
    def armed(self) -> bool:
        """Whether keys answer; before that they go to the draft."""
        return self.grace.armed(self._view.clock())

    @property
    def choices(self) -> int:
        """How many answers there are to choose from."""
        return len(self._choices)

    @property
    def answering(self) -> Literal["choosing", "writing"]:
        """What the keys do now."""
        return "choosing" if self._editor is None else "writing"

    @property
    def pasting(self) -> bool:
        """Whether a paste is coming into the sentence."""
        return self._editor is not None and self._editor.pasting

    def drop_sentence(self) -> None:
        """Go back to the choices: what was written is meant for somebody else."""
        self._editor = None

    def rows(self, size: Size, focus: bool = False) -> int:
        return min(self.limit, sum(rows for _, rows, _ in self._layout(size[0])))

    def render(self, size: Size, focus: bool = False) -> urwid.Canvas:
        parts = self._layout(size[0])
        form = urwid.CanvasCombine(
            [
                (widget.render((size[0],), has_focus and focus), None, has_focus)
                for widget, _, has_focus in parts
            ]
        )
        if form.rows() > self.limit:
            form.trim(0, self.limit)
        return form

    def answer_key(self, columns: int, key: str) -> SettleAsk | str | None:
        """Take a key; return the answer it completes, the key when it means nothing here, else None."""
        if self._editor is not None:
            return self._edit(columns, key)
        action = keys.action_of(key)
        if key.isdecimal() and len(key) == 1 and 0 < int(key) <= len(self._choices):
            return self._choose(int(key) - 1)
        if action == "send":
            return self._choose(self._chosen)
        if action in ("line_up", "line_down"):
            step = -1 if action == "line_up" else 1
            self._chosen = (self._chosen + step) % len(self._choices)
        elif action in ("page_up", "page_down"):
            self._page.scroll(keys.SCROLLING[action])
        elif keys.is_text(key):
            # Whoever writes has something to say: words must never end in a yes.
            self._choose(self._writing_choice)
            return self._edit(columns, key)
        else:
            return key
        return None

    @property
    def _writing_choice(self) -> int:
        return next(at for at, choice in enumerate(self._choices) if choice.writes)

    def _choose(self, index: int) -> SettleAsk | None:
        self._chosen = index
        choice = self._choices[index]
        if not choice.writes:
            return SettleAsk(ask_id=self.ask.ask_id, decision=choice.decision, text=choice.text)
        self._editor = LineEditor("a sentence, or nothing" if choice.decision == "deny" else "your answer")
        return None

    def _edit(self, columns: int, key: str) -> SettleAsk | str | None:
        assert self._editor is not None
        action = None if self._editor.pasting else keys.action_of(key)
        if action == "cancel":
            self._editor = None
        elif action == "newline":
            self._editor.newline()
        elif action == "send":
            choice = self._choices[self._chosen]
            text = self._editor.get_edit_text().strip()
            if text or choice.decision == "deny":
                return SettleAsk(ask_id=self.ask.ask_id, decision=choice.decision, text=text)
        elif not self._editor.type(columns - 2 * _MARGIN, key):
            return key
        return None

    def _layout(self, columns: int) -> list[tuple[AbstractFlowWidget, int, bool]]:
        """Return widget, rows and focus of each part from the top; the body takes what is left."""
        compact = self.limit < len(self._choices) + _AROUND_CHOICES
        above: list[AbstractFlowWidget] = [self._row(self._head)]
        if title := asking.title(self.ask):
            text = urwid.Text(("strong", title), wrap=urwid.CLIP if compact else urwid.SPACE)
            above.append(urwid.Padding(text, left=_MARGIN))
        below: list[AbstractFlowWidget] = []
        if self._editor is not None:
            label = urwid.Text(("ask", self._choices[self._chosen].label + ":"))
            below.append(urwid.Padding(label, left=_MARGIN))
            below.append(urwid.Padding(self._editor, left=_MARGIN, right=_MARGIN))
        elif compact:
            below.append(self._row(functools.partial(self._choice_row, self._chosen)))
        else:
            below += self._all_choices(columns)
        room = self.limit - sum(widget.rows((columns,)) for widget in [*above, *below])
        body_rows = max(1, min(self._rows_of_body(columns), room))
        return [
            *((widget, widget.rows((columns,)), False) for widget in above),
            (urwid.Padding(urwid.BoxAdapter(self._page, body_rows), left=_MARGIN), body_rows, False),
            *((widget, widget.rows((columns,)), self._editor is not None) for widget in below),
        ]

    def _rows_of_body(self, columns: int) -> int:
        return self._body.rows((max(1, columns - _MARGIN - 1),))

    def _head(self, columns: int) -> Content:
        rule = self._view.glyphs.rule
        asks = len(self._view.state.conversation.asks)
        left = f"{rule * 2} {'Fido' if self.ask.kind == 'question' else self.ask.tool} asks "
        right = f" 1 of {asks} {rule * 2}" if asks > 1 else ""
        fill = rule * max(0, columns - width(left) - width(right) - 1)
        return [("ask", left + fill)], [("ask", right)] if right else []

    def _all_choices(self, columns: int) -> list[AbstractFlowWidget]:
        """Return a widget for each choice: in full where there is room, else each in one row."""
        each = range(len(self._choices))
        full: list[AbstractFlowWidget] = [self._full_choice(at, columns) for at in each]
        if sum(widget.rows((columns,)) for widget in full) + _AROUND_CHOICES <= self.limit:
            return full
        return [self._row(functools.partial(self._choice_row, at)) for at in each]

    def _full_choice(self, at: int, columns: int) -> AbstractFlowWidget:
        """Draw a choice in full; what one of an approval repeats of the body leaves that its room."""
        number, (role, label) = self._choice(at)
        if self.ask.kind == "approval":
            label = cut_rows(label, columns - width(number[1]), _LABEL_ROWS, self._view.glyphs.ellipsis)
        return hanging(number, (role, label))

    def _choice_row(self, at: int, columns: int) -> Content:
        return self._choice(at), []

    def _choice(self, at: int) -> tuple[Part, Part]:
        chosen = at == self._chosen
        mark = self._view.glyphs.chosen if chosen else " "
        role = "dim" if not self.armed else "strong" if chosen else None
        number = f"{mark} {at + 1} "
        return ("ask", number), (role, self._choices[at].label)

    def _row(self, content: Callable[[int], Content]) -> Row:
        return Row(content, self._view.glyphs.ellipsis)


def _body(ask: AskRaised, glyphs: Glyphs) -> AbstractFlowWidget:
    if shows_diff(ask.tool):
        return diff_text(diff_lines(ask.body), glyphs)
    # A command is cut anywhere, so that no space of it is lost; a question is read as text.
    wrap = urwid.ANY if ask.kind == "approval" else urwid.SPACE
    return urwid.Text(asking.body(ask), wrap=wrap)
