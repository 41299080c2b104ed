"""Starts a command in a session of its own: no terminal, nothing to read, one pipe for all output."""

import os
import signal
from typing import Final

from actors.shell.wire import Request

TO_DEFAULT: Final = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ)
"""Signals that a command is to find as in any shell."""


class NotStarted(Exception):
    """The system refused to start the shell; the message is the reason."""


class Unwalled(Exception):
    """The kernel refused the wall, so nothing was started; the message is the reason."""


def start(request: Request, output: int) -> int:
    """Start the command; return its process id. Raises `NotStarted`, `Unwalled`.

    Spawned where nothing has to be done in between: that copies no page tables, which halves the time to the
    first output.
    """
    arguments, environ = ["bash", "-c", request["command"]], os.environ | request["environ"]
    try:
        os.chdir(request["folder"])
        if request["wall"] is not None:
            from actors.shell.walled_start import start_walled  # a third of the host's start, for few

            return start_walled(request["shell"], arguments, environ, output, request["wall"])
        return os.posix_spawn(
            request["shell"],
            arguments,
            environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, output, 1), (os.POSIX_SPAWN_DUP2, output, 2)],
            setsid=True,
            setsigdef=TO_DEFAULT,
        )
    except OSError as error:
        raise NotStarted(error.strerror) from error
