"""A diff drawn for a person: numbers and signs in a column of their own, changes in their colours."""

import re
from collections.abc import Sequence
from typing import Final

from urwid.widget.widget import AbstractFlowWidget

from ui.diffs import DiffLine
from ui.theme import Glyphs
from ui.transcript.lines import Line, Lines, Span
from ui.transcript.transcript import even

_ROLE: Final = {"+": "added", "-": "removed"}
_WIDE_GAP: Final = re.compile(r" {81,}")
"""What could push something out of sight; people indent as deep as a screen is wide."""


def diff_text(lines: Sequence[DiffLine], glyphs: Glyphs) -> AbstractFlowWidget:
    """Return the widget of a whole diff; of no line it says so."""
    if not lines:
        return Lines(lambda _: [Line([("dim", "No line of text changes.")])])
    digits = len(str(max(line.number for line in lines)))
    drawn = [_line(line, digits, glyphs) for line in lines]
    return Lines(lambda _: drawn)


def _line(line: DiffLine, digits: int, glyphs: Glyphs) -> Line:
    if not line.sign:
        return Line([("dim", line.text or f"{glyphs.ellipsis:>{digits}}")])
    role = _ROLE.get(line.sign)
    text = _WIDE_GAP.sub(lambda gap: f"⟨{len(gap[0])} spaces⟩", even(line.text))
    lead: list[Span] = [("dim", f"{line.number:>{digits}} "), (role, f"{line.sign} ")]
    return Line([(role, text)], lead, " " * (digits + 3), wrap="any")
