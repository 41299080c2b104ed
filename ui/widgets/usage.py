"""What the turn and the session have used, laid over the screen."""

from typing import Final

import urwid

from ipc.messages import SessionOpened, Usage
from ui import figures
from ui.state import Conversation
from ui.view import View
from ui.widgets.row import Part, ScrolledPage, Size

_LABEL_COLUMNS: Final = 12


class UsageText(urwid.WidgetWrap[urwid.Pile]):
    """Tokens and cost of this turn, of the session and of its subagents; the context and its window."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._text = urwid.Text("")
        self._page = ScrolledPage(self._text, view.glyphs)
        head = urwid.Text(("strong", "Usage"), wrap=urwid.CLIP)
        super().__init__(urwid.Pile([(urwid.PACK, head), (urwid.WEIGHT, 1, self._page)]))

    def render(self, size: Size, focus: bool = False) -> urwid.Canvas:
        self._text.set_text(_markup(self._view.state.conversation))
        return super().render(size, focus)

    def scroll(self, key: str) -> None:
        """Scroll by one of `up`, `down`, `page up`, `page down`."""
        self._page.scroll(key)


def _markup(talk: Conversation) -> list[Part]:
    session, usage = talk.session, talk.usage
    if session is None or usage is None:
        return [("dim", "Nothing was sent to a model yet.")]
    parts: list[Part] = [("strong", "Context\n"), *_line("now", context(talk, session, exact=True))]
    sections = {"This turn": usage.turn, "This session, subagents included": usage.total}
    if usage.subagent != Usage():
        sections["Subagents, of that"] = usage.subagent
    for title, used in sections.items():
        parts += [("strong", f"\n\n{title}\n"), *_section(used)]
    return parts


def _section(used: Usage) -> list[Part]:
    sent = f"{used.prompt_tokens:,} tokens"
    if used.prompt_tokens:
        sent += f", {figures.share(used.cached_tokens, used.prompt_tokens)} of them cached"
    return [
        *_line("sent", f"{sent}\n"),
        *_line("received", f"{used.completion_tokens:,} tokens\n"),
        *_line("cost", "unknown" if used.cost_usd is None else figures.money(used.cost_usd)),
    ]


def _line(label: str, said: str) -> list[Part]:
    return [("dim", f"  {label}".ljust(_LABEL_COLUMNS)), (None, said)]


def context(talk: Conversation, session: SessionOpened, *, exact: bool = False) -> str:
    """Return the size of the conversation, and its share of the window where that is known."""
    count = (lambda number: f"{number:,}") if exact else figures.count
    window = session.context_window
    said = count(talk.context_tokens)
    if window <= 0:
        return f"{said} tokens; the window is unknown" if exact else said
    share = figures.share(talk.context_tokens, window)
    return f"{said} of {count(window)} tokens ({share})" if exact else f"{said}/{count(window)} {share}"
