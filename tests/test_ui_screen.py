"""What a person reads on the screen, at the widths people use."""

import pytest
import urwid
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ipc.messages import (
    AnyFact,
    CancelTurn,
    MessageDelta,
    NoticeRaised,
    Plan,
    PlanChanged,
    PlanItem,
    Problem,
    ProcessExited,
    StartTurn,
    ToolFinished,
    ToolStarted,
    TurnStarted,
)
from tests.fakes.facts import FACTS, LICENSE, PLAN, TEXTS, activity, approval, finished, session
from tests.fakes.screen import Desktop, draw_exactly, working
from ui import keys, theme
from ui.composer.draft import draft_of
from ui.desk import Message
from ui.terminal import in_ascii
from ui.transcript.transcript import steady

WIDTHS = [40, 60, 80, 120, 200]


def say(text: str, turn: int = 1) -> MessageDelta:
    return MessageDelta(turn=turn, kind="text", text=text)


@pytest.mark.parametrize("columns", WIDTHS)
def test_the_first_frame_can_be_read_before_anything_is_known(columns: int) -> None:
    desk = Desktop(columns)
    assert "Fido" in desk.lines[0]
    assert "starting" in desk.lines[0]
    assert "Ask Fido to do something" in desk.text


@pytest.mark.parametrize("columns", [80, 120, 200])
def test_the_panel_shows_every_field_of_every_item(columns: int) -> None:
    panel = working(columns, 50).words
    for item in PLAN.items:
        for text in (item.id, item.title, item.details, *item.dependencies, item.next_action, *item.evidence):
            assert text in panel
        assert item.status.replace("_", " ") in panel
    assert "Plan 1/4" in panel
    assert "1 blocked" in panel


@pytest.mark.parametrize("columns", [40, 60])
def test_a_narrow_screen_has_the_plan_in_one_row_and_whole_on_a_key(columns: int) -> None:
    desk = working(columns)
    assert "1/4" in desk.lines[3]
    assert "Inspect the" in desk.lines[3]
    desk.press("f2")
    seen = ""
    for _ in range(30):
        seen += " " + desk.words
        desk.press("down")
    for item in PLAN.items:
        assert item.id in seen
        assert all(word in seen for word in item.title.split())
    desk.press("esc")
    assert "What is risky?" in desk.text


def test_an_empty_plan_says_so() -> None:
    assert "No plan yet" in Desktop().tell(session(), PlanChanged(plan=Plan())).text
    assert "No plan yet" in Desktop(60).tell(session(), PlanChanged(plan=Plan())).press("f2").text


def long_plan(active: int, count: int = 20) -> Plan:
    return Plan(
        revision=active,
        items=tuple(
            PlanItem(
                id=f"step-{at}",
                title=f"Step {at} " + "with a long title " * 8,
                status="done" if at < active else "in_progress" if at == active else "pending",
                next_action="go on",
            )
            for at in range(count)
        ),
    )


@pytest.mark.parametrize("active", [0, 7, 19])
def test_the_active_item_is_kept_in_view(active: int) -> None:
    desk = Desktop(80, 24).tell(session(), PlanChanged(plan=long_plan(active)))
    assert f"step-{active}" in desk.text
    assert "in progress" in desk.text


def test_the_panel_stays_where_the_person_scrolled_it_until_another_item_is_active() -> None:
    desk = Desktop(80, 24).tell(session(), PlanChanged(plan=long_plan(15)))
    desk.press(*["shift up"] * 20)
    assert "step-0" in desk.text
    desk.tell(PlanChanged(plan=long_plan(16)))
    assert "step-16" in desk.text


def test_a_long_plan_leaves_room_for_transcript_and_composer() -> None:
    desk = Desktop(80, 24).tell(session(), PlanChanged(plan=long_plan(3, 40)), say("the answer"))
    assert "the answer" in desk.text
    assert "Ask Fido to do something" in desk.text


@pytest.mark.parametrize("columns", WIDTHS)
def test_a_tool_is_one_line_with_its_duration(columns: int) -> None:
    line = working(columns).line_with("list_files")
    assert "✓ list_files ." in line
    assert "12 ms" in line


def test_a_failed_tool_says_why() -> None:
    desk = Desktop().tell(
        ToolStarted(call_id="1", name="bash_exec", summary="make test"),
        ToolFinished(
            call_id="1", name="bash_exec", status="error", duration_ms=4_200, display="exit status 2\nno rule"
        ),
    )
    assert "failed" in desk.line_with("bash_exec")
    assert "4.2 s" in desk.line_with("bash_exec")
    assert "exit status 2" in desk.text
    assert "no rule" in desk.text


@pytest.mark.parametrize(("status", "word"), [("denied", "denied"), ("cancelled", "cancelled")])
def test_how_a_tool_ended_is_said_in_a_word(status: str, word: str) -> None:
    desk = Desktop().tell(
        ToolFinished(call_id="1", name="rm", status=status, duration_ms=0, display="")  # type: ignore[arg-type]
    )
    assert word in desk.line_with("rm")


@pytest.mark.parametrize(
    ("status", "display", "sign", "word", "below"),
    [
        ("ok", "completed", "✓ delegate", "", ""),
        ("ok", "partial: The worker was killed.", "! delegate", "partial", "The worker was killed."),
        ("ok", "partial", "! delegate", "partial", ""),
        ("error", "failed: The worker was killed.", "✗ delegate", "failed", "The worker was killed."),
        ("error", "Wrong input: no task.", "✗ delegate", "failed", "Wrong input: no task."),
        ("cancelled", "failed: The delegation was cancelled.", "◌ delegate", "cancelled", ""),
    ],
)
def test_the_row_of_a_delegation_says_what_its_bar_says(
    status: str, display: str, sign: str, word: str, below: str
) -> None:
    desk = Desktop(120).tell(
        ToolStarted(call_id="1", name="delegate", summary="Look"),
        ToolFinished(call_id="1", name="delegate", status=status, duration_ms=0, display=display),  # type: ignore[arg-type]
    )
    assert sign in desk.text
    left = [line.split(" │ ")[0] for line in desk.lines]
    row = next(at for at, line in enumerate(left) if sign in line)
    assert word in left[row]
    assert left[row + 1].strip() == below
    assert ("partial" in desk.text) + ("failed" in desk.text) == (word in ("partial", "failed"))


@pytest.mark.parametrize("columns", WIDTHS)
def test_an_answer_is_wrapped_at_words(columns: int) -> None:
    answer = "The quick brown fox jumps over the lazy dog and then it rests a while. " * 3
    desk = Desktop(columns, 40).tell(session(), say(answer))
    assert answer.strip() in desk.words


def test_markup_in_text_is_text() -> None:
    text = "[/x] [b [red] {0} %s <b>"
    desk = Desktop(120).tell(
        session(workspace=text),
        TurnStarted(turn=1, prompt=text),
        say(text),
        ToolStarted(call_id="1", name="x", summary=text),
        NoticeRaised(level="error", message=text),
        finished(status="failed", problem=Problem(code="x", message=text, next_step=text)),
    )
    assert desk.text.count(text) == 7


def test_the_header_says_what_goes_on() -> None:
    desk = Desktop().tell(session())
    assert "ready" in desk.lines[0]
    assert "~/code/project" in desk.lines[0]
    desk.tell(TurnStarted(turn=1, prompt="x")).wait(65)
    assert "working 1:05" in desk.lines[0]
    desk.press("esc")
    assert desk.orders == [CancelTurn()]
    assert "stopping" in desk.lines[0]
    desk.tell(ProcessExited(actor="parent", pid=1, status=-9, restarting=True))
    assert "restarting" in desk.lines[0]


def test_typing_while_fido_works_queues_the_message() -> None:
    desk = working().type("and the tests?").press("enter")
    assert "queued  and the tests?" in desk.text
    assert desk.orders == []
    desk.tell(finished())
    assert desk.orders == [StartTurn(prompt="and the tests?")]
    assert "queued" not in desk.text


def test_one_cancel_keeps_the_draft_and_the_queue() -> None:
    desk = working().type("queued one").press("enter").type("half a dra").press("esc")
    assert desk.orders == [CancelTurn()]
    assert "queued one" in desk.text
    assert "half a dra" in desk.text
    desk.tell(finished(status="cancelled"))
    assert desk.orders == [CancelTurn(), StartTurn(prompt="queued one")]
    assert "half a dra" in desk.text


def test_a_queued_message_can_be_taken_back() -> None:
    desk = working().type("not yet").press("enter", "meta up")
    assert "queued" not in desk.text
    assert "› not yet" in desk.text


def test_many_queued_messages_are_counted() -> None:
    desk = working()
    for number in range(5):
        desk.type(f"message {number}").press("enter")
    assert "message 0" in desk.text
    assert "and 3 more" in desk.text


def test_the_composer_takes_more_lines_and_a_paste_whole() -> None:
    desk = Desktop().tell(session()).type("Explain:").press("meta enter")
    desk.press(keys.Pasted("def f():\n\treturn [/x]\n")).type("please").press("enter")
    assert desk.orders == [StartTurn(prompt="Explain:\ndef f():\n\treturn [/x]\nplease")]


def test_a_long_draft_is_scrolled_to_the_cursor() -> None:
    desk = Desktop(80, 24)
    for number in range(30):
        desk.type(f"line {number}").press("meta enter")
    desk.type("the end")
    assert "the end" in desk.text
    assert "line 0" not in desk.text
    desk.press(*["up"] * 30)
    assert "line 0" in desk.text


def test_what_the_composer_draws_is_cleaned_and_what_it_sends_is_not() -> None:
    desk = Desktop().tell(session())
    desk.press(keys.Pasted("a\u202e\x9b\udce9b"))
    assert "a<U+202E><U+009B>\ufffdb" in desk.text
    assert desk.press("enter").orders == [StartTurn(prompt="a\u202e\x9b\ufffdb")]


def test_taking_back_nothing_changes_nothing() -> None:
    assert "› draft" in Desktop().type("draft").press("meta up").text


def test_a_long_message_leaves_room_on_a_small_screen() -> None:
    desk = working(40, 10)
    desk.view.desk.message = Message("error", "The plan store did not answer. " * 20)
    assert "The plan store" in desk.text
    assert "Ask Fido" in desk.text


def test_a_question_mark_within_a_draft_is_a_question_mark() -> None:
    assert "› why?" in Desktop().type("why?").text


def test_the_transcript_follows_the_end_until_it_is_scrolled() -> None:
    desk = Desktop(80, 24).tell(session(), say("\n".join(f"line {number}" for number in range(200))))
    assert "line 199" in desk.text
    desk.press("page up", "page up")
    seen = desk.line_with("line 1")
    desk.tell(say("\nline 200\nline 201"))
    assert "line 201" not in desk.text
    assert desk.line_with("line 1") == seen
    desk.press("ctrl end")
    assert "line 201" in desk.text
    desk.tell(say("\nline 202"))
    assert "line 202" in desk.text


def test_the_transcript_scrolls_from_the_end_to_the_beginning_and_back() -> None:
    desk = Desktop(80, 24).tell(session(), say("\n".join(f"line {number}." for number in range(200))))
    seen = set()
    for key in ["page up"] * 20 + ["page down"] * 20:
        seen |= {line.strip("┃│ ").split("│")[0].strip() for line in desk.lines}
        desk.press(key)
    assert {f"line {number}." for number in range(200)} <= {line.rstrip("┃ ") for line in seen}
    assert "line 199." in desk.text


@pytest.mark.parametrize(("columns", "rows"), [(39, 24), (80, 9), (20, 5), (5, 2), (2, 1), (1, 1)])
def test_a_screen_that_is_too_small_says_so_and_loses_nothing(columns: int, rows: int) -> None:
    desk = working().type("a draft")
    before = desk.text
    desk.size = (columns, rows)
    assert "too small"[:columns] in desk.text
    desk.size = (80, 24)
    assert desk.text == before


def test_ascii_terminals_get_ascii() -> None:
    desk = Desktop(120, 40, theme.ASCII).tell(
        session(),
        PlanChanged(plan=PLAN),
        TurnStarted(turn=1, prompt="größer"),
        say("→ 漢字"),
        ToolFinished(call_id="1", name="rm", status="error", duration_ms=1, display="✗"),
        activity("reading", "…"),
        approval(),
    )
    shown = in_ascii(desk.text)
    assert shown.isascii()
    assert [len(line) for line in shown.splitlines()] == [
        urwid.calc_width(line, 0, len(line)) for line in desk.lines
    ]
    assert "x rm" in shown
    assert "> Inspect the provider" in desk.words
    assert "gr??er" in shown
    assert "> ????" in shown


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.lists(FACTS, max_size=12),
    st.lists(st.tuples(st.integers(1, 130), st.integers(1, 40)), min_size=1, max_size=3),
    st.lists(
        st.sampled_from(
            ["a", "漢", "1", "4", "enter", "esc", "f2", "f3", "?", "up", "page up", "meta enter"]
        ),
        max_size=6,
    ),
    st.booleans(),
    st.lists(TEXTS, max_size=5),
    st.none()
    | st.builds(Message, level=st.sampled_from(["info", "warning", "error"]), text=TEXTS.map(steady)),
)
@example(
    [say("…"), PlanChanged(plan=Plan(items=(LICENSE,)))], [(40, 10), (41, 10), (1, 1)], [], True, [], None
)
@example(
    [activity("x"), PlanChanged(plan=PLAN)], [(40, 10)], [], False, ["q"] * 5, Message("error", "word " * 60)
)
@example([approval(), activity("x")], [(80, 18)], [], False, ["q"] * 5, Message("error", "word " * 60))
@example([approval(), activity("x")], [(58, 17)], [], False, ["q"] * 5, Message("error", "a\n\n\nb"))
def test_any_facts_at_any_size_are_drawn_and_never_wider_than_the_screen(
    facts: list[AnyFact],
    sizes: list[tuple[int, int]],
    pressed: list[str],
    ascii_only: bool,
    queue: list[str],
    message: Message | None,
) -> None:
    desk = Desktop(*sizes[0], glyphs=theme.ASCII if ascii_only else theme.UNICODE)
    for fact in facts:
        desk.tell(fact)
        draw_exactly(desk)
    desk.view.desk.outbox.waiting += map(draft_of, queue)
    for size in sizes:
        desk.size = size
        desk.wait(1).press(*pressed)
        desk.view.desk.message = message
        draw_exactly(desk)
