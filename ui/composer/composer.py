"""Where the person writes: as high as its text, within a limit, and the cursor always in view."""

from typing import ClassVar, Final

import urwid

from ui.composer.draft import Draft, draft_of
from ui.composer.editor import LineEditor
from ui.composer.outbox import Outbox
from ui.theme import Glyphs
from ui.widgets.row import Size

PLACEHOLDER: Final = "Ask Fido to do something"
_MARK: Final = 2


class Composer(urwid.Widget):
    """A mark and the editor; as high as its text, within a limit, and the cursor always in view."""

    _sizing = frozenset([urwid.FLOW])
    _selectable = True
    no_cache: ClassVar[list[str]] = ["render"]

    def __init__(self, glyphs: Glyphs, placeholder: str = PLACEHOLDER) -> None:
        super().__init__()
        self.editor = LineEditor(placeholder)
        self.limit = 1
        """Most rows it may take."""
        self.wear(glyphs)
        self._top = 0
        self._given = Draft(), ""
        """What was given back last, and as what it stands here."""

    def wear(self, glyphs: Glyphs) -> None:
        """Be drawn with these signs."""
        self._mark = urwid.Text(("brand", f"{glyphs.prompt} "))

    def rows(self, size: Size, focus: bool = False) -> int:
        return min(self.limit, self.editor.rows((self._room(size),)))

    def render(self, size: Size, focus: bool = False) -> urwid.Canvas:
        columns, shown = self._room(size), self.rows(size)
        text = urwid.CompositeCanvas(self._text(columns, shown, focus))
        mark = urwid.CompositeCanvas(self._mark.render((_MARK,)))
        mark.pad_trim_top_bottom(0, shown - 1)
        return urwid.CanvasJoin([(mark, None, False, _MARK), (text, None, focus, columns)])

    def _text(self, columns: int, shown: int, focus: bool) -> urwid.Canvas:
        rows = self.editor.rows((columns,))
        if rows <= shown:
            self._top = 0
            return self.editor.render((columns,), focus)
        column, row = self.editor.get_cursor_coords((columns,)) or (0, 0)
        top = min(max(self._top, row - shown + 1), row)
        self._top = max(0, min(top, rows - shown))
        text = urwid.CompositeCanvas(self.editor.render_rows(columns, self._top, shown))
        text.cursor = (column, row - self._top) if focus else None
        return text

    def keypress(self, size: Size, key: str) -> str | None:
        return None if self.editor.type(self._room(size), key) else key

    def mouse_event(self, size: Size, event: str, button: int, col: int, row: int, focus: bool) -> bool:
        """Put the cursor where it was clicked."""
        room = (self._room(size),)
        return event == "mouse press" and self.editor.move_cursor_to_coords(
            room, col - _MARK, self._top + row
        )

    def give_back(self, given: str | Draft) -> None:
        """Put what was not sent before what is written now."""
        returned = draft_of(given) if isinstance(given, str) else given
        if returned.text:
            text = self.editor.adopt(returned)
            self.editor.replace(0, 0, f"{text}\n" if self.editor.edit_text else text)
            self.editor.set_edit_pos(len(text))
            self._given = returned, text

    def take_away(self, given: Draft) -> None:
        """Remove what was given back, if it still stands there: it was taken all the same."""
        returned, text = self._given
        written = self.editor.edit_text
        if text and returned == given and f"{written}\n".startswith(f"{text}\n"):
            self.editor.replace(0, len(text) + 1, "")
            self.editor.set_edit_pos(len(self.editor.edit_text))

    def take_back(self, outbox: Outbox) -> None:
        """Take a queued message to edit it, else what was typed over."""
        message = outbox.take(self.editor.draft())
        if message is None:
            self.give_back(self.editor.bring_back())
        else:
            self.editor.restore(message)

    def drop_queued(self, outbox: Outbox) -> str:
        """Remove the message that is being edited, or the last one; return what to say."""
        dropped = outbox.drop()
        if dropped is None:
            return "Nothing is queued."
        if outbox.edited is not None:
            self.editor.restore(outbox.leave())
        return f"Not sent: {dropped.line}"

    def expand(self) -> str:
        """Show the paste at the cursor as text; return why not, if so."""
        match self.editor.expand():
            case "done":
                return ""
            case "none":
                return "There is no folded paste here."
            case "long":
                return (
                    "That paste is too long to be edited here; it is sent in full. Your editor can take it."
                )

    def _room(self, size: Size) -> int:
        return max(1, size[0] - _MARK)
