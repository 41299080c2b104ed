"""An approval or a question on the screen: what it shows, and which keys answer it."""

import pytest

from ipc.messages import AskRaised, CancelTurn, SettleAsk
from tests.fakes.facts import approval
from tests.fakes.screen import Desktop, working
from ui.asking import GRACE_S

WIDTHS = [40, 60, 80, 120, 200]


def ask(columns: int = 80, rows: int = 24, **changes: object) -> Desktop:
    """A turn that waits for an approval, the grace time over."""
    desk = working(columns, rows).tell(approval(**changes))  # type: ignore[arg-type]
    desk.draw()
    return desk.wait(2 * GRACE_S)


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("rows", [10, 24])
def test_an_approval_shows_what_is_asked_and_by_whom(columns: int, rows: int) -> None:
    desk = ask(columns, rows, body="git push --force")
    assert "bash_exec asks" in desk.text
    assert "Run a command?" in desk.text
    assert "git push --force" in desk.text
    assert "1 Allow once" in desk.text


@pytest.mark.parametrize(("key", "decision"), [("1", "allow_once"), ("2", "allow_session")])
def test_a_number_answers(key: str, decision: str) -> None:
    desk = ask().press(key, key)
    assert desk.orders == [SettleAsk(ask_id="ask-1", decision=decision)]  # type: ignore[arg-type]
    assert "Allow once" not in desk.text


def test_arrows_and_enter_answer() -> None:
    assert ask().press("down", "enter").orders == [SettleAsk(ask_id="ask-1", decision="allow_session")]


def test_a_refusal_can_carry_a_sentence() -> None:
    desk = ask().press("3")
    assert "Deny, and say why:" in desk.text
    desk.type("use 2 spaces").press("enter")
    assert desk.orders == [SettleAsk(ask_id="ask-1", decision="deny", text="use 2 spaces")]


def test_cancel_goes_back_from_the_sentence_and_then_stops_the_turn() -> None:
    desk = ask().press("3", "esc")
    assert "Allow once" in desk.text
    assert desk.orders == []
    assert desk.press("esc").orders == [CancelTurn()]


@pytest.mark.parametrize("key", ["1", "enter"])
def test_a_key_typed_ahead_does_not_approve(key: str) -> None:
    desk = working().type("draft ").tell(approval())
    desk.wait(0.8 * GRACE_S).press(key).wait(0.8 * GRACE_S).press(key)
    assert not [order for order in desk.orders if isinstance(order, SettleAsk)]
    desk.wait(2 * GRACE_S).press("1")
    assert [order for order in desk.orders if isinstance(order, SettleAsk)]


def test_what_is_typed_ahead_stays_in_the_draft() -> None:
    desk = working().type("half a ").tell(approval()).type("sentence")
    assert "half a sentence" in desk.text


def test_a_long_body_scrolls() -> None:
    body = "\n".join(f"line {number}" for number in range(60))
    desk = ask(body=body)
    assert "line 0" in desk.text
    assert "line 59" not in desk.text
    desk.press(*["page down"] * 30)
    assert "line 59" in desk.text


def test_nothing_of_a_command_is_hidden() -> None:
    desk = ask(body="ls \u202e\x1b[8m" + " " * 10_000 + "; rm -rf ~\rls")
    assert "ls <U+202E>␛[8m⟨10000 spaces⟩; rm -rf ~␍ls" in desk.words


def test_a_diff_is_drawn_in_its_colours() -> None:
    desk = ask(tool="patch", body="@@ -1 +1 @@\n-old\n+new")
    assert desk.roles_of("+new") == {"added"}
    assert desk.roles_of("-old") == {"removed"}


def question(*options: str) -> AskRaised:
    return AskRaised(
        ask_id="q", kind="question", tool="ask_user", title="Fido asks", body="Which?", options=options
    )


def test_a_question_is_answered_by_an_option_or_in_own_words() -> None:
    desk = working().tell(question("red", "blue")).wait(2 * GRACE_S)
    assert "2 blue" in desk.text
    assert desk.press("2").orders == [SettleAsk(ask_id="q", decision="allow_once", text="blue")]
    desk = (
        working().tell(question("red")).wait(2 * GRACE_S).press("2").type("green, 3 of them").press("enter")
    )
    assert desk.orders == [SettleAsk(ask_id="q", decision="allow_once", text="green, 3 of them")]


def test_a_paste_into_an_armed_approval_is_a_draft_and_no_answer() -> None:
    desk = ask().press("begin paste", "1", "enter", "ctrl c", "end paste")
    assert desk.orders == []
    assert "› 1" in desk.text


def test_a_paste_into_the_sentence_is_text_whatever_is_in_it() -> None:
    desk = ask().press("3", "begin paste", *"no", "enter", "esc", "ctrl c", *"way", "end paste", "enter")
    assert desk.orders == [SettleAsk(ask_id="ask-1", decision="deny", text="no\nway")]


def test_words_typed_at_an_approval_become_the_reason_of_a_no_and_never_a_yes() -> None:
    desk = ask().type("no, do not run that").press("enter")
    assert desk.orders == [SettleAsk(ask_id="ask-1", decision="deny", text="no, do not run that")]
