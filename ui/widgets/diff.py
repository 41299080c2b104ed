"""A diff drawn for a person: numbers and signs in a column of their own, changes in their colours."""

import re
from collections.abc import Sequence
from typing import Final

import urwid
from urwid.widget.widget import AbstractFlowWidget

from ui.diffs import DiffLine
from ui.theme import Glyphs

_ROLE: Final = {"+": "added", "-": "removed"}
_WIDE_GAP: Final = re.compile(r" {81,}")
"""What could push something out of sight; people indent as deep as a screen is wide."""


def diff_text(lines: Sequence[DiffLine], glyphs: Glyphs) -> AbstractFlowWidget:
    """Return the widget of a whole diff; of no line it says so."""
    if not lines:
        return urwid.Text(("dim", "No line of text changes."))
    digits = len(str(max(line.number for line in lines)))
    return urwid.Pile([(urwid.PACK, _line(line, digits, glyphs)) for line in lines])


def _line(line: DiffLine, digits: int, glyphs: Glyphs) -> AbstractFlowWidget:
    if not line.sign:
        return urwid.Text(("dim", line.text or f"{glyphs.ellipsis:>{digits}}"))
    role = _ROLE.get(line.sign)
    mark = urwid.Text([("dim", f"{line.number:>{digits}} "), (role, f"{line.sign} ")], wrap=urwid.CLIP)
    text = _WIDE_GAP.sub(lambda gap: f"⟨{len(gap[0])} spaces⟩", line.text)
    return urwid.Columns([(digits + 3, mark), urwid.Text((role, text), wrap=urwid.ANY)])
