"""Signs that the screen is drawn with, in Unicode and in ASCII. Each state has one of its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ipc.messages import Glyphs as Wanted
from ipc.messages import Level, PlanStatus, Verdict
from ui.transcript.blocks import Outcome


@dataclass(frozen=True, slots=True)
class Glyphs:
    """The signs of one character set; each is one column wide, but for the ellipsis."""

    prompt: str
    running: tuple[str, str]
    """Two phases of something that is under way."""
    tool: Mapping[Outcome, str]
    plan: Mapping[PlanStatus, str]
    stalled: str
    """A step in progress on which nobody works now."""
    verdict: Mapping[Verdict, str]
    level: Mapping[Level, str]
    thought: str
    agent: tuple[str, str]
    chosen: str
    ellipsis: str
    dot: str
    bar: str
    rule: str
    corners: str
    """Top left, top right, bottom left, bottom right."""
    gauge: tuple[str, str]
    """The filled and the empty part of a bar that says how full something is."""
    bullets: tuple[str, str]
    """Of the items of a list, and of a list within a list."""
    cross: str
    """Where a rule meets what divides columns."""
    thumb: str
    trough: str


UNICODE: Final = Glyphs(
    prompt="›",
    running=("●", "○"),
    tool={"ok": "✓", "error": "✗", "denied": "⊘", "partial": "!", "cancelled": "◌"},
    plan={"pending": "○", "in_progress": "◐", "blocked": "‖", "done": "✓"},
    stalled="◌",
    verdict={"verified": "✓", "claimed": "·"},
    level={"info": "·", "warning": "!", "error": "✗"},
    thought="∴",
    agent=("◆", "◇"),
    chosen="›",
    ellipsis="…",
    dot="·",
    bar="│",
    rule="─",
    corners="┌┐└┘",
    gauge=("━", "╌"),
    bullets=("•", "◦"),
    cross="┼",
    thumb="┃",
    trough=" ",
)
ASCII: Final = Glyphs(
    prompt=">",
    running=("*", "o"),
    tool={"ok": "+", "error": "x", "denied": "-", "partial": "!", "cancelled": "~"},
    plan={"pending": "o", "in_progress": ">", "blocked": "=", "done": "+"},
    stalled="~",
    verdict={"verified": "+", "claimed": "."},
    level={"info": ".", "warning": "!", "error": "x"},
    thought=":",
    agent=("*", "o"),
    chosen=">",
    ellipsis="...",
    dot="-",
    bar="|",
    rule="-",
    corners="++++",
    gauge=("#", "-"),
    bullets=("-", "*"),
    cross="+",
    thumb="#",
    trough=" ",
)


_COERCED: Final = ("C.UTF-8", "C.utf8", "UTF-8")
"""What Python makes of LC_CTYPE in a locale that it believes to be a mistake."""


def glyphs(wanted: Wanted, environ: Mapping[str, str]) -> Glyphs:
    """Return the signs that the person wants, or those that the locale has."""
    unicode = speaks_unicode(environ) if wanted == "auto" else wanted == "unicode"
    return UNICODE if unicode else ASCII


def speaks_unicode(environ: Mapping[str, str]) -> bool:
    """Tell from the locale whether the terminal draws more than ASCII; with no locale set at all it does.

    Where the locale is C, or is not installed, Python has put another LC_CTYPE into the environment before
    anybody could look (PEP 538): that is not what the person has said.
    """
    said = [environ.get(name, "") for name in ("LC_ALL", "LC_CTYPE", "LANG")]
    if said[2] and said[1] in _COERCED:
        said[1] = ""
    locale = next(filter(None, said), "")
    return not locale or "utf" in locale.lower()
