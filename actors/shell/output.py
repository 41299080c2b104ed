"""What a command prints: its two ends in memory, and a file once there is more than they hold."""

import contextlib
import os
from typing import Final

from actors.shell.clip import Clip

FILE_BYTES: Final = 12 << 20
"""Most of one command's output that is kept on disk, from its start on.

While it is written nobody reads what is printed: 16 MiB took as long as a quarter of 100 MB read from a pipe.
"""
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Output:
    """Takes all that is printed; neither memory nor the disk fills up with it."""

    def __init__(self, head: int, tail: int, path: str, limit: int = FILE_BYTES) -> None:
        """`path` is where the file will be made; empty: nowhere."""
        self._clip = Clip(head, tail)
        self._in_memory = head + tail
        self._path = path
        self._limit = limit
        self._fd = -1
        self.file = ""
        """Path of the file; empty: there is none."""
        self.in_file = 0
        """Bytes in it."""

    @property
    def total(self) -> int:
        """Bytes taken."""
        return self._clip.total

    def add(self, chunk: memoryview | bytes) -> None:
        """Take the next bytes; nothing of a view is held."""
        if self._path and self._clip.total + len(chunk) > self._in_memory:
            self.open_file()
        self._clip.add(chunk)
        if self._fd >= 0:
            self._write(chunk)

    def open_file(self) -> None:
        """Have the file, with all there was so far; a disk that does not take it costs the file alone.

        To be called as long as the two ends still are everything.
        """
        if not self._path:
            return
        path, self._path = self._path, ""
        with contextlib.suppress(OSError):
            self._fd = os.open(path, _NEW, 0o600)
            self.file = path
            self._write(self._clip.head + self._clip.tail)

    def ends(self) -> tuple[bytes, bytes]:
        """The first bytes, and the last ones behind these."""
        return self._clip.head, self._clip.tail

    def last(self, count: int) -> bytes:
        """At most that many of the last bytes."""
        head, tail = self.ends()
        joined = len(tail) < count and self.total == len(head) + len(tail)
        return (head + tail if joined else tail)[-count:]

    def _write(self, chunk: memoryview | bytes) -> None:
        view = memoryview(chunk)[: self._limit - self.in_file]
        try:
            while view:
                written = os.write(self._fd, view)
                self.in_file += written
                view = view[written:]
        except OSError:
            self._limit = self.in_file
        if self.in_file >= self._limit:
            os.close(self._fd)
            self._fd = -1
