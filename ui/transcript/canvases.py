"""Canvases put together: blocks below each other, the mark of the chosen one, the bar beside them."""

import functools
from collections.abc import Hashable, Sequence

import urwid

from ui.transcript.viewport import Placed
from ui.widgets.row import width


def column(signs: Sequence[tuple[str, str]]) -> urwid.CompositeCanvas:
    """Return signs of the same width below each other, each behind its role."""
    texts = [(role, sign.encode("utf-8")) for role, sign in signs]
    attributes: list[list[tuple[Hashable, int]]] = [[(role, len(text))] for role, text in texts]
    return urwid.CompositeCanvas(
        urwid.TextCanvas([text for _, text in texts], attributes, maxcol=width(signs[0][1]))
    )


def stacked(
    seen: Sequence[urwid.Canvas], placed: Sequence[Placed], columns: int, rows: int
) -> urwid.CompositeCanvas:
    """Return blocks as they are placed in so many rows."""
    if not seen:
        return urwid.CompositeCanvas(urwid.SolidCanvas(" ", columns, rows))
    text = urwid.CanvasCombine([(canvas, None, False) for canvas in seen])
    text.pad_trim_top_bottom(min(0, placed[0].top), 0)
    text.pad_trim_top_bottom(0, rows - text.rows())
    return text


def beside(left: urwid.Canvas, right: urwid.Canvas) -> urwid.CompositeCanvas:
    """Return two canvases of the same height side by side; the left one keeps the cursor."""
    return urwid.CanvasJoin([(left, None, True, left.cols()), (right, None, False, right.cols())])


def blank_rows(canvas: urwid.Canvas) -> int:
    """Return how many empty rows a block begins with: they set it apart, and nobody misses them."""
    rows = enumerate(canvas.content())  # one after the other: a block can have thousands
    return next((at for at, row in rows if any(text.strip() for _, _, text in row)), 0)


@functools.lru_cache(maxsize=8)  # so many are in view, and the next frame is the same when they are
def with_mark(canvas: urwid.Canvas, mark: str) -> urwid.CompositeCanvas:
    """Return a block with a mark beside its rows, in the margin that blocks have at the left."""
    above = blank_rows(canvas)
    rest = urwid.CompositeCanvas(canvas)
    rest.pad_trim_left_right(-1, 0)
    signs = [" "] * above + [mark] * (canvas.rows() - above)
    return beside(column([("mark", sign) for sign in signs]), rest)


def thumb(first: int, end: int, placed: Sequence[Placed], rows: int) -> tuple[int, int]:
    """Return where the thumb of the bar begins, and its rows; none when everything is in view.

    Blocks are counted: how many rows they have is known of those in view alone.
    """
    seen = len(placed)
    if not seen:
        return 0, 0
    hidden_above, hidden_below = max(0, -placed[0].top), max(0, placed[-1].top + placed[-1].rows - rows)
    if seen == end - first and not hidden_above and not hidden_below:
        return 0, 0
    height = max(1, min(rows - 1, round(rows * seen / (end - first))))
    above, below = placed[0].position - first, end - 1 - placed[-1].position
    if not above and not below:
        above, below = hidden_above, hidden_below
    return round((rows - height) * above / max(1, above + below)), height
