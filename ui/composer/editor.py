"""A line or lines that a person edits: undo, words, killed text; a long paste is one character, a chip."""

import functools
from collections.abc import Hashable
from typing import Final, Literal

import urwid
from urwid import text_layout
from urwid.canvas import apply_text_layout
from urwid.command_map import Command

from ui import keys
from ui.composer import draft as drafts
from ui.composer.draft import Draft, Paste
from ui.composer.layout import LineLayout, Segments
from ui.composer.shown import Shown

TextAndRoles = tuple[str | bytes, list[tuple[Hashable, int]]]

_UNDO_STEPS: Final = 200
_KILLS_KEPT: Final = 20


@functools.cache
def _editing_keys() -> urwid.CommandMap:
    """Return the keys of a shell's line, and those with Ctrl and Alt that people know from elsewhere."""
    mapped = urwid.CommandMap()
    mapped.bind_readline()
    mapped.bind(Command.WORD_LEFT, "ctrl left", "meta left")
    mapped.bind(Command.WORD_RIGHT, "ctrl right", "meta right")
    mapped.bind(Command.DELETE_WORD_LEFT, "ctrl backspace")
    mapped.bind(Command.DELETE_WORD_RIGHT, "ctrl delete")
    mapped.bind(Command.REDO, "meta _")
    return mapped


class LineEditor(urwid.Edit):
    """An edit field that takes a paste in one piece; what it holds is what came, what it draws is clean."""

    def __init__(self, placeholder: str = "", *, multiline: bool = True) -> None:
        self._selected = False
        self._chips: dict[str, Paste] = {}
        self._drawn = Shown("", {})
        self._kills: list[str | bytes] = []
        super().__init__(
            multiline=multiline,
            placeholder=("dim", placeholder) if placeholder else None,
            wrap=urwid.SPACE if multiline else urwid.CLIP,
            undo_limit=_UNDO_STEPS,
            kill_buffer=self._kills,
            layout=LineLayout(),
        )
        self._command_map = _editing_keys()
        self._typed_over = Draft()

    # --- what a key does

    def type(self, columns: int, key: str) -> bool:
        """Take a key; return whether it was used."""
        if self._selected and self._deselect(key):
            return True
        if isinstance(key, keys.Pasted):
            self.paste(key)
        elif key == "tab":
            return False
        elif keys.is_text(key) and (sound := drafts.received(key)) != key:
            self.replace(self.edit_pos, self.edit_pos, sound)
        else:
            return self.keypress((max(1, columns),), key) is None
        return True

    def paste(self, pasted: str) -> None:
        """Insert what was pasted at the cursor; a long one as a chip."""
        text = drafts.received(pasted)
        if not self.multiline:
            text = " ".join(text.split())
        elif text and (drafts.is_long(text) or not drafts.is_editable(self._with(text))):
            text = drafts.folded(text, self._chips)
        self.replace(self.edit_pos, self.edit_pos, text)

    def newline(self) -> None:
        """Begin a new line at the cursor."""
        self.replace(self.edit_pos, self.edit_pos, "\n")

    def expand(self) -> Literal["done", "none", "long"]:
        """Put the text of the chip at the cursor in its place, or that of the last one; one step to undo."""
        found = dict(drafts.chips_in(self.edit_text))
        if not found:
            return "none"
        at = next((place for place in (self.edit_pos, self.edit_pos - 1) if place in found), max(found))
        pasted = self._chips[found[at]].text
        if not drafts.is_editable(self.edit_text.replace(found[at], pasted, 1)):
            return "long"
        self.replace(at, at + 1, pasted)
        return "done"

    def select(self, *, on: bool = True) -> None:
        """Select the text: what is typed next takes its place, any other key keeps it."""
        self._selected = on
        self._invalidate()

    def _deselect(self, key: str) -> bool:
        """End the selection; return whether the key is used up by that."""
        self.select(on=False)
        deletes = not isinstance(key, keys.Pasted) and key in ("backspace", "delete")
        if deletes or keys.is_text(key) or isinstance(key, keys.Pasted):
            self._typed_over = self.draft()
            self.replace(0, len(self.edit_text), "")
        return deletes

    # --- the text

    def replace(self, start: int, end: int, text: str) -> None:
        """Put a text in place of a stretch, the cursor behind it, as one step to undo."""
        with self._editing():
            self._set_edit_text_and_pos(
                self.edit_text[:start] + text + self.edit_text[end:], start + len(text)
            )

    def draft(self) -> Draft:
        """Return what is written now."""
        text = self.edit_text
        return Draft(text, self.edit_pos, {chip: self._chips[chip] for _, chip in drafts.chips_in(text)})

    def adopt(self, draft: Draft) -> str:
        """Take over the pastes of a draft; return its text as it may stand here."""
        return drafts.adopted(draft, self._chips)

    def restore(self, draft: Draft) -> None:
        """Show a draft instead of what is written, as one step to undo."""
        self.select(on=False)
        text = self.adopt(draft)
        if text != self.edit_text:
            self.replace(0, len(self.edit_text), text)
        self.set_edit_pos(draft.pos)

    def clear(self) -> None:
        """Leave the field empty, as one step to undo."""
        self.restore(Draft())

    def take(self) -> Draft:
        """Return what is written and leave the field empty; nothing of it can be undone."""
        self._selected = False
        draft = self.draft()
        self.set_edit_text("")
        self._chips.clear()
        self._kills[:] = [killed for killed in self._kills[-_KILLS_KEPT:] if not _has_chip(killed)]
        return draft

    def bring_back(self) -> Draft:
        """Return the text that was typed over; empty when there is none."""
        draft, self._typed_over = self._typed_over, Draft()
        return draft

    # --- how it is drawn, which may take more room

    @property
    def _shown(self) -> Shown:
        if self._drawn.source != self.edit_text:
            self._drawn = Shown(self.edit_text, self._chips)
        return self._drawn

    def get_text(self) -> tuple[str | bytes, list[tuple[Hashable, int]]]:
        shown = self._shown
        if self._selected and shown.text:
            return shown.text, [("chosen", len(shown.text))]
        return shown.text, [*shown.roles]

    def render_rows(self, columns: int, top: int, count: int) -> urwid.Canvas:
        """Draw some of the rows; without a cursor."""
        text, roles = self.get_text()
        rows = self.get_line_translation(columns)[top : top + count]
        return apply_text_layout(text, roles, rows, columns)

    def get_line_translation(self, maxcol: int, ta: TextAndRoles | None = None) -> Segments:
        # A clipped line is moved so that the cursor's place is in view, and that is one in what is drawn.
        place, self._edit_pos = self._edit_pos, self._shown.drawn_at(self._edit_pos)
        try:
            return super().get_line_translation(maxcol, ta)
        finally:
            self._edit_pos = place

    def position_coords(self, maxcol: int, pos: int) -> tuple[int, int]:
        return super().position_coords(maxcol, self._shown.drawn_at(pos))

    def move_cursor_to_coords(
        self, size: tuple[int], x: int | Literal[urwid.Align.LEFT, urwid.Align.RIGHT], y: int
    ) -> bool:
        rows = self.get_line_translation(size[0])
        if not 0 <= y < len(rows):
            return False
        self.set_edit_pos(self._shown.edited_at(text_layout.calc_pos(self._shown.text, rows, x, y)))
        self.pref_col_maxcol = x, size[0]
        return True

    def _with(self, text: str) -> str:
        """Return what would be written with a text at the cursor."""
        written: str = self.edit_text
        return written[: self.edit_pos] + text + written[self.edit_pos :]


def _has_chip(killed: str | bytes) -> bool:
    return isinstance(killed, str) and any(drafts.chips_in(killed))
