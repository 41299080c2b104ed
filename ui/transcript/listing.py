"""What was said and done, as far as it is in view; beside it where that is, below it what is searched for."""

from typing import ClassVar, Final

import urwid

from ui import keys
from ui.orders import Order
from ui.transcript import canvases, folding
from ui.transcript.browsing import Browser
from ui.transcript.drawing import drawn, plain
from ui.transcript.find_row import find_row
from ui.transcript.highlights import Highlights
from ui.transcript.sheets import Sheets
from ui.transcript.transcript import even
from ui.transcript.viewport import Placed, Viewport
from ui.view import View
from ui.widgets.row import Part, Size, draw, fit

WIDEST: Final = 104
"""Columns past which lines get hard to follow."""
WHEEL_ROWS: Final = 3
_WHEEL: Final = {4: -WHEEL_ROWS, 5: WHEEL_ROWS}
_ROOM_FOR_PIN: Final = 6
"""Rows from which on one of them says which prompt is answered."""
_SELECTING: Final = "Select with the mouse. Arrows and PgUp, PgDn scroll; any other key goes back."


class TranscriptView(urwid.Widget):
    """The transcript; it follows the end until the person scrolls away from it."""

    _sizing = frozenset([urwid.BOX])
    _selectable = True
    no_cache: ClassVar[list[str]] = ["render"]

    def __init__(self, view: View) -> None:
        super().__init__()
        self._view = view
        self._sheets = Sheets(view, drawn)
        self._viewport = Viewport(self._sheets)
        self._plain = Sheets(view, plain)
        self._selection = Viewport(self._plain)
        self._browser = Browser(view, self._sheets, self._viewport)
        self._highlights = Highlights(view)
        self._everything = False
        self._newest: tuple[object, int] = (None, 0)
        """The last block and its revision when the end was in view."""
        self._frame: tuple[tuple[object, ...], urwid.CompositeCanvas] | None = None
        self._size = (0, 0)
        self.divides = False
        """Whether its bar is also what divides it from something at its right."""

    def changed(self) -> None:
        """Draw what the state now says; folding everything takes back what was folded one by one."""
        if self._everything != self._view.desk.unfolded:
            self._everything = self._view.desk.unfolded
            for block in self._sheets.transcript.blocks:
                block.unfolded = None
        self._browser.tell_fold()
        self._invalidate()

    def below(self) -> str:
        """Return what is to be said while the end is out of view; empty when it is not."""
        blocks = self._sheets.transcript.blocks
        newest = (blocks[-1], blocks[-1].revision) if blocks else (None, 0)
        if self._viewport.ends:
            self._newest = newest
            return ""
        same = self._newest[0] is newest[0] and self._newest[1] == newest[1]
        return f"{'more' if same else 'new'} below: {self._view.keymap.shown('newest')}"

    # --- what the person does

    def begin(self, action: keys.Action) -> None:
        """Go to the transcript: `browse`, `search` or `select`."""
        if action == "select":
            self._selection.go_with(self._viewport)
        self._browser.begin(action)

    def press(self, columns: int, key: str) -> list[Order] | None:
        """Take a key while the transcript is read; None when it is for somebody else."""
        action = self._view.keymap.action_of(key, "transcript")
        if self._view.desk.reading.selecting:
            self._press_selecting(action)
            return []
        return self._browser.press(columns, key, action)

    def scroll(self, key: str) -> None:
        """Scroll by one of `up`, `down`, `page up`, `page down`."""
        self._scroll(self._viewport, key)

    def jump(self, action: keys.Action) -> None:
        """Put the prompt before or after what is in view at the top."""
        self._browser.jump(action)
        self._invalidate()

    def to_oldest(self) -> None:
        """Show the beginning."""
        self._viewport.to_oldest()
        self._invalidate()

    def to_newest(self) -> None:
        """Show the end and follow it."""
        self._viewport.to_newest()
        self._invalidate()

    def mouse_event(self, size: Size, event: str, button: int, col: int, row: int, focus: bool) -> bool:
        """Scroll by the wheel; choose the block that is clicked, unfold the one that was chosen already."""
        if "press" not in event or self._view.desk.reading.selecting:
            return False
        if button in _WHEEL:
            self._viewport.scroll(_WHEEL[button])
        elif button == 1:
            self._click(row)
        self._invalidate()
        return True

    def _click(self, row: int) -> None:
        seen = self._viewport.layout(self._viewport.columns, self._viewport.rows)
        pinned = self._pinned(seen) if row == 0 else None
        if pinned is not None:
            self._browser.go_to(pinned)
            return
        for placed in seen:
            if placed.top <= row < placed.top + placed.rows and self._browser.choose(placed.position):
                self._browser.toggle()

    def _press_selecting(self, action: keys.Action | None) -> None:
        match action:
            case "block_up" | "block_down" | "page_up" | "page_down":
                self._scroll(self._selection, keys.SCROLLING.get(action, action.removeprefix("block_")))
            case "first" | "oldest":
                self._selection.to_oldest()
            case "last" | "newest":
                self._selection.to_newest()
            case _:
                self._view.desk.reading.selecting = False

    def _scroll(self, viewport: Viewport, key: str) -> None:
        rows = viewport.page if key.startswith("page") else 1
        viewport.scroll(-rows if key.endswith("up") else rows)
        self._invalidate()

    # --- what is seen

    def render(self, size: Size, focus: bool = False) -> urwid.Canvas:
        columns, rows = size
        reading = self._view.desk.reading
        if reading.selecting:
            return self._plain_text(columns, rows)
        searching = (reading.finding or bool(reading.query)) and rows > 1
        text = self._text(columns, rows - searching)
        if not searching:
            return text
        foot = find_row(self._browser.finder.line, self._view, columns)
        return urwid.CanvasCombine([(text, None, False), (foot, None, True)])

    def _text(self, columns: int, rows: int) -> urwid.CompositeCanvas:
        """Return what is in view with the bar; the same canvas as before when nothing differs."""
        inner = max(1, min(columns - (2 if self.divides else 1), WIDEST))
        self._browser.finder.follow()
        self._viewport.cover = 1 if rows >= _ROOM_FOR_PIN else 0
        placed = self._viewport.layout(inner, rows)
        if self._size != (inner, rows):
            self._size = inner, rows
            self._browser.keep_in_view()
            placed = self._viewport.layout(inner, rows)
        chosen = self._browser.chosen
        seen = [self._looks(each, inner, chosen) for each in placed]
        self._sheets.tidy()
        self._highlights.tidy(placed if self._view.desk.reading.query else ())
        pinned = self._pinned(placed)
        bar = canvases.thumb(self._sheets.first, self._sheets.end, placed, rows)
        tops = tuple(each.top for each in placed)
        key = (columns, rows, bar, self.divides, pinned, tops, *map(id, seen))
        if self._frame is None or self._frame[0] != key:
            text = canvases.stacked(seen, placed, inner, rows)
            text.pad_trim_left_right(0, columns - 1 - inner)
            if pinned is not None:
                text = urwid.CanvasOverlay(self._pin(pinned, columns - 1), text, 0, 0)
            self._frame = key, canvases.beside(text, self._bar(bar, rows))
        return self._frame[1]

    def _looks(self, placed: Placed, columns: int, chosen: range) -> urwid.Canvas:
        """Return a block as it is now, with what was found in it, and the mark of the chosen one."""
        canvas = self._sheets.canvas(placed.position, columns)
        reading = self._view.desk.reading
        if reading.query:
            canvas = self._highlights.of(placed.position, canvas, self._sheets.thing(placed.position))
        if placed.position in chosen:
            canvas = canvases.with_mark(canvas, self._view.glyphs.thumb)
        return canvas

    def _pinned(self, placed: list[Placed]) -> int | None:
        """Return the prompt that is answered by what stands in the uppermost row, unless it is seen."""
        if not placed or not self._viewport.cover:
            return None
        uppermost = placed[0].position
        above = self._browser.asked.above(self._sheets.transcript, uppermost + 1)
        return None if above == uppermost else above

    def _pin(self, prompt: int, columns: int) -> urwid.CompositeCanvas:
        glyphs = self._view.glyphs
        line, _, more = even(folding.written(self._sheets.thing(prompt))).partition("\n")
        parts: list[Part] = [("brand", f"{glyphs.prompt} "), ("prompt", line)]
        right: list[Part] = [("dim", f"{glyphs.ellipsis} ")] if more.strip() else []
        return draw(fit(parts, right, columns, glyphs.ellipsis), columns)

    def _bar(self, thumb: tuple[int, int], rows: int) -> urwid.CompositeCanvas:
        top, height = thumb
        glyphs = self._view.glyphs
        free = ("rule", glyphs.bar) if self.divides else ("dim", glyphs.trough)
        return canvases.column(
            [("dim", glyphs.thumb) if top <= row < top + height else free for row in range(rows)]
        )

    def _plain_text(self, columns: int, rows: int) -> urwid.CompositeCanvas:
        """Return nothing but text, for the terminal's own selection."""
        room = max(1, rows - 1)
        placed = self._selection.layout(columns, room)
        seen = [self._plain.canvas(each.position, columns) for each in placed]
        self._plain.tidy()
        text = canvases.stacked(seen, placed, columns, room)
        if rows < 2:
            return text
        hint = draw(fit([("dim", _SELECTING)], [], columns, self._view.glyphs.ellipsis), columns)
        return urwid.CanvasCombine([(text, None, False), (hint, None, False)])
