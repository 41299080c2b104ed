"""Text that comes in very many pieces, kept in few. Pure."""

from typing import Final

_TOGETHER: Final = 1024


class Pieces:
    """Joins as it grows: a string of one character takes fifty bytes of its own."""

    __slots__ = ("_fresh", "_joined", "last")

    def __init__(self) -> None:
        self.last = ""
        """The newest piece."""
        self._joined: list[str] = []
        self._fresh: list[str] = []

    def append(self, text: str) -> None:
        """Add a piece at the end."""
        self.last = text
        self._fresh.append(text)
        if len(self._fresh) == _TOGETHER:
            self._joined.append("".join(self._fresh))
            self._fresh.clear()

    def __str__(self) -> str:
        return "".join(self._joined) + "".join(self._fresh)
