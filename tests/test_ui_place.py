"""What a reader looks at stays when the size changes, when all is told anew, and however much there is."""

import pytest

from ipc.messages import (
    AnyFact,
    MessageDelta,
    NoticeRaised,
    ToolFinished,
    ToolPrinted,
    ToolStarted,
    TurnStarted,
)
from tests.fakes.facts import approval, jobs, session
from tests.fakes.screen import Desktop
from ui.pointer import point
from ui.transcript.blocks import Block, PromptBlock
from ui.transcript.drawing import drawn
from ui.transcript.listing import TranscriptView
from ui.transcript.sheets import KEPT_ROWS, Sheets
from ui.transcript.viewport import Viewport
from ui.view import View


def say(text: str) -> MessageDelta:
    return MessageDelta(turn=1, kind="text", text=text)


def paragraphs(count: int, word: str = "paragraph") -> MessageDelta:
    return say("".join(f"{word} {number}.\n\n" for number in range(count)))


def called(call_id: str, display: str, status: str = "ok") -> tuple[AnyFact, ...]:
    return (
        ToolStarted(call_id=call_id, name="bash_exec", summary="make"),
        ToolFinished(call_id=call_id, name="bash_exec", status=status, duration_ms=5, display=display),  # type: ignore[arg-type]
    )


def asked(*facts: AnyFact, rows: int = 24) -> Desktop:
    return Desktop(100, rows).tell(session(), TurnStarted(turn=1, prompt="question one\nmore"), *facts)


def top(desk: Desktop, word: str) -> str:
    """The first row with a word."""
    return desk.line_with(word).partition("│")[0].strip("┃ ")


CODE = say("```text\n" + "".join(f"code line {number}\n" for number in range(600)) + "```\n")


def test_browsing_a_high_block_stays_where_it_is_whatever_the_height() -> None:
    desk = asked(CODE, rows=30).press("shift tab", *["page up"] * 8)
    before = top(desk, "code line")
    desk.size = (100, 29)
    assert top(desk, "code line") == before
    desk.tell(jobs("sleep 100"))
    assert top(desk, "code line") == before
    assert top(desk.tell(approval()), "code line") == before


def test_what_is_chosen_comes_back_into_view_when_there_are_fewer_rows() -> None:
    desk = asked(paragraphs(60), rows=40).press("shift tab")
    for _ in range(30):
        desk.press("up")
    desk.size = (100, 14)
    assert any(line.startswith("┃") for line in desk.lines)


def test_a_larger_window_and_back_is_the_same_place() -> None:
    desk = asked(paragraphs(60)).press("page up")
    before = desk.lines
    desk.size = (100, 60)
    assert "paragraph 59." in desk.text
    assert "below" not in desk.text
    desk.size = (100, 24)
    assert desk.lines == before
    desk.size = (100, 60)
    desk.press("page down")
    desk.size = (100, 24)
    assert "paragraph 59." in desk.text


def test_scrolling_in_a_larger_window_begins_with_what_is_seen() -> None:
    desk = asked(paragraphs(60)).press("page up")
    desk.size = (100, 60)
    desk.draw()
    above = int(top(desk, "paragraph").split()[1].strip("."))
    point(desk.screen, ("mouse press", 4, 10, 10))
    assert int(top(desk, "paragraph").split()[1].strip(".")) in (above - 1, above - 2)


def test_a_transcript_that_got_shorter_is_searched_anew() -> None:
    desk = asked(paragraphs(60, "needle")).press("ctrl f").type("needle").press("enter")
    assert "60/60" in desk.text
    desk.tell_anew(session(session_id="other"), TurnStarted(turn=1, prompt="q"), say("a needle"))
    assert "1/1" in desk.text
    desk.press("n")
    desk.size = (90, 20)
    assert "1/1" in desk.text
    assert "no match" in desk.tell_anew(session()).press("n").text


def test_what_is_chosen_is_chosen_when_all_is_told_anew() -> None:
    facts = (session(), TurnStarted(turn=1, prompt="p"), paragraphs(60))
    desk = Desktop(100, 20).tell(*facts, NoticeRaised(level="info", message="note"))
    desk.press("shift tab", *["up"] * 30)
    before = [line for line in desk.lines if line.startswith("┃")]
    after = [line for line in desk.tell_anew(*facts).lines if line.startswith("┃")]
    assert before == after
    assert desk.tell_anew(session()).press("up").view.desk.reading.browsing


def test_a_click_on_the_prompt_that_stands_above_goes_there() -> None:
    desk = asked(paragraphs(60))
    row = next(at for at, line in enumerate(desk.lines) if "question one" in line)
    point(desk.screen, ("mouse press", 1, 10, row))
    desk.screen.changed()
    assert "paragraph 0." in desk.text
    assert desk.text.count("question one") == 1
    assert not desk.view.desk.reading.browsing


@pytest.mark.parametrize("act", [[], ["f5"]])
def test_a_paste_that_is_folded_is_not_laid_out(act: list[str]) -> None:
    desk = Desktop(100, 30).tell(session(), TurnStarted(turn=1, prompt="some code\n" * 20_000), say("so"))
    desk.press(*act)
    seen = list[Block]()

    def draw(block: Block, view: View) -> object:
        seen.append(block)
        return drawn(block, view)

    sheets = Sheets(desk.view, draw)  # type: ignore[arg-type]
    heights = [sheets.height(position, 100) for position in range(sheets.first, sheets.end)]
    assert len(heights) > 50
    assert sum(map(bool, heights)) == 2
    assert len(seen) == 2
    assert len([block for block in sheets.transcript.blocks if isinstance(block, PromptBlock)]) > 50
    assert "lines more" in desk.text


def transcript(desk: Desktop) -> TranscriptView:
    return desk.screen.transcript


def test_so_many_rows_are_kept_of_what_was_seen_and_what_is_in_view() -> None:
    output = "\n".join(f"line {number}" for number in range(300))
    desk = asked(*(fact for number in range(30) for fact in called(str(number), output))).press("f3")
    for _ in range(300):
        desk.press("page up")
    lines = desk.lines
    kept = transcript(desk)._sheets._kept
    assert 300 <= sum(sheet.canvas.rows() for sheet in kept.values()) <= KEPT_ROWS
    assert desk.lines == lines


def test_high_blocks_are_drawn_once_while_one_pages_through_them() -> None:
    output = "\n".join(f"line {number}" for number in range(300))
    desk = asked(*(fact for number in range(10) for fact in called(str(number), output)))
    desk.view.desk.unfolded = True
    seen = list[Block]()

    def draw(block: Block, view: View) -> object:
        seen.append(block)
        return drawn(block, view)

    sheets = Sheets(desk.view, draw)  # type: ignore[arg-type]
    viewport = Viewport(sheets)
    for _ in range(200):
        viewport.layout(80, 24)
        sheets.tidy()
        viewport.scroll(-15)
    assert viewport.place is not None
    assert viewport.place.position == 0
    assert len(seen) == len(sheets.transcript.blocks)


def test_what_was_marked_is_kept_while_it_is_in_view_and_no_longer_than_the_search() -> None:
    desk = asked(paragraphs(300, "needle")).press("ctrl f").type("needle").press("enter")
    for _ in range(30):
        desk.press("page up")
    kept = transcript(desk)._highlights._kept
    assert 0 < len(kept) < 24
    desk.press("esc", "esc").draw()
    assert not transcript(desk)._highlights._kept


def test_the_selection_mode_shows_how_calls_end_and_what_they_print() -> None:
    desk = asked(
        *called("1", "no rule to make target\nexit 2", "error"),
        *called("2", "one\ntwo\nthree\nfour"),
        ToolStarted(call_id="9", name="bash_exec", summary="make x"),
        ToolPrinted(call_id="9", tail="compiling 1\ncompiling 2\n"),
    ).press("f5")
    assert "bash_exec make  failed" in desk.lines
    assert "no rule to make target" in desk.lines
    assert "bash_exec make" in desk.lines
    assert "four" not in desk.text
    assert "compiling 2" in desk.lines
    assert "four" in desk.press("x", "f3", "f5").text
