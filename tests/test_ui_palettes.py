"""Colours: every role can be read on the backgrounds that its theme is for, and nothing needs them."""

from typing import Final, Literal, get_args

import pytest
from urwid import AttrSpec

from ui import palettes
from ui.palettes import Tones

ENOUGH: Final = 4.5
"""Contrast of text, WCAG 2.1 success criterion 1.4.3."""
GROUNDS: Final[dict[Tones, tuple[tuple[str, ...], float]]] = {
    "dark": (("#000", "#1e1e1e", "#282c34", "#002b36"), ENOUGH),
    "light": (("#fff", "#f5f5f5", "#fdf6e3"), ENOUGH),
    "neutral": (("#000", "#fff"), 4.3),
    "high on dark": (("#000", "#1e1e1e", "#282c34"), 7.0),
    "high on light": (("#fff", "#f5f5f5"), 7.0),
}
"""Backgrounds that terminals come with, and the contrast that is wanted on them.

No colour has more than 4.58 on black and on white; of the 256 colours some twenty come near."""
RECEDES: Final = ("rule",)
"""Roles that are no text."""


Colours = Literal[1, 16, 88, 256, 16777216]
Rgb = tuple[int | None, int | None, int | None]


def luminance(rgb: Rgb) -> float:
    parts = [(part or 0) / 255 for part in rgb]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: Rgb, other: Rgb) -> float:
    brighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("colours", [256, 16777216])
@pytest.mark.parametrize("tones", get_args(Tones))
def test_every_role_is_read_on_the_backgrounds_of_its_theme(tones: Tones, colours: Colours) -> None:
    grounds, enough = GROUNDS[tones]
    faint = []
    for role, _, _, _, high, high_ground in palettes.palette(tones):
        for ground in grounds if high_ground == "default" else (high_ground,):
            if role in RECEDES or high.startswith("default"):
                continue
            text = AttrSpec(high, "default", colours).get_rgb_values()[:3]
            behind = AttrSpec("default", ground, 16777216).get_rgb_values()[3:]
            seen = contrast(text, behind)
            if seen < (enough if high_ground == "default" else ENOUGH):
                faint.append((role, ground, round(seen, 2)))
    assert faint == []


@pytest.mark.parametrize("tones", get_args(Tones))
@pytest.mark.parametrize("colours", [88, 256, 16777216])
def test_every_entry_is_one_that_urwid_takes(tones: Tones, colours: Colours) -> None:
    for _, basic, basic_ground, mono, high, high_ground in palettes.palette(tones):
        AttrSpec(basic, basic_ground, 16)
        AttrSpec(mono, "default", 1)
        AttrSpec(high, high_ground, colours)


@pytest.mark.parametrize("tones", get_args(Tones))
def test_where_bright_colours_are_bold_ones_nothing_is_drawn_in_bold_black(tones: Tones) -> None:
    basics = [entry[1] for entry in palettes.palette(tones, bright_is_bold=True)]
    assert [basic for basic in basics if AttrSpec(basic, "default", 16).foreground_number == 8] == []


@pytest.mark.parametrize("tones", get_args(Tones))
def test_only_subagents_wear_the_accent(tones: Tones) -> None:
    wearing = {entry[0] for entry in palettes.palette(tones) if palettes.ACCENT in entry}
    assert wearing == {"activity"}


@pytest.mark.parametrize(
    ("told", "meant"),
    [("15;0", "dark"), ("0;15", "light"), ("0;default;15", "light"), ("12;8", "dark"), ("0;7", "light")],
)
def test_the_environment_may_tell_the_background(told: str, meant: str) -> None:
    assert palettes.told_by_environment({"COLORFGBG": told}) == meant


@pytest.mark.parametrize("told", ["", "15", "15;default", "x;y", ";", "15;-1"])
def test_an_environment_that_does_not_tell_the_background_is_not_guessed_from(told: str) -> None:
    assert palettes.told_by_environment({"COLORFGBG": told}) is None or told == "15"


def test_what_the_person_wants_goes_before_what_the_terminal_is() -> None:
    assert palettes.tones("dark", "light") == "dark"
    assert palettes.tones("auto", "light") == "light"
    assert palettes.tones("auto", None) == "neutral"
    assert palettes.tones("high-contrast", "light") == "high on light"
    assert palettes.tones("high-contrast", None) == "high on dark"
