"""The terminal as urwid drives it, with the keys that Fido wants for itself."""

import logging
import os
import re
import select
import signal
import sys
import termios
import time
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

import urwid

from ipc.terminal_text import LINE_END
from ui import key_names, layouts
from ui.answers import ASK_BACKGROUND, PAUSE_S, Answers
from ui.composer.incoming import Timer
from ui.composer.pastes import Pastes
from ui.outlet import Outlet
from ui.palettes import Background

log = logging.getLogger(__name__)

K = TypeVar("K")

_LINE_FEED: Final = 10
_CTRL_J: Final = tuple(b"\x1b[106;5u")
"""The key as the kitty keyboard protocol names it; a line feed alone is Enter to urwid."""
_MOST_AHEAD: Final = 4_096
"""Bytes that a terminal keeps for a program which does not read."""
_WHOLE: Final = "\x1b[?2026l"
"""Ends a frame that the terminal has got a part of."""
_EMPTY: Final = "\x1b[0m\x1b[H\x1b[2J"
_ALERT: Final = "\x07"
ANSWERS_S: Final = 0.6
"""How long a terminal may take to answer, also over a satellite. What comes later is the shell's."""
_LAST_ANSWER: Final = re.compile(rb"\x1b\[\?[\d;]*c")
"""Device attributes: asked for last, and told by every terminal."""
STOP_AGAIN_S: Final = 0.1
"""Wait before stopping once more, as any program does that needs the terminal and does not have it."""
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

    It never waits for the terminal while it draws: not for answers, and not for room when it writes.
    """

    def __init__(
        self,
        outlet: Outlet | None,
        on_background: Callable[[Background], None],
        on_drawn: Callable[[], None],
        on_stop: Callable[[], None],
        later: Callable[[float, Callable[[], None]], Timer],
    ) -> None:
        """`outlet`: where frames go, None: standard output; `later` calls in so many seconds.

        `on_stop`: somebody wants this process to stop, as a shell does it.
        """
        output = sys.stdout if outlet is None else outlet
        reads = self._reads_osc = not _prints_osc(os.environ.get("TERM", ""))
        super().__init__(output=output, bracketed_paste_mode=True, focus_reporting=reads, extended_keys=reads)
        self.set_input_timeouts(complete_wait=ESCAPE_S)
        self.set_terminal_properties(hyperlinks=reads)
        self.ascii_only = False
        self.pastes = Pastes()
        self._answers = Answers(on_background)
        self._later = later
        self._pausing: Timer | None = None
        self._answered = False
        self._answers_until = float("-inf")
        """Until when answers may be on their way."""
        self._outlet = outlet
        self._on_drawn = on_drawn
        self._on_stop = on_stop
        self._began = False
        self.missed = False
        """Whether the last frame was not drawn, for want of room."""
        self._frame: list[str] | None = None
        """What was written of a frame that is being drawn, or of the end."""
        self._cursor: tuple[int, int] | None = None
        # Who does not know it ignores it, and an answer that it is unknown may be late or lost.
        self.modes.synchronized_output = reads

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

    @property
    def has_clipboard(self) -> bool:
        """Whether what is copied goes anywhere."""
        return self._reads_osc

    def tell(self, sequence: str) -> None:
        """Write what is no part of a frame."""
        if self._started and (self._reads_osc or sequence == _ALERT):
            self.write(sequence)
            self.flush()

    def copy_to_clipboard(self, text: str) -> None:
        """Hand a text to the terminal's clipboard, if it has one."""
        if self._started and self._reads_osc:
            super().copy_to_clipboard(text)

    def set_title(self, title: str | None) -> None:
        """Set the window's title, if there is a window."""
        if self._reads_osc:
            super().set_title(title)

    def named(self, typed: Iterable[K | str]) -> list[K | str]:
        """Return keys by one name each, whatever the terminal calls them, and a paste as one key."""
        named = self.pastes.named(typed)
        return [key_names.SAME.get(key, key) if type(key) is str else key for key in named]

    def get_available_raw_input(self) -> list[int]:
        """Return what was typed, without pastes and answers; a line feed as the key Ctrl-J."""
        if self._suspend_requested:
            self._suspend_requested = False
            self._on_stop()
        codes = self.pastes.sift(super().get_available_raw_input())
        while self.pastes.coming_in and (more := self._get_input_codes()):
            codes += self.pastes.sift(more)
        self._answers.awaited = self._outstanding
        codes = self._answers.sift(codes)
        if self._answers.holds:
            self._pause()
        if 0x1B in codes and all(code <= 0xFF for code in codes):
            codes = [*layouts.named(bytes(codes))]
        if _LINE_FEED not in codes:
            return codes
        typed: list[int] = []
        for code in codes:
            typed += _CTRL_J if code == _LINE_FEED else (code,)
        return typed

    def _pause(self) -> None:
        if self._pausing is not None:
            self._pausing.cancel()
        self._pausing = self._later(PAUSE_S, self._give_up)

    def _give_up(self) -> None:
        if self._answers.give_up():
            self._wake_input_loop()

    @property
    def _outstanding(self) -> bool:
        return not self._answered and time.monotonic() < self._answers_until

    def _detect_terminal_modes(self) -> None:
        """Ask what the terminal can, and which background it has, until it has answered once."""
        if self._answered or not self._reads_osc or not self._is_real_terminal():
            return
        self._answers_until = time.monotonic() + ANSWERS_S
        self.write(ASK_BACKGROUND)
        super()._detect_terminal_modes()

    def _apply_terminal_reports(self, decoded_codes: list[Any]) -> list[Any]:
        self._answered |= any(code[0] == "device attributes" for code in decoded_codes if type(code) is tuple)
        kept: list[Any] = super()._apply_terminal_reports(decoded_codes)
        return kept

    def _take_answers(self) -> None:
        """Take the answers that are on their way: whoever has the terminal next would read them as keys."""
        fd, read = self._input_fileno(), b""
        while fd is not None and self._outstanding:
            left = max(0.0, self._answers_until - time.monotonic())
            if not select.select([fd], [], [], left)[0] or not (more := os.read(fd, _MOST_AHEAD)):
                return
            read += more
            self._answered = _LAST_ANSWER.search(read) is not None

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

    def _stop(self) -> None:
        """Give the terminal back, as far as it still is one."""
        try:
            self._take_answers()
            self._frame = []
            super()._stop()
        except (termios.error, OSError):  # closed, or another's by now
            log.info("the terminal was gone before it was given back", exc_info=True)
        finally:
            self._frame = None

    def _stop_mouse_restore_buffer(self) -> None:
        """Leave the alternate screen empty: tmux shows of it what a grown window has room for."""
        if self._alternate_buffer:
            self.write(_EMPTY)
        super()._stop_mouse_restore_buffer()
        ending, self._frame = _WHOLE + "".join(self._frame or ()), None
        if self._outlet is None:
            self.write(ending)
            self.flush()
        elif not self._outlet.finish(ending):
            self._old_termios_settings = None  # by these whoever looks after us sees that it has yet to do it


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


def suspend_group() -> bool:
    """Stop this process and all that share its terminal, until a shell continues them.

    Return whether the terminal is theirs again. Else, after `bg` or `kill`, it is the shell's: whoever
    touched it now would be stopped before a signal that ends it is heard.
    """
    os.kill(0, signal.SIGTSTP)
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except OSError:  # there is none any more, which who reads it will be told
        return True
