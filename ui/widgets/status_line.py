"""The last row: mode, model, context and tokens, and the keys that matter now."""

from typing import Final, Literal, assert_never

from ui import figures, keys
from ui.transcript.drawing import LEVEL_ROLE
from ui.view import View
from ui.widgets.row import Content, Part, parts_width
from ui.widgets.usage import context

Answering = Literal["not", "choosing", "writing"]
"""Whether keys answer an ask just now, and how."""

_SHORT: Final = 100
"""Columns below which the context is said as its share alone."""
_ALWAYS: Final = 3
"""Figures that stand before any hint: mode, model, and jobs or context."""
_HINTS_KEPT: Final = 2
"""Hints that stand before the other figures."""


def status_line(view: View, columns: int, answering: Answering) -> Content:
    """Return figures on the left and key hints on the right, of both as many as there is room for."""
    message = view.desk.message
    if message is not None and view.desk.overlay is not None:  # which covers the place of messages
        return [(LEVEL_ROLE[message.level], f" {view.glyphs.level[message.level]} {message.line}")], []
    hints = [_hint(*hint) for hint in _hints(view, answering)]
    hints[0] = [*_waiting(view), *hints[0]]
    kept = 2 + sum(map(parts_width, hints[:_HINTS_KEPT]))
    # How to stop what goes on matters more than what it goes on with.
    way_out = 2 + parts_width(hints[0]) if view.state.conversation.busy else 1
    left: list[Part] = []
    for at, figure in enumerate(_figures(view, short=columns < _SHORT)):
        part = [("dim", f" {view.glyphs.dot} "), *figure] if left else [(None, " "), *figure]
        taken = parts_width(left) + parts_width(part) + (way_out if at < _ALWAYS else kept)
        if taken > columns and left:
            break
        left += part
    right: list[Part] = []
    for hint in hints:
        if parts_width(left) + parts_width(right) + parts_width(hint) + 2 > columns:
            break
        right += hint
    return left, right


def _hint(name: str, does: str) -> list[Part]:
    return [(None, name), ("dim", f" {does}  ")]


def _waiting(view: View) -> list[Part]:
    """Count down to the next attempt of a request, beside the key that stops it."""
    delay, left = view.state.conversation.delayed, view.wait_left()
    if delay is None or not left:
        return []
    of = f"/{delay.attempts}" if delay.attempts else ""
    return [("warning", f"attempt {delay.attempt}{of} in {left}"), (None, "  ")]


def _figures(view: View, *, short: bool) -> list[list[Part]]:
    """Return mode, model, jobs, context, tokens, cached share, cost, each in parts; the first matter most."""
    talk = view.state.conversation
    session, usage = talk.session, talk.usage
    if session is None:
        return []
    model = "offline model" if session.offline else session.model
    figures_: list[list[Part]] = [[("chrome", session.mode)], [(None, model)]]
    if talk.jobs:
        count = len(talk.jobs)
        figures_.append([("chrome", f"{count} job" if count == 1 else f"{count} jobs")])
    if usage is None:
        return figures_
    size = context(talk)
    shown = size.split()[-1] if short else size
    turn, total = usage.turn, usage.total
    figures_.append([("dim", "context "), (None, shown)])
    if spent := turn.prompt_tokens + turn.completion_tokens:
        figures_.append([("dim", "turn "), (None, figures.count(spent))])
    figures_.append(
        [(None, figures.count(total.prompt_tokens + total.completion_tokens)), ("dim", " tokens")]
    )
    if total.cached_tokens:
        cached = figures.share(total.cached_tokens, total.prompt_tokens)
        figures_.append([(None, cached), ("dim", " cached")])
    if total.cost_usd is not None:
        figures_.append([(None, figures.money(total.cost_usd))])
    return figures_


def _hints(view: View, answering: Answering) -> list[tuple[str, str]]:
    cancel = keys.shown("cancel")
    if view.desk.overlay == "recall":
        return [(keys.shown("send"), "open"), (cancel, "close"), (keys.shown("line_down"), "choose")]
    if view.desk.overlay is not None:
        return [(cancel, "close"), (keys.shown("line_down"), "scroll")]
    if view.waiting_ask is not None:
        return _answer_hints(answering)
    hints = [(keys.shown("help"), "help"), (keys.shown("plan"), "plan")]
    if view.state.conversation.transcript.foldable:
        hints.append((keys.shown("fold"), "fold" if view.desk.unfolded else "details"))
    hints.append((keys.shown("newline"), "new line"))
    if view.state.conversation.busy:
        return [(cancel, "stop"), (keys.shown("send"), "queue"), *hints]
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
