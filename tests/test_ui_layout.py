"""What stands where: nothing moves without need, and every part keeps its room."""

import pytest
import urwid
from hypothesis import given, settings
from hypothesis import strategies as st

from ipc.messages import (
    MessageDelta,
    NoticeRaised,
    Plan,
    PlanChanged,
    PlanItem,
    ToolFinished,
    ToolStarted,
    TurnStarted,
    Usage,
    UsageReported,
)
from tests.fakes.facts import PLAN, TEXTS, activity, approval, delayed, finished, session, usage
from tests.fakes.screen import Desktop, working
from ui import theme
from ui.asking import GRACE_S
from ui.composer.composer import PLACEHOLDER, Composer
from ui.desk import Message
from ui.pointer import point
from ui.terminal import in_ascii
from ui.transcript.listing import TranscriptView
from ui.widgets import activity_bar
from ui.widgets.plan_panel import PlanPanel
from ui.widgets.row import constant_row

WIDTHS = [40, 60, 80, 120, 200]
LONG = Plan(items=tuple(PlanItem(id=f"s{at}", title="long " * 60, status="pending") for at in range(40)))


def say(text: str) -> MessageDelta:
    return MessageDelta(turn=1, kind="text", text=text)


def panel_of(desk: Desktop) -> list[str]:
    """What stands right of the transcript, row by row."""
    return [line.partition("│")[2].strip("┃ ") for line in desk.lines]


# --- header


@pytest.mark.parametrize("columns", [100, 120, 200])
def test_the_header_names_workspace_session_model_and_mode(columns: int) -> None:
    header = Desktop(columns).tell(session()).lines[0]
    for text in ("Fido", "~/code/project", "20250101-101112-7f3a", "gpt-5-mini", "agent", "ready"):
        assert text in header


def test_a_header_without_room_drops_the_session_first_and_then_the_model() -> None:
    deep = session(workspace="/home/me/code/a-project-with-a-long-name", model="an-even-longer-model-name")
    header = Desktop(80).tell(deep).lines[0]
    assert "20250101" not in header
    assert "a-project-with-a-long-name" in header
    assert " agent " in header


def test_a_mode_that_allows_everything_is_a_warning() -> None:
    assert "warning" in Desktop(120).tell(session(mode="yolo")).roles_of("yolo")
    assert "warning" not in Desktop(120).tell(session()).roles_of("agent")


@pytest.mark.parametrize("columns", [80, 100, 120])
def test_a_clock_that_grows_drops_nothing_from_the_header(columns: int) -> None:
    desk = Desktop(columns).tell(session(workspace="/home/me/" + "deep/" * 6 + "project"))
    before = desk.lines[0].split(" ready")[0].rstrip()
    desk.tell(TurnStarted(turn=1, prompt="x")).wait(4_000)
    assert desk.lines[0].startswith(before)


@pytest.mark.parametrize("glyphs", [theme.UNICODE, theme.ASCII])
@pytest.mark.parametrize("columns", [40, 60, 79, 80, 90, 100, 120])
@pytest.mark.parametrize("letters", [1, 30, 44, 48, 52, 90, 200])
def test_the_mode_never_gives_way(columns: int, letters: int, glyphs: theme.Glyphs) -> None:
    desk = Desktop(columns, 24, glyphs).tell(session(workspace="/home/me/" + "a" * letters, mode="yolo"))
    assert " yolo" in desk.text
    assert " yolo" in desk.tell(TurnStarted(turn=1, prompt="x"), approval()).text
    desk.view.desk.message = Message("error", "word " * 60)
    assert " yolo" in desk.press("f2").text
    desk.view.desk.message = Message("error", "word " * 60)
    assert " yolo" in desk.text


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_a_path_that_was_shortened_in_ascii_reads_as_no_other(columns: int) -> None:
    path = "/srv/customers/acme/very/deep/tree/of/folders/that/is/long/project"
    header = in_ascii(Desktop(columns, 24, theme.ASCII).tell(session(workspace=path)).lines[0])
    assert ".../" in header
    assert "project" in header
    assert "~" not in header
    desk = Desktop(columns, 24, theme.ASCII).tell(session(), TurnStarted(turn=1, prompt="x"))
    desk.tell(ToolStarted(call_id="1", name="rm", summary="build/some-very-long-folder/" * 3 + "name.txt"))
    assert "..." in desk.line_with(" rm ")
    assert "~" not in in_ascii(desk.line_with(" rm "))
    assert in_ascii("name…").startswith("name>")


# --- calm


def test_a_stream_changes_no_row_outside_the_transcript() -> None:
    desk = Desktop(120, 32).tell(session(), PlanChanged(plan=PLAN), TurnStarted(turn=1, prompt="x"))
    before = desk.lines
    for number in range(60):
        desk.tell(say(f"word {number} "), say("\n\n") if number % 9 == 0 else say("and "))
        after = desk.lines
        assert [row.partition("│")[2] for row in after] == [row.partition("│")[2] for row in before]
        assert (after[:2], after[-3:]) == (before[:2], before[-3:])


@pytest.mark.parametrize("columns", WIDTHS)
def test_the_composer_stays_where_it_is_while_a_turn_goes_on(columns: int) -> None:
    desk = Desktop(columns).tell(session())
    for fact in (
        TurnStarted(turn=1, prompt="x"),
        say("Hm.\n" * 30),
        PlanChanged(plan=PLAN),
        ToolStarted(call_id="1", name="delegate", summary="Inspect"),
        activity("starting"),
        activity("read_file", "a/b" * 90, usage=Usage(prompt_tokens=10**6), queued=3),
        delayed(2, 9.0, 109.0),
        activity("completed", "2 findings " * 20, active=False),
        NoticeRaised(level="warning", message="Look."),
        finished(),
    ):
        desk.tell(fact)
        assert PLACEHOLDER in desk.lines[-2]


@pytest.mark.parametrize("rows", [16, 24, 30])
@pytest.mark.parametrize("columns", [40, 60, 79, 80, 120, 200])
def test_nothing_moves_when_a_subagent_begins_and_ends(columns: int, rows: int) -> None:
    desk = Desktop(columns, rows).tell(session(), PlanChanged(plan=PLAN), TurnStarted(turn=1, prompt="Why?"))
    before, place = desk.lines, 2 if columns >= 80 else 3
    for fact in (
        activity("starting"),
        activity("read_file", "packages/deep/" * 20, queued=3, usage=Usage(prompt_tokens=10**6)),
        activity("completed", "no findings", active=False),
        activity(
            "partial", "The worker process was killed by SIGKILL before it was done. " * 3, active=False
        ),
    ):
        after = desk.tell(fact).lines
        assert "SUBAGENT" in after[1]
        assert after[place:-1] == before[place:-1]
    desk.tell(finished(), TurnStarted(turn=2, prompt="Go on."))
    assert "SUBAGENT" not in desk.text
    assert desk.lines[place] == before[place]


@pytest.mark.parametrize("columns", [40, 60, 79])
def test_the_place_of_the_bar_on_a_narrow_screen_names_model_and_session_meanwhile(columns: int) -> None:
    desk = Desktop(columns).tell(session())
    assert desk.lines[1] == " gpt-5-mini · 20250101-101112-7f3a"
    assert "gpt-5-mini" not in desk.lines[-1]


def test_a_draft_of_several_lines_changes_nothing_of_the_panels_head() -> None:
    desk = Desktop(120, 30).tell(session(), usage(), PlanChanged(plan=PLAN))
    before = panel_of(desk)[2:10]
    for _ in range(6):
        desk.type("line").press("meta enter")
    assert panel_of(desk)[2:10] == before


# --- the panel's head


SPENT = UsageReported(
    turn=Usage(prompt_tokens=3_000, completion_tokens=400, cost_usd=0.01),
    total=Usage(prompt_tokens=45_000, completion_tokens=1_200, cost_usd=0.12),
    subagent=Usage(),
    context_tokens=32_000,
)


@pytest.mark.parametrize("columns", [80, 120, 200])
def test_the_panel_tells_model_session_root_context_turn_total_and_cost(columns: int) -> None:
    rows = panel_of(Desktop(columns, 32).tell(session(), SPENT, PlanChanged(plan=PLAN)))
    for label, text in {
        "Model": "gpt-5-mini",
        "Session": "20250101-101112-7f3a",
        "Root": "~/code/project",
        "Context": " 25%",
        "Turn": "3.4k tokens  $0.01",
        "Total": "46.2k tokens  $0.12",
    }.items():
        assert next(row for row in rows if row.startswith(label)).endswith(text)
    assert "32k of 128k tokens" in rows
    assert any(row.startswith("Plan 1/4") for row in rows)


@pytest.mark.parametrize(("glyphs", "full", "empty"), [(theme.UNICODE, "━", "╌"), (theme.ASCII, "#", "-")])
@pytest.mark.parametrize(
    ("tokens", "share"), [(0, 0.0), (1, 0.03), (32_000, 0.25), (128_000, 1.0), (10**7, 1.0)]
)
def test_how_full_the_context_is_reads_without_colour(
    glyphs: theme.Glyphs, full: str, empty: str, tokens: int, share: float
) -> None:
    desk = Desktop(120, 32, glyphs).tell(session(), usage(tokens))
    row = desk.line_with("Context").rpartition("Context")[2]
    cells = row.count(full) + row.count(empty)
    assert cells > 20
    assert abs(row.count(full) / cells - share) < 0.05
    assert (row.count(full) > 0) == (tokens > 0), "what is used at all is seen"


def test_a_window_that_nobody_knows_has_no_bar() -> None:
    desk = Desktop(120, 32).tell(session(context_window=0), usage())
    assert "12.3k tokens" in desk.line_with("Context")
    assert "the window is unknown" in desk.text


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize(("rows", "told"), [(32, ["Model", "Turn"]), (24, ["Turn"]), (16, [])])
def test_with_few_rows_the_head_gives_way_to_the_plan(columns: int, rows: int, told: list[str]) -> None:
    desk = Desktop(columns, rows).tell(session(), SPENT, PlanChanged(plan=PLAN))
    labels = [row.partition(" ")[0] for row in panel_of(desk)]
    assert [label for label in ("Model", "Turn") if label in labels] == told
    assert "Inspect the provider" in desk.text
    assert ("context 25%" in desk.lines[-1] or "32k/128k 25%" in desk.lines[-1]) == (not told)


@pytest.mark.parametrize("columns", WIDTHS)
def test_the_plan_on_its_key_tells_the_session_too(columns: int) -> None:
    desk = Desktop(columns, 30).tell(session(), SPENT, PlanChanged(plan=PLAN)).press("f2")
    for text in ("Model   gpt-5-mini", "Session 20250101-101112-7f3a", "32k of 128k tokens", "Plan 1/4"):
        assert text in desk.text


def test_before_the_session_is_known_its_place_is_kept() -> None:
    desk = Desktop(120, 32)
    before = next(at for at, row in enumerate(panel_of(desk)) if row.startswith("Plan"))
    desk.tell(session(), SPENT)
    assert panel_of(desk)[before].startswith("Plan")


# --- room for everything


@pytest.mark.report("PANEL-03")
@pytest.mark.parametrize(("columns", "rows"), [(40, 10), (60, 24), (80, 24), (80, 10), (120, 32), (200, 50)])
def test_forty_long_steps_leave_transcript_and_composer_their_room(columns: int, rows: int) -> None:
    desk = Desktop(columns, rows).tell(session(), PlanChanged(plan=LONG), TurnStarted(turn=1, prompt="Why?"))
    desk.tell(say("Because."))
    for text in ("Why?", "Because.", PLACEHOLDER):
        assert text in desk.text
    assert PLACEHOLDER in desk.lines[-2]


@pytest.mark.report("PANEL-04")
@pytest.mark.parametrize("text", ["[/x]", "[b", "[red]", "][", "[[/]] {0} %s <b>"])
@pytest.mark.parametrize("columns", [60, 120])
def test_brackets_are_drawn_as_they_are_in_every_part(text: str, columns: int) -> None:
    item = PlanItem(id=text, title=text, status="blocked", details=text, next_action=text, evidence=(text,))
    desk = Desktop(columns, 50).tell(
        session(workspace=f"/{text}", model=text, session_id=text),
        PlanChanged(plan=Plan(items=(item,), reason=text, session=text)),
        TurnStarted(turn=1, prompt=text),
        ToolStarted(call_id="1", name=text, summary=text),
        activity(text, text),
    )
    desk.type(text).press("enter").type(text).tell(approval(text, title=text, grant=text)).wait(2 * GRACE_S)
    assert desk.text.count(text) >= 10
    assert desk.press("f2").text.count(text) >= 6


@pytest.mark.report("URW-04")
@settings(max_examples=25, deadline=None)
@given(TEXTS, TEXTS, st.integers(1, 6), st.sampled_from([theme.UNICODE, theme.ASCII]))
def test_panel_and_bar_are_drawn_at_any_width(
    text: str, other: str, columns: int, glyphs: theme.Glyphs
) -> None:
    fields: dict[str, str] = {"title": other, "details": text, "next_action": other}
    item = PlanItem(id=text, status="in_progress", dependencies=(other,), evidence=(text,), **fields)
    plan = Plan(items=(item, item), reason=other)
    desk = Desktop(120, 40, glyphs).tell(session(), PlanChanged(plan=plan), activity(text, other))
    panel = PlanPanel(desk.view)
    panel.changed()
    for rows in (1, 20):
        panel.screen_rows = rows
        assert panel.render((columns, rows)).cols() == columns
    for left, right in activity_bar.activity_bar(desk.view, columns, 24):
        drawn = constant_row(left, glyphs.ellipsis, "activity", right).render((columns,))
        assert all(
            sum(urwid.calc_width(run, 0, len(run)) for *_, run in row) == columns for row in drawn.content()
        )


# --- the pointer


def test_what_is_under_the_pointer_is_known_and_what_lies_over_it_comes_first() -> None:
    desk = working(120, 32)
    desk.draw()
    screen = desk.screen
    for (column, row), kind in {
        (5, 10): TranscriptView,
        (110, 10): PlanPanel,
        (5, 30): Composer,
    }.items():
        part = screen.part_at(column, row)
        assert part is not None
        assert isinstance(part.widget, kind)
    composer = screen.part_at(5, 30)
    assert composer is not None
    assert (composer.column, composer.row) == (5, 0)
    assert screen.part_at(5, 0) is None
    desk.press("f2").draw()
    over = screen.part_at(30, 10)
    assert over is not None
    assert over.widget is screen.plan


def test_the_wheel_over_the_panel_scrolls_the_plan_and_not_the_transcript() -> None:
    desk = Desktop(80, 24).tell(session(), PlanChanged(plan=PLAN), say("line\n\n" * 60))
    desk.draw()
    left = [line.partition("│")[0] for line in desk.lines]
    for button in (4, 5):
        before = desk.text
        point(desk.screen, ("mouse press", button, 70, 12))
        assert desk.text != before
        assert [line.partition("│")[0] for line in desk.lines] == left
    point(desk.screen, ("mouse press", 4, 5, 12))
    assert [line.partition("│")[0] for line in desk.lines] != left


def test_a_plan_update_is_one_line_of_the_transcript() -> None:
    desk = Desktop(60).tell(
        session(),
        PlanChanged(plan=PLAN),
        ToolStarted(call_id="1", name="update_plan", summary="1/4 done: Surveyed"),
        ToolFinished(call_id="1", name="update_plan", status="ok", duration_ms=3, display=""),
    )
    assert sum("plan" in line.lower() and "3 ms" in line for line in desk.lines) == 1
