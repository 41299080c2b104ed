"""What the mouse does to the parts of the screen."""

from ipc.messages import PlanChanged
from tests.fakes.facts import PLAN, approval
from tests.fakes.past import past
from tests.fakes.screen import Desktop
from ui.pointer import point

WHEEL_UP, WHEEL_DOWN, CLICK = 4, 5, 1


def at(desk: Desktop, button: int, column: int, row: int) -> str:
    desk.draw()
    point(desk.screen, ("mouse press", button, column, row))
    desk.screen.changed()
    return desk.text


def test_the_wheel_scrolls_what_is_under_it() -> None:
    desk = Desktop(120, 20).tell(*past(200), PlanChanged(plan=PLAN))
    before = desk.text
    transcript, panel = before.splitlines()[5][:70], before.splitlines()[5][85:]
    rolled = at(desk, WHEEL_UP, 10, 8).splitlines()[5]
    assert rolled[:70] != transcript
    assert rolled[85:] == panel
    over = at(desk, WHEEL_DOWN, 110, 14).splitlines()[5]
    assert over[:70] == rolled[:70]


def test_a_click_into_the_line_one_writes_goes_back_to_it() -> None:
    desk = Desktop(80, 24).tell(*past(20)).type("hello")
    desk.press("shift tab")
    assert desk.view.desk.reading.browsing
    at(desk, CLICK, 4, 22)
    assert not desk.view.desk.reading.browsing


def test_a_click_answers_nothing() -> None:
    desk = Desktop(80, 24).tell(approval("make"))
    for row in range(24):
        for column in range(0, 80, 4):
            at(desk, CLICK, column, row)
    assert desk.orders == []
    assert "1 Allow once" in desk.text


def test_the_mouse_is_somewhere_on_a_screen_too_small_for_anything() -> None:
    desk = Desktop(12, 4)
    for column, row in ((0, 0), (11, 3), (200, 200)):
        at(desk, CLICK, column, row)
        at(desk, WHEEL_UP, column, row)
