"""The files of the workspace as the screen knows them: asked for when somebody wants one; pure."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from ipc.messages import PathsListed
from ui.composer.fuzzy import Paths

FRESH_S: Final = 10.0
"""Seconds for which a list is good enough."""


@dataclass(slots=True)
class Files:
    """The list, and whether a newer one is on its way."""

    paths: Paths = field(default_factory=Paths)
    is_cut: bool = False
    """Whether there are more files than are listed."""
    asking: bool = False
    count: int = 0
    """How many lists have come."""
    _asked_at: float = float("-inf")

    def ask(self, now: float) -> bool:
        """Tell whether the list is to be asked for now; who is told so asks."""
        if self.asking or now - self._asked_at < FRESH_S:
            return False
        self.asking, self._asked_at = True, now
        return True

    def failed(self) -> None:
        """Note that no list comes; the next who wants one asks again."""
        self.asking, self._asked_at = False, float("-inf")

    def take(self, listed: PathsListed) -> Iterator[None]:
        """Take the list, a piece at a time."""
        yield from self.paths.take(listed.paths)
        self.is_cut, self.asking = listed.is_cut, False
        self.count += 1
