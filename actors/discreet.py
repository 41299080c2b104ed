"""How an exception is logged where its words may be private: its type and where it was raised, no more."""

import traceback
from types import TracebackType

from ipc.logs import SafeFormatter

_Raised = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


def course_of(error: BaseException) -> str:
    """The type of an exception and the lines of code it came through; what it says may quote anything."""
    frames = "".join(traceback.format_tb(error.__traceback__)).rstrip()
    return f"{frames}\n{type(error).__name__}".lstrip()


class DiscreetFormatter(SafeFormatter):
    """Formats the exception of a record without its words."""

    def formatException(self, ei: _Raised) -> str:  # noqa: N802 - the name is the base class's
        return course_of(ei[1]) if ei[1] is not None else ""
