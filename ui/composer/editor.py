"""A line or lines that a person edits: a paste taken whole, what enters cleaned."""

from collections.abc import Hashable

import urwid

from ipc.terminal_text import clean
from ui import keys

_JOINS = ("\u200d", "\ufe0f")  # Typed alone, between the parts of an emoji; judged when the text is taken.


class LineEditor(urwid.Edit):
    """An edit field that takes a bracketed paste in one piece and cleans what enters it."""

    def __init__(self, placeholder: str = "", *, multiline: bool = True) -> None:
        self._selected = False
        super().__init__(
            multiline=multiline,
            placeholder=("dim", placeholder) if placeholder else None,
            wrap=urwid.SPACE if multiline else urwid.CLIP,
        )
        self._pasting: list[str] | None = None
        self._typed_over = ""

    def select(self, *, on: bool = True) -> None:
        """Select the text: what is typed next takes its place, any other key keeps it."""
        self._selected = on
        self._invalidate()

    def get_text(self) -> tuple[str | bytes, list[tuple[Hashable, int]]]:
        text, attributes = super().get_text()
        return text, [("chosen", len(text))] if self._selected and text else attributes

    def type(self, columns: int, key: str) -> bool:
        """Take a key; return whether it was used."""
        if self._selected and self._deselect(key):
            return True
        if key == keys.PASTE_BEGIN:
            self._pasting = []
        elif key == keys.PASTE_END:
            self._end_paste()
        elif self._pasting is not None:
            self._pasting.append(_pasted(key))
        elif key == "tab":
            return False
        elif keys.is_text(key):
            self.insert_text(key if key in _JOINS else _entered(key))
        else:
            return self.keypress((max(1, columns),), key) is None
        return True

    @property
    def pasting(self) -> bool:
        """Whether a paste is coming in: no key means anything but text then."""
        return self._pasting is not None

    def newline(self) -> None:
        """Begin a new line at the cursor."""
        self.insert_text("\n")

    def bring_back(self) -> str:
        """Return the text that was typed over; empty when there is none."""
        text, self._typed_over = self._typed_over, ""
        return text

    def _deselect(self, key: str) -> bool:
        """End the selection; return whether the key is used up by that."""
        self._selected = False
        self._invalidate()
        deletes = key in ("backspace", "delete")
        if deletes or keys.is_text(key) or key == keys.PASTE_BEGIN:
            self._typed_over = self.get_edit_text()
            self.set_edit_text("")
        return deletes

    def take(self) -> str:
        """Return the text and leave the field empty."""
        self._selected = False
        text = _entered(self.get_edit_text())
        self.set_edit_text("")
        return text

    def _end_paste(self) -> None:
        pasted, self._pasting = self._pasting or [], None
        text = _entered("".join(pasted))
        self.insert_text(text if self.multiline else " ".join(text.split()))


def _entered(text: str) -> str:
    return clean(text).replace("\t", "    ")


def _pasted(key: str) -> str:
    """Return the text of one key of a paste; keys that stand for no text are dropped."""
    if keys.is_text(key):
        return key
    return {"enter": "\n", "meta enter": "\n", "tab": "\t", "ctrl i": "\t"}.get(key, "")
