"""Colours: what each role looks like on a dark, a light and an unknown background, and with high contrast.

Nothing is said by a colour alone, and the terminal's own background stays; where it is unknown, tones are
taken that are read on black and on white alike: all of them as bright as the grey between the two.
The tones are colours of the 256 ones, so that a terminal that knows no others shows the same.
"""

from collections.abc import Iterator, Mapping
from typing import Final, Literal, NamedTuple, get_args

from ipc.messages import Theme

ACCENT: Final = "#a78bfa"
"""Subagents, and nothing else."""

Background = Literal["dark", "light"]
"""What the terminal's background is, where it is known."""
Tones = Literal["dark", "light", "neutral", "high on dark", "high on light"]

Role = Literal[
    "brand",
    "chrome",
    "dim",
    "rule",
    "gauge",
    "strong",
    "emphasis",
    "struck",
    "prompt",
    "activity",
    "ok",
    "warning",
    "error",
    "ask",
    "chosen",
    "mark",
    "found",
    "found now",
    "added",
    "removed",
    "heading",
    "code",
    "link",
    "quote",
    "c_keyword",
    "c_string",
    "c_number",
    "c_comment",
    "c_name",
    "c_builtin",
]


class Tone(NamedTuple):
    """Foreground and background of a role, in 256 and more colours and in 16."""

    high: str
    basic: str
    high_ground: str = "default"
    basic_ground: str = "default"


_MONO: Final[dict[Role, str]] = {
    "brand": "bold",
    "strong": "bold",
    "emphasis": "italics",
    "struck": "strikethrough",
    "prompt": "bold",
    "activity": "standout",
    "warning": "bold",
    "error": "bold",
    "ask": "bold",
    "chosen": "standout",
    "mark": "bold",
    "found": "underline",
    "found now": "standout",
    "heading": "bold",
    "link": "underline",
}
"""Settings without any colour; a role that is not named looks like the text around it."""
_SETTINGS: Final[dict[Role, str]] = {
    "brand": ",bold",
    "emphasis": ",italics",
    "struck": ",strikethrough",
    "ask": ",bold",
    "chosen": ",standout",
    "found now": ",bold",
    "heading": ",bold",
    "link": ",underline",
    "prompt": ",bold",
    "strong": ",bold",
}
"""Settings that go with a role's colour."""


class _Hues(NamedTuple):
    """The colours that a theme is made of."""

    cyan: Tone
    grey: Tone
    faint: Tone
    green: Tone
    yellow: Tone
    red: Tone
    blue: Tone
    violet: Tone
    found: Tone
    found_now: Tone


_PLAIN: Final = Tone("default", "default")
_ACTIVITY: Final = Tone("#1b0f3b,bold", "white,bold", ACCENT, "dark magenta")
_HUES: Final[dict[Tones, _Hues]] = {
    "dark": _Hues(
        cyan=Tone("#5fd7d7", "dark cyan"),
        grey=Tone("g62", "dark gray"),
        faint=Tone("g35", "dark gray"),
        green=Tone("#87d787", "dark green"),
        yellow=Tone("#d7af5f", "brown"),
        red=Tone("#ff8787", "light red"),
        blue=Tone("#87afff", "light blue"),
        violet=Tone("#d7a7d7", "dark magenta"),
        found=Tone("#ffffd7", "black", "#5f5f00", "brown"),
        found_now=Tone("#000000", "black", "#ffd75f", "yellow"),
    ),
    "light": _Hues(
        cyan=Tone("#005f87", "dark cyan"),
        grey=Tone("g38", "dark gray"),
        faint=Tone("g78", "light gray"),
        green=Tone("#005f00", "dark green"),
        yellow=Tone("#875f00", "brown"),
        red=Tone("#af0000", "dark red"),
        blue=Tone("#005faf", "dark blue"),
        violet=Tone("#87005f", "dark magenta"),
        found=Tone("#000000", "black", "#ffffaf", "yellow"),
        found_now=Tone("#000000", "black", "#ffaf00", "brown"),
    ),
    "neutral": _Hues(
        cyan=Tone("#008787", "dark cyan"),
        grey=Tone("g46", "dark gray"),
        faint=Tone("g54", "dark gray"),
        green=Tone("#008700", "dark green"),
        yellow=Tone("#af5f00", "brown"),
        red=Tone("#af5f5f", "light red"),
        blue=Tone("#5f5fff", "light blue"),
        violet=Tone("#af5f87", "dark magenta"),
        found=Tone("#000000", "black", "#ffffaf", "brown"),
        found_now=Tone("#000000", "black", "#ffaf00", "yellow"),
    ),
    "high on dark": _Hues(
        cyan=Tone("#87ffff", "light cyan"),
        grey=_PLAIN,
        faint=_PLAIN,
        green=Tone("#87ff87", "light green"),
        yellow=Tone("#ffff5f", "yellow"),
        red=Tone("#ffafaf", "light red"),
        blue=Tone("#afd7ff", "light cyan"),
        violet=Tone("#ffd7ff", "light magenta"),
        found=Tone("#000000", "black", "#ffffaf", "yellow"),
        found_now=Tone("#000000", "black", "#ffffff", "white"),
    ),
    "high on light": _Hues(
        cyan=Tone("#00005f", "dark blue"),
        grey=_PLAIN,
        faint=_PLAIN,
        green=Tone("#005f00", "dark green"),
        yellow=_PLAIN,
        red=Tone("#870000", "dark red"),
        blue=Tone("#00005f", "dark blue"),
        violet=Tone("#5f005f", "dark magenta"),
        found=Tone("#000000", "black", "#ffffaf", "yellow"),
        found_now=Tone("#ffffff", "white", "#000000", "black"),
    ),
}


def tones(theme: Theme, background: Background | None) -> Tones:
    """Return the tones for what the person wants and what is known of the terminal."""
    if theme == "high-contrast":
        return "high on light" if background == "light" else "high on dark"
    if theme == "auto":
        return background or "neutral"
    return theme


def palette(wanted: Tones, *, bright_is_bold: bool = False) -> Iterator[tuple[Role, str, str, str, str, str]]:
    """Yield urwid's palette entries: role, 16 colours, ground, none, 256 and more, ground.

    `bright_is_bold`: the terminal has 8 colours, the others as bold ones; its grey would be black.
    """
    for role, tone in _roles(_HUES[wanted]).items():
        settings = "" if "," in tone.high else _SETTINGS.get(role, "")
        basic, high = tone.basic + settings, tone.high + settings
        if bright_is_bold:
            basic = basic.replace("dark gray", "default")
        yield role, basic, tone.basic_ground, _MONO.get(role, "default"), high, tone.high_ground


def _roles(hue: _Hues) -> Mapping[Role, Tone]:
    named: dict[Role, Tone] = {
        "brand": hue.cyan,
        "chrome": hue.cyan,
        "dim": hue.grey,
        "rule": hue.faint,
        "gauge": hue.cyan,
        "activity": _ACTIVITY,
        "ok": hue.green,
        "warning": hue.yellow,
        "error": hue.red,
        "ask": hue.yellow,
        "mark": hue.cyan,
        "found": hue.found,
        "found now": hue.found_now,
        "added": hue.green,
        "removed": hue.red,
        "heading": hue.cyan,
        "code": hue.yellow,
        "link": hue.blue,
        "quote": hue.grey,
        "c_keyword": hue.violet,
        "c_string": hue.green,
        "c_number": hue.yellow,
        "c_comment": hue.grey,
        "c_name": hue.blue,
        "c_builtin": hue.cyan,
    }
    return {role: named.get(role, _PLAIN) for role in get_args(Role)}


def told_by_environment(environ: Mapping[str, str]) -> Background | None:
    """Return what `COLORFGBG`, as `15;0` or `0;default;15`, says of the background; None: nothing."""
    ground = environ.get("COLORFGBG", "").rpartition(";")[2]
    if not ground.isdecimal():
        return None
    return "dark" if int(ground) in (0, 1, 2, 3, 4, 5, 6, 8) else "light"


def told_by_colour(red: float, green: float, blue: float) -> Background:
    """Return what a colour is as a background; parts from 0 to 1, weighted as in ITU-R BT.601."""
    return "light" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "dark"
