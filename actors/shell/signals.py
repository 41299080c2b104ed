"""Signals as bytes on a pipe, for a process that waits in `poll`."""

import contextlib
import os
import signal


class Signals:
    """Takes these signals from now on."""

    def __init__(self, *numbers: signal.Signals) -> None:
        self.fd, write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for number in numbers:
            signal.signal(number, lambda *_: None)

    def take(self) -> bytes:
        """The numbers of the signals that came since the last look."""
        with contextlib.suppress(BlockingIOError):
            return os.read(self.fd, 4096)
        return b""
