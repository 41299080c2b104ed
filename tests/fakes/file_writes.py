"""Tells of writes to the files of a folder as soon as the kernel knows of them."""

import asyncio
import ctypes
import os
from collections.abc import Callable
from pathlib import Path

_MODIFIED = 0x2
_HEAD_BYTES = 16
_MOST_BYTES = 64 * 1024


class FileWrites:
    """Calls back on the running loop; of several writes since the last look there may be one call."""

    def __init__(self, folder: Path, on_write: Callable[[], None]) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if libc.inotify_add_watch(self._fd, os.fsencode(folder), _MODIFIED) < 0:
            raise OSError(ctypes.get_errno(), str(folder))
        self._on_write = on_write
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._fd, self._read)

    def close(self) -> None:
        self._loop.remove_reader(self._fd)
        os.close(self._fd)

    def _read(self) -> None:
        data = os.read(self._fd, _MOST_BYTES)
        while data:
            length = int.from_bytes(data[_HEAD_BYTES - 4 : _HEAD_BYTES], "little")
            data = data[_HEAD_BYTES + length :]
            self._on_write()
