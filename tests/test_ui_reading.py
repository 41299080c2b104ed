"""Reading the transcript: blocks are chosen, unfolded and copied, texts are found, typing goes on below."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ipc.messages import AnyFact, AskSettled, CancelTurn, MessageDelta, ToolFinished, ToolStarted, TurnStarted
from tests.fakes.facts import FACTS, approval, finished, session
from tests.fakes.screen import Desktop, draw_exactly
from ui.orders import Copy

OUTPUT = "\n".join(f"tests/test_{number}.py passed" for number in range(40))


def say(text: str) -> MessageDelta:
    return MessageDelta(turn=1, kind="text", text=text)


def called(call_id: str, summary: str, display: str, name: str = "bash_exec") -> tuple[AnyFact, AnyFact]:
    return (
        ToolStarted(call_id=call_id, name=name, summary=summary),
        ToolFinished(call_id=call_id, name=name, status="ok", duration_ms=1_200, display=display),
    )


def told(columns: int = 80, rows: int = 30) -> Desktop:
    """A short turn: a prompt, two calls, an answer of three paragraphs."""
    return Desktop(columns, rows).tell(
        session(),
        TurnStarted(turn=1, prompt="Run the tests"),
        *called("1", "make test", OUTPUT),
        *called("2", "make lint", "All clean"),
        say("First paragraph.\n\n```python\nprint('code')\n```\n\nLast paragraph."),
        finished(),
    )


def chosen(desk: Desktop) -> str:
    """The rows beside which the mark of the chosen block stands."""
    rows = [line for line in desk.lines if line.startswith("┃")]
    return "\n".join(line[1:].split("│")[0].rstrip("┃ ") for line in rows)


def test_shift_tab_goes_to_the_transcript_and_esc_back_to_the_draft() -> None:
    desk = told().type("half a draft").press("shift tab")
    assert "Last paragraph" in chosen(desk)
    desk.press("esc")
    assert not chosen(desk)
    assert desk.type("!").view.desk.overlay is None
    assert "half a draft!" in desk.text


def test_arrows_choose_blocks_and_the_last_arrow_down_comes_back() -> None:
    desk = told().press("shift tab", "up", "up")
    assert "First paragraph" in chosen(desk)
    desk.press("up")
    assert "make lint" in chosen(desk)
    desk.press("home")
    assert "Run the tests" in chosen(desk)
    desk.press("end")
    assert "Last paragraph" in chosen(desk)
    desk.press("down")
    assert not chosen(desk)


def test_enter_unfolds_the_output_of_a_call_and_folds_it_again() -> None:
    desk = told(rows=60).press("shift tab", "home", "down")
    assert "make test" in chosen(desk)
    assert "test_17.py passed" not in desk.text
    desk.press("enter")
    assert "test_17.py passed" in desk.text
    assert "All clean" not in desk.text
    desk.press("enter")
    assert "test_17.py passed" not in desk.text


def test_folding_everything_takes_back_what_was_folded_one_by_one() -> None:
    desk = told(rows=60).press("shift tab", "home", "down", "enter", "esc", "f3")
    assert "test_17.py passed" in desk.text
    assert "All clean" in desk.text
    desk.press("f3")
    assert "test_17.py passed" not in desk.text


def test_a_long_prompt_is_folded_and_opens_on_enter() -> None:
    prompt = "\n".join(f"line {number} of the paste" for number in range(3_000))
    desk = Desktop(80, 30).tell(session(), TurnStarted(turn=1, prompt=prompt))
    assert "line 0 of" in desk.text
    assert "2,992 lines more" in desk.text
    desk.press("shift tab", "enter")
    assert "lines more" not in desk.text
    desk.press("esc", "ctrl end")
    assert "line 2999 of" in desk.text
    assert desk.press("shift tab", "c").orders == [Copy(prompt)]


@pytest.mark.parametrize("keys", [["x"], ["backspace"], ["left"]])
def test_any_other_key_goes_on_in_the_draft(keys: list[str]) -> None:
    desk = told().type("ab").press("shift tab", *keys)
    assert not desk.view.desk.reading.browsing
    assert {"x": "abx", "backspace": "a", "left": "ab"}[keys[0]] == desk.screen.composer.editor.edit_text


def test_c_copies_the_chosen_block_as_it_was_written() -> None:
    desk = told().press("shift tab", "up", "c")
    assert desk.orders == [Copy("print('code')")]
    assert "Copied" in desk.text


def test_the_last_answer_and_the_last_code_are_copied_by_command() -> None:
    desk = told().type("/copy").press("enter").type("/copy code").press("enter")
    answer = "First paragraph.\n\n```python\nprint('code')\n```\n\nLast paragraph."
    assert desk.orders == [Copy(answer), Copy("print('code')")]
    assert "There is no answer yet" in Desktop().tell(session()).type("/copy").press("enter").text


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("Text\n\n```\nopen\n  end", "open\n  end"),
        ("1. Do\n   ```sh\n   make\n     all\n   ```\n2. More", "make\n  all"),
        ("~~~\n```\n~~~\n\nand `inline`", "```"),
        ("```\na\n```\n\n```\nb\n```", "b"),
    ],
)
def test_code_is_copied_without_what_frames_it(answer: str, code: str) -> None:
    desk = Desktop().tell(session(), say(answer)).type("/copy code").press("enter")
    assert desk.orders == [Copy(code)]


def test_a_folded_call_is_copied_as_its_command_and_an_unfolded_one_with_its_output() -> None:
    desk = told().press("shift tab", "home", "down", "c", "enter", "c")
    assert desk.orders == [Copy("make test"), Copy(f"make test\n{OUTPUT}")]


def test_one_esc_does_one_thing() -> None:
    desk = told().tell(TurnStarted(turn=2, prompt="more")).press("ctrl f").type("make").press("enter")
    reading = desk.view.desk.reading
    desk.press("esc")
    assert (reading.query, reading.browsing) == ("", True)
    desk.press("esc")
    assert (reading.browsing, desk.orders) == (False, [])
    desk.press("esc")
    assert desk.orders == [CancelTurn()]


def test_a_key_that_ends_the_reading_answers_nothing() -> None:
    desk = told().press("shift tab").tell(TurnStarted(turn=2, prompt="x"), approval()).wait(5)
    desk.press("enter", "1")
    assert desk.orders == []


def test_a_search_is_incremental_counts_and_goes_round() -> None:
    desk = told(rows=60).press("ctrl f").type("PAR".lower())
    assert "2/2" in desk.text
    desk.press("enter", "n")
    assert "1/2" in desk.text
    assert "First paragraph" in chosen(desk)
    desk.press("N")
    assert "2/2" in desk.text
    desk.press("/").type("zzz")
    assert "no match" in desk.text


def test_capitals_count_when_there_are_any() -> None:
    desk = told().press("ctrl f").type("First")
    assert "1/1" in desk.text
    desk.press("esc", "/").type("fIRST")
    assert "no match" in desk.text


def test_what_is_found_is_shown_where_it_was_folded_or_far_away() -> None:
    desk = Desktop(80, 24).tell(
        session(), TurnStarted(turn=1, prompt="x"), *called("1", "make test", OUTPUT), say("line\n" * 500)
    )
    desk.press("ctrl f").type("test_33.py")
    assert "tests/test_33.py passed" in desk.text
    assert "1/1" in desk.text


def test_what_was_found_is_marked_where_it_stands_and_where_it_is_wrapped() -> None:
    desk = Desktop(60, 24).tell(session(), say("word " * 20 + "needle in the haystack. " * 3))
    desk.press("ctrl f").type("needle in the haystack")
    cells = [(role, text.decode()) for row in desk.draw().content() for role, _, text in row]
    marked = "".join(text for role, text in cells if role in ("found", "found now"))
    assert marked.replace(" ", "") == "needleinthehaystack" * 3
    now = "".join(text for role, text in cells if role == "found now")
    assert now.replace(" ", "") == "needleinthehaystack"


def test_new_text_below_is_said_and_moves_nothing() -> None:
    desk = Desktop(80, 24).tell(session(), say("\n\n".join(f"paragraph {number}" for number in range(60))))
    desk.press("page up", "page up")
    before = [line.strip("┃│ ") for line in desk.lines if "paragraph" in line]
    assert "new below" not in desk.text
    desk.tell(say("\n\nthe newest"))
    assert "new below: Ctrl-End" in desk.text
    assert [line.strip("┃│ ") for line in desk.lines if "paragraph" in line][:-1] == before[:-1]
    desk.press("ctrl end")
    assert "new below" not in desk.text
    assert "the newest" in desk.text


def test_a_resize_keeps_the_readers_place() -> None:
    text = "\n\n".join(f"paragraph {number} " + "of many words " * 20 for number in range(60))
    desk = Desktop(120, 30).tell(session(), say(text)).press("page up", "page up", "page up")
    before = desk.lines
    top = next(line for line in before if "paragraph" in line).split("of")[0].strip()
    for size in [(40, 12), (200, 50), (20, 5), (80, 24)]:
        desk.size = size
        desk.draw()
    assert top in desk.text
    desk.size = (120, 30)
    assert desk.lines == before


def test_the_selection_mode_is_plain_text_over_the_whole_screen() -> None:
    desk = told(120, 30).press("f5")
    assert "Run the tests" in desk.lines
    assert "bash_exec make test" in desk.lines
    assert "test_17.py" not in desk.text
    assert "print('code')" in desk.lines
    assert "│" not in desk.text
    desk.press("up", "x")
    assert not desk.view.desk.reading.selecting
    assert desk.screen.composer.editor.edit_text == ""


def test_what_a_search_has_unfolded_on_its_way_is_folded_again() -> None:
    desk = told(rows=60).press("ctrl f").type("test_17")
    assert "test_17.py passed" in desk.text
    desk.press(*["backspace"] * 7).type("First")
    assert "test_17.py passed" not in desk.text
    desk.press(*["backspace"] * 5).type("make test")
    assert "1/1" in desk.text
    assert "test_17.py passed" not in desk.text
    desk.press(*["backspace"] * 9).type("test_17").press("enter", "esc", "esc")
    assert "test_17.py passed" in desk.text


def test_what_was_found_stays_in_view_at_any_size() -> None:
    desk = Desktop(200, 50).tell(
        session(), say("\n\n".join("many words " * 40 + f"end {at}" for at in range(40)))
    )
    desk.press("ctrl f").type("end 38")
    for size in [(40, 12), (80, 24), (60, 50), (200, 20)]:
        desk.size = size
        assert "end 38" in desk.words


def test_the_hints_say_what_can_be_done_with_the_chosen_block() -> None:
    desk = told().press("shift tab")
    assert "Enter unfold" not in desk.text
    desk.press("home", "down")
    assert "Enter unfold" in desk.text
    assert "Enter fold" in desk.press("enter").text


def click(desk: Desktop, column: int, row: int, button: int = 1) -> None:
    part = desk.screen.part_at(column, row)
    assert part is not None
    part.widget.mouse_event(part.size, "mouse press", button, part.column, part.row, True)
    desk.screen.changed()


def test_a_click_chooses_a_block_and_a_second_one_unfolds_it() -> None:
    desk = told(rows=60)
    row = next(at for at, line in enumerate(desk.lines) if "make test" in line)
    click(desk, 10, row)
    assert "make test" in chosen(desk)
    assert "test_17.py passed" not in desk.text
    click(desk, 10, row)
    assert "test_17.py passed" in desk.text


def test_who_clicks_and_types_means_the_line_below() -> None:
    desk = told(rows=60)
    row = next(at for at, line in enumerate(desk.lines) if "make test" in line)
    click(desk, 10, row)
    desk.type("can you /fix it")
    assert desk.screen.composer.editor.edit_text == "can you /fix it"
    assert desk.orders == []
    click(desk, 10, row)
    desk.press("down", "c")
    assert desk.orders == [Copy("make lint")]


def test_n_is_a_letter_while_nothing_is_searched_for() -> None:
    desk = told().press("shift tab").type("now")
    assert desk.screen.composer.editor.edit_text == "now"


def test_the_wheel_scrolls_and_a_click_on_the_sign_follows_again() -> None:
    desk = Desktop(80, 24).tell(session(), say("\n\n".join(f"paragraph {number}" for number in range(60))))
    desk.draw()
    click(desk, 10, 10, button=4)
    desk.tell(say("\n\nthe newest"))
    row = next(at for at, line in enumerate(desk.lines) if "new below" in line)
    column = desk.lines[row].index("new below")
    click(desk, column, row)
    assert "the newest" in desk.text


def turns(count: int) -> Desktop:
    """A conversation of turns with long answers."""
    desk = Desktop(80, 24)
    for turn in range(1, count + 1):
        answer = "\n\n".join(f"Answer {turn}, paragraph {number}" for number in range(30))
        desk.tell(
            session(), TurnStarted(turn=turn, prompt=f"Question {turn}\nand more"), say(answer), finished()
        )
    return desk


def test_the_prompt_whose_answer_one_reads_stands_above_it() -> None:
    desk = turns(3)
    assert "› Question 3" in desk.text
    desk.press("page up", "page up", "page up", "page up")
    assert "› Question 2" in desk.text
    desk.press("ctrl home")
    assert desk.text.count("› Question") == 1


def test_prompts_are_gone_through_by_a_key() -> None:
    desk = turns(4).press("ctrl up")
    assert "› Question 4" in desk.text
    desk.press("ctrl up", "ctrl up")
    assert "› Question 2" in desk.text
    assert desk.text.count("› Question") == 1
    assert "Answer 2, paragraph 0" in desk.text
    desk.press("ctrl down")
    assert "Answer 3, paragraph 0" in desk.text
    desk.press("ctrl down", "ctrl down")
    assert "Answer 4, paragraph 29" in desk.text


def test_what_is_chosen_is_never_below_the_prompt_that_stands_above() -> None:
    desk = turns(2).press("shift tab")
    for number in range(28, -1, -1):
        assert f"paragraph {number}" in chosen(desk.press("up"))


def test_a_call_that_waits_for_the_person_says_so_and_then_what_was_decided() -> None:
    desk = Desktop(100, 30).tell(
        session(),
        TurnStarted(turn=1, prompt="x"),
        ToolStarted(call_id="1", name="bash_exec", summary="make"),
        approval(),
    )
    assert "waits for you" in desk.line_with("bash_exec make")
    desk.wait(60).tell(AskSettled(ask_id=approval().ask_id, outcome="allow_once"))
    assert "0:00" in desk.line_with("bash_exec make")
    desk.tell(ToolFinished(call_id="1", name="bash_exec", status="ok", duration_ms=5, display=OUTPUT))
    assert "allowed once" in desk.line_with("bash_exec make")
    assert "40 lines" in desk.line_with("bash_exec make")


def test_a_question_that_was_answered_stands_there_with_its_answer() -> None:
    desk = Desktop(100, 30).tell(
        session(), *called("1", "Up or down?", "Down", "ask_user"), say("Then down it is.")
    )
    assert "ask_user Up or down?" in desk.text
    assert "    Down" in desk.lines[desk.lines.index(desk.line_with("Up or down?")) + 1]
    assert "allowed" not in desk.text


def test_what_a_call_does_has_half_of_the_row_before_anything_else() -> None:
    command = "pytest -q tests/terminal tests/faults tests/interop"
    many = f"{OUTPUT}\n… 2,700 lines left out\n{OUTPUT}"
    assert "2,780 lines" in Desktop(160).tell(session(), *called("1", command, many)).line_with(command)
    for columns in (60, 100):
        line = Desktop(columns).tell(session(), *called("1", command, many)).line_with("bash_exec")
        assert "bash_exec pytest -q tests" in line


def test_a_command_that_failed_shows_its_end() -> None:
    desk = Desktop(80).tell(
        session(),
        ToolStarted(call_id="1", name="bash_exec", summary="make"),
        ToolFinished(
            call_id="1", name="bash_exec", status="error", duration_ms=5, display=f"{OUTPUT}\n[exit 2]"
        ),
    )
    assert "test_39.py passed" in desk.text
    assert "[exit 2]" in desk.text
    assert "test_30.py" not in desk.text


@pytest.mark.parametrize(("seconds", "said"), [(75, True), (0, False)])
def test_a_long_turn_says_how_long_it_has_worked(seconds: int, said: bool) -> None:
    desk = Desktop(80).tell(session(), TurnStarted(turn=1, prompt="x"), say("Done."))
    assert ("Worked for 1:15." in desk.tell(finished(worked_s=seconds)).text) == said


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_a_plan_update_is_one_line_that_says_how_far_it_is_and_what_changed(columns: int) -> None:
    desk = Desktop(columns).tell(
        session(), *called("1", "Found both call sites", "3 of 7 done, now: Fix them", "update_plan")
    )
    assert "plan 3/7 · Found both call sites" in desk.text


KEYS = [
    *(
        "shift tab",
        "ctrl f",
        "f5",
        "f3",
        "enter",
        "esc",
        "c",
        "n",
        "N",
        "/",
        "a",
        "e",
        " ",
        "漢",
        "backspace",
    ),
    *("up", "down", "home", "end", "page up", "page down", "ctrl up", "ctrl down", "ctrl home", "ctrl end"),
]


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.lists(st.lists(FACTS, max_size=6), min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(1, 130), st.integers(1, 40)), min_size=1, max_size=3),
    st.lists(st.sampled_from(KEYS), max_size=12),
)
def test_whatever_is_read_at_any_size_is_drawn_and_never_wider_than_the_screen(
    told: list[list[AnyFact]], sizes: list[tuple[int, int]], pressed: list[str]
) -> None:
    desk = Desktop(*sizes[0]).tell(
        session(), say("a [link](https://a.example) and\n\n| a | b |\n|---|---|\n| e |")
    )
    for facts in told:
        desk.tell(*facts)
        for size in sizes:
            desk.size = size
            for key in pressed:
                draw_exactly(desk.press(key))
