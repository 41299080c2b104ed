"""A program in a real pty, its screen kept by a terminal emulator."""

import asyncio
import contextlib
import fcntl
import os
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pyte

DEADLINE_S = 20.0
ENVIRONMENT = {
    "TERM": "xterm-256color",
    "COLORTERM": "truecolor",
    "LANG": "C.UTF-8",
    "PATH": os.environ["PATH"],
}

# What a person types, as a terminal sends it.
ENTER, ESC, CTRL_C, CTRL_J, CTRL_O, CTRL_R, CTRL_Z = "\r", "\x1b", "\x03", "\n", "\x0f", "\x12", "\x1a"
UP, DOWN, PAGE_UP, PAGE_DOWN = "\x1b[A", "\x1b[B", "\x1b[5~", "\x1b[6~"
F1, F2, F3 = "\x1bOP", "\x1bOQ", "\x1bOR"
ALT_ENTER, ALT_UP = "\x1b\r", "\x1b[1;3A"


class TerminalProgram:
    """Runs one command; `screen` is what a person sees of it."""

    def __init__(
        self,
        command: list[str],
        columns: int = 80,
        rows: int = 24,
        environment: dict[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        self.screen = pyte.Screen(columns, rows)
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
                while not condition():
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
