"""What the model thinks: seen dimmed while it goes on, one line behind it, all of it on a key."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ipc.messages import MessageDelta, NoticeRaised, ToolFinished, ToolStarted, TurnStarted
from tests.fakes.facts import TEXTS, finished, session
from tests.fakes.screen import Desktop, draw_exactly
from ui.transcript.blocks import THOUGHT_PART, ThoughtBlock
from ui.transcript.transcript import Transcript

WIDTHS = [40, 60, 80, 120, 200]


def think(text: str) -> MessageDelta:
    return MessageDelta(turn=1, kind="reasoning", text=text)


def say(text: str) -> MessageDelta:
    return MessageDelta(turn=1, kind="text", text=text)


def thinking(columns: int = 80, rows: int = 24, text: str = "First.\nThen.") -> Desktop:
    """A turn whose model has begun to think."""
    return Desktop(columns, rows).tell(session(), TurnStarted(turn=1, prompt="Why?"), think(text))


def transcript(desk: Desktop) -> list[str]:
    """The transcript's rows that hold something, without what stands beside them."""
    rows = [row.split("│")[0].rstrip(" ┃") for row in desk.lines[2:-4]]
    return [row for row in rows if row.strip("─")]


@pytest.mark.parametrize("columns", WIDTHS)
def test_a_thought_is_seen_dimmed_while_it_goes_on(columns: int) -> None:
    desk = thinking(columns).wait(7)
    assert "thinking" in desk.line_with("thinking")
    assert "0:07" in desk.line_with("thinking")
    assert transcript(desk)[-2:] == ["    First.", "    Then."]
    assert desk.roles_of("    First.") == {"dim"}


@pytest.mark.parametrize("columns", WIDTHS)
def test_of_a_long_thought_the_last_rows_are_seen(columns: int) -> None:
    desk = thinking(columns, text="\n\n".join(f"Step {number}." for number in range(50)))
    assert transcript(desk)[-4:] == [f"    Step {number}." for number in range(46, 50)]
    desk.tell(think("word " * 100))
    assert len(transcript(desk)) == 6
    assert "word" in transcript(desk)[-1]


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("follows", [say("The answer."), ToolStarted(call_id="1", name="rm", summary="a")])
def test_a_thought_is_one_line_once_something_follows(
    columns: int, follows: MessageDelta | ToolStarted
) -> None:
    desk = thinking(columns).wait(7).tell(think("\nSo.")).wait(60).tell(follows)
    assert "∴ thought First. Then." in desk.text
    assert "7.0 s" in desk.line_with("∴ thought")
    assert "thinking" not in desk.text
    assert "    Then." not in desk.text


@pytest.mark.parametrize("key", ["f3", "ctrl o"])
@pytest.mark.parametrize("columns", WIDTHS)
def test_a_key_shows_all_of_every_thought_and_folds_them_again(columns: int, key: str) -> None:
    long = "\n".join(f"Step {number}." for number in range(8))
    desk = thinking(columns, 40, long).tell(say("One."), think("Second thought."), say("Two."), finished())
    folded = desk.text
    desk.press(key)
    for number in range(8):
        assert f"    Step {number}." in desk.text
        assert desk.roles_of(f"    Step {number}.") == {"dim"}
    assert "    Second thought." in desk.text
    desk.tell(think("A third."), say("Three."))
    assert "    A third." in desk.text
    desk.press(key)
    assert folded.split("Two.")[0] == desk.text.split("Two.")[0]


def test_what_is_read_stays_in_its_row_when_thoughts_above_unfold() -> None:
    long = "\n".join(f"Step {number}." for number in range(30))
    answer = "\n".join(f"line {number}" for number in range(100))
    desk = thinking(80, 24, long).tell(say(answer), finished())
    desk.press("page up", "page up")
    row, seen = 8, desk.lines[8]
    assert "line" in seen
    desk.press("f3")
    assert desk.lines[row] == seen
    desk.press("f3")
    assert desk.lines[row] == seen


def test_the_key_is_named_once_there_is_a_thought() -> None:
    desk = Desktop(120).tell(session(), finished())
    assert "details" not in desk.lines[-1]
    desk.tell(think("Hm."), say("Yes."), finished())
    assert "F3 details" in desk.lines[-1]
    assert "F3 fold" in desk.press("f3").lines[-1]


def test_thoughts_and_calls_that_alternate_take_a_row_each() -> None:
    desk = thinking()
    for number in range(3):
        desk.tell(
            ToolStarted(call_id="1", name="list_files", summary=f"dir{number}"),
            ToolFinished(call_id="1", name="list_files", status="ok", duration_ms=1, display=""),
            think(f"Next {number}."),
        )
    desk.tell(finished())
    rows = transcript(desk)[1:]
    assert [row.split()[1] for row in rows] == ["thought", "list_files"] * 3 + ["thought"]


def test_a_thought_of_white_space_is_none() -> None:
    desk = Desktop().tell(session(), think(" \n"), think("\n"), say("Yes."), finished())
    assert "though" not in desk.text.lower()


def test_a_note_does_not_end_a_thought() -> None:
    desk = thinking(text="One ").tell(NoticeRaised(level="warning", message="Busy."), think("two."))
    assert "    One two." in desk.text
    assert "Busy." in desk.text


def test_of_an_endless_thought_a_bounded_part_is_kept_and_what_is_missing_is_told() -> None:
    desk = thinking(text="word " * THOUGHT_PART).tell(say("Done."), finished())
    (thought,) = [
        each for each in desk.view.state.conversation.transcript.blocks if isinstance(each, ThoughtBlock)
    ]
    assert THOUGHT_PART <= len(thought.text) <= 2 * THOUGHT_PART
    desk.press("f3", "ctrl home")
    assert f"{5 * THOUGHT_PART - len(thought.text):,} characters before" in desk.words


@settings(max_examples=50)
@given(st.lists(TEXTS | st.text("ab \n\r", min_size=5).map(lambda text: text * 2_000), max_size=6))
def test_a_thought_is_the_same_however_it_was_cut_into_pieces(pieces: list[str]) -> None:
    whole, parts = Transcript(), Transcript()
    whole.think("".join(pieces), None)
    for piece in pieces:
        parts.think(piece, 1.0)
    for each in (whole, parts):
        each.close()
    assert [_kept(block) for block in whole.blocks] == [_kept(block) for block in parts.blocks]


def _kept(block: object) -> object:
    assert isinstance(block, ThoughtBlock)
    return block.text, block.dropped, block.lasts


@settings(max_examples=40, deadline=None)
@given(
    st.lists(TEXTS, min_size=1, max_size=4),
    st.lists(st.sampled_from(["f3", "page up", "page down", "up", "ctrl home"]), max_size=6),
    st.sampled_from([40, 41, 60, 130]),
)
def test_any_thought_is_drawn_folded_and_unfolded(texts: list[str], pressed: list[str], columns: int) -> None:
    desk = Desktop(columns, 12).tell(session())
    for text in texts:
        desk.tell(think(text))
        draw_exactly(desk)
        desk.tell(think(text), say("x"))
        draw_exactly(desk)
    for key in pressed:
        draw_exactly(desk.press(key))
