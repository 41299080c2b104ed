"""What the panel says above the plan: model, session, root, context, and what was used."""

from typing import Final, Literal

from ipc.messages import Usage
from ui import figures
from ui.state import Conversation
from ui.view import View
from ui.widgets.header import model, short_path
from ui.widgets.row import Content, Part

Extent = Literal["full", "short", "none"]
SCREEN_ROWS: Final[dict[Extent, int]] = {"full": 30, "short": 22}
"""Rows of the whole screen from which on there is room for it: a draft that grows must not change it."""
_ROWS: Final[dict[Extent, int]] = {"full": 8, "short": 4, "none": 0}
"""Rows of each extent, the empty one at the end included."""
_PLAN_ROWS: Final = 8
"""Rows that stay for the plan, whatever takes room from the panel."""
_LABEL: Final = 8


def extent(screen_rows: int | None, rows: int) -> Extent:
    """Return how much a panel of so many rows says; `screen_rows`: None where it lies over the screen."""
    for said, needed in SCREEN_ROWS.items():
        if (screen_rows is None or screen_rows >= needed) and rows >= _ROWS[said] + _PLAN_ROWS:
            return said
    return "none"


def session_head(view: View, columns: int, said: Extent) -> list[Content]:
    """Return the rows of the head; what is not known yet leaves its place free."""
    if said == "none":
        return []
    talk = view.state.conversation
    rows = [_context(talk, view, columns)]
    if said == "full":
        rows = [*_who(view, columns), *rows, _row("", _size(talk))]
    usage = talk.usage
    turn, total = (Usage(), Usage()) if usage is None else (usage.turn, usage.total)
    return [*rows, _row("Turn", _spent(turn)), _row("Total", _spent(total)), ([], [])]


def _who(view: View, columns: int) -> list[Content]:
    session = view.state.conversation.session
    if session is None:
        return [_row(label, []) for label in ("Model", "Session", "Root")]
    return [
        _row("Model", [(None, model(session))]),
        _row("Session", [(None, session.session_id)]),
        _row(
            "Root",
            [(None, short_path(session.workspace, view.home, columns - _LABEL, view.glyphs.ellipsis))],
        ),
    ]


def _context(talk: Conversation, view: View, columns: int) -> Content:
    """Draw how much of the window is used; where that is not known, say how much it is."""
    window = talk.context_window
    if window <= 0:
        return _row("Context", [(None, f"{figures.count(talk.context_tokens)} tokens")])
    share = f"{figures.share(talk.context_tokens, window):>5}"
    cells = max(0, columns - _LABEL - len(share))
    used = min(cells, -(-cells * talk.context_tokens // window))
    full, empty = view.glyphs.gauge
    return _row("Context", [("gauge", full * used), ("rule", empty * (cells - used)), (None, share)])


def _size(talk: Conversation) -> list[Part]:
    if talk.context_window <= 0:
        return [("dim", "the window is unknown")]
    return [
        (None, figures.count(talk.context_tokens)),
        ("dim", f" of {figures.count(talk.context_window)} tokens"),
    ]


def _spent(used: Usage) -> list[Part]:
    tokens = figures.count(used.prompt_tokens + used.completion_tokens)
    parts: list[Part] = [(None, tokens), ("dim", " tokens")]
    if used.cost_usd is not None:
        parts.append((None, f"  {figures.money(used.cost_usd)}"))
    return parts


def _row(label: str, value: list[Part]) -> Content:
    return [("dim", label.ljust(_LABEL)), *value], []
