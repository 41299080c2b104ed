"""A local command that does not exist, in the composer."""

import pytest

from ipc.messages import ScreenConfigured, StartTurn, UndoTurn
from tests.fakes.facts import finished, session
from tests.fakes.screen import Desktop
from ui import keys


def refused(line: str = "/und", columns: int = 80) -> Desktop:
    """A screen on which a command was entered that there is not, without what was offered for it."""
    return Desktop(columns).tell(session(), finished()).type(line).press("esc", "enter")


@pytest.mark.parametrize("columns", [40, 60, 80, 120, 200])
def test_a_wrong_command_is_kept_selected_and_the_one_meant_is_named(columns: int) -> None:
    desk = refused(columns=columns)
    assert desk.orders == []
    assert "There is no command /und. Did you mean /undo?" in desk.words
    assert "› /und" in desk.text
    assert "chosen" in desk.roles_of("› /und")


def test_the_next_command_takes_the_place_of_a_wrong_one() -> None:
    assert refused("/xyz").type("/undo").press("enter").orders == [UndoTurn()]
    assert refused("/xyz").type("hello").press("enter").orders == [StartTurn(prompt="hello")]
    pasted = refused("/xyz").press(keys.Pasted("hello"), "enter")
    assert pasted.orders == [StartTurn(prompt="hello")]


@pytest.mark.parametrize("key", ["end", "left", "right", "esc", "home"])
def test_a_key_that_types_nothing_keeps_a_wrong_command_to_be_mended(key: str) -> None:
    desk = refused().press(key, "end").type("o")
    assert "chosen" not in desk.roles_of("› /undo")
    assert desk.press("enter").orders == [UndoTurn()]


def test_a_selected_text_is_deleted_at_once_and_can_be_brought_back() -> None:
    desk = refused().press("backspace")
    assert "/und" not in desk.text
    assert "› /und" in desk.press("meta up").text
    assert "› /und" in refused().type("x").press("backspace", "meta up").text


def test_a_space_in_front_sends_it_as_it_is() -> None:
    desk = refused("/tmp is full").press("home").type(" ").press("enter")
    assert desk.orders == [StartTurn(prompt=" /tmp is full")]


def read_through(desk: Desktop) -> str:
    """Every word of what lies over the screen, scrolled to its end."""
    seen = desk.words
    for _ in range(8):
        seen += " " + desk.press("page down").words
    return seen


@pytest.mark.parametrize(("columns", "rows"), [(80, 60), (80, 24), (60, 24)])
def test_help_lists_every_command_and_every_key_in_its_place(columns: int, rows: int) -> None:
    help_ = read_through(Desktop(columns, rows).press("f1"))
    for command in keys.LOCAL_COMMANDS:
        assert f"{command} " in help_
    for head in (*keys.PLACES.values(), "Editing", "Commands"):
        assert head in help_
    for binding in keys.BINDINGS:
        assert binding.shown.split(",")[0] in help_


@pytest.mark.parametrize("columns", [120, 200])
def test_help_stands_in_two_columns_where_there_is_room(columns: int) -> None:
    desk = Desktop(columns, 60).press("?")
    assert "Writing" in desk.line_with("In the transcript")
    for text in ("Ctrl-C", "Alt-Enter", "/plan clear", "/quit"):
        assert text in desk.text
    assert "Keys and commands" not in desk.press("esc").text


def test_help_names_the_keys_that_the_person_has_chosen() -> None:
    desk = Desktop(80, 60).tell(ScreenConfigured(keys={"fold": ("f8",)})).press("f1")
    assert "F8" in desk.line_with("thoughts, outputs")


def test_a_page_is_no_higher_than_what_is_on_it() -> None:
    desk = Desktop(100, 50).tell(session()).type("/jobs").press("esc", "enter")
    assert "Nothing runs" in desk.text
    assert sum("│" in line.split("Fido")[0][:4] for line in desk.lines) < 10
