"""What the person's acts mean."""

import pytest

from ipc.messages import (
    CancelTurn,
    ClearPlan,
    CompactConversation,
    CompactionFinished,
    CompactionStarted,
    GetPlan,
    ListSessions,
    NoticeRaised,
    OpenSession,
    RedoTurn,
    SettleAsk,
    StartTurn,
    TurnStarted,
    UndoTurn,
)
from tests.fakes.facts import approval, finished, session
from ui import keys
from ui.composer.draft import Draft, Paste, folded
from ui.desk import LEAVE_WINDOW_S, SILENT, Desk
from ui.orders import Send
from ui.state import ViewState, apply, rebuild


def running(turn: int = 1) -> ViewState:
    state = ViewState()
    apply(state, session(), 0.0)
    apply(state, TurnStarted(turn=turn, prompt="x"), 0.0)
    return state


def idle() -> ViewState:
    state = running()
    apply(state, finished(), 0.0)
    return state


def test_a_message_is_sent_at_once_when_nothing_runs() -> None:
    desk = Desk()
    assert desk.submit(idle(), "hello") == [StartTurn(prompt="hello")]
    assert desk.queue == []


def test_a_message_waits_while_a_turn_runs_and_is_sent_once_after_it() -> None:
    desk, state = Desk(), running()
    assert desk.submit(state, "next") == []
    assert desk.queue == ["next"]
    apply(state, finished(), 1.0)
    assert desk.advance(state) == [StartTurn(prompt="next")]
    assert desk.advance(state) == []


def test_messages_are_sent_one_a_turn_in_their_order() -> None:
    desk, state = Desk(), running()
    desk.submit(state, "a")
    desk.submit(state, "b")
    apply(state, finished(), 1.0)
    assert desk.advance(state) == [StartTurn(prompt="a")]
    apply(state, TurnStarted(turn=2, prompt="a"), 2.0)
    assert desk.advance(state) == []
    apply(state, finished(2), 3.0)
    assert desk.advance(state) == [StartTurn(prompt="b")]


def test_a_message_waits_for_the_session() -> None:
    desk, state = Desk(), ViewState()
    assert desk.submit(state, "early") == []
    apply(state, session(), 0.0)
    assert desk.advance(state) == [StartTurn(prompt="early")]


def test_one_cancel_stops_the_turn_and_keeps_what_is_queued() -> None:
    desk, state = Desk(), running()
    desk.submit(state, "queued")
    assert desk.cancel(state) == [CancelTurn()]
    assert desk.stopping
    assert desk.queue == ["queued"]
    apply(state, finished(status="cancelled"), 1.0)
    assert desk.advance(state) == [StartTurn(prompt="queued")]
    assert not desk.stopping


def test_cancel_closes_an_overlay_before_it_stops_the_turn() -> None:
    desk, state = Desk(overlay="plan"), running()
    assert desk.cancel(state) == []
    assert desk.overlay is None
    assert desk.cancel(state) == [CancelTurn()]


def test_cancel_does_nothing_when_nothing_runs() -> None:
    assert Desk().cancel(idle()) == []


def test_two_interrupts_leave_when_nothing_runs() -> None:
    desk, state = Desk(), idle()
    assert desk.interrupt(state, 10.0) == []
    assert desk.message is not None
    desk.seen()
    assert desk.interrupt(state, 10.0 + LEAVE_WINDOW_S / 2) == ["leave"]


def test_interrupts_that_waited_together_do_not_leave() -> None:
    desk, state = Desk(), idle()
    desk.seen()
    assert desk.interrupt(state, 10.0) == []
    assert desk.interrupt(state, 10.0) == []
    desk.seen()
    assert desk.interrupt(state, 10.1) == ["leave"]


def test_a_key_leaves_but_not_from_a_turn_and_not_with_messages_nobody_was_told_of() -> None:
    desk = Desk()
    assert desk.leave(running()) == []
    assert desk.message is not None
    assert "Esc stops the turn" in desk.message.text
    desk.submit(running(), "and this")
    assert desk.leave(idle()) == []
    assert "Ctrl-D again leaves without" in desk.message.text
    assert desk.leave(idle()) == ["leave"]


def test_two_slow_interrupts_do_not_leave() -> None:
    desk, state = Desk(), idle()
    desk.interrupt(state, 10.0)
    desk.seen()
    assert desk.interrupt(state, 10.0 + 2 * LEAVE_WINDOW_S) == []


def test_the_first_interrupt_of_a_turn_stops_it_and_a_stuck_one_can_be_left() -> None:
    desk, state = Desk(), running()
    assert desk.interrupt(state, 10.0) == [CancelTurn()]
    assert desk.message is None
    assert desk.interrupt(state, 10.1) == [CancelTurn()]
    desk.seen()
    assert desk.interrupt(state, 10.2) == ["leave"]


def test_two_interrupts_leave_a_turn_whose_agent_does_not_answer() -> None:
    desk, state = Desk(), running()
    state.cut_off = True
    assert desk.interrupt(state, 10.0) == [CancelTurn()]
    desk.failed(CancelTurn(), "no_answer", SILENT, "")
    desk.seen()
    assert desk.interrupt(state, 11.0) == ["leave"]


def test_an_ask_is_answered_once() -> None:
    desk, state = Desk(), running()
    apply(state, approval(), 1.0)
    answer = SettleAsk(ask_id="ask-1", decision="allow_once")
    assert desk.settle(answer) == [answer]
    assert desk.settle(answer) == []
    desk.failed(answer, "no_answer", "late", "")
    assert desk.settle(answer) == [answer]


def test_local_commands_need_no_model() -> None:
    desk, state = Desk(), idle()
    assert desk.submit(state, "/plan") == [GetPlan()]
    assert desk.overlay == "plan"
    assert desk.submit(state, "/plan   clear ") == [ClearPlan()]
    assert desk.submit(state, "/help") == []
    assert desk.overlay == "help"
    assert desk.submit(state, "/usage") == []
    assert desk.overlay == "usage"
    assert desk.submit(state, "/undo") == [UndoTurn()]
    assert desk.submit(state, "/REDO ") == [RedoTurn()]
    assert desk.submit(state, "/compact") == [CompactConversation(focus="")]
    assert desk.submit(state, "/compact  the names,\n and why ") == [
        CompactConversation(focus="the names,\n and why")
    ]
    assert desk.submit(state, "/suspend") == ["suspend"]
    assert desk.submit(state, "/quit") == ["leave"]


def test_an_unknown_command_is_named_and_not_used_up() -> None:
    desk = Desk()
    assert not desk.knows("/plam")
    assert desk.message is not None
    assert "/plam" in desk.message.text
    assert "/plan" in desk.message.text


@pytest.mark.parametrize(
    ("line", "meant"),
    [("/plam", "/plan"), ("/und", "/undo"), ("/undo it", "/undo"), ("/quti", "/quit"), ("/xyz", "F1")],
)
def test_the_command_that_was_probably_meant_is_named(line: str, meant: str) -> None:
    desk = Desk()
    assert not desk.knows(line)
    assert desk.message is not None
    assert f"There is no command {line}." in desk.message.text
    assert meant in desk.message.text


def test_a_space_before_it_makes_a_prompt_of_what_looks_like_a_command() -> None:
    desk, state = Desk(), idle()
    assert desk.knows(" /tmp is full")
    assert desk.submit(state, " /tmp is full") == [StartTurn(prompt=" /tmp is full")]
    assert Desk().submit(state, " /quit") == ["leave"]


def test_leaving_says_first_which_messages_are_dropped() -> None:
    for command, act in (("/quit", "leave"), ("/suspend", "suspend")):
        desk, state = Desk(), running()
        desk.submit(state, "one")
        desk.submit(state, "two")
        assert desk.submit(state, command) == []
        assert desk.message is not None
        assert "2 queued messages are not sent" in desk.message.text
        assert desk.submit(state, command) == [act]


def compacting() -> ViewState:
    state = idle()
    apply(state, CompactionStarted(automatic=False, context_tokens=96_000), 1.0)
    return state


def test_a_message_waits_while_the_conversation_is_compacted() -> None:
    desk, state = Desk(), compacting()
    assert desk.submit(state, "next") == []
    apply(state, CompactionFinished(method="summary", before_tokens=9, after_tokens=1), 2.0)
    assert desk.advance(state) == [StartTurn(prompt="next")]


def test_a_compaction_can_be_stopped() -> None:
    desk, state = Desk(), compacting()
    assert desk.cancel(state) == [CancelTurn()]
    assert desk.stopping
    assert Desk().interrupt(state, 5.0) == [CancelTurn()]


def test_an_undo_is_said_until_it_is_done() -> None:
    desk = Desk()
    for command in ("/undo", "/redo"):
        (order,) = desk.submit(idle(), command)
        assert desk.message is not None
        assert isinstance(order, UndoTurn | RedoTurn)
        desk.done(order)
        assert desk.message is None


def test_the_sessions_are_asked_for_once_and_as_soon_as_somebody_can_answer() -> None:
    desk, state = Desk(), ViewState()
    desk.pick()
    assert desk.overlay == "recall"
    assert desk.advance(state) == []
    apply(state, session(), 1.0)
    assert desk.advance(state) == [ListSessions()]
    assert desk.advance(state) == []
    assert Desk().submit(state, "/recall") == [ListSessions()]


def test_a_message_waits_for_the_session_that_is_being_opened() -> None:
    desk, state = Desk(), idle()
    assert desk.open_session("other") == [OpenSession(session_id="other")]
    assert desk.submit(state, "for the other one") == []
    rebuild(state, "parent", (session(session_id="other"),))
    assert desk.advance(state) == [StartTurn(prompt="for the other one")]
    assert desk.opening == ""


@pytest.mark.parametrize(
    "order", [UndoTurn(), RedoTurn(), CompactConversation(), ListSessions(), OpenSession(session_id="x")]
)
def test_a_refused_command_is_said_and_leaves_the_queue_alone(order: Send) -> None:
    desk, state = Desk(), running()
    desk.submit(state, "queued")
    desk.pick()
    if isinstance(order, OpenSession):
        desk.open_session("x")
    assert desk.failed(order, "turn_running", "A turn is running.", "Cancel it first.") is None
    assert desk.message is not None
    assert desk.message.text == "A turn is running. Cancel it first."
    assert desk.queue == ["queued"]
    assert (desk.opening, desk.held) == ("", False)


@pytest.mark.parametrize("order", [UndoTurn(), RedoTurn(), CompactConversation()])
def test_a_command_that_got_no_answer_may_yet_be_carried_out_and_is_unsaid_when_it_is(order: Send) -> None:
    desk, state = Desk(), idle()
    desk.advance(state)
    desk.failed(order, "no_answer", SILENT, "")
    desk.advance(state)
    assert desk.message is not None
    assert desk.message.text == f"{SILENT} It may yet be carried out."
    if isinstance(order, CompactConversation):
        apply(state, CompactionStarted(automatic=False, context_tokens=96_000), 1.0)
    else:
        apply(state, NoticeRaised(level="info", message="Took back 1 file."), 1.0)
    desk.advance(state)
    assert desk.message is None


def test_a_folded_paste_is_no_command_but_may_be_the_words_of_one() -> None:
    chips: dict[str, Paste] = {}
    paste = folded("/compact\n" + "line\n" * 20, chips)
    desk = Desk()
    assert desk.knows(Draft(paste, 1, chips))
    assert desk.submit(idle(), Draft(paste, 1, chips)) == [StartTurn(prompt=chips[paste].text)]
    focus = Draft(f"/compact keep {paste}", 14, chips)
    assert Desk().submit(idle(), focus) == [
        CompactConversation(focus=f"keep {chips[paste].text}"),
    ]
    assert not desk.knows(Draft(f"/plam {paste}", 7, chips))
    assert desk.message is not None
    assert "/plam [paste #1: 21 lines]" in desk.message.text


def test_a_path_is_a_prompt() -> None:
    assert keys.local_command("/etc/hosts what is this?") is None
    assert keys.local_command("/plan\nand more") is None
    assert Desk().knows("/etc/hosts what is this?")
