"""The last row: the keys that matter now, and the figures that nothing else on the screen shows."""

from typing import Final

from ui import figures
from ui.transcript.drawing import LEVEL_ROLE
from ui.view import View
from ui.widgets import header
from ui.widgets.hints import Around, hints
from ui.widgets.row import Content, Part, parts_width
from ui.widgets.usage import context

_SHORT: Final = 100
"""Columns below which the context is said as its share alone."""
_HINTS_KEPT: Final = 2
"""Hints that stand before the other figures."""


def status_line(view: View, columns: int, around: Around) -> Content:
    """Return key hints on the left and figures on the right, of both as many as there is room for."""
    mode = _mode(view, columns)
    if view.desk.pasting:
        ends = view.keymap.shown("interrupt")
        return [("warning", f" pasting{view.glyphs.ellipsis} {ends} ends it")], mode
    message = view.desk.message
    if message is not None and (around.unsaid or view.desk.overlay is not None):
        return [(LEVEL_ROLE[message.level], f" {view.glyphs.level[message.level]} {message.line}")], mode
    named = [_hint(*hint) for hint in hints(view, around)]
    named[0] = [(None, " "), *_sign(view), *_waiting(view), *named[0]]
    right = _figures_beside(view, columns, named, around)
    left: list[Part] = []
    for hint in named:
        if parts_width(left) + parts_width(hint) + parts_width(right) > columns:
            break
        left += hint
    role, last = left[-1] if left else (None, "")
    return [*left[:-1], (role, last.rstrip())], right


def _figures_beside(view: View, columns: int, named: list[list[Part]], around: Around) -> list[Part]:
    """Return as many figures as there is room for beside the hints that matter more."""
    # How to stop what goes on matters more than what it goes on with.
    kept = sum(map(parts_width, named[:_HINTS_KEPT]))
    way_out = parts_width(named[0]) if view.state.conversation.busy else 0
    way_out = kept if view.waiting_ask is not None else way_out
    right: list[Part] = []
    always, others = _figures(view, columns, around)
    for at, figure in enumerate([*always, *others]):
        part = [("dim", f" {view.glyphs.dot} "), *figure] if right else figure
        taken = parts_width(right) + parts_width(part) + 1 + (way_out if at < len(always) else kept)
        if taken > columns and right:
            break
        right += part
    return [*right, (None, " ")] if right else []


def _mode(view: View, columns: int) -> list[Part]:
    """Return the mode where the header has no room for it: it is on every screen."""
    session = view.state.conversation.session
    if session is None or columns >= header.WIDE:
        return []
    return [(header.MODE_ROLE[session.mode], session.mode), (None, " ")]


def _hint(name: str, does: str) -> list[Part]:
    return [(None, name), ("dim", f" {does}  ")]


def _sign(view: View) -> list[Part]:
    """Return what moves while something goes on, near the line that one writes."""
    alone = view.desk.overlay is None and view.waiting_ask is None and view.alive
    works = view.state.conversation.busy and alone
    return [("chrome", f"{view.glyphs.running[view.phase]} ")] if works else []


def _waiting(view: View) -> list[Part]:
    """Count down to the next attempt of a request, beside the key that stops it."""
    delay, left = view.state.conversation.delayed, view.wait_left()
    if delay is None or not left:
        return []
    of = f"/{delay.attempts}" if delay.attempts else ""
    return [("warning", f"attempt {delay.attempt}{of} in {left}"), (None, "  ")]


def _figures(view: View, columns: int, around: Around) -> tuple[list[list[Part]], list[list[Part]]]:
    """Return mode and jobs; then model, context, tokens, cost: all as far as nothing else shows them."""
    talk = view.state.conversation
    session = talk.session
    if session is None:
        return [], []
    always: list[list[Part]] = []
    others: list[list[Part]] = []
    if mode := _mode(view, columns):
        always.append(mode[:1])
    if columns < header.WIDE and not around.names:
        others.append([(None, header.model(session))])
    if talk.jobs:
        count = len(talk.jobs)
        always.append([("chrome", f"{count} job" if count == 1 else f"{count} jobs")])
    return always, others if around.session_head else [*others, *_used(view, short=columns < _SHORT)]


def _used(view: View, *, short: bool) -> list[list[Part]]:
    usage = view.state.conversation.usage
    if usage is None:
        return []
    size = context(view.state.conversation)
    turn, total = usage.turn, usage.total
    shown: list[list[Part]] = [[("dim", "context "), (None, size.split()[-1] if short else size)]]
    if spent := turn.prompt_tokens + turn.completion_tokens:
        shown.append([("dim", "turn "), (None, figures.count(spent))])
    shown.append([(None, figures.count(total.prompt_tokens + total.completion_tokens)), ("dim", " tokens")])
    if total.cost_usd is not None:
        shown.append([(None, figures.money(total.cost_usd))])
    return shown
