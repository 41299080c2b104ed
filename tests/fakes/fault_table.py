"""What the fault tests tried and saw: printed after a run; `make faults` keeps it in docs/faults.md.

A test says which rows of the matrix it shows; more is optional:

    @pytest.mark.fault(18, says="a worker is killed")
    def test_a_killed_worker_is_one_lost_result(fault: Fault) -> None:
        for _ in range(20):
            with fault.attempt():           # tried; survived unless something is raised
                ...
                fault.took(seconds)         # the longest of these is the worst time
                fault.note(orphans=len(left))  # before the assertion, so that a failure shows how many
                assert not left

`attempt("other words")` counts in a line of its own. Without `attempt` the test itself is one try. The marker
goes for parameters as well: `pytest.param(..., marks=pytest.mark.fault(2, says="..."))`.
"""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from tests.fakes.marked import named_by

LONG = os.environ.get("FIDO_FAULTS") == "long"
SEED = int(os.environ.get("FIDO_SEED", "1"))
BEGIN, END = "<!-- last run -->\n", "<!-- end of last run -->"
HEAD = ("rows", "fault", "tried", "survived", "lost", "orphans", "worst ms")


@dataclass
class Line:
    """One line of the table."""

    rows: tuple[int, ...]
    says: str
    tried: int = 0
    survived: int = 0
    lost: int = 0
    orphans: int = 0
    worst_ms: float | None = None

    def cells(self) -> list[str]:
        """The line as texts, in the order of `HEAD`."""
        worst = "" if self.worst_ms is None else f"{self.worst_ms:.0f}" if self.worst_ms >= 10 else "< 10"
        counts = (self.tried, self.survived, self.lost, self.orphans)
        return [_spans(self.rows), self.says, *(f"{count:,}" for count in counts), worst]


class FaultTable:
    """All lines of one run; tests with the same rows and words add up."""

    def __init__(self) -> None:
        self._lines: dict[tuple[tuple[int, ...], str], Line] = {}

    def __bool__(self) -> bool:
        return bool(self._lines)

    def line(self, rows: tuple[int, ...], says: str) -> Line:
        """The line of these rows and words, made when there is none."""
        return self._lines.setdefault((rows, says), Line(rows, says))

    def lines(self) -> list[Line]:
        """By rows of the matrix."""
        return sorted(self._lines.values(), key=lambda line: line.rows)

    def text(self) -> str:
        """For a terminal."""
        cells = [list(HEAD), *(line.cells() for line in self.lines())]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        just = (str.ljust, str.ljust, *[str.rjust] * 5)
        return "\n".join(
            "  ".join(put(cell, width) for put, cell, width in zip(just, row, widths, strict=True)).rstrip()
            for row in cells
        )

    def write(self, page: Path, seconds: float) -> None:
        """Replace the part of a page between the markers."""
        rows = ["| " + " | ".join(cells) + " |" for cells in (HEAD, *(line.cells() for line in self.lines()))]
        rows.insert(1, "| --- | --- | --: | --: | --: | --: | --: |")
        when = datetime.now(UTC).date()
        form = "long" if LONG else "short"
        where = f"{len(os.sched_getaffinity(0))} cores, Linux {os.uname().release}"
        told = f"{when}, {form} form, seed {SEED}, {where}, {seconds / 60:.0f} minutes."
        text = page.read_text(encoding="utf-8")
        before, begin, rest = text.partition(BEGIN)
        _, end, after = rest.partition(END)
        assert (begin, end) == (BEGIN, END), f"{page} has no place for the table"
        page.write_text(
            "".join([before, begin, told, "\n\n", "\n".join(rows), "\n", end, after]), encoding="utf-8"
        )


class Fault:
    """What one test notes; its rows and words are those of its marker."""

    def __init__(self, table: FaultTable, rows: tuple[int, ...], says: str) -> None:
        self.noted = False
        """Whether the test has counted by itself."""
        self._rows = rows
        self._says = says
        self._table = table

    @property
    def line(self) -> Line:
        """Where this test counts now."""
        return self._table.line(self._rows, self._says)

    @contextmanager
    def attempt(self, says: str = "") -> Iterator[None]:
        """Count one try; it has been survived when the block raises nothing."""
        self._says = says or self._says
        self.noted = True
        self.line.tried += 1
        yield
        self.line.survived += 1

    def took(self, seconds: float) -> None:
        """Note how long it took from the fault until all was as it has to be."""
        self.line.worst_ms = max(1000 * seconds, self.line.worst_ms or 0.0)

    def note(self, *, lost: int = 0, orphans: int = 0) -> None:
        """Add to what has been lost, and to what was still running."""
        self.line.lost += lost
        self.line.orphans += orphans


@cache
def rows_named() -> dict[int, list[str]]:
    """Every row that a test's marker names, with the files of these tests."""
    return named_by("fault", int)


def _spans(rows: Iterable[int]) -> str:
    """1, 2, 3, 7 as `1-3, 7`."""
    text = ""
    last = None
    for row in sorted(rows):
        text = re.sub(r"-\d+$", "", text) + f"-{row}" if row - 1 == last else f"{text}, {row}"
        last = row
    return text.removeprefix(", ")
