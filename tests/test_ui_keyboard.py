"""Keys for the line one writes in: Ctrl-C clears it before it leaves; nothing of it is lost unsaid."""

import pytest

from ipc.messages import CancelTurn, TurnStarted
from tests.fakes.facts import session
from tests.fakes.screen import Desktop
from ui import keys, theme
from ui.screen import Screen

PASTED = keys.Pasted("line\n" * 50)


def draft(desk: Desktop) -> str:
    return desk.screen.composer.editor.draft().whole


@pytest.mark.parametrize("columns", [40, 80])
def test_ctrl_c_clears_the_draft_and_says_how_it_comes_back_and_how_to_leave(columns: int) -> None:
    desk = Desktop(columns).tell(session()).type("half ").press(PASTED, "ctrl c")
    assert (draft(desk), desk.orders) == ("", [])
    assert "Cleared; Ctrl-_ brings it back. Ctrl-C again leaves." in desk.words
    assert draft(desk.press("ctrl _")) == f"half {PASTED}"


def test_who_leaves_with_two_ctrl_c_leaves_the_draft_to_be_kept() -> None:
    desk = Desktop().tell(session()).type("half a draft").press("ctrl c")
    desk.draw()
    desk.view.desk.seen()
    assert desk.press("ctrl c").orders == ["leave"]
    assert draft(desk) == "half a draft"


def test_who_has_cleared_the_draft_and_done_something_else_has_cleared_it() -> None:
    desk = Desktop().tell(session()).type("half a draft").press("ctrl c", "left", "ctrl c")
    desk.view.desk.seen()
    desk.press("ctrl c")
    assert (draft(desk), desk.orders) == ("", ["leave"])


def test_ctrl_c_in_a_turn_stops_it_and_leaves_the_draft_alone() -> None:
    desk = Desktop().tell(session(), TurnStarted(turn=1, prompt="x")).type("half a draft").press("ctrl c")
    assert (draft(desk), desk.orders) == ("half a draft", [CancelTurn()])


@pytest.mark.parametrize("key", ["enter", "tab"])
def test_a_command_with_other_words_behind_it_is_not_carried_out_and_they_stay(key: str) -> None:
    desk = Desktop().tell(session()).type(" and say").press("ctrl a").type("/us").press(key)
    assert (draft(desk), desk.orders, desk.view.desk.overlay) == ("/us and say", [], None)


def test_other_signs_leave_what_is_written_its_undo_and_an_open_search() -> None:
    desk = Desktop().tell(session())
    desk.view.desk.history.fill(["fix the loader", "and the docs"])
    desk.type("half").press("ctrl w", "up", "ctrl r", *"load")
    desk.view.glyphs = theme.ASCII
    after = Screen(desk.view, lambda _, key: key, desk.screen)
    text = "\n".join(row.decode() for row in after.render(desk.size, True).text)
    assert "> fix the loader" in text
    assert "1 of 2 match" in text
    editor = after.composer.editor
    assert editor.edit_text == "fix the loader"
    assert editor.undo()
    assert (editor.undo(), editor.edit_text) == (True, "half")


def test_a_paste_that_does_not_end_is_said_in_the_last_row() -> None:
    desk = Desktop(40).tell(session())
    desk.view.desk.pasting = True
    assert "pasting… Ctrl-C ends it" in desk.lines[-1]
