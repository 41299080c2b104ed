"""What becomes of a message on its way: it is never lost, and never runs twice for want of an answer."""

import pytest

from ipc.messages import StartTurn, TurnStarted
from ipc.secret_text import MARK
from tests.fakes.facts import finished, session
from tests.fakes.screen import Desktop
from ui import keys
from ui.composer.draft import Draft
from ui.composer.sending import is_same
from ui.desk import SILENT


def sent(text: str = "do it", columns: int = 80) -> tuple[Desktop, StartTurn]:
    """A screen on which a message was sent that has got no answer yet."""
    desk = Desktop(columns).tell(session()).type(text).press("enter")
    order = desk.orders[-1]
    assert isinstance(order, StartTurn)
    return desk, order


def refuse(desk: Desktop, order: StartTurn) -> None:
    assert desk.view.desk.failed(order, "turn_running", "A turn is running.", "") is None


def leave_unanswered(desk: Desktop, order: StartTurn) -> None:
    """Give the message back, as nobody answered."""
    if (draft := desk.view.desk.failed(order, "no_answer", SILENT, "")) is not None:
        desk.screen.composer.give_back(draft)


def draft(desk: Desktop) -> str:
    return desk.screen.composer.editor.draft().whole


def begin(desk: Desktop, prompt: str, turn: int = 1) -> Desktop:
    return desk.tell(TurnStarted(turn=turn, prompt=prompt))


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("other", ["another prompt", "do it"])
def test_a_message_that_is_refused_as_another_turn_begins_is_queued_and_sent_after_it(
    before: bool, other: str
) -> None:
    desk, order = sent()
    if before:
        refuse(desk, order)
        begin(desk, other)
    else:
        begin(desk, other)
        refuse(desk, order)
    assert desk.view.desk.queue == ["do it"]
    desk.view.desk.held = False
    desk.tell(finished())
    assert desk.orders == [order, order]


def test_a_refused_message_is_sent_again_when_the_parent_is_free() -> None:
    desk, order = sent()
    refuse(desk, order)
    assert desk.tell().orders == [order]
    desk.view.desk.held = False
    assert desk.tell().orders == [order, order]


def test_nothing_more_is_sent_between_the_answer_and_the_beginning_of_the_turn() -> None:
    desk, order = sent("one")
    desk.view.desk.done(order)
    desk.type("two").press("enter")
    assert (desk.orders, desk.view.desk.queue) == ([order], ["two"])
    begin(desk, "one").tell(finished())
    assert desk.orders == [order, StartTurn(prompt="two")]


def test_a_message_without_an_answer_comes_back_and_its_doubt_is_said() -> None:
    desk, order = sent()
    leave_unanswered(desk, order)
    assert draft(desk) == "do it"
    assert "may yet be taken" in desk.words


def test_a_message_whose_turn_has_begun_is_not_given_back() -> None:
    desk, order = sent()
    leave_unanswered(begin(desk, "do it"), order)
    assert (draft(desk), desk.view.desk.message) == ("", None)


@pytest.mark.parametrize(("typed", "left"), [("", ""), ("!", "do it!"), ("\nmore", "more")])
def test_what_came_back_goes_when_its_turn_begins_after_all_unless_it_was_changed(
    typed: str, left: str
) -> None:
    desk, order = sent()
    leave_unanswered(desk, order)
    for key in typed:
        desk.press("meta enter" if key == "\n" else key)
    begin(desk, "do it")
    assert draft(desk) == left
    assert "may yet be taken" not in desk.words


def test_another_turn_takes_nothing_of_what_came_back() -> None:
    desk, order = sent()
    leave_unanswered(desk, order)
    assert draft(begin(desk, "another prompt")) == "do it"


@pytest.mark.parametrize("columns", [40, 80])
def test_who_sends_once_more_what_came_back_has_it_done_once(columns: int) -> None:
    desk, order = sent(columns=columns)
    leave_unanswered(desk, order)
    desk.press("enter")
    assert desk.orders == [order, order]
    begin(desk, "do it")
    refuse(desk, order)
    assert (desk.view.desk.queue, draft(desk)) == ([], "")
    desk.tell(finished())
    assert desk.orders == [order, order]


def test_what_came_back_and_was_queued_again_is_done_once_and_the_rest_of_the_queue_stays() -> None:
    desk, order = sent()
    leave_unanswered(desk, order)
    desk.view.desk.held = True
    desk.press("enter").type("next").press("enter")
    begin(desk, "do it")
    assert desk.view.desk.queue == ["next"]


def test_a_folded_paste_that_came_back_goes_with_its_message() -> None:
    pasted = "line\n" * 50
    desk = Desktop().tell(session()).type("see ").press(keys.Pasted(pasted), "enter")
    order = desk.orders[-1]
    assert isinstance(order, StartTurn)
    leave_unanswered(desk, order)
    assert draft(desk) == f"see {pasted}"
    assert draft(begin(desk, f"see {pasted}")) == ""


def test_a_message_that_can_not_be_sent_comes_back_without_a_doubt() -> None:
    desk, order = sent()
    assert desk.view.desk.failed(order, "not_sent", "This can not be sent: too long.", "") == Draft(
        "do it", 5
    )
    assert desk.view.desk.message is not None
    assert desk.view.desk.message.text == "This can not be sent: too long."


@pytest.mark.parametrize(
    ("told", "same"),
    [
        ("my key is sk-1, use it", True),
        (f"my key is {MARK}, use it", True),
        (f"my key is {MARK}", False),
        ("my key is sk-1", False),
    ],
)
def test_a_prompt_is_known_again_without_its_secrets(told: str, same: bool) -> None:
    assert is_same("my key is sk-1, use it", told) is same
