"""What the terminal says of Fido to who looks elsewhere: its title, and a word when something waits."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final, Literal

from ipc.terminal_text import clean_line
from ui.view import View

State = Literal["", "working", "waiting for you", "not answering"]
AWAY_S: Final = 20.0
"""Seconds without key or mouse after which nobody is taken to look, where the terminal does not tell."""
_LONGEST: Final = 80
"""Characters of a title or a notification."""


@dataclass(slots=True)
class Attention:
    """Follows the state, and tells once of each thing that begins to wait for the person."""

    view: View
    typed_at: float
    """When a key or the mouse was used last, or the screen came."""
    focused: bool | None = None
    """Whether the person looks at this window; None while the terminal has not told."""
    _ask: str = ""
    _busy: bool = False

    def touched(self) -> None:
        """Note that a key or the mouse was used: whoever does that looks, whatever the terminal has told."""
        self.typed_at = self.view.clock()
        self.focused = self.focused or None

    def title(self) -> str:
        """Return the window's title: the workspace and what Fido does there."""
        session = self.view.state.conversation.session
        name = "" if session is None else PurePath(session.workspace).name
        return clean_line(" - ".join(each for each in ("Fido", name, self._state) if each), _LONGEST)

    def news(self) -> str:
        """Return what began to wait since this was asked last, for who looks elsewhere; empty: nothing."""
        talk, ask = self.view.state.conversation, self.view.waiting_ask
        goes_on = talk.busy or self.view.desk.sending.current is not None or bool(self.view.desk.outbox)
        asked, answered = ask is not None and ask.ask_id != self._ask, self._busy and not goes_on
        self._ask = "" if ask is None else ask.ask_id
        self._busy = goes_on
        if not (asked or answered) or not self._elsewhere or self.view.desk.stopping:
            return ""
        said = f"needs an answer: {ask.title}" if asked and ask is not None else "is done"
        return clean_line(f"Fido {said}", _LONGEST)

    @property
    def _state(self) -> State:
        state = self.view.state
        if state.cut_off:
            return "not answering"
        if self.view.waiting_ask is not None:
            return "waiting for you"
        return "working" if state.conversation.busy else ""

    @property
    def _elsewhere(self) -> bool:
        if self.focused is None:
            return self.view.clock() - self.typed_at > AWAY_S
        return not self.focused


def notification(news: str, how: str, environ: Mapping[str, str]) -> str:
    """Return what makes a terminal tell `news`: OSC 9, a bell, or nothing. `how`: as in the settings."""
    bell, desktop = "\x07", f"\x1b]9;{news}\x07"
    inside = bool(environ.get("TMUX"))
    if inside:  # tmux hands on what is wrapped, if it may, and marks the window where a bell rang
        desktop = "\x1bPtmux;" + desktop.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    match how:
        case "bell":
            return bell
        case "desktop":
            return desktop
        case "auto":
            return desktop + bell if inside else desktop
        case _:
            return ""
