"""The first row: whose screen this is, where it works, with what, and whether it works just now."""

from typing import Final

from ipc.messages import Mode, SessionOpened
from ui import figures
from ui.palettes import Role
from ui.view import View
from ui.widgets.row import Content, Part, cut, parts_width, width

WIDE: Final = 80
"""Columns from which on it names mode, model and, where there is room, the session."""
_CONDITION: Final = 19
"""Columns kept for the condition, so that a clock that grows drops nothing beside it."""
_PATH: Final = 24
"""Columns of a path up to which it is worth more than the session's name."""
_MODEL: Final = 32
"""Columns of a model's name that are shown beside others."""
_MODE: Final = 2
"""Parts that stay: the mode behind its separator."""
MODE_ROLE: Final[dict[Mode, Role]] = {"plan": "chrome", "agent": "chrome", "yolo": "warning"}


def header(view: View, columns: int) -> Content:
    """Return name, workspace and what answers on the left, the condition on the right."""
    session = view.state.conversation.session
    right: list[Part] = [condition(view), (None, " ")]
    left: list[Part] = [("brand", " Fido"), (None, "  ")]
    if session is None:
        return left[:1], right
    room = columns - parts_width(left) - max(parts_width(right), _CONDITION) - 1
    whole = short_path(session.workspace, view.home, columns, view.glyphs.ellipsis)
    told = _told(session, view) if columns >= WIDE else []
    while len(told) > _MODE and min(width(whole), _PATH) + parts_width(told) > room:
        del told[:2]
    path = short_path(session.workspace, view.home, room - parts_width(told), view.glyphs.ellipsis)
    return [*left, (None, path), *told], right


def below(view: View) -> list[Part]:
    """Return what a narrow header has no room for: model and session."""
    session = view.state.conversation.session
    if session is None:
        return []
    return [("dim", f" {model(session)} {view.glyphs.dot} {session.session_id}")]


def _told(session: SessionOpened, view: View) -> list[Part]:
    """Return session, model and mode, each behind a separator; the first goes first."""
    between: Part = ("dim", f" {view.glyphs.dot} ")
    shown: list[Part] = [
        ("dim", session.session_id),
        (None, cut(model(session), _MODEL, view.glyphs.ellipsis)),
        (MODE_ROLE[session.mode], session.mode),
    ]
    return [part for each in shown for part in (between, each)]


def model(session: SessionOpened) -> str:
    """Return what answers, by name."""
    return "offline model" if session.offline else session.model


def condition(view: View) -> Part:
    """Say in a word or two what goes on."""
    state, desk, glyphs = view.state, view.desk, view.glyphs
    talk = state.conversation
    sign = glyphs.running[view.phase] + " "
    if desk.opening and (state.parent_lost is None or state.parent_lost.restarting):
        return "chrome", "opening" + glyphs.ellipsis
    if (lost := state.parent_lost) is not None:
        return ("warning", "agent is restarting") if lost.restarting else ("error", "agent has ended")
    if state.cut_off:
        return "warning", "agent does not answer"
    if talk.session is None:
        return "dim", "starting" + glyphs.ellipsis
    if view.waiting_ask is not None:
        return "ask", "your answer is needed"
    if talk.busy and desk.stopping:
        return "warning", sign + "stopping"
    if talk.compacting is not None:
        return "chrome", sign + _lasting("compacting", talk.compacting_since, view)
    if talk.running:
        return "chrome", sign + _lasting("working", talk.running_since, view, longer=talk.running_longer)
    return "dim", "ready"


def _lasting(what: str, since: float | None, view: View, *, longer: bool = False) -> str:
    return what if since is None else f"{what} {figures.clock(view.now - since)}{'+' if longer else ''}"


def short_path(path: str, home: str, columns: int, ellipsis: str) -> str:
    """Return a path, shortened from the left to at most `columns`: the last folders say most."""
    if home and (path + "/").startswith(home.rstrip("/") + "/"):
        path = "~" + path[len(home.rstrip("/")) :]
    while width(path) > max(columns, 1):
        _, slash, tail = path.removeprefix(f"{ellipsis}/").partition("/")
        if not slash:
            break
        path = f"{ellipsis}/{tail}"
    return cut(path, columns, ellipsis)


def too_small(size: tuple[int, ...], least: tuple[int, int], stops: str) -> list[str]:
    """Return the lines of a screen on which nothing else has room; what is most needed comes first."""
    columns, rows = size
    lines = ["too small", f"{columns}x{rows} of {least[0]}x{least[1]}", f"{stops} stops the turn"]
    return lines[: max(rows, 1)]
