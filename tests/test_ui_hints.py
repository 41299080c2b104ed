"""Which keys the last row names, and when."""

import pytest

from ipc.messages import PlanChanged, ScreenConfigured, TurnStarted
from tests.fakes.facts import LICENSE, PLAN, SURVEY, activity, approval, finished, session
from tests.fakes.screen import Desktop, working
from ui.asking import GRACE_S

WIDTHS = [40, 60, 80, 120, 200]


def hints(desk: Desktop) -> str:
    return desk.lines[-1]


@pytest.mark.parametrize("columns", WIDTHS)
def test_the_first_hint_is_what_enter_or_esc_does_now(columns: int) -> None:
    desk = Desktop(columns).tell(session())
    assert "Enter send" in hints(desk)
    assert "Esc stop" in hints(desk.tell(TurnStarted(turn=1, prompt="x")))
    assert "Enter send" in hints(desk.tell(finished()))
    assert "Esc close" in hints(desk.press("f2"))
    assert "Esc back" in hints(desk.press("esc", "shift tab"))


def test_what_works_has_a_moving_sign_beside_the_line_one_writes() -> None:
    desk = working(80)
    assert hints(desk).startswith(" ● Esc stop") or hints(desk).startswith(" ○ Esc stop")
    before = hints(desk)
    assert hints(desk.wait(0.5)) != before
    assert hints(desk.tell(finished())).startswith(" Enter send")


@pytest.mark.parametrize("columns", WIDTHS)
def test_an_ask_names_its_numbers_and_the_key_to_the_rest_only_where_there_is_more(columns: int) -> None:
    desk = working(columns).tell(approval("make")).wait(2 * GRACE_S)
    assert "1-4 answer  Esc stop" in hints(desk)
    assert "PgDn" not in hints(desk)
    desk = working(columns).tell(approval("make\n" * 90, grant="")).wait(2 * GRACE_S)
    assert "1-2 answer  Esc stop" in hints(desk)
    assert ("PgDn read on" in hints(desk)) == (columns >= 80)
    assert "Enter answer  Esc back" in hints(desk.press("2"))


@pytest.mark.parametrize("columns", [80, 120, 200])
def test_queued_messages_name_the_keys_that_edit_and_remove_them(columns: int) -> None:
    desk = working(columns).type("and the tests?").press("enter")
    assert "Alt-Up edit queued  Alt-Delete remove it" in hints(desk)
    assert "put back" in hints(desk.press("meta up"))
    assert "editing and the tests?" in " ".join(desk.text.split())


def test_what_is_offered_names_the_keys_that_take_and_close_it() -> None:
    assert "Enter take  Esc close" in hints(Desktop(80).tell(session()).type("/us"))


def test_the_hints_name_the_keys_that_the_person_has_chosen() -> None:
    desk = Desktop(80).tell(ScreenConfigured(keys={"help": ("f8",)}), session())
    assert "F8 help" in hints(desk)


def test_no_width_drops_the_mode() -> None:
    for columns in range(40, 130):
        desk = Desktop(columns).tell(session(mode="yolo", model="a/very-long/name-of-a-model" * 3))
        assert "yolo" in desk.lines[0] + hints(desk)


def test_the_strip_says_when_all_is_done() -> None:
    done = PLAN.__class__(items=(SURVEY,), session=PLAN.session)
    assert "Plan 1/1  all done" in Desktop(60).tell(session(), PlanChanged(plan=done)).text
    open_ = PLAN.__class__(items=(SURVEY, LICENSE), session=PLAN.session)
    assert "all done" not in Desktop(60).tell(session(), PlanChanged(plan=open_), activity("x")).text
