"""The terminal as urwid drives it, with the keys that Fido wants for itself."""

import os
import re
import signal
import termios
from typing import Final

import urwid

from ipc.terminal_text import LINE_END
from ui.composer.pastes import Pastes

_ENTER, _LINE_FEED, _ESCAPE = 13, 10, 27
ESCAPE_S: Final = 0.03
"""How long an Esc may turn out to begin another key. A terminal sends a key in one write; 0.125 s were
more than all else that a cancel takes."""

_ABOVE_ASCII: Final = re.compile("[^\x00-\x7f]+")
_LOOKS_LIKE: Final = str.maketrans("‘’“”–—…•→←✓✗─│⟨⟩", "''\"\"--~*><+x-|<>")


def in_ascii(text: str) -> str:
    """Return `text` in ASCII, each stretch of other characters as wide as it was laid out."""
    return _ABOVE_ASCII.sub(_replaced, text.replace(f"{LINE_END} ", r"\n").translate(_LOOKS_LIKE))


def _replaced(found: re.Match[str]) -> str:
    return "?" * urwid.calc_width(found[0], 0, len(found[0]))


class Terminal(urwid.display.raw.Screen):
    """A raw screen in which Ctrl-J is not Enter, and Ctrl-C, Ctrl-Z, Ctrl-S, Ctrl-Q, Ctrl-O are keys."""

    def __init__(self, *, ascii_only: bool = False) -> None:
        super().__init__(bracketed_paste_mode=True, focus_reporting=False)
        self.set_input_timeouts(complete_wait=ESCAPE_S)
        self._ascii_only = ascii_only
        self.pastes = Pastes()

    def write(self, data: str) -> None:
        """Write to the terminal; to one that knows ASCII alone, something of the same width."""
        super().write(in_ascii(data) if self._ascii_only else data)

    def get_available_raw_input(self) -> list[int]:
        """Return what was typed, without pastes; a line feed (Ctrl-J) as Alt-Enter, which means the same."""
        codes = self.pastes.sift(super().get_available_raw_input())
        while self.pastes.coming_in and (more := self._get_input_codes()):
            codes += self.pastes.sift(more)
        if _LINE_FEED not in codes:
            return codes
        typed: list[int] = []
        for code in codes:
            typed += (_ESCAPE, _ENTER) if code == _LINE_FEED else (code,)
        return typed

    def _start(self, *args: bool, **kwargs: bool) -> None:
        super()._start(*args, **kwargs)
        fd = self._input_fileno()
        if fd is None or not os.isatty(fd):
            return
        modes = termios.tcgetattr(fd)
        modes[0] &= ~(termios.ICRNL | termios.IXON)
        modes[3] &= ~(termios.ISIG | termios.IEXTEN)
        termios.tcsetattr(fd, termios.TCSADRAIN, modes)


def suspend_group() -> None:
    """Stop this process and all that share its terminal; returns when the shell continues them."""
    os.kill(0, signal.SIGTSTP)
