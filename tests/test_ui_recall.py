"""Choosing an earlier session, at the widths people use."""

import time
from datetime import timedelta
from typing import Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ipc.messages import (
    GetPlan,
    ListSessions,
    OpenSession,
    PlanChanged,
    SessionSummary,
    StartTurn,
    TurnStarted,
)
from tests.fakes.facts import HOSTILE_TEXTS, PLAN, TEXTS, session, usage
from tests.fakes.screen import TODAY, Desktop, draw_exactly, stamp
from ui import keys, theme
from ui.composer.draft import Draft
from ui.state import rebuild

WIDTHS = [40, 60, 80, 120, 200]
OPEN_ID = session().session_id


def summary(number: int, first_prompt: str, **changes: object) -> SessionSummary:
    at = stamp(TODAY - timedelta(days=number))
    fields: dict[str, object] = {
        "session_id": f"s-{number}", "started_at": at, "changed_at": at, "model": "gpt-5-mini",
        "turns": number + 1, "running": False, "first_prompt": first_prompt,
    }  # fmt: skip
    return SessionSummary(**{**fields, **changes})  # type: ignore[arg-type]


SESSIONS = (
    summary(0, "Now", session_id=OPEN_ID, running=True),
    summary(1, "Fix the parser"),
    summary(2, "Write docs", running=True),
    summary(30, "PARSER: which errors?", turns=412),
)


def recalling(
    columns: int = 80, rows: int = 24, sessions: tuple[SessionSummary, ...] | None = SESSIONS
) -> Desktop:
    """The picker, opened by its command; the list has come unless it is None."""
    desk = Desktop(columns, rows).tell(session(), usage()).type("/recall").press("enter")
    assert desk.orders.pop() == ListSessions()
    if sessions is not None:
        assert desk.view.desk.recall is not None
        desk.view.desk.recall.fill(sessions, desk.wall)
    return desk


@pytest.mark.parametrize(("columns", "rows"), [(40, 10), (60, 24), (80, 24), (120, 30), (200, 50)])
def test_every_session_is_shown_with_date_first_prompt_and_turns(columns: int, rows: int) -> None:
    desk = recalling(columns, rows)
    seen = ""
    for _ in SESSIONS:
        seen += desk.text
        desk.press("down")
    for texts in (
        ("14:30", "Now", "open", "1"),
        ("yesterday", "Fix the pa", "2"),
        ("Monday", "Write d", "running", "3"),
        ("3 Feb 2025", "PARSER", "412"),
    ):
        line = next(line for line in seen.splitlines() if texts[1] in line)
        assert all(text in line for text in texts)


def test_it_opens_at_once_and_says_that_it_loads() -> None:
    assert "Loading…" in recalling(sessions=None).text


@pytest.mark.parametrize("columns", WIDTHS)
def test_an_empty_workspace_says_so_in_words(columns: int) -> None:
    assert "There is no earlier session in this workspace." in recalling(columns, sessions=()).words
    assert recalling(sessions=()).press("enter", "down", "page down").orders == []


def test_the_chosen_session_is_opened() -> None:
    assert recalling().press("enter").orders == [OpenSession(session_id="s-1")]
    assert recalling().press("down", "down", "down", "enter").orders == [OpenSession(session_id="s-30")]
    assert recalling().press("page down", "up", "enter").orders == [OpenSession(session_id="s-2")]
    assert recalling().press("page down", "page up", "enter").orders == [OpenSession(session_id="s-1")]


def test_what_waits_to_be_sent_is_not_taken_to_another_session() -> None:
    desk = recalling()
    desk.view.desk.held = True
    desk.view.desk.outbox.add(Draft("meant for this one"))
    desk.press("enter")
    assert not [order for order in desk.orders if isinstance(order, OpenSession)]
    assert "1 queued message is not sent" in desk.words
    assert desk.view.desk.queue == ["meant for this one"]


def test_the_open_session_can_not_be_chosen() -> None:
    desk = recalling().press("up", "up", "up")
    assert "›" not in desk.line_with("Now")
    assert desk.press("enter").orders == [OpenSession(session_id="s-1")]
    assert recalling(sessions=SESSIONS[:1]).press("enter").orders == []


@pytest.mark.parametrize("query", ["parser", "PARSER", "errors parser", "parser 2025", "yest"])
def test_typing_keeps_the_sessions_that_hold_every_word_in_any_case(query: str) -> None:
    desk = recalling().type(query)
    assert "docs" not in desk.text
    assert "parser" in desk.text.replace(f"› {query}", "").lower()
    assert desk.press("enter").orders


def test_what_is_clicked_or_wheeled_to_is_chosen_and_nothing_is_opened() -> None:
    desk = recalling()
    row = next(at for at, line in enumerate(desk.lines) if "Write docs" in line)
    part = desk.screen.part_at(10, row)
    assert part is not None
    part.widget.mouse_event(part.size, "mouse press", 1, part.column, part.row, True)
    assert "›" in desk.line_with("Write docs")
    desk.screen.recall.scroll("up")
    assert "›" in desk.line_with("Fix the parser")
    assert desk.press("enter").orders == [OpenSession(session_id="s-1")]


def test_a_search_without_a_match_says_so_and_opens_nothing() -> None:
    desk = recalling().type("nowhere")
    assert "No session holds these words." in desk.text
    assert desk.press("enter").orders == []
    assert "Write docs" in desk.press(*["backspace"] * 7).text


def test_a_session_stays_chosen_while_it_matches() -> None:
    desk = recalling().press("down", "down").type("pars")
    assert "›" in desk.line_with("PARSER")
    assert desk.press("enter").orders == [OpenSession(session_id="s-30")]


def test_a_paste_is_searched_for_and_never_opens_anything() -> None:
    desk = recalling().press(keys.Pasted("write\ndocs"))
    assert desk.orders == []
    assert "› write docs" in desk.text
    assert desk.press("enter").orders == [OpenSession(session_id="s-2")]


@pytest.mark.parametrize("key", ["esc", "ctrl c"])
def test_it_is_closed_without_a_choice_and_the_draft_is_as_before(key: str) -> None:
    desk = recalling().type("words").press(key)
    assert "Earlier sessions" not in desk.text
    assert "words" not in desk.text
    assert desk.orders == []
    assert desk.type("a draft").press("enter").orders == [StartTurn(prompt="a draft")]


def test_a_long_list_scrolls_with_the_choice() -> None:
    desk = recalling(80, 14, tuple(summary(number, f"prompt {number}.") for number in range(60)))
    assert "prompt 0." in desk.text
    for _ in range(59):
        desk.press("down")
    assert "›" in desk.line_with("prompt 59.")
    assert "prompt 0." not in desk.text
    desk.press("page up")
    assert "›" in desk.line_with("prompt 5")
    assert "prompt 0." in desk.press("ctrl home").text


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_a_hostile_prompt_is_drawn_literally(text: str) -> None:
    desk = recalling(120, 24, (summary(1, text), summary(2, "[/x] [b {0} 100% %s")))
    assert "[/x] [b {0} 100% %s" in desk.text
    for character in "\x1b\x07\u202e\u200d":
        assert character not in desk.text


def test_opening_another_session_is_said_until_its_conversation_is_there() -> None:
    desk = Desktop().tell(session(), TurnStarted(turn=1, prompt="The old prompt")).type("a draft")
    desk.tell(PlanChanged(plan=PLAN))
    desk.view.desk.pick()
    assert desk.view.desk.recall is not None
    desk.view.desk.recall.fill(SESSIONS, desk.wall)
    desk.tell().press("enter")
    assert desk.orders == [ListSessions(), OpenSession(session_id="s-1")]
    assert "Opening s-1…" in desk.text
    assert "opening" in desk.lines[0]
    rebuild(
        desk.view.state, "parent", (session(session_id="s-1"), TurnStarted(turn=1, prompt="Fix the parser"))
    )
    desk.tell()
    assert "Opening" not in desk.text
    assert "› Fix the parser" in desk.text
    assert "The old prompt" not in desk.text
    assert "a draft" in desk.text
    assert "carried over" in desk.text


def test_the_cursor_is_in_the_search_line() -> None:
    desk = recalling().type("pars")
    column, row = desk.draw().cursor or (0, 0)
    assert desk.lines[row][:column].endswith("pars")
    assert Desktop().tell(session()).press("f1").draw().cursor is None


def test_a_key_opens_it_and_leaves_the_draft() -> None:
    desk = Desktop().tell(session()).type("half a dra").press("f4")
    assert desk.orders == [ListSessions()]
    assert "Earlier sessions" in desk.text
    assert "› half a dra" in desk.press("esc").text


def test_a_failure_is_read_also_while_something_lies_over_the_screen() -> None:
    desk = Desktop().tell(session()).type("/plan").press("enter")
    desk.view.desk.failed(GetPlan(), "no_answer", "The plan store did not answer.", "Try again.")
    assert "The plan store did not answer. Try again." in desk.lines[-1]


def test_a_thousand_sessions_are_searched_while_one_types() -> None:
    desk = recalling(120, 50, tuple(summary(number, f"prompt {number} " * 20) for number in range(1_000)))
    begun = time.perf_counter()
    desk.type("prompt 777").draw()
    assert "1 of 1000" in desk.text
    assert (time.perf_counter() - begun) / 10 < 0.1


_SESSIONS = st.lists(
    st.builds(
        SessionSummary,
        session_id=st.just(OPEN_ID) | TEXTS,
        started_at=TEXTS,
        model=TEXTS,
        turns=st.integers(0, 10**6),
        running=st.booleans(),
        first_prompt=TEXTS,
        changed_at=TEXTS | st.just(stamp(TODAY)),
    ),
    max_size=12,
).map(tuple)
_KEYS = st.sampled_from(
    ["a", "漢", " ", "down", "up", "page down", "page up", "ctrl end", "backspace", "left"]
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    _SESSIONS,
    st.sampled_from(["recall", "usage"]),
    st.lists(st.tuples(st.integers(1, 130), st.integers(1, 40)), min_size=1, max_size=3),
    st.lists(_KEYS, max_size=8),
    st.booleans(),
)
def test_any_list_at_any_size_is_drawn_and_never_wider_than_the_screen(
    sessions: tuple[SessionSummary, ...],
    overlay: Literal["recall", "usage"],
    sizes: list[tuple[int, int]],
    pressed: list[str],
    ascii_only: bool,
) -> None:
    desk = Desktop(*sizes[0], glyphs=theme.ASCII if ascii_only else theme.UNICODE)
    desk.tell(session(), usage(cost=0.5)).view.desk.pick()
    assert desk.view.desk.recall is not None
    desk.view.desk.recall.fill(sessions, desk.wall)
    if overlay == "usage":
        desk.view.desk.close()
        desk.view.desk.overlay = overlay
    for size in sizes:
        desk.size = size
        draw_exactly(desk.tell().press(*pressed))
