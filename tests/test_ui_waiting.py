"""A request that waits to be sent again, as a person sees it: it counts down, and Esc ends it."""

import re

import pytest

from ipc.bus import History
from ipc.messages import AnyFact, CancelTurn, CompactionFinished, MessageDelta, TurnStarted
from tests.fakes.facts import activity, delayed, finished, session
from tests.fakes.screen import Desktop, draw_exactly, working
from ui import theme
from ui.state import rebuild
from ui.theme import Glyphs

TURN = (session(), TurnStarted(turn=1, prompt="x"))
AGENT = "subagent-7f3a"
ANSWER = MessageDelta(turn=1, kind="text", text="fine")


def waiting(columns: int = 80, wait_s: float = 12.0, glyphs: Glyphs = theme.UNICODE) -> Desktop:
    """A turn whose request has failed once and waits."""
    desk = Desktop(columns, glyphs=glyphs).tell(*TURN)
    return desk.tell(delayed(2, wait_s, desk.now + wait_s))


def seconds(desk: Desktop) -> int | None:
    """What the status line says is left."""
    said = re.search(r"attempt 2/4 in ([ \d]\d) s", desk.lines[-1])
    return None if said is None else int(said[1])


@pytest.mark.report("PROV-15")
@pytest.mark.parametrize("glyphs", [theme.UNICODE, theme.ASCII])
@pytest.mark.parametrize("columns", [40, 60, 80, 120, 200])
def test_the_wait_counts_down_beside_the_key_that_ends_it_and_nothing_moves(
    columns: int, glyphs: Glyphs
) -> None:
    desk = waiting(columns, glyphs=glyphs)
    rows, counted = set(), []
    for _ in range(12):
        assert desk.view.moving, "frames come without a key"
        draw_exactly(desk)
        rows.add(desk.lines[-1].replace(f"{seconds(desk):2} s", "?"))
        counted.append(seconds(desk))
        desk.wait(1)
    assert counted == [*range(12, 0, -1)]
    (row,) = rows
    assert "?  Esc stop" in row
    assert row.isascii() or glyphs is theme.UNICODE
    assert "attempt 2" not in desk.lines[-1]
    assert "Esc stop" in desk.lines[-1]


@pytest.mark.report("PROV-15")
@pytest.mark.parametrize("key", ["esc", "ctrl c"])
def test_one_key_ends_the_wait_and_it_counts_no_further(key: str) -> None:
    desk = waiting().press(key)
    assert desk.orders == [CancelTurn()]
    assert "attempt 2" not in desk.lines[-1]
    desk.tell(finished(status="cancelled"), TurnStarted(turn=2, prompt="y"))
    assert "working" in desk.lines[0]
    assert "attempt 2" not in desk.lines[-1]


def test_one_calm_line_says_afterwards_that_a_request_was_repeated_and_why() -> None:
    desk = waiting()
    desk.tell(delayed(3, 1.0, desk.now), delayed(4, 1.0, desk.now, reason="503: overloaded"), ANSWER)
    assert "Attempt 3 of 4 failed: 503: overloaded" in desk.text
    assert desk.text.count("failed") == 1
    assert desk.roles_of("failed") == {"dim"}
    assert "slow down" not in desk.text
    desk.tell(delayed(2, 1.0, desk.now))
    assert "Attempt 1 of 4 failed: 429" in desk.text
    assert desk.text.count("failed") == 2, "another request has a line of its own"


def test_a_wait_too_short_to_be_read_does_not_flicker() -> None:
    desk = waiting(wait_s=0.4)
    assert "attempt 2" not in desk.lines[-1]
    assert "Attempt 1 of 4 failed" in desk.text


def snapshot(*facts: AnyFact) -> tuple[AnyFact, ...]:
    history = History()
    for fact in facts:
        history.add(fact, 100)
    return history.facts()


def test_a_screen_that_comes_late_counts_what_is_left_and_no_wait_that_is_over() -> None:
    desk = Desktop()
    facts = (*TURN, delayed(2, 12.0, desk.now + 12))
    rebuild(desk.wait(7).view.state, "parent", snapshot(*facts), desk.now)
    assert seconds(desk) == 5
    rebuild(desk.wait(7).view.state, "parent", snapshot(*facts), desk.now)
    assert seconds(desk) is None
    assert "Attempt 1 of 4 failed" in desk.text


@pytest.mark.parametrize(
    "over",
    [
        (finished(status="cancelled"), TurnStarted(turn=2, prompt="y")),
        (CompactionFinished(method="trim", before_tokens=9, after_tokens=1),),
    ],
)
def test_what_ends_early_takes_the_wait_along_also_in_a_snapshot(over: tuple[AnyFact, ...]) -> None:
    desk = waiting()
    facts = (*TURN, delayed(2, 12.0, desk.now + 12), *over)
    assert seconds(desk) == 12
    assert seconds(desk.tell(*over)) is None
    rebuild(desk.view.state, "parent", snapshot(*facts), desk.now)
    assert seconds(desk) is None


@pytest.mark.report("PROV-15")
@pytest.mark.parametrize("columns", [60, 80, 120])
def test_the_wait_of_a_subagent_counts_down_in_its_bar_alone(columns: int) -> None:
    desk = working(columns)
    desk.tell(activity("reasoning", "the server failed; attempt 2", elapsed_ms=2_000))
    desk.tell(delayed(2, 12.0, desk.now + 12, reason="", agent_id=AGENT))
    for left in ("12", " 9"):
        assert f"reasoning  the server failed; attempt 2 in {left} s" in " ".join(desk.lines[1:3])
        assert "attempt 2" not in desk.lines[-1]
        desk.wait(3)
    assert "Attempt 1" not in desk.text
    assert " s" not in desk.wait(9).lines[1 if columns >= 80 else 2].split("attempt 2")[1][:5]


def test_a_subagent_that_goes_on_before_its_time_waits_no_more() -> None:
    desk = working().tell(activity("reasoning", "the server failed; attempt 2"))
    desk.tell(delayed(2, 50.0, desk.now + 50, agent_id=AGENT))
    desk.tell(activity("reasoning", "handing in"))
    assert " in 50 s" not in desk.text
