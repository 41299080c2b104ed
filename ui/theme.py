"""Colours and glyphs. Nothing is said by a colour alone: each state has a glyph or a word of its own.

The terminal's own foreground and background stay, so dark and light terminals both work; the tones are
chosen to be read on either.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from ipc.messages import Level, PlanStatus, Verdict
from ui.transcript.blocks import Outcome

ACCENT: Final = "#a78bfa"
"""Subagents, and nothing else."""

Role = Literal[
    "brand",
    "chrome",
    "dim",
    "rule",
    "gauge",
    "strong",
    "prompt",
    "activity",
    "ok",
    "warning",
    "error",
    "ask",
    "chosen",
    "added",
    "removed",
]

# Role, then foreground and background for 16 colours, for none, and for 256 and more (urwid's palette form).
PALETTE: Final[list[tuple[Role, str, str, str, str, str]]] = [
    ("brand", "dark cyan,bold", "default", "bold", "#2a9da8,bold", "default"),
    ("chrome", "dark cyan", "default", "default", "#2a9da8", "default"),
    ("dim", "dark gray", "default", "default", "#8a8a8a", "default"),
    ("rule", "dark gray", "default", "default", "#6c6c6c", "default"),
    ("gauge", "dark cyan", "default", "default", "#2a9da8", "default"),
    ("strong", "default,bold", "default", "bold", "default,bold", "default"),
    ("prompt", "default,bold", "default", "bold", "default,bold", "default"),
    ("activity", "white,bold", "dark magenta", "standout", "#1b0f3b,bold", ACCENT),
    ("ok", "dark green", "default", "default", "#3d9a50", "default"),
    ("warning", "brown", "default", "bold", "#b8860b", "default"),
    ("error", "light red", "default", "bold", "#d9534f", "default"),
    ("ask", "brown,bold", "default", "bold", "#b8860b,bold", "default"),
    ("chosen", "default,standout", "default", "standout", "default,standout", "default"),
    ("added", "dark green", "default", "default", "#3d9a50", "default"),
    ("removed", "light red", "default", "default", "#d9534f", "default"),
]


@dataclass(frozen=True, slots=True)
class Glyphs:
    """The signs of one character set; each is one column wide."""

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
    ellipsis="~",
    dot="-",
    bar="|",
    rule="-",
    corners="++++",
    gauge=("#", "-"),
    thumb="#",
    trough=" ",
)


def speaks_unicode(environ: Mapping[str, str]) -> bool:
    """Tell from the locale whether the terminal draws more than ASCII; with no locale set at all it does."""
    locale = next((environ[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if environ.get(name)), "")
    return not locale or "utf" in locale.lower()
