"""Tables: columns side by side where there is room, else a paragraph for each row; pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from ui.theme import Glyphs
from ui.transcript.lines import Line, Span, layered, wrapped
from ui.widgets.row import width

NARROWEST: Final = 8
"""Columns below which a cell that has more to say cannot be read."""
_BETWEEN: Final = 3
"""Columns between two cells."""

Align = Literal["left", "center", "right"]
Cell = Sequence[Span]


@dataclass(frozen=True, slots=True)
class Table:
    """A table; each row has as many cells as its head."""

    head: Sequence[Cell]
    rows: Sequence[Sequence[Cell]]
    aligns: Sequence[Align]
    glyphs: Glyphs

    def lines(self, columns: int) -> list[Line]:
        """Lay the table out."""
        widths = self._widths(columns - _BETWEEN * (len(self.head) - 1))
        return self._paragraphs() if widths is None else self._grid(widths)

    def _widths(self, room: int) -> list[int] | None:
        """Return the widths of the columns; None when they have no room."""
        natural = [max(map(_width, cells)) for cells in zip(self.head, *self.rows, strict=True)]
        if sum(natural) <= room:
            return natural
        if sum(min(width, NARROWEST) for width in natural) > room:
            return None
        widths = [0] * len(natural)
        order = sorted(range(len(natural)), key=natural.__getitem__)
        for count, column in enumerate(order):  # the narrow ones first: what they leave, the others share
            widths[column] = min(natural[column], room // (len(order) - count))
            room -= widths[column]
        return widths

    def _grid(self, widths: Sequence[int]) -> list[Line]:
        rule = f"{self.glyphs.rule}{self.glyphs.cross}{self.glyphs.rule}".join(
            self.glyphs.rule * width for width in widths
        )
        head = [[(layered(role, "strong"), text) for role, text in cell] for cell in self.head]
        rows = [self._row(row, widths) for row in self.rows]
        lines = [*self._row(head, widths), Line([("rule", rule)])]
        apart = any(len(row) > 1 for row in rows)
        for number, row in enumerate(rows):
            lines += [Line([("rule", rule)])] if apart and number else []
            lines += row
        return lines

    def _row(self, cells: Sequence[Cell], widths: Sequence[int]) -> list[Line]:
        columns = [wrapped(cell, width) for cell, width in zip(cells, widths, strict=True)]
        return [
            Line(self._joined([rows[n] if n < len(rows) else [] for rows in columns], widths))
            for n in range(max(map(len, columns)))
        ]

    def _joined(self, cells: Sequence[Cell], widths: Sequence[int]) -> list[Span]:
        spans: list[Span] = []
        last = len(cells) - 1
        for number, (cell, columns, align) in enumerate(zip(cells, widths, self.aligns, strict=True)):
            free = max(0, columns - _width(cell))
            before = {"left": 0, "center": free // 2, "right": free}[align]
            after = 0 if number == last else free - before
            spans += [(None, " " * before), *cell, (None, " " * after)]
            if number != last:
                spans.append(("rule", f" {self.glyphs.bar} "))
        return spans

    def _paragraphs(self) -> list[Line]:
        lines: list[Line] = []
        for number, row in enumerate(self.rows):
            lines += [Line([])] if number else []
            for head, cell in zip(self.head, row, strict=True):
                name = "".join(text for _, text in head)
                lines.append(Line([("strong", f"{name}: " if name else ""), *cell]).under((None, ""), "  "))
        return lines


def _width(cell: Cell) -> int:
    return width("".join(text for _, text in cell))
