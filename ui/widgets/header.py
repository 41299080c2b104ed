"""The first row: whose screen this is, where it works, and whether it works just now."""

from ui import figures, keys
from ui.view import View
from ui.widgets.row import Content, Part, width

_WIDE = 110


def header(view: View, columns: int) -> Content:
    """Return name and workspace on the left, session and condition on the right."""
    session = view.state.conversation.session
    right: list[Part] = [condition(view), (None, " ")]
    if session is None:
        return [("brand", " Fido")], right
    if columns >= _WIDE:
        right = [("dim", f"session {session.session_id}   "), *right]
    room = columns - sum(width(text) for _, text in right) - 9
    return [("brand", " Fido"), ("dim", "  " + _short_path(session.workspace, view.home, room))], right


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
    return what if since is None else f"{what} {figures.clock(view.clock() - since)}{'+' if longer else ''}"


def _short_path(path: str, home: str, columns: int) -> str:
    """Shorten from the left: the last folders say most."""
    if home and (path + "/").startswith(home.rstrip("/") + "/"):
        path = "~" + path[len(home.rstrip("/")) :]
    while width(path) > max(columns, 1):
        _, slash, tail = path.removeprefix("…/").partition("/")
        if not slash:
            break
        path = "…/" + tail
    return path


def too_small(columns: int, rows: int) -> list[str]:
    """Return the lines of a screen on which nothing else has room."""
    size = f"{columns}x{rows}"
    lines = ["too small", size, "40x10 is enough", f"{keys.shown('cancel')} stops the turn"]
    return lines[: max(rows, 1)]
