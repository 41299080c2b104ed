"""What is told to who looks elsewhere, and how."""

import pytest

from ipc.messages import AnyFact, AskSettled, TurnStarted
from tests.fakes.facts import approval, finished, session
from tests.fakes.hostile_texts import HOSTILE, foreign
from tests.fakes.screen import Desktop
from ui.attention import AWAY_S, Attention, notification

STARTED = TurnStarted(turn=1, prompt="x")


def looking(*, focused: bool | None) -> tuple[Desktop, Attention]:
    desk = Desktop().tell(session(workspace="/home/me/parcel"))
    return desk, Attention(desk.view, desk.now, focused)


def news(desk: Desktop, attention: Attention, *facts: AnyFact) -> list[str]:
    told = []
    for fact in facts:
        desk.tell(fact)
        told.append(attention.news())
    return [each for each in told if each]


def test_who_looks_elsewhere_is_told_once_of_a_question_and_of_the_end() -> None:
    desk, attention = looking(focused=False)
    told = news(
        desk,
        attention,
        STARTED,
        approval("make", ask_id="a", title="Run make?"),
        TurnStarted(turn=1, prompt="x"),
        AskSettled(ask_id="a", outcome="once"),
        finished(text="Done."),
        finished(text="Done."),
    )
    assert told == ["Fido needs an answer: Run make?", "Fido is done"]


def test_who_looks_is_told_nothing() -> None:
    desk, attention = looking(focused=True)
    assert news(desk, attention, STARTED, approval("make"), finished(text="Done.")) == []


def test_where_the_terminal_does_not_tell_who_has_not_typed_for_long_is_away() -> None:
    desk, attention = looking(focused=None)
    assert news(desk, attention, STARTED, finished(text="Done.")) == []
    desk.wait(AWAY_S + 1)
    assert news(desk, attention, STARTED, finished(text="Done.")) == ["Fido is done"]


def test_whoever_uses_key_or_mouse_looks_whatever_the_terminal_has_told() -> None:
    desk, attention = looking(focused=False)
    desk.wait(AWAY_S + 1)
    attention.touched()
    assert news(desk, attention, STARTED, finished(text="Done.")) == []
    attention.focused = False
    assert news(desk, attention, STARTED, finished(text="Done.")) == ["Fido is done"]


def test_a_turn_that_another_message_follows_is_not_the_end() -> None:
    desk, attention = looking(focused=False)
    news(desk, attention, STARTED)
    desk.type("and this").press("enter")
    assert news(desk, attention, finished(text="Done.")) == []


def test_the_title_says_where_and_what_goes_on() -> None:
    desk, attention = looking(focused=True)
    assert attention.title() == "Fido - parcel"
    desk.tell(STARTED)
    assert attention.title() == "Fido - parcel - working"
    desk.tell(approval("make"))
    assert attention.title() == "Fido - parcel - waiting for you"


@pytest.mark.parametrize("text", HOSTILE.values())
@pytest.mark.report("ESC-02")
def test_neither_title_nor_notification_lets_a_text_act(text: str) -> None:
    desk, attention = looking(focused=False)
    desk.tell(session(workspace=f"/{text}"))
    (told,) = news(desk, attention, STARTED, approval("make", title=text))
    for how in ("desktop", "bell", "auto"):
        for environ in ({}, {"TMUX": "x"}):
            said = notification(told, how, environ)
            assert said.count("\x1b") in (0, 1, 4)
            assert said.count("\x07") <= 2
    written = f"\x1b]2;{attention.title()}\x07{notification(told, 'desktop', {})}"
    assert foreign(written.encode("utf-8", "surrogatepass")) == ""


def test_a_notification_is_what_the_person_wants() -> None:
    assert notification("Fido is done", "desktop", {}) == "\x1b]9;Fido is done\x07"
    assert notification("Fido is done", "bell", {}) == "\x07"
    assert notification("Fido is done", "title", {}) == ""
    assert notification("Fido is done", "off", {}) == ""
    wrapped = notification("Fido is done", "auto", {"TMUX": "/tmp/tmux"})
    assert wrapped == "\x1bPtmux;\x1b\x1b]9;Fido is done\x07\x1b\\\x07"
