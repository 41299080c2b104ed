"""What to do when an actor has ended (pure).

Rules
-----
The front decides: a headless one ends the run with its status, a screen that was closed ends it well, one
that broke comes back. Everything else comes back, too, a few times within a short while. A start that was
refused for a reason the person can mend ends the run.
"""

from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import Final, Literal

RESTARTS: Final = 3
WINDOW_S: Final = 30.0
START_REFUSED: Final = 78
"""Exit status of an actor that wrote the reason into its failure file."""

REOPEN: Final = 75
"""Exit status of a parent that ended in good order to come back with another session."""

Verdict = Literal["restart", "end", "refused", "give_up"]


@dataclass(slots=True)
class RestartBudget:
    """Counts the ends of each actor."""

    restarts: int = RESTARTS
    window_s: float = WINDOW_S
    _ends: dict[str, deque[float]] = field(default_factory=lambda: defaultdict(deque))

    def judge(self, actor: str, status: int, now: float) -> Verdict:
        """Decide; `status` is an exit status or minus a signal, `now` monotonic seconds."""
        if status == START_REFUSED:
            return "refused"
        if actor == "headless" or (actor == "ui" and status == 0):
            return "end"
        if status == REOPEN:
            return "restart"
        ends = self._ends[actor]
        ends.append(now)
        while now - ends[0] > self.window_s:
            ends.popleft()
        return "restart" if len(ends) <= self.restarts else "give_up"
