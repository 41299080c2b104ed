"""Earlier prompts: walked through with the arrows, searched with Ctrl-R, the draft always kept."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ipc.messages import ListPrompts, StartTurn, TurnStarted
from tests.fakes.facts import approval, finished, session
from tests.fakes.screen import Desktop, working
from ui import keys
from ui.asking import GRACE_S
from ui.composer.draft import Draft, draft_of
from ui.composer.history import History, Search, Walk
from ui.desk import SILENT

PROMPTS = ["newest", "second\nof two lines", "fix the Parser", "oldest"]
WIDTHS = [40, 60, 80, 120, 200]


def desktop(columns: int = 80, rows: int = 24, prompts: list[str] | None = None) -> Desktop:
    """A session in a workspace with these earlier prompts, which are known already."""
    desk = Desktop(columns, rows).tell(session())
    desk.view.desk.history.fill(PROMPTS if prompts is None else prompts)
    return desk


def draft(desk: Desktop) -> str:
    return desk.screen.composer.editor.draft().text


# --- up and down


def test_up_brings_earlier_prompts_and_down_the_draft_as_it_was() -> None:
    desk = desktop().type("half a").press("left", "left")
    seen = [draft(desk.press("up")) for _ in range(5)]
    assert seen == [*PROMPTS, "oldest"]
    back = [draft(desk.press("down")) for _ in range(5)]
    assert back == [*reversed(PROMPTS[:3]), "half a", "half a"]
    assert draft(desk.type("!")) == "half! a"


def test_up_within_a_text_of_several_lines_moves_the_cursor_first() -> None:
    desk = desktop().type("one").press("meta enter").type("two").press("up")
    assert draft(desk) == "one\ntwo"
    assert draft(desk.press("up")) == "newest"
    assert draft(desk.press("down")) == "one\ntwo"


def test_what_was_changed_on_the_way_is_there_on_the_way_back_and_gone_once_sent() -> None:
    desk = desktop().type("draft").press("up").type(" changed").press("up")
    assert draft(desk) == "second\nof two lines"
    assert draft(desk.press("down")) == "newest changed"
    assert draft(desk.press("down")) == "draft"
    desk.press("up", "up", "down", "enter")
    assert desk.orders[-1] == StartTurn(prompt="newest changed")
    assert draft(desk) == "draft"
    assert [draft(desk.press("up")) for _ in range(3)] == ["newest changed", "newest", "second\nof two lines"]
    assert draft(desk.press("down", "down", "down")) == "draft"


def test_the_draft_comes_back_when_an_old_prompt_was_sent_in_its_place() -> None:
    pasted = "line\n" * 50
    desk = desktop().type("my draft ").press(keys.Pasted(pasted), "up", "up", "enter")
    assert desk.orders == [StartTurn(prompt="second\nof two lines")]
    assert desk.screen.composer.editor.draft().whole == f"my draft {pasted}"
    desk.press("ctrl r", *"fix", "enter", "enter")
    assert desk.view.desk.queue == ["fix the Parser"]
    assert desk.screen.composer.editor.draft().whole == f"my draft {pasted}"


def test_the_draft_comes_back_when_a_walk_led_to_a_queued_message() -> None:
    desk = desktop().tell(TurnStarted(turn=1, prompt="x")).type("queued").press("enter")
    desk.type("draft").press("up", "meta up")
    assert draft(desk.type("!")) == "queued!"
    assert draft(desk.press("up", "esc")) == "draft"
    desk.press("meta up", "up", "enter")
    assert (desk.view.desk.queue, draft(desk)) == (["newest"], "draft")
    assert draft(desk.press("enter")) == ""
    assert desk.view.desk.queue == ["newest", "draft"]


def test_local_commands_are_in_no_history() -> None:
    desk = desktop().type("/usage").press("enter", "esc")
    assert draft(desk.press("up")) == "newest"


def test_a_step_back_that_waits_for_the_list_leaves_alone_what_was_typed_or_sent_meanwhile() -> None:
    for keys_pressed, left in ((list("hello"), "hello"), ([*"hello", "enter"], "")):
        desk = Desktop().tell(session()).press("up", *keys_pressed)
        desk.view.desk.history.fill(PROMPTS)
        assert draft(desk.tell()) == left


def test_the_list_is_asked_for_when_it_is_first_wanted_and_the_steps_are_not_lost() -> None:
    desk = Desktop().tell(session()).type("draft").press("up", "up")
    assert desk.orders == [ListPrompts()]
    assert draft(desk) == "draft"
    desk.view.desk.history.fill(PROMPTS)
    assert draft(desk.tell()) == "second\nof two lines"
    assert draft(desk.press("down", "down")) == "draft"
    assert desk.orders == [ListPrompts()]


def test_without_an_answer_there_is_what_was_sent_here() -> None:
    desk = Desktop().tell(session()).type("sent here").press("enter").press("up")
    desk.view.desk.failed(ListPrompts(), "no_answer", SILENT, "")
    assert draft(desk.tell()) == "sent here"


def test_a_paste_is_one_character_of_the_draft_also_on_the_way_back() -> None:
    pasted = keys.Pasted("line\n" * 5_000)
    desk = desktop().type("see ").press(pasted).type(" now")
    before = desk.text
    assert draft(desk.press("up")) == "newest"
    assert desk.press("down").text == before
    assert desk.press("enter").orders[-1] == StartTurn(prompt="see " + "line\n" * 5_000 + " now")
    assert "line\n" * 5_000 in desk.tell(finished()).press("up").screen.composer.editor.draft().whole


def test_a_command_from_the_history_offers_nothing_and_the_walk_goes_on() -> None:
    desk = desktop(prompts=["/plan", "before"]).press("up")
    assert draft(desk) == "/plan"
    assert "Commands" not in desk.text
    assert draft(desk.press("up")) == "before"


def test_while_an_answer_is_asked_for_no_key_walks_or_searches() -> None:
    desk = working().type("a draft").tell(approval())
    desk.view.desk.history.fill(PROMPTS)
    desk.draw()
    desk.wait(2 * GRACE_S).press("up", "down", "ctrl r", "tab")
    assert "Earlier prompts" not in desk.text
    assert (draft(desk), desk.orders) == ("a draft", [])


# --- Ctrl-R


@pytest.mark.parametrize("columns", WIDTHS)
def test_the_search_shows_what_holds_the_words_the_newest_next_to_the_line(columns: int) -> None:
    desk = desktop(columns).press("ctrl r")
    assert desk.orders == [ListPrompts()]
    assert "›" in desk.line_with("newest")
    shown = [line for line in desk.lines if any(each.split("\n")[0] in line for each in PROMPTS)]
    assert "newest" in shown[-1]
    desk.type("parser the")
    assert "newest" not in desk.text
    assert "›" in desk.line_with("fix the Parser")
    assert "1 of 4 match" in desk.text


def test_the_keys_that_take_and_leave_are_told() -> None:
    desk = desktop(60).press("ctrl r")
    assert "Enter take" in desk.lines[-1]
    assert "Esc close" in desk.lines[-1]
    assert "Enter send" in desk.press("esc").lines[-1]


def test_what_is_found_is_put_into_the_composer_and_not_sent() -> None:
    desk = desktop().type("draft").press("ctrl r", *"two", "enter")
    assert draft(desk) == "second\nof two lines"
    assert desk.orders == [ListPrompts()]
    assert draft(desk.press("down", "down")) == "draft"


def test_ctrl_r_again_and_up_go_to_older_ones() -> None:
    assert draft(desktop().press("ctrl r", "ctrl r", "enter")) == "second\nof two lines"
    assert draft(desktop().press("ctrl r", "up", "up", "down", "enter")) == "second\nof two lines"
    assert draft(desktop().press("ctrl r", *["up"] * 9, "tab")) == "oldest"
    assert draft(desktop().press("ctrl r", "page up", "enter")) == "oldest"


@pytest.mark.parametrize("key", ["esc", "ctrl c"])
def test_a_search_is_left_with_the_draft_untouched(key: str) -> None:
    desk = desktop().type("draft").press("ctrl r", *"old", key)
    assert "Earlier prompts" not in desk.text
    assert "again to leave" not in desk.words
    assert draft(desk) == "draft"
    assert draft(desk.type("!")) == "draft!"


def test_a_capital_letter_means_itself_and_a_small_one_both() -> None:
    assert "1 of 4" in desktop().press("ctrl r", *"Parser").text
    assert "0 of 4" in desktop().press("ctrl r", *"PARSER").text
    assert "No earlier prompt holds this." in desktop().press("ctrl r", *"PARSER").text


def test_the_cursor_is_in_the_line_that_searches() -> None:
    desk = desktop().type("draft").press("ctrl r", *"par")
    column, row = desk.draw().cursor or (0, 0)
    assert desk.lines[row][:column].endswith("par")


def test_a_list_that_comes_during_a_search_is_searched() -> None:
    desk = Desktop().tell(session()).press("ctrl r", *"pars")
    assert "Loading…" in desk.text
    desk.view.desk.history.fill(PROMPTS)
    assert "›" in desk.tell().line_with("fix the Parser")


def test_an_empty_history_says_so() -> None:
    assert "There is no earlier prompt here." in desktop(prompts=[]).press("ctrl r").text


def test_a_paste_is_searched_for_and_takes_nothing() -> None:
    desk = desktop().press("ctrl r", keys.Pasted("fix\nthe"))
    assert "1 of 4" in desk.text
    assert draft(desk) == ""


def test_a_match_far_inside_a_long_prompt_is_in_view() -> None:
    desk = desktop(60, prompts=["x " * 400 + "needle" + " y" * 400]).press("ctrl r", *"needle")
    assert "needle" in desk.line_with("›")


def test_a_thousand_long_prompts_are_searched_within_a_frame() -> None:
    history = History()
    history.fill([f"{number} " + "some words of a prompt " * 40 for number in range(1_000)])
    search = Search(history)
    times = []
    for query in ("s", "so", "words", "words of", "777", "nowhere") * 3:
        begun = time.perf_counter()
        search.look_for(query)
        times.append(time.perf_counter() - begun)
    assert sorted(times)[len(times) // 2] < 0.016


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.text("ab\n", min_size=1, max_size=3), max_size=5),
    st.lists(st.booleans(), max_size=20),
    st.text(),
)
def test_any_walk_that_ends_where_it_began_ends_with_the_draft(
    prompts: list[str], steps: list[bool], text: str
) -> None:
    history = History()
    history.fill(prompts)
    walk, at, now = Walk(), -1, draft_of(text)
    start = now
    for older in [*steps, *[False] * 20]:
        went: Draft | None = walk.older(history, now) if older else walk.newer(now)
        if went is not None:
            at, now = at + (1 if older else -1), went
    assert at == -1
    assert now == start
