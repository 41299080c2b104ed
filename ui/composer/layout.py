"""Lays out a text of many lines of which a key changes one."""

from typing import Any, Literal

import urwid

Wrap = Literal["any", "space", "clip", "ellipsis"] | urwid.WrapMode
Segments = list[list[Any]]
"""Rows as urwid lays them out: width, place in the text, and where or with what it ends."""


class LineLayout(urwid.StandardTextLayout):
    """Keeps the rows of each line of the last text, so that only what is new is measured."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[tuple[str, int, Wrap], Segments] = {}

    def calculate_text_segments(self, text: str | bytes, width: int, wrap: Wrap) -> Segments:
        if isinstance(text, bytes) or "\n" not in text:
            return super().calculate_text_segments(text, width, wrap)
        before, self._known = self._known, {}
        rows: Segments = []
        at = 0
        for line in text.split("\n"):
            key = (line, width, wrap)
            laid = before.get(key) or super().calculate_text_segments(line, width, wrap)
            self._known[key] = laid
            rows += ([_moved(segment, at) for segment in row] for row in laid)
            at += len(line) + 1
        return rows


def _moved(segment: Any, by: int) -> Any:
    """Return a segment whose text begins further on."""
    if len(segment) == 2:
        return segment[0], segment[1] + by
    width, begin, end = segment
    return width, begin + by, end if isinstance(end, bytes) else end + by
