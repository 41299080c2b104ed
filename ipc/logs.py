"""The log of a process: its stderr, or a file; no line of it holds what looks like a secret."""

import logging
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final

from ipc.secret_text import without_secrets

_log = logging.getLogger(__name__)
_QUIET: Final = ("openai", "httpx2", "httpcore2")
"""Their own lines hold headers and whole requests."""


class SafeFormatter(logging.Formatter):
    """Formats a record with its traceback, then takes the secrets out of all of it."""

    def __init__(self, redact: Callable[[str], str] = without_secrets) -> None:
        super().__init__(logging.BASIC_FORMAT)
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        return self._redact(super().format(record))


def begin(level: object, formatter: logging.Formatter | None = None, *, file: Path | None = None) -> None:
    """Log from `level` on, such as `warning`; warnings and exceptions that nobody caught are logged, too.

    May be called again, with a formatter that knows more.
    """
    handler = logging.StreamHandler() if file is None else logging.FileHandler(file, encoding="utf-8")
    handler.setFormatter(formatter or SafeFormatter())
    logging.basicConfig(level=str(level).upper(), handlers=[handler], force=True)
    logging.captureWarnings(capture=True)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    sys.excepthook = _uncaught
    threading.excepthook = lambda args: _uncaught(args.exc_type, args.exc_value, args.exc_traceback)
    sys.unraisablehook = lambda args: _uncaught(args.exc_type, args.exc_value, args.exc_traceback)


def _uncaught(kind: type[BaseException], error: BaseException | None, where: TracebackType | None) -> None:
    """Python would write it to stderr as it is."""
    shown = (kind, error or kind(), where)
    _log.critical("not caught", exc_info=shown)
