"""Whose plan is shown, how old it is, and what its evidence is worth, at the widths people use."""

from datetime import datetime, timedelta

import msgspec
import pytest
import urwid

from ipc.messages import Plan, PlanChanged, PlanItem, ProcessExited, TurnStarted
from ipc.terminal_text import clean_line
from tests.fakes.facts import HOSTILE_TEXTS, PLAN, finished, session
from tests.fakes.screen import TODAY, Desktop, stamp
from ui.widgets.row import ScrolledPage

WIDTHS = [40, 60, 80, 120, 200]
YESTERDAY = stamp(TODAY - timedelta(days=1))


def plan(**changes: object) -> PlanChanged:
    return PlanChanged(plan=msgspec.structs.replace(PLAN, **changes))


def shown(fact: PlanChanged, columns: int = 80, rows: int = 40) -> Desktop:
    return Desktop(columns, rows).tell(session(), fact)


def running(fact: PlanChanged, columns: int = 80) -> Desktop:
    return shown(fact, columns).tell(TurnStarted(turn=1, prompt="An unrelated task"))


def head_of(desk: Desktop) -> str:
    """The panel's words up to its first item, or the strip."""
    return desk.words.partition("Plan 1/4")[2].partition("Survey the workspace")[0]


@pytest.mark.parametrize("columns", WIDTHS)
def test_another_sessions_plan_is_marked_as_carried_over_and_never_as_running(columns: int) -> None:
    desk = running(plan(session="another", updated_at=YESTERDAY), columns)
    assert ("carried over from yesterday" if columns > 40 else "carried over") in head_of(desk)
    for text in ("◐", "● "):
        assert text not in "".join(desk.lines[1:-1])
    assert desk.roles_of("Inspect the pr"[: columns - 36]) <= {"dim", "warning", "strong", None, "prompt"}


def test_the_items_of_a_carried_over_plan_are_drawn_dim() -> None:
    desk = running(plan(session="another", updated_at=YESTERDAY), 120)
    assert "was in progress" in desk.text
    for text in ("was in progress", "next wait for an answer", "verified list_files"):
        assert desk.roles_of(text) == {"dim"}
    assert "/plan clear starts over" in desk.text


def test_the_running_sessions_plan_is_live() -> None:
    desk = running(plan(updated_at=stamp(TODAY)), 120)
    assert "14:30" in desk.line_with("Plan 1/4")
    assert "carried over" not in desk.text
    assert "◐ Inspect the provider" in desk.text
    assert "in progress · inspect" in desk.text
    assert "starts over" not in desk.text


@pytest.mark.parametrize("columns", WIDTHS)
def test_a_plan_that_no_session_wrote_was_changed_by_hand(columns: int) -> None:
    desk = running(plan(session="", updated_at=YESTERDAY), columns)
    assert ("changed by hand yesterday" if columns > 40 else "changed by hand") in head_of(desk)
    assert "◐" not in desk.text


@pytest.mark.parametrize(
    ("at", "said"),
    [
        (TODAY.replace(hour=14, minute=5), "carried over from today 14:05"),
        (TODAY - timedelta(days=3), "carried over from Sunday"),
        (TODAY - timedelta(days=30), "carried over from 3 Feb 2025"),
    ],
)
def test_the_age_is_said_in_words(at: datetime, said: str) -> None:
    assert said in shown(plan(session="another", updated_at=stamp(at))).words


@pytest.mark.parametrize("text", ["", "gibberish", "[/x]\x1b[2J"])
def test_a_carried_over_plan_without_a_time_is_still_marked(text: str) -> None:
    assert "carried over from an earlier session" in shown(plan(session="x", updated_at=text)).words


def test_the_words_are_right_after_midnight() -> None:
    desk = shown(plan(session="another", updated_at=stamp(TODAY)))
    assert "from today 14:30" in desk.words
    assert desk.view.until_midnight == 9.5 * 3600
    desk.wait(desk.view.until_midnight)
    assert "from yesterday" in desk.words
    live = shown(plan(updated_at=stamp(TODAY)), 120)
    assert "yesterday" in live.wait(live.view.until_midnight).line_with("Plan 1/4")


def test_a_plan_becomes_live_with_the_first_update_of_the_session() -> None:
    desk = running(plan(session="another", updated_at=YESTERDAY))
    desk.tell(plan(updated_at=stamp(TODAY)))
    assert "carried over" not in desk.words
    assert "◐" in desk.text


def test_before_the_session_is_known_nothing_is_claimed_about_a_plan() -> None:
    desk = Desktop(120, 40).tell(plan(updated_at=YESTERDAY))
    assert "◐" not in desk.text
    for word in ("carried", "by hand", "starts over"):
        assert word not in desk.text
    assert "in progress (idle)" in desk.tell(session()).text


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("status", ["completed", "failed", "cancelled"])
def test_nothing_of_a_plan_looks_under_way_when_no_turn_runs(columns: int, status: str) -> None:
    desk = running(plan(), columns)
    assert "◐" in desk.text
    desk.tell(finished(status=status))
    assert "◐" not in desk.text
    assert "◌ Insp" in desk.text
    if columns >= 80:
        assert "in progress (idle)" in desk.words
    before = desk.text
    assert desk.wait(0.5).text == before
    assert not desk.view.moving


def test_nothing_of_a_plan_looks_under_way_while_the_agent_is_gone() -> None:
    desk = running(plan()).tell(ProcessExited(actor="parent", pid=1, status=-9, restarting=True))
    assert "◐" not in desk.text
    cut_off = running(plan())
    cut_off.view.state.cut_off = True
    assert "◐" not in cut_off.tell().text


@pytest.mark.parametrize("columns", WIDTHS)
def test_each_entry_of_evidence_shows_whether_it_was_verified(columns: int) -> None:
    desk = shown(plan(), columns)
    if columns < 80:
        desk.press("f2")
    assert "✓ verified list_files: 212 files" in desk.words
    assert "· claimed src/app.py:1" in desk.words


def test_evidence_without_a_verdict_is_claimed() -> None:
    item = PlanItem(id="a", title="A", status="done", evidence=("one", "two"), verdicts=("verified",))
    desk = shown(PlanChanged(plan=Plan(items=(item,), session=PLAN.session)))
    assert "✓ verified one" in desk.text
    assert "· claimed two" in desk.text
    assert "ok" in desk.roles_of("verified one")
    assert "ok" not in desk.roles_of("claimed two")


@pytest.mark.parametrize("hostile", [*HOSTILE_TEXTS, "[red]✓ verified[/] [b"])
def test_evidence_is_drawn_literally_behind_its_verdict(hostile: str) -> None:
    item = PlanItem(id="a", title="A", status="done", evidence=(hostile,), verdicts=("claimed",))
    desk = shown(PlanChanged(plan=Plan(items=(item,), session=PLAN.session)), 200)
    words = " ".join(clean_line(hostile).translate({0x200D: None}).split())[:20]
    assert f"· claimed {words}".strip() in desk.words


@pytest.mark.parametrize("rows", [10, 24])
def test_a_long_carried_over_plan_leaves_room_for_transcript_and_composer(rows: int) -> None:
    items = tuple(PlanItem(id=f"s-{at}", title="[/x] " + "long " * 60, status="pending") for at in range(40))
    desk = Desktop(80, rows).tell(
        session(), PlanChanged(plan=Plan(items=items, session="other", updated_at=YESTERDAY))
    )
    desk.tell(TurnStarted(turn=1, prompt="the prompt"))
    assert "the prompt" in desk.text
    assert "Ask Fido to do something" in desk.text
    assert "[/x] long" in desk.text


# --- scrolled


def long_plan(active: int, next_action: str = "x", steps: int = 20) -> PlanChanged:
    items = tuple(
        PlanItem(
            id=f"s-{at}",
            title=f"Step {at} " + "long " * 8,
            status="done" if at < active else "in_progress" if at == active else "pending",
            next_action=next_action if at == active else "later",
        )
        for at in range(steps)
    )
    return PlanChanged(plan=Plan(items=items, session=PLAN.session))


@pytest.mark.parametrize("columns", [80, 120])
def test_a_plan_that_was_scrolled_stays_until_another_step_is_active(columns: int) -> None:
    desk = running(long_plan(15), columns)
    assert "· s-15" in desk.text
    desk.press(*["shift up"] * 60)
    assert "· s-0" in desk.text
    desk.tell(long_plan(15, "another next action"))
    assert "· s-0" in desk.text
    desk.tell(finished())
    assert "· s-0" in desk.text
    desk.tell(long_plan(16))
    assert "· s-16" in desk.text


@pytest.mark.parametrize("columns", WIDTHS)
def test_over_the_screen_home_and_end_lead_to_the_first_and_back_to_the_active_step(columns: int) -> None:
    desk = running(long_plan(15), columns).press("f2")
    assert "· s-15" in desk.text
    assert columns == 40 or "End active step" in desk.lines[-1]
    assert "· s-0" in desk.press("home").text
    assert "· s-15" in desk.press("end").text
    assert "· s-0" not in desk.text
    assert "· s-17" in desk.tell(long_plan(17)).text


def test_scrolling_the_plan_over_the_screen_scrolls_nothing_below_it() -> None:
    desk = running(long_plan(15), 120).press("f2", *["up"] * 60)
    assert "· s-0" in desk.text
    desk.press("esc")
    assert "· s-15" in desk.text
    assert "· s-15" in desk.press("f2").text, "it begins with the active step each time"


def test_what_lies_over_the_screen_has_ends() -> None:
    desk = Desktop(60, 20).tell(session()).press("f1", "end")
    assert "/quit" in desk.text
    assert "Writing" in desk.press("home").text


def page_of(canvas: urwid.Canvas) -> urwid.Canvas | None:
    """What was drawn of the page that scrolls."""
    if isinstance(canvas.widget_info and canvas.widget_info[0], ScrolledPage):
        return canvas
    found = (page_of(child) for *_, child, _ in getattr(canvas, "children", []))
    return next((page for page in found if page is not None), None)


def test_a_step_that_is_higher_than_the_panel_is_not_drawn_again_with_every_key() -> None:
    item = PlanItem(id="s", title="title " * 99, status="in_progress", details="more " * 99)
    desk = Desktop(80, 24).tell(session(), PlanChanged(plan=Plan(items=(item,) * 20, session=PLAN.session)))
    desk.draw()
    one, other = (page_of(desk.screen.panel.render((28, 17))) for _ in range(2))
    assert one is other


def test_before_the_store_has_told_nothing_is_said_of_a_plan() -> None:
    assert "No plan" not in Desktop(120, 30).tell(session()).text
    assert "No plan" not in Desktop(60, 30).tell(session()).press("f2").text
    assert "No plan yet" in shown(PlanChanged(plan=Plan()), 120).text


@pytest.mark.parametrize(("columns", "origin"), [(40, "carried over"), (60, "carried over from yesterday")])
def test_of_a_strip_the_origin_gives_way_before_the_active_step(columns: int, origin: str) -> None:
    strip = running(plan(session="another", updated_at=YESTERDAY), columns).line_with("Plan 1/4")
    assert f"{origin}  ◌ Inspect t" in strip
