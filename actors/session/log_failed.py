"""How the log of a session fails, in words for the person."""

import errno
from typing import Final

NO_SPACE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class LogFailed(Exception):
    """The session can not be recorded or read; told to the person.

    `code` is `log_full` (what was to be written waits for room), `log_gone`, `log_failed` (nothing more
    will be written), `session_in_use`, `session_not_found`, `log_unreadable`, `other_workspace`.
    """

    def __init__(self, code: str, message: str, next_step: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.next_step = next_step


def failed(error: OSError, what: str) -> LogFailed:
    """Say what the system refused."""
    if error.errno in NO_SPACE:
        return LogFailed(
            "log_full", f"{what}: {error.strerror}.", "Make room on the disk; what waits is written then."
        )
    return LogFailed(
        "log_failed",
        f"{what}: {error.strerror}.",
        "Check that folder and its disk, then start a new session.",
    )
