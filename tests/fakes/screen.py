"""A screen without a terminal: facts and keys go in, what a person would read comes out."""

from datetime import UTC, datetime, timedelta

import urwid

from ipc.messages import AnyFact, PlanChanged, ToolFinished, ToolStarted, TurnStarted
from tests.fakes.facts import PLAN, activity, session, usage
from ui import theme
from ui.desk import Desk
from ui.keyboard import Keyboard
from ui.orders import Order
from ui.screen import NARROW, Screen, panel_columns
from ui.state import ViewState, apply, rebuild
from ui.theme import Glyphs
from ui.view import View

Cell = tuple[str | None, str]


TODAY = datetime(2025, 3, 5, 14, 30).astimezone()
"""A Wednesday afternoon, local time."""


def stamp(at: datetime) -> str:
    """Return a time as facts carry it."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Desktop:
    """The whole screen with a clock that is set by hand."""

    def __init__(self, columns: int = 80, rows: int = 24, glyphs: Glyphs = theme.UNICODE) -> None:
        urwid.set_encoding("utf-8")
        self.size = (columns, rows)
        self.now = 100.0
        self.wall = TODAY
        self.view = View(ViewState(), Desk(), glyphs, lambda: self.now, lambda: self.wall, "/home/me")
        self.screen = Screen(self.view, lambda _, key: key)
        self.orders: list[Order] = []
        self.keyboard = Keyboard(self.screen)
        self._frame: urwid.Canvas | None = None

    def tell(self, *facts: AnyFact) -> "Desktop":
        """Let facts happen."""
        for fact in facts:
            apply(self.view.state, fact, self.now)
        self.orders += self.view.desk.advance(self.view.state)
        self.screen.changed()
        return self

    def tell_anew(self, *facts: AnyFact) -> "Desktop":
        """Let the parent tell everything anew, as it does when something got lost."""
        rebuild(self.view.state, "parent", facts, self.now)
        self.orders += self.view.desk.advance(self.view.state)
        self.screen.changed()
        return self

    def press(self, *names: str) -> "Desktop":
        """Press keys by urwid's names."""
        self.draw()
        for name in names:
            self.orders += self.keyboard.press(self.size, name)
            self.screen.changed()
        return self

    def make_anew(self) -> None:
        """Make every part with the signs that there are now."""
        self.screen = Screen(self.view, lambda _, key: key, self.screen)
        self.keyboard = Keyboard(self.screen)
        self.screen.changed()

    def type(self, text: str) -> "Desktop":
        """Type characters."""
        return self.press(*text)

    def wait(self, seconds: float) -> "Desktop":
        """Let time pass; what has happened before is seen first."""
        self.draw()
        self.now += seconds
        self.wall += timedelta(seconds=seconds)
        return self

    def draw(self) -> urwid.Canvas:
        """Draw a frame, and keep it as a terminal does: urwid caches the parts of a living canvas."""
        self._frame = self.screen.render(self.size, focus=True)
        self.screen.drawn()
        return self._frame

    @property
    def lines(self) -> list[str]:
        """The rows of the screen; what divides it is drawn whole, also where the thumb of a bar is."""
        at = self.size[0] - panel_columns(self.size[0]) - 2
        lines = [line.decode("utf-8").rstrip() for line in self.draw().text]
        divided = self.size[0] >= NARROW
        return [
            f"{line[:at]}│{line[at + 1 :]}" if divided and line[at:][:1] == "┃" else line for line in lines
        ]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def words(self) -> str:
        """All that can be read, for texts that may wrap: the transcript's side, then the panel's."""
        sides = [line.replace("┃", "").split(" │ ") for line in self.lines]
        left, right = (" ".join(side[0] for side in sides), " ".join(side[-1] for side in sides if side[1:]))
        return " ".join(f"{left} {right}".replace("│", " ").split())

    def line_with(self, text: str) -> str:
        """The first row that holds a text; empty when none does."""
        return next((line for line in self.lines if text in line), "")

    def roles_of(self, text: str) -> set[object]:
        """The roles in which the first row that holds a text is drawn, on its side of the screen."""
        for row in self.draw().content():
            for side in _sides([(getattr(role, "base", role), run.decode()) for role, _, run in row]):
                if text in "".join(run for _, run in side):
                    return {role for role, run in side if run.strip()}
        return set()


def _sides(row: list[tuple[object, str]]) -> list[list[tuple[object, str]]]:
    """A row left and right of what divides the screen."""
    at = next((at for at, (_, run) in enumerate(row) if run.strip() in ("│", "┃")), len(row))
    return [row[:at], row[at + 1 :]]


def working(columns: int = 80, rows: int = 24) -> Desktop:
    """A turn in which a tool has run and a subagent works."""
    return Desktop(columns, rows).tell(
        session(),
        PlanChanged(plan=PLAN),
        TurnStarted(turn=1, prompt="What is risky?"),
        ToolStarted(call_id="1", name="list_files", summary="."),
        ToolFinished(call_id="1", name="list_files", status="ok", duration_ms=12, display=""),
        ToolStarted(call_id="2", name="delegate", summary="Inspect"),
        usage(),
        activity("read_file", "src/app.py", elapsed_ms=2_000),
    )


def draw_exactly(desk: Desktop) -> None:
    """Draw a frame; every row of it is as wide as the screen."""
    columns, rows = desk.size
    canvas = desk.draw()
    assert (canvas.cols(), canvas.rows()) == (columns, rows)
    for row in canvas.content():
        assert sum(urwid.calc_width(run, 0, len(run)) for _, _, run in row) == columns
