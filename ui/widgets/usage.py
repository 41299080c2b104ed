"""What the turn and the session have used, laid over the screen."""

from typing import Final

from ipc.messages import Usage
from ui import figures
from ui.state import Conversation
from ui.widgets.row import Part

_LABEL_COLUMNS: Final = 12


def usage_markup(talk: Conversation) -> list[Part]:
    """Return tokens and cost of this turn, the session and its subagents; the context and its window."""
    usage = talk.usage
    if talk.session is None or usage is None:
        return [("dim", "Nothing was sent to a model yet.")]
    parts: list[Part] = [("strong", "Context\n"), *_line("now", context(talk, exact=True))]
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


def context(talk: Conversation, *, exact: bool = False) -> str:
    """Return the size of the conversation, and its share of the window where that is known."""
    count = (lambda number: f"{number:,}") if exact else figures.count
    window = talk.context_window
    said = count(talk.context_tokens)
    if window <= 0:
        return f"{said} tokens; the window is unknown" if exact else said
    share = figures.share(talk.context_tokens, window)
    return f"{said} of {count(window)} tokens ({share})" if exact else f"{said}/{count(window)} {share}"
