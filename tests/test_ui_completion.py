"""What is offered for what one writes, and what taking it makes of the text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ipc.messages import (
    ClearPlan,
    CompactConversation,
    GetPlan,
    Job,
    JobsChanged,
    ListPaths,
    ListSessions,
    PathsListed,
    StartTurn,
    StopJob,
    UndoTurn,
)
from tests.fakes.facts import HOSTILE_TEXTS, finished, session
from tests.fakes.screen import Desktop, draw_exactly
from ui import keys, theme
from ui.composer.completion import token_at
from ui.composer.draft import draft_of
from ui.desk import SILENT

WIDTHS = [40, 60, 80, 120, 200]
FILES = (
    "Makefile", "a b/c'd.py", "a b/deeper/x.py", "docs/screen.md", 'q"uote.txt', "tests/test_ui_state.py",
    "ui/app.py", "ui/screen.py", "ui/state.py",
)  # fmt: skip


def desktop(columns: int = 80, rows: int = 24, files: tuple[str, ...] | None = FILES) -> Desktop:
    """A session in a workspace with these files, which are listed already unless they are None."""
    desk = Desktop(columns, rows).tell(session())
    return desk if files is None else listed(desk, files)


def listed(desk: Desktop, files: tuple[str, ...], *, is_cut: bool = False) -> Desktop:
    """Let the list of files come."""
    for _ in desk.view.desk.files.take(PathsListed(paths=files, is_cut=is_cut)):
        pass
    return desk.tell()


def draft(desk: Desktop) -> str:
    return desk.screen.composer.editor.draft().text


# --- files


@pytest.mark.parametrize("columns", WIDTHS)
def test_an_at_asks_for_the_files_once_and_offers_what_fits(columns: int) -> None:
    desk = desktop(columns, files=None).type("look at @st")
    assert desk.orders == [ListPaths()]
    assert "Listing the files…" in desk.text
    listed(desk, FILES)
    assert "›" in desk.line_with("state.py")
    assert "ui/" in desk.line_with("state.py")
    assert "Makefile" not in desk.text
    assert desk.type("a").orders == [ListPaths()]


def test_nothing_moves_when_something_is_offered() -> None:
    desk = desktop(80, 24).type("look at ")
    before = desk.lines
    after = desk.type("@").lines
    assert before[-3:-1] == [line.replace(" @", "") for line in after[-3:-1]]
    assert before[:5] == after[:5]


@pytest.mark.parametrize("key", ["tab", "enter"])
@pytest.mark.parametrize(
    ("typed", "taken"),
    [
        ("@ui/st", "@ui/state.py "),
        ("see (@ui/st", "see (@ui/state.py "),
        ("@c'd", '@"a b/c\'d.py" '),
        ("@quote", "@'q\"uote.txt' "),
        ('@"a b/c', '@"a b/c\'d.py" '),
        ("first @make", "first @Makefile "),
    ],
)
def test_the_best_is_taken_and_nothing_is_sent(key: str, typed: str, taken: str) -> None:
    desk = desktop().type(typed).press(key)
    assert draft(desk) == taken
    assert "Files" not in desk.text
    assert not [order for order in desk.orders if isinstance(order, StartTurn)]


def test_another_one_is_chosen_with_the_arrows() -> None:
    desk = desktop().type("@s")
    first, second = (choice.name for choice in desk.screen.completer.choices[:2])
    assert "›" in desk.press("down").line_with(second.rpartition("/")[2])
    assert draft(desk.press("up", "up", "down", "enter")) == f"@{second} "
    assert first != second


def test_tab_on_a_folder_goes_on_in_it_and_enter_takes_it() -> None:
    desk = desktop().type("@a b")  # a space ends what is not quoted
    assert "Files" not in desk.text
    desk = desktop().type('@"a b').press("tab")
    assert draft(desk) == '@"a b/'
    assert "deeper/" in desk.text
    assert draft(desk.type("dee").press("enter")) == '@"a b/deeper/" '
    assert draft(desktop().type("@ui").press("tab", *"app", "tab")) == "@ui/app.py "


def test_esc_closes_what_is_offered_and_a_turn_goes_on() -> None:
    desk = desktop().type("hello").press("enter").type("@st").press("esc")
    assert "Files" not in desk.text
    assert draft(desk) == "@st"
    assert "Files" not in desk.type("a").text  # it stays closed for this name
    assert draft(desk.press("tab")) == "@sta"
    assert "state.py" in desk.text  # asked for by its key
    assert "Files" in desk.press("esc").type(" @").text


def test_ctrl_c_closes_what_is_offered_before_anything_else() -> None:
    desk = desktop().type("@st").press("ctrl c")
    assert "Files" not in desk.text
    assert "again to leave" not in desk.words
    assert draft(desk) == "@st"


def test_a_name_that_stands_there_whole_is_sent_with_enter() -> None:
    assert desktop().type("see @ui/app.py").press("enter").orders[-1] == StartTurn(prompt="see @ui/app.py")


@pytest.mark.parametrize("typed", ["me@ui", "no @zzzz", "a @ ui", "x @ui/app.py, "])
def test_what_is_no_name_of_a_file_offers_nothing(typed: str) -> None:
    desk = desktop().type(typed)
    assert "Files" not in desk.text
    assert desk.press("enter").orders[-1] == StartTurn(prompt=typed)


def test_a_name_in_the_middle_of_a_text_is_completed_where_it_stands() -> None:
    desk = desktop().type("see @ui and go").press(*["left"] * 7).type("/st")
    assert draft(desk.press("tab")) == "see @ui/state.py and go"
    assert draft(desk.type("!")) == "see @ui/state.py! and go"


def test_what_is_offered_is_for_the_text_that_stands_there() -> None:
    desk = desktop().type("@st").press("meta enter")
    assert "Files" not in desk.text
    desk = desktop().type("@st")
    desk.screen.composer.editor.restore(draft_of("another text"))
    assert "Files" not in desk.tell().text
    assert draft(desk.press("tab")) == "another text"


def test_what_was_taken_is_one_step_to_undo() -> None:
    desk = desktop().type("@ui/st").press("tab", "ctrl _")
    assert draft(desk) == "@ui/st"


def test_a_paste_opens_nothing_and_chooses_nothing() -> None:
    desk = desktop().press(keys.Pasted("see @ui/st"))
    assert "Files" not in desk.text
    assert draft(desktop().type("@ui").press(keys.Pasted("/st\n"))) == "@ui/st\n"


def test_the_list_is_asked_for_again_when_it_is_old_and_holds_meanwhile() -> None:
    desk = listed(desktop().type("@st"), FILES).press("tab").wait(60).type("@app")
    assert desk.orders.count(ListPaths()) == 2
    assert "app.py" in desk.text
    desk.press(*["backspace"] * 3).type("new")
    listed(desk, (*FILES, "ui/new.py"))
    assert "new.py" in desk.text


def test_a_list_that_is_cut_says_so_and_one_that_fails_is_asked_for_again() -> None:
    assert "the first 3" in listed(desktop(files=None).type("@"), ("a", "b", "c"), is_cut=True).text
    desk = desktop(files=None).type("@")
    desk.view.desk.failed(ListPaths(), "no_answer", SILENT, "")
    assert "Listing" not in desk.text
    assert desk.wait(60).type("a").orders == [ListPaths(), ListPaths()]


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_a_hostile_name_is_not_offered_and_harms_nothing(text: str) -> None:
    desk = desktop(files=tuple(sorted({text.strip("/") or "x", "plain"}))).type("@")
    assert "plain" in desk.text
    for character in "\x1b\x07\u202e":
        assert character not in desk.text


def test_a_long_name_keeps_its_beginning_and_its_folder_its_end() -> None:
    path = "/".join(f"folder{number}" for number in range(20)) + "/" + "long_name_" * 10 + ".py"
    desk = desktop(40, files=(path,)).type("@long")
    row = desk.line_with("› long_name")
    assert "older19/" in row
    assert "…" in row


# --- commands


@pytest.mark.parametrize("columns", WIDTHS)
def test_a_slash_offers_the_commands_with_their_help(columns: int) -> None:
    desk = desktop(columns).type("/")
    assert "›" in desk.line_with("/plan ")
    assert keys.LOCAL_COMMANDS["/plan"] in desk.line_with("/plan ")
    assert "/usage" in desk.text
    assert "/usage" not in desk.type("p").text


def test_a_command_is_found_by_what_it_is_for_and_by_its_other_name() -> None:
    assert "/usage" in desktop().type("/cost").text
    assert "/recall" in desktop().type("/resu").text
    assert "/plan clear" in desktop().type("/clear").text


def test_enter_carries_out_what_only_shows_something() -> None:
    assert desktop().type("/pl").press("enter").orders == [GetPlan()]
    assert desktop().type("/rec").press("enter").orders == [ListSessions()]


@pytest.mark.parametrize(
    ("typed", "stands", "order"),
    [
        ("/und", "/undo", UndoTurn()),
        ("/plan cl", "/plan clear", ClearPlan()),
        ("/clear", "/plan clear", ClearPlan()),
        ("/comp", "/compact ", CompactConversation(focus="")),
    ],
)
def test_what_changes_something_stands_there_before_it_is_carried_out(
    typed: str, stands: str, order: object
) -> None:
    desk = desktop().tell(finished()).type(typed).press("enter")
    assert (draft(desk), desk.orders) == (stands, [])
    assert desk.press("enter").orders == [order]


def test_a_command_that_stands_there_by_any_of_its_names_is_carried_out_at_once() -> None:
    assert desktop().type("/exit").press("enter").orders == ["leave"]
    assert desktop().type("/resume").press("enter").orders == [ListSessions()]
    assert desktop().tell(finished()).type("/UNDO").press("enter").orders == [UndoTurn()]


def test_tab_completes_and_carries_nothing_out() -> None:
    desk = desktop().type("/us").press("tab")
    assert (draft(desk), desk.orders) == ("/usage", [])
    assert "used" not in desk.view.desk.queue


def test_the_number_of_a_job_is_offered_with_its_command() -> None:
    jobs = (Job(pid=11, command="make watch", started_at="1"), Job(pid=12, command="serve", started_at="2"))
    desk = desktop().tell(JobsChanged(jobs=jobs)).type("/jobs st").press("tab")
    assert draft(desk) == "/jobs stop "
    assert "make watch" in desk.line_with("› 1")
    desk.press("down", "enter")
    assert (draft(desk), desk.orders) == ("/jobs stop 2", [])
    assert desk.press("enter").orders == [StopJob(pid=12)]


@pytest.mark.parametrize("typed", ["/etc/hosts is odd", "/xyz", " /plan", "see /plan"])
def test_a_path_or_a_sentence_offers_no_command(typed: str) -> None:
    assert "Commands" not in desktop().type(typed).text


def test_the_keys_of_the_list_are_those_that_the_person_wants() -> None:
    desk = desktop()
    desk.view.state.keymap = keys.Keymap.of({"choose_down": ("ctrl n",), "take": ("meta t",)})
    desk.type("/").press("ctrl n", "meta t")
    assert draft(desk) == "/plan clear"


def test_what_is_clicked_is_chosen() -> None:
    desk = desktop().type("/")
    row = next(at for at, line in enumerate(desk.lines) if "/usage" in line)
    part = desk.screen.part_at(5, row)
    assert part is not None
    assert part.widget.mouse_event(part.size, "mouse press", 1, part.column, part.row, True)
    assert "›" in desk.line_with("/usage")
    assert draft(desk.press("tab")) == "/usage"


def test_a_sentence_behind_the_cursor_is_never_replaced() -> None:
    desk = desktop().type("/us and say").press(*["left"] * 8).type("a")
    assert "Commands" not in desk.text
    assert draft(desk.press("tab")) == "/usa and say"
    assert draft(desktop().type("/uge").press("left", "left").type("s").press("tab")) == "/usage"


def test_the_keys_that_take_and_close_are_told_and_where_one_is() -> None:
    desk = desktop(60).type("/").press("down", "down")
    assert "Enter take" in desk.lines[-1]
    assert f"3 of {len(keys.LOCAL_COMMANDS)}" in desk.line_with("Commands")
    assert "Enter send" in desk.press("esc").lines[-1]


# --- anything

_KEYS = st.sampled_from(
    ["@", "/", "u", "s", " ", '"', "'", "漢", "down", "up", "page down", "tab", "enter", "esc", "left", "end",
     "backspace", "ctrl r", "ctrl w", "meta enter", "ctrl c", "ctrl _"]
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 130), st.integers(1, 40)), min_size=1, max_size=3),
    st.lists(_KEYS, max_size=25),
    st.booleans(),
    st.lists(st.sampled_from([*FILES, "漢字/漢" * 30, "x" * 300]), unique=True).map(sorted).map(tuple),
)
def test_any_keys_at_any_size_are_drawn_and_never_wider_than_the_screen(
    sizes: list[tuple[int, int]], pressed: list[str], ascii_only: bool, files: tuple[str, ...]
) -> None:
    desk = Desktop(*sizes[0], glyphs=theme.ASCII if ascii_only else theme.UNICODE).tell(session())
    listed(desk, files)
    desk.view.desk.history.fill(["one", "two\nlines " + "x" * 500, "漢字" * 60])
    for size in sizes:
        desk.size = size
        draw_exactly(desk.press(*pressed))


@settings(max_examples=200, deadline=None)
@given(st.text("@/ab \"'\n(.", max_size=14), st.integers(0, 14))
def test_a_token_lies_in_the_text_and_holds_the_cursor(text: str, cursor: int) -> None:
    cursor = min(cursor, len(text))
    token = token_at(text, cursor)
    if token is not None:
        assert 0 <= token.start <= cursor <= token.end <= len(text)
        assert token.query in text
        assert token.kind != "file" or text[token.start] == "@"
