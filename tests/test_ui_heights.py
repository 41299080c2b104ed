"""Every part is as high as it was asked to be, at any size and with whatever is in it."""

from typing import Any

import msgspec
import pytest
import urwid
from hypothesis import given, settings
from hypothesis import strategies as st

from ipc.messages import AskRaised, Plan, PlanChanged, PlanItem, TurnStarted
from tests.fakes.facts import PLAN, TEXTS, activity, approval, session, usage
from tests.fakes.screen import Desktop, draw_exactly
from ui import theme
from ui.composer.draft import Draft
from ui.desk import Message
from ui.widgets.ask_body import AskBody
from ui.widgets.notes import notes
from ui.widgets.plan_panel import PlanPanel
from ui.widgets.row import cut, cut_rows, width

CARRIED = msgspec.structs.replace(PLAN, session="another", updated_at="2025-03-05T10:00:00Z")
GLYPHS = st.sampled_from([theme.UNICODE, theme.ASCII])
WORDS = st.lists(TEXTS | st.just("word " * 60) | st.just("line\n" * 40), max_size=4).map(" ".join)
ITEM = PlanItem(id="a", title="long " * 60, status="in_progress", details="more " * 60)
ASKS = st.builds(
    AskRaised,
    ask_id=st.just("ask-1"),
    kind=st.sampled_from(["approval", "question"]),
    tool=st.sampled_from(["bash_exec", "patch", "rm", "漢字"]),
    title=WORDS,
    body=WORDS,
    options=st.lists(WORDS, max_size=14).map(tuple),
    grant=WORDS,
)


@pytest.mark.parametrize("plan", [PLAN, CARRIED, Plan(), Plan(items=(ITEM, ITEM), session=PLAN.session)])
@pytest.mark.parametrize("screen_rows", [None, 10, 24, 60])
def test_the_plan_is_as_high_as_its_place_at_every_height(plan: Plan, screen_rows: int | None) -> None:
    desk = Desktop(120, 40).tell(session(), usage(), PlanChanged(plan=plan))
    panel = PlanPanel(desk.view)
    panel.screen_rows = screen_rows
    panel.changed()
    for columns in (1, 2, 9, 28, 29, 36, 60, 96):
        for rows in range(1, 41):
            canvas = panel.render((columns, rows))
            assert (canvas.cols(), canvas.rows()) == (columns, rows)


@pytest.mark.parametrize("columns", [80, 99, 109, 140])
@pytest.mark.parametrize("rows", [10, 16, 24, 30])
@pytest.mark.parametrize("lines", [1, 12, 60])
def test_a_long_approval_beside_a_plan_of_another_session_is_drawn(
    columns: int, rows: int, lines: int
) -> None:
    desk = Desktop(columns, rows).tell(session(), PlanChanged(plan=CARRIED), TurnStarted(turn=1, prompt="x"))
    desk.tell(approval("\n".join(f"line {number}" for number in range(lines))))
    draw_exactly(desk)
    draw_exactly(desk.wait(2))


@settings(max_examples=25, deadline=None)
@given(st.data(), ASKS, WORDS, st.integers(40, 210), st.integers(10, 60), GLYPHS, st.booleans())
def test_whatever_waits_beside_whatever_else_is_drawn_exactly(
    data: Any, ask: AskRaised, text: str, columns: int, rows: int, glyphs: theme.Glyphs, writes: bool
) -> None:
    desk = Desktop(columns, rows, glyphs).tell(session(workspace=f"/{text}"), usage())
    plan = data.draw(st.sampled_from([PLAN, CARRIED, Plan(items=(ITEM,) * 9, session="x")]))
    desk.tell(PlanChanged(plan=plan), TurnStarted(turn=1, prompt="x"))
    desk.tell(activity("partial", text, active=data.draw(st.booleans())))
    desk.screen.composer.editor.insert_text(data.draw(st.sampled_from(["", "draft", "draft\n" * 12])))
    for _ in range(data.draw(st.integers(0, 5))):
        desk.view.desk.outbox.add(Draft("message"))
    draw_exactly(desk.tell(ask))
    desk.wait(2)
    if writes:
        desk.type("no")
    desk.view.desk.message = data.draw(st.none() | st.builds(Message, st.just("error"), st.just(text)))
    draw_exactly(desk)
    assert not writes or desk.draw().cursor is not None


@settings(max_examples=25, deadline=None)
@given(
    ASKS, st.integers(1, 100), st.integers(1, 30), st.lists(st.sampled_from(["up", "page down"]), max_size=4)
)
def test_the_body_of_an_ask_is_as_high_as_it_says(
    ask: AskRaised, columns: int, limit: int, keys: list[str]
) -> None:
    body = AskBody(Desktop().view, ask)
    body.limit = limit
    for key in ["", *keys]:
        if key:
            body.scroll(key)
        assert body.render((columns,)).rows() == body.rows((columns,)) <= limit


@settings(max_examples=25, deadline=None)
@given(WORDS, st.integers(1, 100), st.integers(0, 8))
def test_the_line_for_the_person_takes_no_more_rows_than_it_has(text: str, columns: int, room: int) -> None:
    desk = Desktop()
    desk.view.desk.message = Message("error", text)
    said = notes(desk.view, columns, room)
    assert sum(note.rows((columns,)) for note in said) <= room


@settings(max_examples=100)
@given(TEXTS | WORDS, st.integers(1, 60), st.integers(1, 5), st.sampled_from(["…", "..."]))
def test_what_is_cut_fits(text: str, columns: int, rows: int, ellipsis: str) -> None:
    assert width(cut(text.replace("\n", " "), columns, ellipsis)) <= columns
    assert urwid.Text(cut_rows(text, columns, rows, ellipsis)).rows((columns,)) <= rows


def test_a_long_message_is_cut_where_its_room_ends() -> None:
    desk = Desktop(60, 24).tell(session())
    desk.view.desk.message = Message("error", "word " * 80)
    shown = [line for line in desk.lines if "word" in line]
    assert len(shown) == 4
    assert shown[-1].endswith("…")
