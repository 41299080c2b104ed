"""An approval or a question, asked right above the composer."""

import functools
from collections.abc import Callable
from typing import ClassVar, Final, Literal, NamedTuple

import urwid
from urwid.widget.widget import AbstractFlowWidget

from ipc.messages import AskRaised, SettleAsk
from ui import asking, keys
from ui.composer.composer import Composer
from ui.composer.draft import Draft
from ui.view import View
from ui.widgets.ask_body import AskBody
from ui.widgets.row import Content, Part, Row, Size, constant_row, cut, cut_rows, hanging, width

_AROUND_CHOICES: Final = 5
"""Rows that head, title and a useful part of the body take; with less each answer has one row."""
_LEAST_AROUND: Final = 2
"""Rows without which nobody could answer: the head, and one of the body."""
_LEAST_WRITING: Final = 4
"""The same while a sentence is written, with the label and a row of the sentence."""
_BODY_KEPT: Final = 2
"""Rows of the body that stay however many answers there are."""
_LABEL_ROWS: Final = 2
_TITLE_ROWS: Final = 2
_SENTENCE_ROWS: Final = 5
_MARGIN: Final = 2


class _Line(NamedTuple):
    """A widget of the form; of an answer its index."""

    widget: AbstractFlowWidget
    answer: int | None = None


class AskForm(urwid.Widget):
    """One open ask: title, body, numbered choices; asks for a sentence where the choice wants one."""

    _sizing = frozenset([urwid.FLOW])
    _selectable = True
    no_cache: ClassVar[list[str]] = ["render"]

    def __init__(self, view: View, ask: AskRaised, draft: Callable[[], str] = str) -> None:
        """`draft`: gives what stands in the composer. Enter may be meant for it, and then says no yes."""
        super().__init__()
        self.ask = ask
        self.grace = asking.Grace()
        self.limit = 1
        """Most rows it may take."""
        self._view = view
        self._draft = draft
        self._choices = asking.choices(ask)
        self._picked: tuple[int, str] | None = None
        """The answer that was moved to, and the draft of that moment: with another draft it is void."""
        self._sentences: dict[int, Composer] = {}
        """What was written, by the choice that wants it."""
        self._writing: int | None = None
        self._sent: int | None = None
        """The choice that was given as the answer."""
        self._title = asking.title(ask)
        self.wear()

    def wear(self) -> None:
        """Be drawn with the signs that there are now."""
        self._body = AskBody(self._view, self.ask)
        self._head = Row(self._heading, self._view.glyphs.ellipsis)
        for sentence in self._sentences.values():
            sentence.wear(self._view.glyphs)

    @property
    def armed(self) -> bool:
        """Whether keys answer; before that they go to the draft. Who writes a sentence has read the ask."""
        return self._writing is not None or self.grace.armed(self._view.clock())

    @property
    def choices(self) -> int:
        """How many answers there are to choose from."""
        return len(self._choices)

    @property
    def answering(self) -> Literal["choosing", "writing"]:
        """What the keys do now."""
        return "choosing" if self._writing is None else "writing"

    @property
    def least(self) -> int:
        """Rows below which an answer, or what is written, would be out of sight."""
        return _LEAST_AROUND + self.choices if self._writing is None else _LEAST_WRITING

    def is_cut(self, columns: int) -> bool:
        """Tell whether there is more of the body than can be seen at once."""
        return self._body.is_cut(columns - _MARGIN)

    def drop_sentence(self) -> None:
        """Go back to the choices: what was written is meant for somebody else."""
        if self._writing is not None:
            del self._sentences[self._writing]
            self._writing = None

    def take_unsent(self) -> list[Draft]:
        """Give away what was written here and is no part of the answer."""
        sentences = [each for at, each in self._sentences.items() if at != self._sent]
        self._sentences, self._writing = {}, None
        return [draft for each in sentences if (draft := each.editor.draft()).text.strip()]

    def reopen(self) -> None:
        """Wait for an answer again: the one that was given has not arrived."""
        self._sent = None

    def scroll(self, key: str) -> None:
        """Scroll the body by one of `up`, `down`, `page up`, `page down`."""
        self._body.scroll(key)

    # --- what it looks like

    def rows(self, size: Size, focus: bool = False) -> int:
        return min(self.limit, sum(line.widget.rows((size[0],)) for line in self._layout(size[0])))

    def render(self, size: Size, focus: bool = False) -> urwid.Canvas:
        form = urwid.CanvasCombine([self._drawn(line, size[0], focus) for line in self._layout(size[0])])
        if form.rows() > self.limit:
            form.trim(0, self.limit)
        return form

    def _drawn(self, line: _Line, columns: int, focus: bool) -> tuple[urwid.Canvas, None, bool]:
        writes = line.widget is self._sentence
        return line.widget.render((columns,), writes and focus), None, writes

    def mouse_event(self, size: Size, event: str, button: int, col: int, row: int, focus: bool) -> bool:
        """Choose the answer that was clicked; a key gives it, as a click may be meant for the window."""
        if event != "mouse press" or button != 1 or self._writing is not None:
            return False
        for line in self._layout(size[0]):
            rows = line.widget.rows((size[0],))
            if row < rows:
                if line.answer is not None:
                    self._pick(line.answer)
                return line.answer is not None
            row -= rows
        return False

    def _layout(self, columns: int) -> list[_Line]:
        """Return the lines from the top; the body takes what the others leave, air what the body leaves."""
        above: list[AbstractFlowWidget] = [self._head]
        tight = self.limit < self.choices + _AROUND_CHOICES
        if self._title and self.limit > self.least:
            rows, ellipsis = 1 if tight else _TITLE_ROWS, self._view.glyphs.ellipsis
            title = cut_rows(self._title, max(1, columns - _MARGIN), rows, ellipsis)
            above.append(_indented(urwid.Text(("strong", title))))
        heading = sum(widget.rows((columns,)) for widget in above)
        below = self._answers(columns, self.limit - heading, tight=tight)
        taken = heading + sum(line.widget.rows((columns,)) for line in below)
        self._body.limit = max(1, self.limit - taken)
        body: AbstractFlowWidget = _indented(self._body)
        spare = self.limit - taken - body.rows((columns,))
        gap = [_Line(urwid.Divider())]
        return [*map(_Line, above), *gap * (spare > 1), _Line(body), *gap * (spare > 0), *below]

    def _answers(self, columns: int, room: int, *, tight: bool) -> list[_Line]:
        """Return the sentence that is being written, or the answers: in full, or in a row each."""
        if self._writing is not None and (sentence := self._sentence) is not None:
            sentence.limit = max(1, min(_SENTENCE_ROWS, room - 1 - _BODY_KEPT))
            label = cut(self._choices[self._writing].label, columns - _MARGIN - 1, self._view.glyphs.ellipsis)
            return [_Line(_indented(urwid.Text(("ask", f"{label}:")))), _Line(sentence)]
        each = range(self.choices)
        full = [_Line(self._full_choice(at, columns), at) for at in each]
        if not tight and sum(line.widget.rows((columns,)) for line in full) + _AROUND_CHOICES <= self.limit:
            return full
        kept = min(
            _BODY_KEPT if room >= self.choices + _BODY_KEPT else 1, self._body.whole(columns - _MARGIN)
        )
        shown = min(self.choices, room - kept)
        shown = max(1, shown if shown == self.choices else shown - 1)
        first = max(0, min(self._chosen - shown // 2, self.choices - shown))
        ellipsis = self._view.glyphs.ellipsis
        rows = [
            _Line(Row(functools.partial(self._choice_row, at), ellipsis), at)
            for at in each[first : first + shown]
        ]
        return rows if shown == self.choices else [*rows, _Line(self._more(self.choices - shown))]

    def _heading(self, columns: int) -> Content:
        rule = self._view.glyphs.rule
        behind = self._view.asks_behind
        left = f"{rule * 2} {'Fido' if self.ask.kind == 'question' else self.ask.tool} asks "
        told = [f"{behind} more {'waits' if behind == 1 else 'wait'}"] if behind else []
        if self._body.limit == 1 and self.is_cut(columns):  # too low to say so itself
            told.append(self._body.hidden(columns - _MARGIN, brief=True))
        right = f" {f' {self._view.glyphs.dot} '.join(told)} {rule * 2}" if told else ""
        fill = rule * max(0, columns - width(left) - width(right))
        return [("ask", left + fill + right)], []

    def _full_choice(self, at: int, columns: int) -> AbstractFlowWidget:
        """Draw a choice in full; what one of an approval repeats of the body leaves that its room."""
        number, (role, label) = self._choice(at)
        if self.ask.kind == "approval":
            label = cut_rows(label, columns - width(number[1]), _LABEL_ROWS, self._view.glyphs.ellipsis)
        return hanging(number, (role, label))

    def _more(self, count: int) -> AbstractFlowWidget:
        """Draw what tells that there are answers out of sight, and how they come into it."""
        ellipsis, shown = self._view.glyphs.ellipsis, self._view.keymap.shown
        which = f"{count} more {'answer' if count == 1 else 'answers'}"
        said = f"{ellipsis} {which}: {shown('line_up')}, {shown('line_down')}"
        return constant_row([("ask", " " * _MARGIN + said)], ellipsis)

    def _choice_row(self, at: int, columns: int) -> Content:
        return self._choice(at), []

    def _choice(self, at: int) -> tuple[Part, Part]:
        chosen = at == self._chosen
        mark = self._view.glyphs.chosen if chosen else " "
        listens = self.armed and not self._view.desk.reading.active
        role = "dim" if not listens else "strong" if chosen else None
        number = str(at + 1) if at < asking.NUMBERED else " "
        return ("ask", f"{mark} {number} "), (role, self._choices[at].label)

    # --- what keys do

    def answer_key(self, columns: int, key: str) -> SettleAsk | str | None:
        """Take a key; return the answer it completes, the key when it means nothing here, else None."""
        if (sentence := self._sentence) is not None:
            return self._write(sentence, columns, key)
        action = self._view.keymap.action_of(key)
        if key.isdecimal() and len(key) == 1 and 0 < int(key) <= min(asking.NUMBERED, self.choices):
            return self._choose(int(key) - 1)
        if action == "send":
            return self._choose(self._chosen)
        if action in ("line_up", "line_down"):
            step = -1 if action == "line_up" else 1
            self._pick((self._chosen + step) % self.choices)
        elif action in ("page_up", "page_down"):
            self.scroll(keys.SCROLLING[action])
        elif keys.is_text(key):
            # Whoever writes has something to say: words must never end in a yes.
            self._choose(self._writing_choice)
            return self.answer_key(columns, key)
        else:
            return key
        return None

    @property
    def _chosen(self) -> int:
        """The answer that Enter gives."""
        draft = self._draft()
        if self._picked is not None and self._picked[1] == draft:
            return self._picked[0]
        return self._writing_choice if draft else 0

    def _pick(self, index: int) -> None:
        self._picked = index, self._draft()

    @property
    def _writing_choice(self) -> int:
        return next(at for at, choice in enumerate(self._choices) if choice.writes)

    @property
    def _sentence(self) -> Composer | None:
        """The sentence that is being written."""
        return None if self._writing is None else self._sentences[self._writing]

    def _choose(self, index: int) -> SettleAsk | None:
        self._pick(index)
        choice = self._choices[index]
        if not choice.writes:
            return self._answer(index, choice.text)
        wanted = "a sentence, or nothing" if choice.decision == "deny" else "your answer"
        self._sentences.setdefault(index, Composer(self._view.glyphs, wanted))
        self._writing = index
        return None

    def _answer(self, index: int, text: str) -> SettleAsk:
        self._sent = index
        return SettleAsk(ask_id=self.ask.ask_id, decision=self._choices[index].decision, text=text)

    def _write(self, sentence: Composer, columns: int, key: str) -> SettleAsk | str | None:
        action = self._view.keymap.action_of(key)
        if action == "cancel":
            self._writing = None
        elif action == "newline":
            sentence.editor.newline()
        elif action == "send" and self._writing is not None:
            text = sentence.editor.draft().whole.strip()
            if text or self._choices[self._writing].decision == "deny":
                return self._answer(self._writing, text)
        else:
            return sentence.keypress((columns,), key)
        return None


def _indented(widget: AbstractFlowWidget) -> AbstractFlowWidget:
    return urwid.Padding(widget, left=_MARGIN)
