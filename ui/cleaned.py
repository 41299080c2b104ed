"""Texts of facts made safe to draw: cleaned, bounded, and on one line where there is room for one."""

from typing import Final, TypeVar

import msgspec

from ipc.messages import Plan, PlanItem
from ipc.terminal_text import clean, clean_line
from ui.transcript.transcript import steady

DETAIL_LINES: Final = 3
"""Lines of a failed tool's output that the transcript shows."""
TAIL_LINES: Final = 5
"""Lines of a running tool's output that the transcript shows."""

_MULTILINE: Final = ("body", "details")
_MOST_READ: Final = 16_000
"""Characters of an output that are looked at for its lines."""

_MOST_KEPT: Final = 40_000
"""Characters of an output that are kept; whoever tells it bounds it, too."""

S = TypeVar("S", bound=msgspec.Struct)


def line(text: str, limit: int = 400) -> str:
    """Return a text on one line of at most `limit` characters."""
    return steady(clean_line(text, limit))


def first_lines(text: str) -> str:
    """Return the first lines of an output that hold something."""
    lines = [each for each in text[:_MOST_READ].splitlines() if each.strip()]
    return "\n".join(line(each) for each in lines[:DETAIL_LINES])


def output(text: str) -> str:
    """Return an output as a whole as it was printed, without what is empty around it."""
    return clean(text[:_MOST_KEPT].strip("\n").rstrip())


def last_lines(text: str) -> tuple[str, ...]:
    """Return the last lines of an output that hold something, with their indentation."""
    lines = [each for each in text[-_MOST_READ:].split("\n") if each.strip()]
    return tuple(" " * _indent(each) + line(each) for each in lines[-TAIL_LINES:])


def fact(told: S) -> S:
    """Return a fact or value with its texts cleaned, on one line unless they may have more."""
    changes: dict[str, str | tuple[str, ...] | dict[str, tuple[str, ...]]] = {}
    for name in told.__struct_fields__:
        value = getattr(told, name)
        if isinstance(value, str):
            changes[name] = steady(value) if name in _MULTILINE else line(value)
        elif isinstance(value, tuple):
            changes[name] = tuple(map(line, value))
        elif isinstance(value, dict):
            changes[name] = {line(key): tuple(map(line, values)) for key, values in value.items()}
    return msgspec.structs.replace(told, **changes)


def plan(told: Plan) -> Plan:
    """Return a plan with its texts cleaned."""
    items: tuple[PlanItem, ...] = tuple(map(fact, told.items))
    return msgspec.structs.replace(told, items=items, reason=line(told.reason), session=line(told.session))


def _indent(text: str) -> int:
    return min(len(text) - len(text.lstrip(" ")), 40)
