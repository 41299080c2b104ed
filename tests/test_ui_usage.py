"""What was used, what is left of the window, and what a compaction did to it."""

import msgspec
import pytest

from ipc.messages import (
    CompactionFinished,
    CompactionStarted,
    TurnStarted,
    Usage,
    UsageReported,
)
from tests.fakes.facts import finished, session, usage
from tests.fakes.screen import Desktop, working
from ui.transcript.blocks import NoteBlock

WIDTHS = [40, 60, 80, 120, 200]
TURN = Usage(prompt_tokens=12_000, cached_tokens=9_000, completion_tokens=345, cost_usd=0.0042)
TOTAL = Usage(prompt_tokens=45_000, cached_tokens=40_000, completion_tokens=1_200, cost_usd=0.12)
SUBAGENT = Usage(prompt_tokens=5_000, cached_tokens=0, completion_tokens=77, cost_usd=0.01)
USED = UsageReported(turn=TURN, total=TOTAL, subagent=SUBAGENT, context_tokens=12_300)
UNPRICED = UsageReported(
    turn=Usage(prompt_tokens=10), total=Usage(prompt_tokens=10), subagent=Usage(), context_tokens=10
)


def all_of(desk: Desktop) -> str:
    """Every word of the overlay, scrolled to its end."""
    seen = ""
    for _ in range(20):
        seen += desk.words + " "
        desk.press("down")
    return seen


@pytest.mark.parametrize(("columns", "rows"), [(40, 10), (60, 24), (80, 24), (120, 30), (200, 50)])
def test_usage_shows_turn_session_subagents_and_context(columns: int, rows: int) -> None:
    desk = Desktop(columns, rows).tell(session(), USED).type("/usage").press("enter")
    assert desk.orders == []
    seen = all_of(desk)
    for text in ("12,000 tokens, 75% of", "345 tokens", "$0.0042"):
        assert text in seen
    for text in ("45,000 tokens, 89% of", "1,200 tokens", "$0.12"):
        assert text in seen
    for text in ("Subagents", "5,000 tokens, 0% of", "77 tokens", "$0.01"):
        assert text in seen
    assert "12,300 of 128,000 tokens (10%)" in seen
    assert "Usage" not in desk.press("esc").text


def test_what_is_not_known_is_said_to_be_unknown() -> None:
    desk = Desktop(80, 30).tell(session(context_window=0), UNPRICED).type("/usage").press("enter")
    assert desk.text.count("unknown") == 3
    assert "Subagents, of that" not in desk.text
    assert "Nothing was sent" in Desktop().tell(session()).type("/usage").press("enter").text


def test_usage_is_told_anew_while_it_is_open() -> None:
    desk = Desktop(80, 30).tell(session(), UNPRICED).type("/usage").press("enter")
    assert "45,000" not in desk.text
    assert "45,000" in desk.tell(USED).text


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        (40, ["agent", "Enter send", "F1 help"]),
        (60, ["agent", "context 10%", "turn 12.3k", "Enter send"]),
        (80, ["context 10%", "turn 12.3k", "Enter send", "F1 help"]),
        (120, ["12.3k/128k 10%", "turn 12.3k", "46.2k tokens", "$0.12", "F1 help"]),
        (200, ["12.3k/128k 10%", "turn 12.3k", "46.2k tokens", "$0.12", "Alt-Enter new line"]),
    ],
)
def test_the_status_line_of_a_low_screen_says_what_matters_most_first(columns: int, shown: list[str]) -> None:
    line = Desktop(columns, 20).tell(session(), USED).lines[-1]
    assert all(text in line for text in shown)
    assert len(line) <= columns


@pytest.mark.parametrize("columns", [80, 120, 200])
@pytest.mark.parametrize("rows", [20, 24, 30])
def test_each_figure_is_shown_once_wherever_there_is_room_for_it(columns: int, rows: int) -> None:
    shown = Desktop(columns, rows).tell(session(), USED).text
    for text in ("gpt-5-mini", "10%", "12.3k tokens" if rows > 20 else "turn 12.3k"):
        assert shown.count(text) == (2 if text == "gpt-5-mini" and rows == 30 else 1)


def compaction(method: str, detail: str = "") -> CompactionFinished:
    return CompactionFinished(method=method, before_tokens=96_000, after_tokens=4_000, detail=detail)  # type: ignore[arg-type]


@pytest.mark.parametrize("columns", WIDTHS)
def test_the_header_says_that_the_conversation_is_compacted(columns: int) -> None:
    desk = Desktop(columns).tell(session(), CompactionStarted(automatic=False, context_tokens=96_000)).wait(3)
    assert "compacting 0:03" in desk.lines[0]
    assert desk.view.moving
    desk.type("next").press("enter")
    assert "queued  next" in desk.text
    desk.press("esc")
    assert "stopping" in desk.lines[0]
    desk.tell(compaction("summary"))
    assert "compacting" not in desk.lines[0]
    assert "ready" in Desktop(columns).tell(session(), compaction("summary")).lines[0]


def test_a_compaction_within_a_turn_is_said_and_then_the_turn_goes_on() -> None:
    desk = Desktop().tell(session(), TurnStarted(turn=1, prompt="x"))
    desk.tell(CompactionStarted(automatic=True, context_tokens=96_000))
    assert "compacting" in desk.lines[0]
    desk.tell(compaction("summary"))
    assert "working" in desk.lines[0]
    desk.tell(CompactionStarted(automatic=True, context_tokens=96_000), finished(status="cancelled"))
    assert "ready" in desk.lines[0]


@pytest.mark.parametrize(
    ("fact", "said"),
    [
        (compaction("summary"), "· Compacted: 96k → 4k tokens."),
        (compaction("trim", "The model did not answer."), "· Cut to fit the window: 96k → 4k tokens."),
        (compaction("none", "[/x] The server\x1b[2J refused."), "! Not compacted: the conversation stays"),
    ],
)
def test_a_compaction_leaves_one_note_with_its_detail(fact: CompactionFinished, said: str) -> None:
    started = CompactionStarted(automatic=True, context_tokens=96_000)
    desk = Desktop(80).tell(session(), started, fact)
    assert said in desk.text
    assert fact.detail.replace("\x1b", "␛") in desk.text
    notes = desk.view.state.conversation.transcript.blocks
    assert [type(block) for block in notes] == [NoteBlock]


def test_the_context_is_smaller_after_a_compaction() -> None:
    desk = Desktop(120, 20).tell(session(), USED, compaction("summary"))
    assert "context 4k/128k 3%" in desk.lines[-1]
    assert "context 12.3k/128k 10%" in Desktop(120, 20).tell(session(), USED, compaction("none")).lines[-1]


@pytest.mark.parametrize("known_before", [0, 128_000])
def test_a_window_that_is_learnt_later_counts_from_then_on(known_before: int) -> None:
    learnt = msgspec.structs.replace(USED, context_window=24_600)
    desk = Desktop(120, 30).tell(session(context_window=known_before), learnt)
    assert "12.3k of 24.6k tokens" in desk.text
    assert " 50%" in desk.line_with("Context")
    assert "12,300 of 24,600 tokens (50%)" in desk.type("/usage").press("enter").words


def test_an_unknown_window_and_price_are_left_out() -> None:
    line = Desktop(120, 20).tell(session(context_window=0), usage()).lines[-1]
    assert "context 12.3k ·" in line
    assert "%" not in line
    assert "$" not in line


@pytest.mark.parametrize("columns", WIDTHS)
def test_how_to_stop_what_goes_on_is_said_at_every_width_whatever_is_in_the_draft(columns: int) -> None:
    desk = working(columns).type("a draft")
    assert "Esc stop" in desk.lines[-1]
    desk.press("f1")
    assert "Esc close" in desk.lines[-1]
    assert "Esc stop" in desk.press("esc").lines[-1]
    assert desk.orders == []


def test_the_offline_model_is_named() -> None:
    assert "offline model" in Desktop().tell(session(offline=True)).lines[0]
    assert "offline model" in Desktop(60).tell(session(offline=True)).lines[1]
    assert "offline model" in Desktop(60, 12).tell(session(offline=True)).lines[-1]
