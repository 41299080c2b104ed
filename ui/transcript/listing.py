"""What was said and done, as far as it is in view; beside it where that is, below it what is searched for."""

from collections.abc import Hashable
from typing import ClassVar, Final

import urwid

from ui import keys
from ui.desk import Order
from ui.transcript.browsing import Browser
from ui.transcript.drawing import drawn, plain
from ui.transcript.highlights import Highlights
from ui.transcript.sheets import Sheets
from ui.transcript.viewport import Placed, Viewport
from ui.view import View
from ui.widgets.row import Part, Size, cut, draw, fit, parts_width, width

WIDEST: Final = 104
"""Columns past which lines get hard to follow."""
WHEEL_ROWS: Final = 3
_WHEEL: Final = {4: -WHEEL_ROWS, 5: WHEEL_ROWS}
_FOUND_COLUMNS: Final = 14
"""Columns that the count of matches has."""
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
        self._highlights = Highlights()
        self._everything = False
        self._newest: tuple[object, int] = (None, 0)
        """The last block and its revision when the end was in view."""
        self._frame: tuple[tuple[object, ...], urwid.CompositeCanvas] | None = None
        self._sign: list[Part] = []

    @property
    def following(self) -> bool:
        """Whether the end is in view and stays there."""
        return self._viewport.following

    def changed(self) -> None:
        """Draw what the state now says; folding everything takes back what was folded one by one."""
        if self._everything != self._view.desk.unfolded:
            self._everything = self._view.desk.unfolded
            for block in self._sheets.transcript.blocks:
                block.unfolded = None
        self._invalidate()

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
            self._click(size, col, row)
        self._invalidate()
        return True

    def _click(self, size: Size, col: int, row: int) -> None:
        if self._sign and row == size[1] - 1 and col >= size[0] - 1 - parts_width(self._sign):
            self.to_newest()
            return
        for placed in self._viewport.layout(self._viewport.columns, self._viewport.rows):
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
        rows = max(1, viewport.rows - 1) if key.startswith("page") else 1
        viewport.scroll(-rows if key.endswith("up") else rows)
        self._invalidate()

    # --- what is seen

    def render(self, size: Size, focus: bool = False) -> urwid.Canvas:
        columns, rows = size
        reading = self._view.desk.reading
        if reading.selecting:
            return self._plain_text(columns, rows)
        foot = self._find_row(columns) if reading.finding or reading.query else None
        room = max(1, rows - (foot is not None))
        text = self._text(columns, room)
        if foot is None or rows < 2:
            return text
        return urwid.CanvasCombine([(text, None, False), (foot, None, True)])

    def _text(self, columns: int, rows: int) -> urwid.CompositeCanvas:
        """Return what is in view with the bar; the same canvas as before when nothing differs."""
        inner = max(1, min(columns - 1, WIDEST))
        placed = self._viewport.layout(inner, rows)
        seen = [self._looks(each, inner) for each in placed]
        self._sign = self._signs()
        bar = _thumb(self._sheets.first, self._sheets.end, placed, rows)
        key = (columns, rows, bar, tuple(self._sign), tuple(each.top for each in placed), *map(id, seen))
        if self._frame is None or self._frame[0] != key:
            text = _stacked(seen, placed, inner, rows)
            text.pad_trim_left_right(0, columns - 1 - inner)
            if self._sign:
                wide = parts_width(self._sign)
                text = urwid.CanvasOverlay(draw(self._sign, wide), text, columns - 1 - wide, rows - 1)
            beside = self._bar(bar, rows)
            self._frame = (
                key,
                urwid.CanvasJoin([(text, None, False, max(1, columns - 1)), (beside, None, False, 1)]),
            )
        return self._frame[1]

    def _looks(self, placed: Placed, columns: int) -> urwid.Canvas:
        """Return a block as it is now, with what was found in it, and the mark of the chosen one."""
        canvas = self._sheets.canvas(placed.position, columns)
        reading = self._view.desk.reading
        if reading.query:
            match = reading.search.current
            nth = match.nth if match and match.position == placed.position else -1
            canvas = self._highlights.of(placed.position, canvas, reading.query, nth)
        if placed.position in self._browser.chosen:
            canvas = _with_mark(canvas, self._view.glyphs.thumb)
        return canvas

    def _signs(self) -> list[Part]:
        """Return what stands at the end of the last row: whether there is more below."""
        blocks = self._sheets.transcript.blocks
        newest = (blocks[-1], blocks[-1].revision) if blocks else (None, 0)
        if self._viewport.following:
            self._newest = newest
            return []
        key = self._view.keymap.shown("newest")
        if self._newest[0] is newest[0] and self._newest[1] == newest[1]:
            return [("dim", f" {key} ")]
        return [("chosen", f" new below: {key} ")]

    def _bar(self, thumb: tuple[int, int], rows: int) -> urwid.CompositeCanvas:
        top, height = thumb
        glyphs = self._view.glyphs
        signs = [glyphs.thumb if top <= row < top + height else glyphs.trough for row in range(rows)]
        return draw_rows(signs, "dim")

    def _find_row(self, columns: int) -> urwid.CompositeCanvas:
        """Return the row below the transcript: what is searched for, and how often it was found."""
        reading = self._view.desk.reading
        search = reading.search
        count = f"{search.at + 1:,}/{search.total:,}" if search.total else "no match" if search.query else ""
        role = "dim" if search.total or not search.query else "warning"
        room = max(1, columns - 3 - _FOUND_COLUMNS)
        if reading.finding:
            line = self._browser.line.render((room,), True)
        else:
            line = draw([(None, cut(search.query, room, self._view.glyphs.ellipsis))], room)
        right = draw([(None, " " * max(0, _FOUND_COLUMNS - width(count))), (role, count)], _FOUND_COLUMNS)
        return urwid.CanvasJoin(
            [
                (draw([("brand", "/ ")], 2), None, False, 2),
                (line, None, True, room),
                (right, None, False, max(1, columns - 2 - room)),
            ]
        )

    def _plain_text(self, columns: int, rows: int) -> urwid.CompositeCanvas:
        """Return nothing but text, for the terminal's own selection."""
        placed = self._selection.layout(columns, max(1, rows - 1))
        text = _stacked(
            [self._plain.canvas(each.position, columns) for each in placed], placed, columns, max(1, rows - 1)
        )
        if rows < 2:
            return text
        hint = draw(fit([("dim", _SELECTING)], [], columns, self._view.glyphs.ellipsis), columns)
        return urwid.CanvasCombine([(text, None, False), (hint, None, False)])


def draw_rows(rows: list[str], role: str) -> urwid.CompositeCanvas:
    """Draw rows that are all as wide as the first."""
    texts = [row.encode("utf-8") for row in rows]
    attributes: list[list[tuple[Hashable, int]]] = [[(role, len(text))] for text in texts]
    return urwid.CompositeCanvas(urwid.TextCanvas(texts, attributes, maxcol=width(rows[0])))


def _stacked(
    seen: list[urwid.Canvas], placed: list[Placed], columns: int, rows: int
) -> urwid.CompositeCanvas:
    if not seen:
        return urwid.CompositeCanvas(urwid.SolidCanvas(" ", columns, rows))
    text = urwid.CanvasCombine([(canvas, None, False) for canvas in seen])
    text.pad_trim_top_bottom(min(0, placed[0].top), 0)
    text.pad_trim_top_bottom(0, rows - text.rows())
    return text


def _with_mark(canvas: urwid.Canvas, mark: str) -> urwid.CompositeCanvas:
    """Return a block with a bar at its left, which has a margin there."""
    above = next((at for at, row in enumerate(canvas.text) if row.strip()), 0)
    bar = draw_rows([" "] * above + [mark] * (canvas.rows() - above), "mark")
    rest = urwid.CompositeCanvas(canvas)
    rest.pad_trim_left_right(-1, 0)
    return urwid.CanvasJoin([(bar, None, False, 1), (rest, None, False, rest.cols())])


def _thumb(first: int, end: int, placed: list[Placed], rows: int) -> tuple[int, int]:
    """Return where the thumb of the bar begins, and its rows; counted in blocks: rows are not known."""
    seen = len(placed)
    whole = seen == end - first and placed and placed[0].top >= 0
    if not placed or (whole and placed[-1].top + placed[-1].rows <= rows):
        return 0, 0
    height = max(1, min(rows - 1, round(rows * seen / (end - first))))
    above, below = placed[0].position - first, end - 1 - placed[-1].position
    if not above and not below:  # within one or few high blocks
        above, below = -placed[0].top, placed[-1].top + placed[-1].rows - rows
    return round((rows - height) * above / max(1, above + below)), height
