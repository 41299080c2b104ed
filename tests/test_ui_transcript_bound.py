"""What the screen keeps of a long session."""

import tracemalloc

from ipc.messages import AnyFact, MessageDelta, NoticeRaised, ToolFinished, TurnStarted
from tests.fakes.facts import finished, session
from ui.state import ViewState, apply, rebuild
from ui.transcript.blocks import NoteBlock, TextBlock
from ui.transcript.bound import MOST_LINES as MOST_LINES_OF_ALL
from ui.transcript.bound import Room, size
from ui.transcript.transcript import Transcript

MOST_LINES = 2_000
MOST_CHARACTERS = 100_000


def say(text: str) -> MessageDelta:
    return MessageDelta(turn=1, kind="text", text=text)


def told(*facts: AnyFact) -> ViewState:
    state = ViewState()
    state.conversation.transcript = Transcript(room=Room(MOST_LINES, MOST_CHARACTERS))
    for fact in (session(), *facts):
        apply(state, fact, 1.0)
    return state


def total(state: ViewState) -> tuple[int, int]:
    sizes = [size(block) for block in state.conversation.transcript.blocks]
    return sum(lines for lines, _ in sizes), sum(characters for _, characters in sizes)


def test_the_oldest_lines_go_and_the_first_line_says_where_they_are() -> None:
    state = told(*(say(f"Paragraph {n}.\n\n") for n in range(MOST_LINES)))
    blocks = state.conversation.transcript.blocks
    lines, _ = total(state)
    assert 0.85 * MOST_LINES < lines <= MOST_LINES
    note, oldest, newest = blocks[0], blocks[1], blocks[-1]
    assert isinstance(note, NoteBlock)
    assert isinstance(oldest, TextBlock)
    assert isinstance(newest, TextBlock)
    gone = int(oldest.text.split()[1].rstrip("."))
    assert note.text == f"{2 * gone - 1:,} earlier lines are not kept here."  # the first has none above it
    assert "sessions/s-1.jsonl" in note.next_step.replace(session().session_id, "s-1")
    assert newest.text == f"Paragraph {MOST_LINES - 1}."


def test_a_snapshot_is_bounded_too() -> None:
    state = ViewState()
    facts = (session(), *(say(f"Paragraph {n}.\n\n" * 1_000) for n in range(40)), finished())
    rebuild(state, "parent", facts, 1.0)
    lines, _ = total(state)
    assert 0.85 * MOST_LINES_OF_ALL < lines <= MOST_LINES_OF_ALL
    note = state.conversation.transcript.blocks[0]
    assert isinstance(note, NoteBlock)
    assert "earlier lines are not kept here" in note.text


def test_a_block_keeps_its_position_when_older_ones_go() -> None:
    state = told(say("word\n\n" * (MOST_LINES // 2 - 20)))
    transcript = state.conversation.transcript
    apply(state, say("the one\n\n"), 1.0)
    position = transcript.dropped + len(transcript.blocks) - 1
    apply(state, say("more\n\n" * 800), 1.0)
    assert transcript.dropped > 0
    block = transcript.blocks[position - transcript.dropped]
    assert isinstance(block, TextBlock)
    assert block.text == "the one"


def test_an_answer_goes_on_where_it_was_after_older_lines_went() -> None:
    state = told(say("word\n\n" * (MOST_LINES - 10) + "begin"), NoticeRaised(level="info", message="a note"))
    apply(state, say(" and end\n\nlast"), 1.0)
    texts = [block.text for block in state.conversation.transcript.blocks[-3:]]
    assert texts == ["begin and end", "last", "a note"]


def test_what_tools_said_counts() -> None:
    output = "x" * 4_000 + "\n"
    facts = [
        ToolFinished(call_id=f"{n}", name="bash_exec", status="ok", duration_ms=1, display=output)
        for n in range(200)
    ]
    state = told(TurnStarted(turn=1, prompt="go"), *facts)
    assert total(state)[1] <= 1.01 * MOST_CHARACTERS


def test_a_stream_without_end_takes_no_more_memory() -> None:
    state = told(TurnStarted(turn=1, prompt="go"))
    piece = say("twelve words of text that go on and on and on, ")
    line = say("the end.\n")

    def stream() -> None:
        for _ in range(300):
            for _ in range(9):
                apply(state, piece, 1.0)
            apply(state, line, 1.0)

    stream()  # 130 kB: more than is kept
    tracemalloc.start()
    stream()
    before = tracemalloc.get_traced_memory()[0]
    stream()
    stream()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 30_000
    apply(state, finished(text="other"), 1.0)
    assert total(state)[1] <= 1.01 * MOST_CHARACTERS


def test_an_answer_that_streamed_is_not_shown_again_at_the_end() -> None:
    for streamed, final in (("  a b\n", "a b"), ("a\n\nb", "a\n\nb\n"), ("ab", "ab")):
        blocks = told(TurnStarted(turn=1, prompt="x"), say(streamed), finished(text=final)).conversation
        assert len([each for each in blocks.transcript.blocks if isinstance(each, TextBlock)]) <= 2
        assert (
            "".join(
                each.joint + each.text for each in blocks.transcript.blocks if isinstance(each, TextBlock)
            )
            == streamed.rstrip()
        )
