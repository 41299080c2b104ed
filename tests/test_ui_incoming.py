"""A paste whose end is lost: it is said, and given up after a silence; time is turned by hand."""

from collections.abc import Callable
from dataclasses import dataclass

from ui import keys
from ui.composer.incoming import SAID_AFTER_S, Incoming
from ui.composer.pastes import SILENCE_S, Pastes
from ui.desk import Desk


@dataclass
class Alarm:
    at: float
    act: Callable[[], None]
    cancelled: bool = False

    def cancel(self) -> None:
        self.cancelled = True


class Clock:
    """Alarms that ring as time is turned on."""

    def __init__(self) -> None:
        self.now = 0.0
        self.alarms: list[Alarm] = []

    def later(self, delay: float, act: Callable[[], None]) -> Alarm:
        self.alarms.append(Alarm(self.now + delay, act))
        return self.alarms[-1]

    def wait(self, seconds: float) -> None:
        end = self.now + seconds
        while due := [each for each in self.alarms if each.at <= end and not each.cancelled]:
            self.alarms.remove(due[0])
            self.now = due[0].at
            due[0].act()
        self.now = end


class Line:
    """What is read from a terminal, and what becomes of it."""

    def __init__(self) -> None:
        self.pastes, self.desk, self.clock = Pastes(), Desk(), Clock()
        self.taken: list[str] = []
        self.incoming = Incoming(self.pastes, self.desk, self.clock.later, self.taken.append, lambda: None)

    def read(self, data: bytes) -> None:
        self.pastes.sift([*data])
        self.incoming.look()


def test_a_paste_that_comes_in_at_once_is_never_said() -> None:
    line = Line()
    line.read(b"\x1b[200~half")
    line.read(b" and half\x1b[201~")
    line.clock.wait(2 * SILENCE_S)
    assert (line.desk.pasting, line.taken) == (False, [])


def test_a_paste_that_stops_is_said_until_it_ends() -> None:
    line = Line()
    line.read(b"\x1b[200~half")
    line.clock.wait(SAID_AFTER_S)
    assert line.desk.pasting
    line.read(b"typed into it")
    assert line.desk.pasting
    line.read(b"\x03")
    assert not line.desk.pasting
    line.clock.wait(2 * SILENCE_S)
    assert line.taken == []


def test_after_a_long_silence_it_is_given_up_and_what_came_is_there() -> None:
    line = Line()
    line.read(b"\x1b[200~half")
    line.clock.wait(SILENCE_S - 1)
    line.read(b" more")
    line.clock.wait(SILENCE_S - 1)
    assert line.taken == []
    line.clock.wait(1)
    assert line.taken == ["half more"]
    assert isinstance(line.taken[0], keys.Pasted)
    assert (line.desk.pasting, line.pastes.coming_in) == (False, False)
