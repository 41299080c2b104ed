"""The fold from facts to what is on the screen."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from ipc.bus import History
from ipc.messages import (
    AnyFact,
    AskSettled,
    MessageDelta,
    NoticeRaised,
    PlanChanged,
    Problem,
    ProcessExited,
    ProcessStarted,
    ToolFinished,
    ToolStarted,
    TurnStarted,
)
from ipc.terminal_text import clean
from tests.fakes.facts import FACTS, PLAN, activity, approval, finished, session, usage
from ui.state import ViewState, apply, rebuild
from ui.transcript.blocks import LINE_LIMIT, Block, NoteBlock, PromptBlock, TextBlock, ThoughtBlock, ToolBlock


def told(*facts: AnyFact, now: float = 1.0) -> ViewState:
    state = ViewState()
    for fact in facts:
        apply(state, fact, now)
    return state


def blocks(state: ViewState) -> list[Block]:
    return state.conversation.transcript.blocks


def texts(state: ViewState, kind: str) -> list[str]:
    shape = PromptBlock if kind == "prompt" else TextBlock
    return [block.text for block in blocks(state) if isinstance(block, shape)]


def say(text: str, turn: int = 1) -> MessageDelta:
    return MessageDelta(turn=turn, kind="text", text=text)


def call(number: int, summary: str = "src/app.py") -> ToolStarted:
    return ToolStarted(call_id=f"call-{number}", name="read_file", summary=summary)


def result(number: int, status: str = "ok", display: str = "") -> ToolFinished:
    return ToolFinished(
        call_id=f"call-{number}", name="read_file", status=status, duration_ms=12, display=display
    )  # type: ignore[arg-type]


def test_an_answer_that_streams_is_pieces_of_text() -> None:
    state = told(
        TurnStarted(turn=1, prompt="Hi"), *(say(piece) for piece in ("\n", "He", "llo\n", "\nwor", "ld\n\n"))
    )
    assert texts(state, "prompt") == ["Hi"]
    assert texts(state, "answer") == ["Hello", "world"]


def test_a_delta_changes_only_the_last_block() -> None:
    state = told(say("one\n\ntwo"))
    first, last = blocks(state)
    before = first.revision, last.revision
    apply(state, say(" three"), 2.0)
    assert [block.revision for block in blocks(state)] == [before[0], before[1] + 1]


def test_an_endless_line_goes_on_in_further_blocks() -> None:
    state = told(say("word " * LINE_LIMIT), say("x" * 3 * LINE_LIMIT))
    lines = texts(state, "answer")
    assert all(len(line) <= LINE_LIMIT for line in lines)
    assert "".join(lines) == "word " * LINE_LIMIT + "x" * 3 * LINE_LIMIT


def test_answer_tool_and_answer_stay_in_order() -> None:
    state = told(say("before"), call(1), result(1), say("after"))
    assert [type(block) for block in blocks(state)] == [TextBlock, ToolBlock, TextBlock]


def test_parallel_calls_get_their_own_results() -> None:
    state = told(call(1, "a"), call(2, "b"), result(2, "error", "no such file\n\nmore"), result(1))
    first, second = blocks(state)
    assert isinstance(first, ToolBlock)
    assert isinstance(second, ToolBlock)
    assert (first.summary, first.status, first.detail) == ("a", "ok", "")
    assert (second.summary, second.status, second.detail) == ("b", "error", "no such file\nmore")


def test_a_call_without_a_result_is_not_running_after_the_turn() -> None:
    state = told(TurnStarted(turn=1, prompt="x"), call(1), finished(status="cancelled"))
    tool = blocks(state)[1]
    assert isinstance(tool, ToolBlock)
    assert tool.status == "cancelled"


def test_a_failed_turn_says_what_to_do_next() -> None:
    problem = Problem(code="no_key", message="The key was refused.", next_step="Set OPENAI_API_KEY.")
    note = blocks(told(TurnStarted(turn=1, prompt="x"), finished(status="failed", problem=problem)))[-1]
    assert note == NoteBlock("error", "The key was refused.", "Set OPENAI_API_KEY.")


def test_an_answer_that_was_cut_is_kept_and_told_to_be_cut() -> None:
    problem = Problem(
        code="output_limit", message="The answer was cut at the output limit.", next_step="Ask for the rest."
    )
    for streamed in ((say("Half an ans"),), ()):
        state = told(
            TurnStarted(turn=1, prompt="x"),
            *streamed,
            finished(text="Half an ans", status="limit", problem=problem),
        )
        assert texts(state, "answer") == ["Half an ans"]
        assert blocks(state)[-1] == NoteBlock(
            "warning", "The answer was cut at the output limit.", "Ask for the rest."
        )


def test_an_answer_that_did_not_stream_is_shown_at_the_end_and_once() -> None:
    assert texts(told(TurnStarted(turn=1, prompt="x"), finished(text="whole")), "answer") == ["whole"]
    assert texts(told(TurnStarted(turn=1, prompt="x"), say("whole"), finished(text="whole")), "answer") == [
        "whole"
    ]
    assert texts(told(say("first"), call(1), result(1), finished(text="whole")), "answer") == [
        "first",
        "whole",
    ]


def test_an_answer_is_said_once_although_nothing_but_space_came_after_a_tool() -> None:
    end = finished(text="I'll look.", status="cancelled")
    state = told(TurnStarted(turn=1, prompt="x"), say("I'll look."), call(1), result(1), say("\n\n"), end)
    assert texts(state, "answer") == ["I'll look."]


def test_an_ask_waits_at_its_own_call_of_several() -> None:
    ask = approval(tool="read_file", call_id="call-1")
    state = told(call(1, "a"), call(2, "b"), ask)
    first, second = blocks(state)
    assert isinstance(first, ToolBlock)
    assert isinstance(second, ToolBlock)
    assert (first.asking, second.asking) == (True, False)
    apply(state, AskSettled(ask_id=ask.ask_id, outcome="allow_once"), 2.0)
    assert (first.asking, first.decision, second.decision) == (False, "allowed once", "")


def test_what_was_decided_is_told_with_the_result_of_the_call() -> None:
    (tool,) = blocks(told(call(1), msgspec.structs.replace(result(1), decided="allow_session")))
    assert isinstance(tool, ToolBlock)
    assert tool.decision == "allowed this session"


def test_a_snapshot_keeps_what_no_fact_tells() -> None:
    thought = MessageDelta(turn=1, kind="reasoning", text="hmm")
    prompt = TurnStarted(turn=1, prompt="line\n" * 40)
    state = told(prompt, thought, now=1.0)
    apply(state, MessageDelta(turn=1, kind="reasoning", text=" so"), 13.0)
    for fact in (call(1), result(1, display="one\ntwo")):
        apply(state, fact, 14.0)
    apply(state, thought, 20.0)
    for block in blocks(state):
        block.unfolded = True
    both = msgspec.structs.replace(thought, text="hmm so")
    rebuild(state, "parent", (prompt, both, call(1), result(1, display="one\ntwo"), thought), 30.0)
    thoughts = [block for block in blocks(state) if isinstance(block, ThoughtBlock)]
    assert [(block.started_at, block.ended_at) for block in thoughts] == [(1.0, 13.0), (20.0, 20.0)]
    assert all(block.unfolded for block in blocks(state))


def test_the_subagents_outcome_stays_until_the_next_turn() -> None:
    state = told(TurnStarted(turn=1, prompt="x"), activity("starting"), activity("completed", active=False))
    apply(state, finished(), 2.0)
    assert state.conversation.activity is not None
    assert state.conversation.activity.fact.phase == "completed"
    apply(state, TurnStarted(turn=2, prompt="y"), 3.0)
    assert state.conversation.activity is None


def test_no_subagent_is_active_when_the_turn_is_over() -> None:
    state = told(TurnStarted(turn=1, prompt="x"), activity("reasoning"), finished(status="cancelled"))
    assert state.conversation.activity is None


def test_asks_wait_in_order_and_end_with_the_turn() -> None:
    state = told(approval(ask_id="a"), approval(ask_id="b"))
    assert [*state.conversation.asks] == ["a", "b"]
    apply(state, AskSettled(ask_id="a", outcome="deny"), 2.0)
    assert [*state.conversation.asks] == ["b"]
    apply(state, finished(), 3.0)
    assert not state.conversation.asks


def test_a_snapshot_of_one_publisher_leaves_the_others_alone() -> None:
    state = told(session(), say("old"), PlanChanged(plan=PLAN), ProcessStarted(actor="ui", pid=7))
    rebuild(state, "parent", (session(), say("new")))
    assert texts(state, "answer") == ["new"]
    assert state.plan == PLAN
    assert "ui" in state.processes
    rebuild(state, "plan_store", ())
    assert state.plan is None
    assert texts(state, "answer") == ["new"]


def test_a_lost_parent_is_known_until_it_is_back() -> None:
    state = told(ProcessExited(actor="parent", pid=1, status=-9, restarting=True))
    assert state.parent_lost is not None
    apply(state, ProcessStarted(actor="parent", pid=2), 2.0)
    assert state.parent_lost is None
    state.cut_off = True
    rebuild(state, "parent", (session(),))
    assert not state.cut_off


def test_a_notice_of_the_supervisor_outlives_the_parents_snapshot_and_is_shown_once() -> None:
    notice = NoticeRaised(level="warning", message="The parent process ended and was started again.")
    state = told(session(), say("old"))
    apply(state, notice, 2.0, "supervisor")
    rebuild(state, "parent", (session(), say("new")))
    assert [block.text for block in blocks(state) if isinstance(block, NoteBlock)] == [notice.message]
    rebuild(state, "supervisor", (notice, notice))
    assert [block.text for block in blocks(state) if isinstance(block, NoteBlock)] == [notice.message] * 2


@settings(max_examples=40)
@given(st.lists(FACTS, max_size=15))
def test_a_snapshot_shows_what_the_facts_showed_live(facts: list[AnyFact]) -> None:
    history = History()
    for fact in facts:
        history.add(fact, 100)
    live, late = told(*facts), ViewState()
    for fact in history.facts():
        apply(late, fact, None)
    assert _readable(late) == _readable(live)


def _readable(state: ViewState) -> object:
    talk = state.conversation
    return (
        [_without_times(block) for block in blocks(state)],
        (talk.session, talk.turn, talk.running, talk.usage, talk.context_tokens, talk.compacting),
        (state.plan, state.processes, list(talk.jobs.values())),
    )


def _without_times(block: Block) -> object:
    match block:
        case TextBlock():
            return block.text, block.joint, block.first
        case PromptBlock():
            return block.text, block.more, block.first
        case ThoughtBlock():
            return block.text, block.lasts, block.first
        case ToolBlock():
            return block.name, block.summary, block.status, block.duration_ms, block.detail, block.first
        case NoteBlock():
            return block.level, block.text, block.next_step


@settings(max_examples=60)
@given(st.lists(FACTS, min_size=1, max_size=6))
def test_no_text_of_a_fact_gets_in_uncleaned(facts: list[AnyFact]) -> None:
    for text in _strings(told(*facts)):
        assert clean(text) == text, ascii(text)
        assert "\u200d" not in text


_NOT_DRAWN = ("_cleaner", "updated_at", "said")


def _strings(thing: object) -> list[str]:
    match thing:
        case str():
            return [thing]
        case list() | tuple():
            return [text for part in thing for text in _strings(part)]
        case dict():
            return _strings(list(thing.values()))
    names = getattr(thing, "__struct_fields__", None) or getattr(thing, "__dataclass_fields__", ())
    return [text for name in names if name not in _NOT_DRAWN for text in _strings(getattr(thing, name))]


def test_a_notice_is_a_note() -> None:
    assert blocks(told(NoticeRaised(level="warning", message="[/x] low\x1b on space"))) == [
        NoteBlock("warning", "[/x] low␛ on space")
    ]


def test_a_note_does_not_cut_a_message_in_two() -> None:
    state = told(say("Hel"), NoticeRaised(level="info", message="note"), say("lo\nwor"), say("ld"))
    assert texts(state, "answer") == ["Hello\nworld"]
    assert isinstance(blocks(state)[-1], NoteBlock)


def test_usage_is_kept_as_it_was_reported() -> None:
    assert told(usage()).conversation.usage == usage()
