"""Writing while Fido works: what is sent waits, stays in sight and in hand, and a cancel takes none of it."""

import pytest

from ipc.messages import CancelTurn, StartTurn, ToolFinished, ToolStarted, TurnStarted
from tests.fakes.facts import finished, session
from tests.fakes.screen import Desktop

WIDTHS = pytest.mark.parametrize("columns", [40, 60, 80, 120, 200])


def busy(columns: int = 80, rows: int = 24) -> Desktop:
    """A turn in which a command runs."""
    return Desktop(columns, rows).tell(
        session(),
        TurnStarted(turn=1, prompt="go"),
        ToolStarted(call_id="1", name="bash_exec", summary="sleep 60"),
    )


@pytest.mark.report("PANEL-06")
@WIDTHS
def test_what_is_sent_while_a_command_runs_waits_in_sight_and_cancels_nothing(columns: int) -> None:
    desk = busy(columns).type("look at b.py, too").press("enter").type("and")
    assert desk.orders == []
    assert "queued  look at b.py" in desk.text
    assert "› and" in desk.text
    desk.tell(finished())
    assert desk.orders == [StartTurn(prompt="look at b.py, too")]
    assert "queued" not in desk.line_with("look at")


@pytest.mark.report("PANEL-07")
@WIDTHS
def test_a_message_behind_a_cancel_is_taken_once_and_what_still_stops_is_named(columns: int) -> None:
    desk = busy(columns).press("esc")
    assert "bash_exec: sleep 60" in desk.words.replace(" ┃", "")
    desk.type("instead do this").press("enter", "enter")
    assert desk.orders == [CancelTurn()]
    assert "queued  instead" in desk.text
    desk.tell(
        ToolFinished(call_id="1", name="bash_exec", status="cancelled", duration_ms=9_000, display=""),
        finished(status="cancelled"),
    )
    assert desk.orders == [CancelTurn(), StartTurn(prompt="instead do this")]
    desk.tell(TurnStarted(turn=2, prompt="instead do this"), finished(2))
    assert len(desk.orders) == 2


@pytest.mark.report("PANEL-08")
@WIDTHS
def test_one_esc_cancels_the_turn_and_keeps_queue_and_draft(columns: int) -> None:
    desk = busy(columns).type("next").press("enter").type("a half").press("esc")
    assert desk.orders == [CancelTurn()]
    assert "queued  next" in desk.text
    assert "› a half" in desk.text
    desk.tell(finished(status="cancelled"))
    assert desk.orders == [CancelTurn(), StartTurn(prompt="next")]
    assert "› a half" in desk.text


def test_a_queued_message_is_changed_in_its_place_and_the_draft_comes_back() -> None:
    desk = busy().type("one").press("enter").type("two").press("enter").type("draft")
    desk.press("meta up", "meta up").type("!").press("enter")
    assert desk.view.desk.queue == ["one!", "two"]
    assert "› draft" in desk.text


def test_esc_leaves_a_queued_message_as_it_was_and_only_the_next_one_cancels() -> None:
    desk = busy().type("one").press("enter").type("draft").press("meta up").type("!").press("esc")
    assert (desk.orders, desk.view.desk.queue) == ([], ["one"])
    assert "› draft" in desk.text
    assert desk.press("esc").orders == [CancelTurn()]


def test_a_turn_that_ends_meanwhile_does_not_send_what_is_being_changed() -> None:
    desk = busy().type("one").press("enter").press("meta up").tell(finished())
    assert desk.orders == []
    desk.type("!").press("enter")
    assert desk.orders == [StartTurn(prompt="one!")]


def test_the_last_queued_message_can_be_removed_and_what_it_was_is_said() -> None:
    desk = busy().type("one").press("enter").type("two").press("enter").press("meta delete")
    assert desk.view.desk.queue == ["one"]
    assert "Not sent: two" in desk.text
    desk.press("meta up", "meta delete")
    assert (desk.view.desk.queue, desk.screen.composer.editor.edit_text) == ([], "")


def test_a_command_entered_over_a_queued_message_leaves_that_as_it_was() -> None:
    desk = busy().type("one").press("enter", "meta up", "ctrl u").type("/plan").press("enter")
    assert desk.view.desk.queue == ["one"]
    assert desk.view.desk.overlay == "plan"
    assert desk.screen.composer.editor.edit_text == ""


def test_many_queued_messages_take_no_more_than_three_rows() -> None:
    desk = busy()
    for number in range(9):
        desk.type(f"message {number}").press("enter")
    rows = [line for line in desk.lines if line.startswith(" queued")]
    assert len(rows) == 3
    assert "7 more" in rows[-1]
