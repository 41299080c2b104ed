"""Everything a widget may look at."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Final

from ipc.messages import AskRaised
from ui.desk import Desk
from ui.keys import Keymap
from ui.state import ViewState
from ui.theme import Glyphs

COUNTED_FROM_S: Final = 1.0
"""Length of a wait from which on it is counted down; what is over before it can be read only flickers."""


@dataclass(slots=True)
class View:
    """The state, the person's side of it, and how things look here."""

    state: ViewState
    desk: Desk
    glyphs: Glyphs
    clock: Callable[[], float]
    """Monotonic seconds."""
    wall: Callable[[], datetime]
    """The time of day, with its zone."""
    home: str
    """The person's home directory, to shorten paths."""
    _stopped_at: float | None = None
    """When the agent was found gone; None while it is there."""

    @property
    def keymap(self) -> Keymap:
        """What each key means here."""
        return self.state.keymap

    @property
    def phase(self) -> int:
        """0 or 1, changing twice a second: the only movement on the screen, and none for who wants none."""
        return int(self.now * 2) % 2 if self.state.look.motion else 0

    @property
    def alive(self) -> bool:
        """Whether the agent is there: without it nothing is under way."""
        return self.state.parent_lost is None and not self.state.cut_off

    @property
    def now(self) -> float:
        """Seconds for the clocks of what goes on: they stand still while the agent is gone."""
        return self.clock() if self._stopped_at is None else self._stopped_at

    def keep_time(self) -> None:
        """Stop those clocks when the agent is gone; when it is back they show what is true then."""
        if self.alive:
            self._stopped_at = None
        elif self._stopped_at is None:
            self._stopped_at = self.clock()

    @property
    def moving(self) -> bool:
        """Whether something on the screen changes with time alone."""
        talk = self.state.conversation
        return self.alive and (talk.busy or (talk.activity is not None and talk.activity.fact.active))

    def wait_left(self, agent_id: str = "") -> str:
        """Return how long a request of the agent waits yet, as ` 9 s`; empty when none does.

        It stays as wide as it was at first, so that nothing moves beside it. `agent_id` as in the fact.
        """
        delay = self.state.conversation.delayed
        if delay is None or delay.agent_id != agent_id or delay.delay_s < COUNTED_FROM_S:
            return ""
        left = min(delay.until - self.clock(), delay.delay_s)
        if left <= 0 or self.desk.stopping or not self.alive:
            return ""
        return f"{ceil(left):{len(str(ceil(delay.delay_s)))}} s"

    @property
    def until_midnight(self) -> float:
        """Seconds until words like `yesterday` mean another day."""
        now = self.wall()
        midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
        return (midnight - now).total_seconds()

    @property
    def waiting_ask(self) -> AskRaised | None:
        """The oldest approval or question that the person has not answered yet."""
        return next(self._unanswered, None)

    @property
    def asks_behind(self) -> int:
        """How many wait behind the oldest."""
        return max(0, sum(1 for _ in self._unanswered) - 1)

    @property
    def _unanswered(self) -> Iterator[AskRaised]:
        asks = self.state.conversation.asks.values()
        return (ask for ask in asks if ask.ask_id not in self.desk.settled)
