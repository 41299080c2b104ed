"""Choosing an earlier session from a list that is searched while one types; pure."""

from dataclasses import dataclass, field
from datetime import datetime

from ipc.messages import SessionSummary
from ui import cleaned, figures


@dataclass(slots=True)
class Recall:
    """The sessions, what is searched for, and which one is chosen."""

    asked: bool = False
    """Whether the parent was asked for the list."""
    sessions: tuple[SessionSummary, ...] | None = None
    """None until the list has come."""
    query: str = ""
    _searched: list[str] = field(default_factory=list)
    """What is searched of each session."""
    _chosen: str = ""

    def fill(self, sessions: tuple[SessionSummary, ...], now: datetime) -> None:
        """Take the list as it came."""
        self.sessions = tuple(cleaned.fact(session) for session in sessions)
        self._searched = [_text(session, now).casefold() for session in self.sessions]

    def matching(self) -> list[SessionSummary]:
        """Return the sessions that hold all words of the query, in any case and order."""
        words = self.query.casefold().split()
        pairs = zip(self.sessions or (), self._searched, strict=True)
        return [session for session, text in pairs if all(word in text for word in words)]

    def chosen(self, open_id: str) -> SessionSummary | None:
        """Return the chosen session; the open one can not be chosen."""
        choices = self._choices(open_id)
        same = (session for session in choices if session.session_id == self._chosen)
        return next(same, None) or next(iter(choices), None)

    def choose(self, session_id: str) -> None:
        """Choose a session by its id, if it can be chosen."""
        self._chosen = session_id

    def move(self, steps: int, open_id: str) -> None:
        """Choose the session so many steps further down, at most the last."""
        choices, chosen = self._choices(open_id), self.chosen(open_id)
        if chosen is not None:
            at = max(0, min(choices.index(chosen) + steps, len(choices) - 1))
            self._chosen = choices[at].session_id

    def _choices(self, open_id: str) -> list[SessionSummary]:
        return [session for session in self.matching() if session.session_id != open_id]


def changed_at(session: SessionSummary) -> str:
    """Return the time when something last happened in a session."""
    return session.changed_at or session.started_at


def _text(session: SessionSummary, now: datetime) -> str:
    when = f"{figures.moment(changed_at(session), now)} {changed_at(session)}"
    return f"{session.first_prompt} {session.session_id} {session.model} {when}"
