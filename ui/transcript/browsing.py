"""Browsing the transcript: a block is chosen, unfolded, copied."""

from typing import Final

from ui import keys
from ui.orders import Order
from ui.transcript import canvases, folding
from ui.transcript.asked import Asked
from ui.transcript.blocks import Block
from ui.transcript.finding import Finder
from ui.transcript.sheets import Sheets
from ui.transcript.viewport import Viewport, found
from ui.view import View

STAYING: Final[tuple[keys.Action, ...]] = (
    "plan",
    "help",
    "recall",
    "fold",
    "panel_up",
    "panel_down",
    "oldest",
    "newest",
)
"""Actions of the whole screen after which the person still browses."""

_MATCHES: Final[tuple[keys.Action, ...]] = ("next_match", "previous_match")


class Browser:
    """What keys and clicks do in the transcript."""

    def __init__(self, view: View, sheets: Sheets, viewport: Viewport) -> None:
        self._view = view
        self._sheets = sheets
        self._viewport = viewport
        self._chosen: tuple[int, Block] | None = None
        self.asked = Asked()
        """Where the prompts are."""
        self.finder = Finder(view, sheets, viewport, self._reveal)

    @property
    def chosen(self) -> range:
        """The positions of the block that is chosen, with what it goes on in; empty when none is."""
        if self._chosen is None or not self._view.desk.reading.browsing:
            return range(0)
        first, end = self._sheets.first, self._sheets.end
        at = found(self._sheets, *self._chosen)
        if at is None and first < end:  # told anew, or gone: what stands there now
            at = max(first, min(self._chosen[0], end - 1))
            self._keep(at)
        return range(0) if at is None else self._unit(at)

    def begin(self, action: keys.Action) -> None:
        """Go to the transcript to browse it, to search it, or to select text of it."""
        reading = self._view.desk.reading
        if action == "select":
            reading.selecting = True
            return
        reading.browsing, reading.clicked = True, False
        if not self.chosen:
            self._choose_seen(-1)
        if action == "search":
            self.finder.begin()

    def press(self, columns: int, key: str, action: keys.Action | None) -> list[Order] | None:
        """Take a key; None when it is not for the transcript, and whether it was left then is decided."""
        reading = self._view.desk.reading
        if reading.finding and (action not in STAYING or action is None):
            return self.finder.press(columns, key, action)
        if keys.is_text(key) and (reading.clicked or (action in _MATCHES and not reading.query)):
            action = None
        reading.clicked = False
        match action:
            case "block_up" | "line_up":
                self._step(-1)
            case "block_down" | "line_down":
                self._step(1)
            case "prompt_up" | "prompt_down":
                self.jump(action)
            case "page_up" | "page_down":
                self._page(-1 if action == "page_up" else 1)
            case "first" | "last":
                self._go_to_end(-1 if action == "first" else 1)
            case "toggle":
                self.toggle()
            case "copy":
                return self.copy()
            case "find" | "search":
                self.finder.begin()
            case "next_match" | "previous_match":
                self.finder.go_on(1 if action == "next_match" else -1)
            case "cancel":
                self._close()
            case "browse":
                reading.leave()
            case _:
                if action not in STAYING:
                    reading.leave()
                return None
        return []

    def choose(self, position: int) -> bool:
        """Choose the block at a position; return whether it was chosen before."""
        before, reading = self.chosen, self._view.desk.reading
        reading.clicked = reading.clicked or not reading.browsing
        reading.browsing = True
        self._keep(position)
        return position in before

    def toggle(self) -> None:
        """Show more of the chosen block, or less."""
        blocks = [self._sheets.thing(position) for position in self.chosen]
        if blocks and folding.foldable(blocks[0]):
            whole = not folding.unfolded(blocks[0], self._view.desk.unfolded)
            for block in blocks:
                block.unfolded = whole
            self._show(self.chosen, 1)

    def tell_fold(self) -> None:
        """Say what could be done with the chosen block."""
        chosen = self.chosen
        block = self._sheets.thing(chosen.start) if chosen else None
        reading = self._view.desk.reading
        if block is None or not folding.foldable(block):
            reading.fold = ""
        else:
            reading.fold = "fold" if folding.unfolded(block, self._view.desk.unfolded) else "unfold"

    def keep_in_view(self) -> None:
        """Keep what was found, or some of what is chosen, in view when the size has changed."""
        viewport, chosen = self._viewport, self.chosen
        if self._view.desk.reading.search.current is not None:
            self.finder.show_match()
        elif chosen and not any(
            each.position in chosen and each.top + each.rows > viewport.cover
            for each in viewport.layout(viewport.columns, viewport.rows)
        ):
            self._show(chosen, 1)

    def copy(self) -> list[Order]:
        """Copy the chosen block: what it shows, as it was written."""
        blocks = [self._sheets.thing(position) for position in self.chosen]
        text = folding.source(blocks, self._view.desk.unfolded)
        return self._view.desk.copy(text, "")

    def jump(self, action: keys.Action) -> None:
        """Go to the prompt above or below."""
        viewport, transcript = self._viewport, self._sheets.transcript
        placed = viewport.layout(viewport.columns, viewport.rows)
        if not placed:
            return
        here = self.chosen.start if self.chosen else placed[0].position
        if action == "prompt_up":
            to = self.asked.above(transcript, here)
        else:
            to = self.asked.below(transcript, here)
        if to is not None:
            self.go_to(to)
        elif action == "prompt_down":
            viewport.to_newest()

    def go_to(self, prompt: int) -> None:
        """Put a prompt at the top."""
        self._viewport.go_to(prompt)
        self._keep(prompt)

    def _reveal(self, position: int, hidden: bool) -> list[Block]:
        """Choose the block at a position; return what was folded of it and is `hidden` no more."""
        self._keep(position)
        if not hidden:
            return []
        self.toggle()
        return [self._sheets.thing(each) for each in self.chosen]

    # --- choosing

    def _unit(self, position: int) -> range:
        first = self._sheets.first
        unit = folding.unit(self._sheets.transcript.blocks, position - first)
        return range(unit.start + first, unit.stop + first)

    def _keep(self, position: int) -> None:
        start = self._unit(position).start
        self._chosen = (start, self._sheets.thing(start))

    def _choose_seen(self, end: int) -> None:
        """Choose the uppermost (0) or lowest (-1) block that is in view."""
        viewport = self._viewport
        placed = viewport.layout(viewport.columns, viewport.rows)
        bottom = viewport.rows
        whole = [each for each in placed if each.top >= viewport.cover and each.top + each.rows <= bottom]
        if seen := whole or placed:
            self._keep(seen[end].position)

    def _step(self, step: int) -> None:
        """Choose the next block above or below; of one that is higher than the view, first show the rest."""
        chosen, viewport = self.chosen, self._viewport
        if not chosen:
            self._choose_seen(-1)
            return
        if hidden := self._hidden(chosen, step):
            viewport.scroll(step * min(hidden, viewport.page))
            return
        beside = chosen.stop if step > 0 else chosen.start - 1
        if beside >= self._sheets.end:
            self._view.desk.reading.leave()
            viewport.to_newest()
        elif beside >= self._sheets.first:
            self._keep(beside)
            self._show(self.chosen, step)

    def _hidden(self, chosen: range, step: int) -> int:
        """Return how many rows of the chosen block are out of view there; 0 when all of them are."""
        viewport = self._viewport
        placed = viewport.layout(viewport.columns, viewport.rows)
        seen = [each for each in placed if each.position in chosen]
        if not seen:
            return 0
        if step > 0:
            below = seen[-1].top + seen[-1].rows - viewport.rows
            return below if below > 0 else self._rows(range(seen[-1].position + 1, chosen.stop))
        return max(0, -seen[0].top) or self._rows(range(chosen.start, seen[0].position))

    def _rows(self, positions: range) -> int:
        """Return how many rows blocks have, up to the rows of the view."""
        rows = 0
        for position in positions:
            rows += self._sheets.height(position, self._viewport.columns)
            if rows >= self._viewport.rows:
                break
        return rows

    def _show(self, unit: range, step: int) -> None:
        """Bring a block into view; of one that is higher than the view, the end that one comes from."""
        viewport = self._viewport
        rows = self._rows(unit)
        if step > 0 or rows < viewport.rows:
            canvas = self._sheets.canvas(unit.start, viewport.columns)
            viewport.show(unit.start, canvases.blank_rows(canvas), min(rows, viewport.rows))
        else:
            height = self._sheets.height(unit.stop - 1, viewport.columns)
            viewport.show(unit.stop - 1, max(0, height - viewport.rows), height)

    def _page(self, step: int) -> None:
        self._viewport.scroll(step * self._viewport.page)
        self._choose_seen(0 if step < 0 else -1)

    def _go_to_end(self, step: int) -> None:
        if self._sheets.first >= self._sheets.end:
            return
        if step < 0:
            self._viewport.to_oldest()
            self._keep(self._sheets.first)
        else:
            self._viewport.to_newest()
            self._keep(self._sheets.end - 1)

    def _close(self) -> None:
        """Close the search, if there is one, else go back to the line one writes."""
        reading = self._view.desk.reading
        if reading.query:
            self.finder.close()
        else:
            reading.leave()
