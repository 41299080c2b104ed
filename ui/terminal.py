"""The terminal as urwid drives it, with the keys that Fido wants for itself."""

import base64
import contextlib
import os
import re
import signal
import sys
import termios
from collections.abc import Callable
from typing import Final

import urwid

from ipc.terminal_text import LINE_END
from ui.answers import ASK_BACKGROUND, Answers
from ui.composer.pastes import Pastes
from ui.outlet import Outlet

_LINE_FEED: Final = 10
_CTRL_J: Final = tuple(b"\x1b[106;5u")
"""The key as the kitty keyboard protocol names it; a line feed alone is Enter to urwid."""
_MOST_AHEAD: Final = 4_096
"""Bytes that a terminal keeps for a program which does not read."""
_EMPTY: Final = "\x1b[0m\x1b[H\x1b[2J"
ESCAPE_S: Final = 0.03
"""How long an Esc may turn out to begin another key. A terminal sends a key in one write; 0.125 s were
more than all else that a cancel takes."""

_ABOVE_ASCII: Final = re.compile("[^\x00-\x7f]+")
_LOOKS_LIKE: Final = str.maketrans("‘’“”–—…•→←✓✗─│⟨⟩", "''\"\"-->*><+x-|<>")


def in_ascii(text: str) -> str:
    """Return `text` in ASCII, each stretch of other characters as wide as it was laid out."""
    return _ABOVE_ASCII.sub(_replaced, text.replace(f"{LINE_END} ", r"\n").translate(_LOOKS_LIKE))


def _replaced(found: re.Match[str]) -> str:
    return "?" * urwid.calc_width(found[0], 0, len(found[0]))


class Terminal(urwid.display.raw.Screen):
    """A raw screen in which Ctrl-J is not Enter, and Ctrl-C, Ctrl-Z, Ctrl-S, Ctrl-Q, Ctrl-O are keys.

    It never waits for the terminal: not for answers, and not for room when it writes.
    """

    def __init__(self, answers: Answers, outlet: Outlet | None, on_drawn: Callable[[], None]) -> None:
        """`outlet`: where frames go without waiting; None: standard output, as it is."""
        output = sys.stdout if outlet is None else outlet
        asks = not _prints_osc(os.environ.get("TERM", ""))
        super().__init__(output=output, bracketed_paste_mode=True, focus_reporting=asks, extended_keys=asks)
        self.set_input_timeouts(complete_wait=ESCAPE_S)
        self.set_terminal_properties(hyperlinks=asks)
        self.ascii_only = False
        self.pastes = Pastes()
        self._answers = answers
        self._outlet = outlet
        self._on_drawn = on_drawn
        self._began = False
        self.missed = False
        """Whether the last frame was not drawn, for want of room."""
        self._frame: list[str] | None = None
        """What was written of a frame that is being drawn."""
        self._cursor: tuple[int, int] | None = None
        # Who does not know it ignores it, and an answer that it is unknown may be late or lost.
        self.modes.synchronized_output = asks

    def write(self, data: str) -> None:
        """Write to the terminal; to one that knows ASCII alone, something of the same width."""
        if self._frame is not None:
            self._frame.append(data)
        else:
            super().write(in_ascii(data) if self.ascii_only else data)

    def flush(self) -> None:
        """Write what is to be written, but for a frame that is not whole yet."""
        if self._frame is None:
            super().flush()

    def draw_screen(self, size: tuple[int, int], canvas: urwid.Canvas) -> None:
        """Draw a frame, unless nothing is new in it or the terminal has not read the one before."""
        self.missed = self._outlet is not None and self._outlet.full
        if self.missed:
            return
        before = None if self.screen_buf is None else self._drawn_rows
        self._frame = []
        try:
            super().draw_screen(size, canvas)
        finally:
            frame, self._frame = self._frame, None
        if before != self._drawn_rows or canvas.cursor != self._cursor:
            self._cursor = canvas.cursor
            self.write("".join(frame))
            self.flush()
        self._on_drawn()

    def tell(self, sequence: str) -> None:
        """Write what is no part of a frame."""
        if self._started and not _prints_osc(self.term):
            self.write(sequence)
            self.flush()

    def copy_to_clipboard(self, text: str) -> None:
        """Hand a text to the terminal's clipboard; through tmux, which by default hands on no other way."""
        super().copy_to_clipboard(text)
        if os.environ.get("TMUX"):
            data = base64.b64encode(text.encode("utf-8", "replace")).decode("ascii")
            self.tell(f"\x1bPtmux;\x1b\x1b]52;c;{data}\x07\x1b\\")

    def get_available_raw_input(self) -> list[int]:
        """Return what was typed, without pastes and answers; a line feed as the key Ctrl-J."""
        codes = self.pastes.sift(super().get_available_raw_input())
        while self.pastes.coming_in and (more := self._get_input_codes()):
            codes += self.pastes.sift(more)
        codes = self._answers.sift(codes)
        if _LINE_FEED not in codes:
            return codes
        typed: list[int] = []
        for code in codes:
            typed += _CTRL_J if code == _LINE_FEED else (code,)
        return typed

    def _start(self, *args: bool, **kwargs: bool) -> None:
        fd = self._input_fileno()
        if fd is None or not os.isatty(fd):
            super()._start(*args, **kwargs)
            return
        # Later, what waits there may be answers that another program has asked for.
        typed = b"" if self._began else _typed_ahead(fd)
        self._began = True
        super()._start(*args, **kwargs)
        if typed:
            self._partial_codes = [*typed]
            self._wake_input_loop()
        modes = termios.tcgetattr(fd)
        modes[0] &= ~(termios.ICRNL | termios.IXON)
        modes[3] &= ~(termios.ISIG | termios.IEXTEN)
        termios.tcsetattr(fd, termios.TCSANOW, modes)
        if not _prints_osc(self.term):
            self._answers.awaited = True
            self.write(ASK_BACKGROUND)
            self.flush()

    def _stop_mouse_restore_buffer(self) -> None:
        """Leave the alternate screen empty: tmux shows of it what a grown window has room for."""
        if self._alternate_buffer:
            self.write(_EMPTY)
        super()._stop_mouse_restore_buffer()
        if self._outlet is not None and not self._outlet.finish():
            # What the terminal does not read must not keep us: its settings come back once this is gone.
            with contextlib.suppress(termios.error):
                termios.tcflush(self._outlet.fileno(), termios.TCOFLUSH)


def _typed_ahead(fd: int) -> bytes:
    """Return what was typed before anybody read it, with Enter as the key sends it; urwid drops it."""
    modes = termios.tcgetattr(fd)
    at_once = [*modes[:3], modes[3] & ~(termios.ICANON | termios.ECHO), *modes[4:6], list(modes[6])]
    at_once[6][termios.VMIN] = at_once[6][termios.VTIME] = 0
    termios.tcsetattr(fd, termios.TCSANOW, at_once)
    try:
        return os.read(fd, _MOST_AHEAD).replace(b"\n", b"\r")
    finally:
        termios.tcsetattr(fd, termios.TCSANOW, modes)


def _prints_osc(term: str) -> bool:
    """Tell whether a terminal prints what it should read after an OSC: the Linux console, or a dumb one."""
    return term.startswith("linux") or term in ("dumb", "fbterm", "")


def suspend_group() -> None:
    """Stop this process and all that share its terminal; returns when the shell continues them."""
    os.kill(0, signal.SIGTSTP)
