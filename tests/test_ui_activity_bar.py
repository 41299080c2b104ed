"""What the subagents' bar says, at the widths people use."""

import pytest

from ipc.messages import ProcessExited, SubagentActivityChanged, ToolStarted, TurnStarted, Usage
from tests.fakes.facts import activity, finished, session
from tests.fakes.screen import Desktop, working
from ui import figures, palettes, theme
from ui.state import NESTED, rebuild
from ui.widgets.row import width

WIDTHS = [40, 60, 80, 120, 200]
PALETTE = tuple(palettes.palette("dark"))
TURN = (session(), TurnStarted(turn=1, prompt="x"))
USED = Usage(prompt_tokens=12_000, cached_tokens=9_000, completion_tokens=300, cost_usd=0.0042)


WORKS = activity("read_file", elapsed_ms=60_000)


def begun(name: str, call_id: str = "") -> ToolStarted:
    return ToolStarted(call_id=call_id or name, name=name, summary="x")


def bar(desk: Desktop) -> str:
    """The rows of the bar, as one line."""
    lines = desk.lines
    return lines[1] if desk.size[0] >= 80 else f"{lines[1]} {lines[2]}"


@pytest.mark.parametrize("columns", WIDTHS)
def test_the_bar_right_below_the_header_says_who_works_at_what_and_for_how_long(columns: int) -> None:
    desk = working(columns)
    assert "SUBAGENT 7f3a" in desk.lines[1]
    assert "read_file  src/app.py" in bar(desk)
    assert desk.lines[1].endswith(" 0:02")
    assert desk.roles_of("SUBAGENT") == {"activity"}
    assert " 0:05" in desk.wait(3).lines[1]


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("phase", ["starting", "reasoning", "list_files", "update_plan", "reviewing"])
def test_every_phase_can_be_read_whole_at_every_width(columns: int, phase: str) -> None:
    desk = working(columns).tell(activity(phase, "packages/deep/" * 20, usage=USED, queued=3))
    assert f" {phase} " in bar(desk)
    assert "SUBAGENT 7f3a" in bar(desk)


def test_the_bar_is_filled_with_the_accent_and_its_text_contrasts() -> None:
    entry = next(entry for entry in PALETTE if entry[0] == "activity")
    assert entry[5] == palettes.ACCENT == "#a78bfa"
    assert _contrast(entry[4].split(",")[0], entry[5]) >= 4.5
    others = [entry for entry in PALETTE if entry[0] != "activity"]
    assert not any(palettes.ACCENT in field for entry in others for field in entry)


def test_there_is_no_bar_without_a_subagent() -> None:
    desk = Desktop().tell(session(), TurnStarted(turn=1, prompt="x"))
    assert "SUBAGENT" not in desk.text


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize(
    ("phase", "sign"), [("completed", "✓"), ("partial", "!"), ("failed", "✗"), ("cancelled", "◌")]
)
def test_the_bar_stands_still_with_the_outcome_until_the_next_prompt(
    columns: int, phase: str, sign: str
) -> None:
    desk = working(columns).tell(activity(phase, "2 findings", elapsed_ms=4_000, active=False))
    shown = bar(desk)
    assert f" {sign} SUBAGENT 7f3a " in shown
    assert f"{phase}  2 findings" in shown
    assert " 0:04" in shown
    desk.wait(60).tell(finished())
    assert bar(desk) == shown
    assert None in desk.roles_of("0:04"), "a bar that is filled reads as work that goes on"
    desk.tell(TurnStarted(turn=2, prompt="next"))
    assert "SUBAGENT" not in desk.text


@pytest.mark.parametrize("columns", [40, 60, 120, 200])
def test_tokens_and_cost_of_the_delegation_are_told_as_they_grow(columns: int) -> None:
    desk = working(columns).tell(activity("reasoning", usage=Usage(prompt_tokens=900)))
    assert "900 tokens" in bar(desk)
    desk.tell(activity("reviewing", usage=USED))
    assert "12.3k tokens" in bar(desk)
    assert ("$0.0042" in bar(desk)) == (columns > 40)


def test_delegations_that_wait_are_counted() -> None:
    desk = working(80).tell(activity("starting", queued=2, usage=USED))
    assert "2 more wait  12.3k tokens" in desk.lines[1]
    assert "1 more waits" in desk.tell(activity("starting", queued=1)).lines[1]
    assert "wait" not in desk.tell(activity("starting")).lines[1]


def test_nothing_waits_behind_a_delegation_that_was_cancelled_or_a_turn_that_is_over() -> None:
    desk = working(80).tell(activity("cancelled", queued=2, active=False))
    assert "wait" not in desk.lines[1]
    desk = working(80).tell(activity("partial", queued=2, active=False))
    assert "2 more wait" in desk.lines[1]
    assert "wait" not in desk.tell(finished(status="cancelled")).lines[1]


def test_what_gives_way_is_the_detail_and_never_the_figures() -> None:
    desk = working(80).tell(activity("read_file", "packages/deep/" * 20, usage=USED))
    assert "read_file  packages/" in desk.lines[1]
    assert "12.3k tokens" in desk.lines[1]


def test_without_colours_and_in_ascii_every_state_has_a_sign_and_a_word_of_its_own() -> None:
    phases = ("completed", "partial", "failed", "cancelled")
    signs = {}
    for phase in phases:
        desk = Desktop(80, 24, theme.ASCII).tell(*TURN, activity(phase, active=False))
        assert phase in desk.lines[1]
        signs[phase] = desk.lines[1].split()[0]
    working_sign = Desktop(80, 24, theme.ASCII).tell(*TURN, activity("reasoning")).lines[1].split()[0]
    assert len({*signs.values(), working_sign}) == len(phases) + 1
    assert all(sign.isascii() for sign in signs.values())
    mono = {role: mono for role, _, _, mono, _, _ in PALETTE}
    assert mono["activity"] != mono["dim"] != mono["strong"]


def test_the_words_of_an_outcome_matter_more_than_figures_and_take_no_other_row() -> None:
    why = "The worker process was killed by SIGKILL"
    desk = working(80)
    below = desk.lines[2:]
    desk.tell(activity("partial", why, active=False, usage=USED))
    assert f"partial  {why}" in desk.lines[1]
    assert desk.lines[1].endswith(" 0:00")
    desk.tell(activity("partial", why + " before it had a result.", active=False, usage=USED))
    assert f"partial  {why} befo…" in desk.lines[1]
    assert desk.lines[2:] == below
    assert "partial" in Desktop(80, 10).tell(*TURN, activity("partial", why, active=False)).lines[1]


@pytest.mark.parametrize("seconds", [0, 7, 59, 60, 765, 5_999, 6_000, 35_999, 90_000, 10**6])
def test_elapsed_time_is_always_as_wide_and_moves_nothing_beside_it(seconds: int) -> None:
    assert width(figures.elapsed(1_000 * seconds)) == 5
    rows = [
        working(80).tell(activity("x", "a.py", elapsed_ms=1_000 * each, usage=USED)).lines[1]
        for each in (0, seconds)
    ]
    assert rows[1].endswith(figures.elapsed(1_000 * seconds))
    assert rows[0][:-5] == rows[1][:-5]


@pytest.mark.parametrize("columns", WIDTHS)
def test_a_nested_delegation_is_said_until_the_subagent_does_something_else(columns: int) -> None:
    desk = working(columns).tell(activity("delegate", NESTED))
    assert NESTED in bar(desk)
    desk.tell(activity("reasoning"))
    assert f"reasoning  {NESTED}" in bar(desk)
    desk.tell(activity("read_file", "a.py"))
    assert NESTED not in bar(desk)


def test_a_subagent_that_thinks_is_told_by_what_it_did_before() -> None:
    desk = working().tell(activity("read_file", "src/app.py"), activity("reasoning"))
    assert "reasoning  after read_file: src/app.py" in bar(desk)
    desk.tell(activity("reasoning", "the server failed; attempt 2"))
    assert "reasoning  the server failed; attempt 2 " in bar(desk)
    desk.tell(activity("reviewing"))
    assert "reviewing  after read_file: src/app.py" in bar(desk)
    desk.tell(activity("list_files"), activity("reasoning"))
    assert "reasoning  after list_files" in bar(desk)
    assert "after" not in bar(desk.tell(activity("completed", active=False)))


def test_what_one_subagent_did_is_not_told_of_the_next() -> None:
    other = SubagentActivityChanged(
        agent_id="subagent-0b1c", phase="reasoning", detail="", elapsed_ms=0, active=True
    )
    desk = working().tell(activity("delegate", NESTED), other)
    assert "SUBAGENT 0b1c  reasoning" in bar(desk)
    assert NESTED not in bar(desk)


def test_a_snapshot_that_tells_nothing_new_does_not_turn_the_clocks_back() -> None:
    begun, works = TurnStarted(turn=1, prompt="x"), activity("read_file", elapsed_ms=1_000)
    desk = Desktop().tell(session(), begun, works).wait(9)
    rebuild(desk.view.state, "parent", (session(), begun, works), desk.now)
    assert "working 0:09" in desk.lines[0]
    assert bar(desk).endswith(" 0:10")


def test_the_clocks_of_what_a_new_screen_finds_move_and_say_that_it_may_be_more() -> None:
    desk = Desktop()
    rebuild(desk.view.state, "parent", (*TURN, begun("list_files"), begun("delegate"), WORKS), desk.now)
    assert bar(desk).endswith(" 1:00+")
    assert bar(desk.wait(3)).endswith(" 1:03+")
    assert "working 1:03+" in desk.lines[0]
    assert " 1:03+" in desk.line_with("● delegate")
    assert " 0:03+" in desk.line_with("● list_files")
    desk.tell(activity("reasoning", elapsed_ms=90_000))
    assert bar(desk).endswith(" 1:30")
    assert "+" not in desk.tell(TurnStarted(turn=2, prompt="y")).lines[0]


@pytest.mark.report("PANEL-05")
@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("restarting", [None, True, False])
def test_nothing_goes_on_while_the_agent_is_gone(columns: int, restarting: bool | None) -> None:
    desk = Desktop(columns).tell(*TURN, begun("list_files"), begun("delegate"), WORKS).wait(2)
    if restarting is None:
        desk.view.state.cut_off = True
        desk.tell()
    else:
        desk.tell(ProcessExited(actor="parent", pid=1, status=-9, restarting=restarting))
    before = desk.lines
    assert "SUBAGENT 7f3a" in before[1]
    assert " 1:02" in before[1]
    assert None in desk.roles_of("1:02"), "a bar that is filled reads as work that goes on"
    assert not desk.view.moving
    assert desk.wait(30.5).lines == before
    desk.view.state.cut_off = False
    desk.view.state.processes.clear()
    desk.tell()
    assert " 1:32" in desk.lines[1], "what is true is shown once the agent is back"
    assert desk.view.moving


def test_the_first_screen_of_a_run_has_seen_its_turn_begin() -> None:
    desk = Desktop()
    desk.view.state.late = False
    rebuild(desk.view.state, "parent", TURN, desk.now)
    assert "working 0:00" in desk.lines[0]
    assert "+" not in desk.lines[0]


def test_which_of_several_delegations_works_is_not_guessed() -> None:
    desk = Desktop()
    rebuild(desk.view.state, "parent", (*TURN, begun("delegate"), begun("delegate", "2"), WORKS), desk.now)
    assert "1:00" not in desk.line_with("● delegate")


def test_a_snapshot_keeps_the_clock_of_a_tool_that_was_seen_starting() -> None:
    desk = Desktop().tell(*TURN, begun("delegate")).wait(7)
    rebuild(desk.view.state, "parent", (*TURN, begun("delegate"), begun("rm", "2")), desk.now)
    assert desk.line_with("● delegate").split("│")[0].rstrip().endswith(" 0:07")
    assert desk.line_with("● rm").split("│")[0].rstrip().endswith(" 0:00+")


@pytest.mark.parametrize("columns", [40, 80])
def test_a_low_screen_has_one_row_with_who_and_what(columns: int) -> None:
    desk = working(columns, 10)
    assert "SUBAGENT 7f3a  read_file" in desk.lines[1]
    assert "0:02" in desk.lines[1]
    assert "SUBAGENT" not in desk.lines[2]


def _contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours as WCAG 2 defines it."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
