"""The table of keys: what each means, and how a person changes it."""

from collections import Counter
from typing import get_args

import pytest

from ui import key_names, keys
from ui.keys import Keymap

TAKEN_ELSEWHERE = {
    "ctrl b": "tmux",
    "ctrl s": "stops output",
    "ctrl q": "goes on with it",
    "ctrl \\": "SIGQUIT",
}


def test_no_key_means_two_things_in_one_place() -> None:
    for place in keys.PLACES:
        here = [key for each in keys.BINDINGS if each.place in (place, "anywhere") for key in each.keys]
        assert [key for key, count in Counter(here).items() if count > 1] == []


def test_keys_of_the_terminal_and_of_tmux_stay_free() -> None:
    used = {key for each in keys.BINDINGS for key in each.keys} | {
        key for row in keys.EDITING for key in row[0]
    }
    assert used.isdisjoint(TAKEN_ELSEWHERE)


def test_every_key_of_the_table_is_spelled_as_urwid_spells_it() -> None:
    every = [key for each in keys.BINDINGS for key in each.keys] + [
        key for row in keys.EDITING for key in row[0]
    ]
    assert [key for key in every if key_names.canonical(key) != key] == []


def test_every_action_has_a_key_and_a_help() -> None:
    assert {each.action for each in keys.BINDINGS if each.keys and each.help} == set(get_args(keys.Action))


@pytest.mark.parametrize(
    ("said", "meant", "shown"),
    [
        ("Ctrl-N", "ctrl n", "Ctrl-N"),
        ("alt+page up", "meta page up", "Alt-PgUp"),
        ("control alt x", "meta ctrl x", "Alt-Ctrl-X"),
        ("PgDn", "page down", "PgDn"),
        ("Return", "enter", "Enter"),
        ("N", "N", "N"),
        ("-", "-", "-"),
        ("space", " ", "Space"),
        ("ctrl i", "tab", "Tab"),
        ("F12", "f12", "F12"),
        ("shift a", "A", "A"),
        ("alt shift a", "meta A", "Shift-Alt-A"),
        ("ctrl shift l", "ctrl L", "Shift-Ctrl-L"),
        ("ctrl space", "ctrl  ", "Ctrl-Space"),
        ("ctrl m", "enter", "Enter"),
        ("shift space", " ", "Space"),
    ],
)
def test_a_key_may_be_written_as_people_write_it(said: str, meant: str, shown: str) -> None:
    assert key_names.canonical(said) == meant
    assert key_names.shown(meant) == shown


@pytest.mark.parametrize(
    "said", ["", "ctrl", "f99", "hyper x", "ctrl f99", "two keys", "\x1b", "\u200b", "shift 1"]
)
def test_what_is_no_key_is_not_taken_for_one(said: str) -> None:
    assert key_names.canonical(said) is None


def test_a_person_may_change_keys() -> None:
    keymap = Keymap.of({"fold": ("Ctrl-X", "f6")})
    assert keymap.action_of("ctrl x") == keymap.action_of("f6") == "fold"
    assert keymap.action_of("f3") is None
    assert keymap.shown("fold") == "Ctrl-X"
    assert keymap.faults == ()


def test_two_actions_may_change_places() -> None:
    keymap = Keymap.of({"send": ("ctrl j",), "newline": ("enter",)})
    assert (keymap.action_of("enter"), keymap.action_of("ctrl j")) == ("newline", "send")
    assert keymap.faults == ()


@pytest.mark.parametrize(
    ("wishes", "said"),
    [
        ({"frobnicate": ("f6",)}, "no such action"),
        ({"fold": ("hyper x",)}, "'hyper x' is no key"),
        ({"fold": ("f2",)}, "F2 already means plan"),
        ({"fold": ("up",)}, "Up already means"),
        ({"send": ("f1",)}, "F1 already means help"),
        ({"fold": ("x",)}, "'x' is text where one writes"),
        ({"fold": ("shift x",)}, "'shift x' is text where one writes"),
        ({"choose_down": ("j",)}, "'j' is text where one writes"),
        ({"take": ("space",)}, "'space' is text where one writes"),
        ({"plan": ("backspace",)}, "Backspace edits the line"),
        ({"fold": ("ctrl a",)}, "Ctrl-A edits the line"),
        ({"choose_up": ("left",)}, "Left edits the line"),
        ({"help": ("home",)}, "Home edits the line"),
        ({"fold": ("alt shift 1",)}, "write the sign that it types with Shift"),
        ({"send": ()}, "send needs a key; it keeps Enter"),
        ({"cancel": ()}, "cancel needs a key; it keeps Esc"),
        ({"take": ()}, "take needs a key; it keeps Enter"),
        ({"interrupt": ("f6",)}, "interrupt keeps Ctrl-C"),
        ({"fold": ("f6",), "plan": ("f6",)}, "F6 already means fold"),
    ],
)
def test_a_wish_that_can_not_be_met_is_told_and_all_others_hold(
    wishes: dict[str, tuple[str, ...]], said: str
) -> None:
    keymap = Keymap.of({"redraw": ("f8",), **wishes})
    (fault,) = keymap.faults
    assert said in fault
    assert "[screen.keys]" in fault
    assert keymap.action_of("f8") == "redraw"
    assert keymap.action_of("ctrl c") == "interrupt"


def test_a_wish_that_falls_takes_no_key_from_another() -> None:
    keymap = Keymap.of({"fold": ("f2",), "help": ("f3",)})
    assert keymap.action_of("f2") == "plan"
    assert keymap.action_of("f3") == "fold"
    assert keymap.action_of("f1") == "help"
    assert len(keymap.faults) == 2


def test_an_action_may_do_without_a_key_and_then_shows_none() -> None:
    keymap = Keymap.of({"fold": ()})
    assert keymap.faults == ()
    assert keymap.shown("fold") == ""


def test_letters_may_mean_something_where_nobody_writes() -> None:
    keymap = Keymap.of({"toggle": ("x",), "first": ("left",)})
    assert keymap.faults == ()
    assert keymap.action_of("x", "transcript") == "toggle"
