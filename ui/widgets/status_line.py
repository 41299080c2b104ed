"""The last row: mode, model, context and tokens, and the keys that matter now."""

from ui import figures, keys
from ui.view import View
from ui.widgets.row import Content, Part, parts_width


def status_line(view: View, columns: int) -> Content:
    """Return figures on the left and as many key hints on the right as there is room for."""
    left = _figures(view)
    right: list[Part] = []
    for name, does in _hints(view):
        hint: list[Part] = [(None, name), ("dim", f" {does}  ")]
        if parts_width(left) + parts_width(right) + parts_width(hint) + 2 > columns:
            break
        right += hint
    return left, right


def _figures(view: View) -> list[Part]:
    talk, dot = view.state.conversation, ("dim", f" {view.glyphs.dot} ")
    session, usage = talk.session, talk.usage
    if session is None:
        return []
    parts: list[Part] = [("chrome", " " + session.mode), dot]
    parts.append((None, "offline model" if session.offline else session.model))
    if usage is None:
        return parts
    context = figures.count(usage.context_tokens)
    if session.context_window > 0:
        share = round(100 * usage.context_tokens / session.context_window)
        context = f"{context}/{figures.count(session.context_window)} {share}%"
    parts += [dot, ("dim", "context "), (None, context)]
    total = usage.total
    tokens = figures.count(total.prompt_tokens + total.completion_tokens)
    parts += [dot, (None, tokens), ("dim", " tokens")]
    if total.cost_usd is not None:
        parts += [dot, (None, figures.money(total.cost_usd))]
    return parts


def _hints(view: View) -> list[tuple[str, str]]:
    if view.desk.overlay is not None:
        return [(keys.shown("cancel"), "close"), (keys.shown("line_down"), "scroll")]
    hints = [(keys.shown("help"), "help"), (keys.shown("plan"), "plan"), (keys.shown("newline"), "new line")]
    if view.state.conversation.running:
        return [(keys.shown("cancel"), "stop"), (keys.shown("send"), "queue"), *hints]
    return [(keys.shown("send"), "send"), *hints]
