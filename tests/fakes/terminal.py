"""A program in a real pty, its screen kept by a terminal emulator."""

import asyncio
import contextlib
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pyte

DEADLINE_S = 20.0
ENVIRONMENT = {
    "TERM": "xterm-256color",
    "COLORTERM": "truecolor",
    "LANG": "C.UTF-8",
    "PATH": os.environ["PATH"],
}

# What a person types, as a terminal sends it.
ENTER, ESC, TAB, BACKSPACE = "\r", "\x1b", "\t", "\x7f"
CTRL_C, CTRL_D, CTRL_F, CTRL_G, CTRL_J, CTRL_O = (chr(ord(key) & 31) for key in "CDFGJO")
CTRL_R, CTRL_U, CTRL_Z, CTRL_UNDERSCORE = (chr(ord(key) & 31) for key in "RUZ_")
UP, DOWN, RIGHT, LEFT, HOME, END = (f"\x1b[{final}" for final in "ABCDHF")
PAGE_UP, PAGE_DOWN, CTRL_HOME, CTRL_END = "\x1b[5~", "\x1b[6~", "\x1b[1;5H", "\x1b[1;5F"
F1, F2, F3, F4, F5 = "\x1bOP", "\x1bOQ", "\x1bOR", "\x1bOS", "\x1b[15~"
ALT_ENTER, ALT_UP, ALT_DELETE, ALT_V, SHIFT_TAB = "\x1b\r", "\x1b[1;3A", "\x1b[3;3~", "\x1bv", "\x1b[Z"
FOCUS_IN, FOCUS_OUT = "\x1b[I", "\x1b[O"

# What a program asks a terminal, and what it answers: its background, its ways, what it is.
_QUESTIONS: Final = re.compile(rb"\x1b\]11;\?(?:\x07|\x1b\\)|\x1b\[\?(\d+)\$p|\x1b\[0?c")
SYNCHRONIZED: Final = b"2026"
FRAME_BEGIN, FRAME_END = b"\x1b[?25l", b"\x1b[?25h"
"""Around each frame the cursor is hidden and shown again."""
_REST_S: Final = 0.03
"""Within so long the rest of a frame follows that shows no cursor, so that nothing tells its end."""


class Emulator(pyte.Screen):
    """Leaves alone what it does not know: a question about keys looks like a colour to it."""

    def select_graphic_rendition(self, *attributes: int, private: bool = False) -> None:
        if not private:
            super().select_graphic_rendition(*attributes)


class TerminalProgram:
    """Runs one command; `screen` is what a person sees of it."""

    def __init__(
        self,
        command: list[str],
        columns: int = 80,
        rows: int = 24,
        environment: dict[str, str] | None = None,
        cwd: Path | None = None,
        background: str = "",
    ) -> None:
        """`background`: such as `ffffff`; a terminal without one answers no question."""
        self.background = background
        self._asked = b""
        self.screen = Emulator(columns, rows)
        self.written = bytearray()
        """Every byte the program has written."""
        self._stream = pyte.ByteStream(self.screen)
        self.fd, tty = os.openpty()
        self._set_size(columns, rows)
        self.modes_before = termios.tcgetattr(tty)
        self._tty = tty
        self.process = subprocess.Popen(
            command,
            stdin=tty,
            stdout=tty,
            stderr=tty,
            env=ENVIRONMENT | (environment or {}),
            cwd=cwd,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        self._pidfd = os.pidfd_open(self.process.pid)
        os.set_blocking(self.fd, False)

    @property
    def text(self) -> str:
        """The screen as lines."""
        return "\n".join(line.rstrip() for line in self.screen.display)

    @property
    def lines(self) -> list[str]:
        """The rows of the screen, without what is blank at their ends."""
        return self.text.split("\n")

    @property
    def frames(self) -> int:
        """How many frames it has drawn."""
        return self.written.count(FRAME_BEGIN)

    def row_of(self, text: str) -> int:
        """The first row that holds a text. Raises `StopIteration`."""
        return next(row for row, line in enumerate(self.screen.display) if text in line)

    def cells(self, text: str) -> list[pyte.screens.Char]:
        """The cells of the first place where a text of narrow characters stands."""
        row = self.row_of(text)
        cells = [self.screen.buffer[row][column] for column in range(self.screen.columns)]
        at = "".join(cell.data or "\0" for cell in cells).index(text)
        return cells[at : at + len(text)]

    @property
    def modes(self) -> list[object]:
        """The terminal's settings, as `stty` knows them."""
        return termios.tcgetattr(self._tty)

    def line_with(self, text: str) -> str:
        """The first line that holds a text; empty when none does."""
        return next((line.rstrip() for line in self.screen.display if text in line), "")

    def type(self, text: str) -> None:
        """Type on the keyboard; what is drawn meanwhile is read, or nobody could take much."""
        data = text.encode()
        while data:
            drawn, free, _ = select.select([self.fd], [self.fd], [], DEADLINE_S)
            if free:
                data = data[os.write(self.fd, data) :]
            elif drawn:
                self.take()

    def paste(self, text: str) -> None:
        """Paste, as a terminal with bracketed paste does."""
        self.type(f"\x1b[200~{text.replace(chr(10), chr(13))}\x1b[201~")

    def resize(self, columns: int, rows: int) -> None:
        """Change the window's size."""
        self.screen.resize(rows, columns)
        self._set_size(columns, rows)

    @property
    def fits(self) -> bool:
        """Whether the header reaches to the right edge; one that was drawn for another size does not."""
        return "Fido" in self.lines[0] and self.screen.columns - len(self.lines[0]) in (0, 1)

    async def redraws(self, columns: int, rows: int) -> None:
        """Change the window's size, as a terminal that forgets what was on it; wait for the frame."""
        self.resize(columns, rows)
        self.screen.erase_in_display(2)
        await self.becomes(lambda: self.fits, f"a screen of {columns}x{rows}")

    def click(self, column: int, row: int, button: int = 0) -> None:
        """Press and release a button; columns and rows count from 0. The wheel is 64 (up) and 65 (down)."""
        at = f"{button};{column + 1};{row + 1}"
        self.type(f"\x1b[<{at}M" + (f"\x1b[<{at}m" if button < 64 else ""))

    @property
    def is_given_back(self) -> bool:
        """Whether settings, screen, mouse, paste mode and cursor are as before it was drawn on."""
        drawn_on = {number << 5 for number in (1000, 1002, 1003, 1004, 1006, 1049, 2004)}
        shown = pyte.modes.DECTCEM in self.screen.mode and not self.screen.cursor.hidden
        return self.modes == self.modes_before and shown and not drawn_on & self.screen.mode

    def take(self, size: int = 65536) -> bool:
        """Read what is there, at most so many bytes; return whether there was something."""
        with contextlib.suppress(OSError):
            data = os.read(self.fd, size)
            self.feed(data)
            return bool(data)
        return False

    def feed(self, data: bytes) -> None:
        """Draw what the program has written."""
        self.written += data
        self._stream.feed(data)
        if self.background:
            self._answer(data)

    def _answer(self, data: bytes) -> None:
        self._asked += data
        end = 0
        for asked in _QUESTIONS.finditer(self._asked):
            end = asked.end()
            os.write(self.fd, self._answer_to(asked))
        self._asked = self._asked[end:][-16:]

    def _answer_to(self, asked: re.Match[bytes]) -> bytes:
        if asked[1]:
            return b"\x1b[?%b;%d$y" % (asked[1], 2 if asked[1] == SYNCHRONIZED else 0)
        if asked[0].endswith(b"c"):
            return b"\x1b[?62;22c"
        red, green, blue = (self.background[at : at + 2] * 2 for at in (0, 2, 4))
        return f"\x1b]11;rgb:{red}/{green}/{blue}\x1b\\".encode()

    def fill(self) -> None:
        """Take the room for output that is left while nobody reads; nothing of it is seen."""
        fd = os.open(os.ttyname(self._tty), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
        with contextlib.suppress(BlockingIOError):
            while os.write(fd, b"\0"):
                pass
        os.close(fd)

    @property
    def ended(self) -> bool:
        """Whether the program has ended."""
        return self.process.poll() is not None

    def until(self, condition: Callable[[], bool], what: str = "it", deadline_s: float = DEADLINE_S) -> None:
        """Read until the screen is as expected. Raises `AssertionError` with the screen."""
        end = time.monotonic() + deadline_s
        while not condition():
            ready, _, _ = select.select([self.fd, self._pidfd], [], [], max(0.0, end - time.monotonic()))
            if self.fd in ready:
                self.take()
            elif not condition():
                raise AssertionError(self._missing(what))

    @property
    def is_full(self) -> bool:
        """Whether the program can write no more, as nobody has read what it wrote."""
        return not select.select([], [self._tty], [], 0)[1]

    @property
    def rests(self) -> bool:
        """Whether what is drawn is no part of a frame whose rest is on its way."""
        shown = self.written.rfind(FRAME_END) > self.written.rfind(FRAME_BEGIN)
        return shown or not select.select([self.fd], [], [], _REST_S)[0]

    async def shows(self, *texts: str, deadline_s: float = DEADLINE_S) -> None:
        """Wait until all texts stand on the screen."""
        await self.becomes(lambda: all(text in self.text for text in texts), f"{texts}", deadline_s)

    async def becomes(
        self, condition: Callable[[], bool], what: str = "it", deadline_s: float = DEADLINE_S
    ) -> None:
        """Wait on the running loop until the screen is as expected, or the program has ended."""
        loop, changed = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self.fd, lambda: (self.take(), changed.set()))
        loop.add_reader(self._pidfd, lambda: (loop.remove_reader(self._pidfd), changed.set()))
        try:
            async with asyncio.timeout(deadline_s):
                while not (self.rests and condition()):
                    assert not self.ended or self.take(), self._missing(what)
                    changed.clear()
                    await changed.wait()
        except TimeoutError:
            raise AssertionError(self._missing(what)) from None
        finally:
            loop.remove_reader(self.fd)
            loop.remove_reader(self._pidfd)

    async def ends(self, deadline_s: float = DEADLINE_S) -> int:
        """Wait for the program's end; return its status."""
        await self.becomes(lambda: self.ended, "the end", deadline_s)
        self.take()
        return self.process.wait()

    def _missing(self, what: str) -> str:
        return f"{what} did not come; the screen:\n{self.text}"

    def close(self) -> None:
        """End the program and take what it has still written."""
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.hang_up()
        os.close(self._pidfd)

    def hang_up(self) -> None:
        """Close the window."""
        for fd in (self.fd, self._tty):
            if fd >= 0:
                os.close(fd)
        self.fd = self._tty = -1

    def _set_size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def __enter__(self) -> "TerminalProgram":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
