"""Nobody answers what they have not seen: an approval takes keys once it has been in sight for a moment."""

import pytest

from ipc.messages import AskRaised, AskSettled, CancelTurn, SettleAsk
from tests.fakes.facts import approval, finished
from tests.fakes.screen import Desktop, draw_exactly, working
from ui.asking import GRACE_S
from ui.composer.draft import Draft
from ui.desk import Message

LONG = approval("\n".join(f"make step-{number}" for number in range(40)))


def answers(desk: Desktop) -> list[SettleAsk]:
    return [order for order in desk.orders if isinstance(order, SettleAsk)]


def asked(columns: int = 80, rows: int = 24, ask: AskRaised | None = None) -> Desktop:
    """A turn that waits for an answer, the grace over."""
    return working(columns, rows).tell(ask or approval()).wait(2 * GRACE_S)


# --- what covers it


@pytest.mark.parametrize("before", ["raised first", "covered first"])
@pytest.mark.parametrize("answer", ["1", "enter"])
@pytest.mark.parametrize(("covers", "closes"), [("f2", "f2"), ("f2", "esc"), ("f1", "esc"), ("f5", "x")])
def test_a_key_right_behind_the_one_that_uncovers_an_ask_does_not_answer_it(
    covers: str, closes: str, answer: str, before: str
) -> None:
    desk = asked().press(covers) if before == "raised first" else working().press(covers).tell(approval())
    desk.wait(10)
    assert "Allow once" not in "".join(desk.lines[-8:])
    desk.press(closes, answer)
    assert answers(desk) == []
    desk.press("ctrl u").wait(0.9 * GRACE_S).press("1")
    assert answers(desk) == []
    desk.press("ctrl u").wait(2 * GRACE_S).press("1")
    assert [order.decision for order in answers(desk)] == ["allow_once"]


@pytest.mark.parametrize("key", ["ctrl g", "ctrl z"])
def test_whoever_had_the_terminal_meanwhile_answers_nothing_with_the_first_key(key: str) -> None:
    desk = asked().press(key)
    desk.now += 10
    desk.orders += desk.keyboard.press(desk.size, "enter")
    assert answers(desk) == []
    assert desk.wait(2 * GRACE_S).press("1").orders[-1] == SettleAsk(ask_id="ask-1", decision="allow_once")


def test_a_draft_that_came_from_the_editor_is_no_yes_however_late_enter_is_pressed() -> None:
    desk = asked()
    assert "› 1 Allow once" in desk.text
    desk.screen.composer.editor.insert_text("please also fix the docs")
    assert "› 2 Deny" in desk.wait(60).text
    desk.press("enter")
    assert answers(desk) == []
    assert "Deny, and say why:" in desk.text


def test_a_choice_that_was_moved_to_stays_while_something_else_is_looked_at() -> None:
    desk = asked().press("down", "down", "f2").wait(1).press("f2").wait(2 * GRACE_S)
    assert "› 3 Allow for" in desk.text
    desk.screen.composer.editor.insert_text("a draft")
    assert "› 2 Deny" in desk.text


@pytest.mark.parametrize("size", [(39, 24), (80, 9), (20, 5), (1, 1)])
def test_a_screen_that_is_too_small_takes_text_for_the_draft_and_answers_nothing(
    size: tuple[int, int],
) -> None:
    desk = asked()
    desk.size = size
    desk.wait(10).press("1", "enter", "down", "f2", "f5", "shift tab", "tab", "/", "q", "enter")
    assert desk.orders == []
    desk.size = (80, 24)
    assert "1/q" in desk.text
    assert desk.view.desk.overlay is None
    assert "Allow once" in desk.text


@pytest.mark.parametrize("first", ["", "f2", "f5"])
def test_on_a_screen_that_is_too_small_the_key_it_names_stops_the_turn(first: str) -> None:
    desk = working()
    if first:
        desk.press(first)
    desk.size = (39, 24)
    assert "Esc stops the turn" in desk.text
    assert desk.press("esc").orders == [CancelTurn()]


@pytest.mark.parametrize(("columns", "rows"), [(40, 10), (60, 16), (80, 10), (80, 14), (80, 24)])
def test_what_is_typed_while_keys_still_go_to_the_draft_is_in_sight(columns: int, rows: int) -> None:
    desk = working(columns, rows).type("hello").tell(LONG)
    desk.type(" world")
    assert "hello world" in desk.text
    assert desk.draw().cursor is not None
    draw_exactly(desk)


# --- what was written


def test_a_reason_outlives_the_way_back_to_the_choices() -> None:
    desk = asked().press("2").type("it deletes my data").press("esc")
    assert "it deletes" not in desk.text
    assert "it deletes my data" in desk.press("2").text
    assert desk.press("enter").orders == [
        SettleAsk(ask_id="ask-1", decision="deny", text="it deletes my data")
    ]


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("end", [AskSettled(ask_id="ask-1", outcome="deny"), finished(status="cancelled")])
def test_a_reason_becomes_the_draft_when_the_ask_goes_away(end: AskSettled, back: bool) -> None:
    desk = working().type("a draft").tell(approval()).wait(2 * GRACE_S).press("2").type("it deletes my data")
    if back:
        desk.press("esc")
    desk.tell(end)
    assert desk.screen.composer.editor.edit_text == "it deletes my data\na draft"


def test_a_reason_that_was_given_is_no_draft() -> None:
    desk = asked().press("2").type("no").press("enter").tell(AskSettled(ask_id="ask-1", outcome="deny"))
    assert desk.screen.composer.editor.edit_text == ""


def test_a_reason_that_did_not_arrive_is_still_there() -> None:
    desk = asked().press("2").type("it deletes my data").press("enter")
    desk.view.desk.failed(desk.orders[-1], "no_answer", "The agent did not answer.", "")  # type: ignore[arg-type]
    assert "it deletes my data" in desk.tell().text
    desk.tell(finished(status="cancelled"))
    assert desk.screen.composer.editor.edit_text == "it deletes my data"
    order = SettleAsk(ask_id="ask-1", decision="deny", text="too late")
    assert desk.view.desk.failed(order, "ask_settled", "It was answered.", "") == Draft("too late")


def test_other_signs_leave_what_was_begun_at_an_ask() -> None:
    desk = asked().press("2").type("it deletes")
    desk.make_anew()
    assert "it deletes" in desk.text
    assert desk.type(" it").press("enter").orders[-1] == SettleAsk(
        ask_id="ask-1", decision="deny", text="it deletes it"
    )


def test_an_ask_that_only_has_the_name_of_another_is_another() -> None:
    desk = asked().press("2").type("because")
    desk.tell(AskSettled(ask_id="ask-1", outcome="deny"), approval("something else"))
    assert "something else" in desk.text
    assert "1 Allow once" in desk.text
    assert desk.screen.composer.editor.edit_text == "because"


# --- which answers there are


def test_past_nine_an_answer_has_no_number_and_the_arrows_reach_it() -> None:
    options = tuple(f"option {number}" for number in range(1, 15))
    ask = AskRaised(ask_id="q", kind="question", tool="ask_user", title="?", body="Which?", options=options)
    desk = asked(80, 40, ask)
    assert "9 option 9" in desk.text
    assert "    option 10" in desk.text
    assert "10 option" not in desk.text
    assert "1-9 answer  Up, Down more answers" in desk.lines[-1]
    desk.press(*["down"] * 9, "enter")
    assert answers(desk) == [SettleAsk(ask_id="q", decision="allow_once", text="option 10")]


@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize("rows", [10, 12, 15, 16, 18, 20, 24])
@pytest.mark.parametrize("said", ["", "short", "long " * 40])
def test_the_queue_and_what_is_said_give_way_to_the_answers(columns: int, rows: int, said: str) -> None:
    desk = working(columns, rows)
    for number in range(5):
        desk.view.desk.outbox.add(Draft(f"message {number}"))
    desk.tell(LONG).wait(2 * GRACE_S)
    desk.view.desk.message = Message("error", said) if said else None
    for text in ("1 Allow once", "2 Deny", "3 Allow for", "4 Allow always"):
        assert text in desk.text
    assert said[:5] in desk.text, "what has no place above is in the last row"
    draw_exactly(desk)


def test_beside_a_long_draft_the_queue_gives_way_to_many_answers() -> None:
    options = tuple(f"option {number}" for number in range(1, 8))
    ask = AskRaised(ask_id="q", kind="question", tool="ask_user", title="?", body="Which?", options=options)
    desk = working(80, 24)
    desk.screen.composer.editor.insert_text("draft\n" * 12)
    for number in range(5):
        desk.view.desk.outbox.add(Draft(f"message {number}"))
    shown = desk.tell(ask).wait(2 * GRACE_S).text
    assert all(f"{number} option {number}" in shown for number in range(1, 8))
    assert "9 Do not answer" in shown


def test_answers_out_of_sight_are_counted() -> None:
    options = tuple(f"option {number}" for number in range(1, 15))
    ask = AskRaised(ask_id="q", kind="question", tool="ask_user", title="?", body="Which?", options=options)
    desk = asked(60, 12, ask)
    seen = sum("option" in line for line in desk.lines)
    assert f"… {16 - seen} more answers: Up, Down" in desk.text


def test_several_that_wait_are_counted_without_the_one_in_sight() -> None:
    desk = working().tell(*(approval(name, ask_id=name) for name in "abc"))
    assert "2 more wait" in desk.line_with(" asks ")
