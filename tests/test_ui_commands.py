"""A local command that does not exist, in the composer."""

import pytest

from ipc.messages import StartTurn, UndoTurn
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
    pasted = refused("/xyz").press("begin paste", *"hello", "end paste", "enter")
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


def test_help_lists_every_command() -> None:
    desk = Desktop(80, 60).press("f1")
    for command, does in keys.LOCAL_COMMANDS.items():
        assert command in desk.text
        assert does in desk.words


def test_help_lists_keys_and_commands() -> None:
    desk = Desktop(80, 40).press("?")
    for text in ("Ctrl-C", "Alt-Enter", "/plan clear", "/quit"):
        assert text in desk.text
    assert "Keys and commands" not in desk.press("esc").text
