"""The last row: mode, model, context and tokens, and the keys that matter now."""

from typing import Final, Literal, assert_never

from ui import figures, keys
from ui.view import View
from ui.widgets.row import Content, Part, parts_width

Answering = Literal["not", "choosing", "writing"]
"""Whether keys answer an ask just now, and how."""

_SHORT: Final = 60


def status_line(view: View, columns: int, answering: Answering) -> Content:
    """Return figures on the left and as many key hints on the right as there is room for."""
    left: list[Part] = []
    for figure in _figures(view, short=columns < _SHORT):
        part = [("dim", f" {view.glyphs.dot} "), *figure] if left else [(None, " "), *figure]
        if parts_width(left) + parts_width(part) + 1 > columns and left:
            break
        left += part
    right: list[Part] = []
    for name, does in _hints(view, answering):
        hint: list[Part] = [(None, name), ("dim", f" {does}  ")]
        if parts_width(left) + parts_width(right) + parts_width(hint) + 2 > columns:
            break
        right += hint
    return left, right


def _figures(view: View, *, short: bool) -> list[list[Part]]:
    """Return mode, model, context, tokens, cost, each as its parts; the first matter most."""
    talk = view.state.conversation
    session, usage = talk.session, talk.usage
    if session is None:
        return []
    model = "offline model" if session.offline else session.model
    figures_: list[list[Part]] = [[("chrome", session.mode)], [(None, model)]]
    if usage is None:
        return figures_
    context = figures.count(usage.context_tokens)
    if session.context_window > 0:
        share = f"{round(100 * usage.context_tokens / session.context_window)}%"
        context = share if short else f"{context}/{figures.count(session.context_window)} {share}"
    total = usage.total
    tokens = figures.count(total.prompt_tokens + total.completion_tokens)
    figures_ += [[("dim", "context "), (None, context)], [(None, tokens), ("dim", " tokens")]]
    if total.cost_usd is not None:
        figures_.append([(None, figures.money(total.cost_usd))])
    return figures_


def _hints(view: View, answering: Answering) -> list[tuple[str, str]]:
    if view.desk.overlay is not None:
        return [(keys.shown("cancel"), "close"), (keys.shown("line_down"), "scroll")]
    if view.waiting_ask is not None:
        return _answer_hints(answering)
    hints = [(keys.shown("help"), "help"), (keys.shown("plan"), "plan"), (keys.shown("newline"), "new line")]
    if view.state.conversation.running:
        return [(keys.shown("cancel"), "stop"), (keys.shown("send"), "queue"), *hints]
    return [(keys.shown("send"), "send"), *hints]


def _answer_hints(answering: Answering) -> list[tuple[str, str]]:
    cancel = keys.shown("cancel")
    match answering:
        case "not":
            return [(cancel, "stop")]
        case "choosing":
            return [(keys.DIGITS, "answer"), (keys.shown("page_down"), "read on"), (cancel, "stop")]
        case "writing":
            return [(keys.shown("send"), "answer"), (cancel, "back")]
        case _:
            assert_never(answering)
