"""Whatever is told, typed, pasted and clicked, in whatever order and at whatever size: it is drawn."""

from itertools import chain
from typing import NamedTuple

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ipc.messages import AnyFact, MessageDelta
from tests.fakes.facts import FACTS, TEXTS
from tests.fakes.screen import Desktop, draw_exactly
from ui import keys, theme
from ui.pointer import point


class Size(NamedTuple):
    columns: int
    rows: int


class Click(NamedTuple):
    """urwid's number of a button; the wheel is 4 and 5. The place is a share of the screen, in percent."""

    button: int
    column: int
    row: int


class Wait(NamedTuple):
    seconds: float


class Anew(NamedTuple):
    """All that the parent tells, told anew: another session, a restart, or what was taken back."""

    facts: list[AnyFact]


KEYS = sorted({key for binding in keys.BINDINGS for key in binding.keys} - {"ctrl z"})
EDITING = sorted(chain.from_iterable(names for names, _ in keys.EDITING))
COMMANDS = [f"/{word}" for word in ("plan", "usage", "jobs", "help", "copy", "copy code", "undo", "nonsense")]
PRESSED = st.sampled_from([*KEYS, *EDITING, "a", "é", "漢", "@", "/", "?", "1", "4", "n", " "])
SIZES = st.builds(Size, st.integers(1, 210), st.integers(1, 60)) | st.sampled_from(
    [Size(40, 10), Size(39, 9), Size(80, 24), Size(79, 24), Size(110, 30), Size(1, 1)]
)
PERCENT = st.integers(0, 99)
TOLD = FACTS | st.builds(MessageDelta, turn=st.just(1), kind=st.just("text"), text=TEXTS)
Step = AnyFact | str | Size | Click | Wait | Anew
STEPS = st.lists(
    TOLD
    | st.builds(Anew, st.lists(TOLD, max_size=4))
    | st.sampled_from(["ctrl f", "enter", "n", "N"])
    | PRESSED
    | PRESSED
    | st.sampled_from(COMMANDS)
    | TEXTS.map(keys.Pasted)
    | SIZES
    | st.builds(Click, st.sampled_from([1, 4, 5]), PERCENT, PERCENT)
    | st.builds(Wait, st.floats(0, 100)),
    max_size=40,
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(STEPS, SIZES, st.booleans())
def test_whatever_happens_is_drawn_and_never_wider_than_the_screen(
    steps: list[Step], size: Size, ascii_only: bool
) -> None:
    desk = Desktop(*size, glyphs=theme.ASCII if ascii_only else theme.UNICODE)
    for step in steps:
        happen(desk, step)
        draw_exactly(desk)


def happen(desk: Desktop, step: Step) -> None:
    """Do one step as the screen's actor would."""
    match step:
        case Size():
            desk.size = step
        case Click(button, column, row):
            columns, rows = desk.size
            point(desk.screen, ("mouse press", button, column * columns // 100, row * rows // 100))
            desk.screen.changed()
        case Anew(facts):
            desk.tell_anew(*facts)
        case Wait(seconds):
            desk.wait(seconds)
        case str() if step in COMMANDS:
            desk.type(step).press("enter")
        case str():
            desk.press(step)
        case _:
            desk.tell(step)
