"""Text from outside made safe for a terminal: nothing acts, nothing hides, nothing changes places.

Controls and invisible characters become visible ones (`ESC` is drawn as `␛`, U+202E as `<U+202E>`), so a
person sees what is there. Removing them would let `a<BS>b` pass as `b`. Every function is linear.
"""

import functools
import re
import unicodedata
from typing import Final

LINE_END: Final = "⏎"
"""Stands for one where a text is shown on one line."""
STACK_LIMIT: Final = 4
"""Combining marks kept on one character; living scripts need no more."""

_EMOJI: Final = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf\u2900-\u297f"
    "\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
_HIDDEN: Final = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 without tab and newline, DEL, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidirectional controls
    "\u00ad\u034f\u180b-\u180f\u200b\u200c\u2060-\u2065\u206a-\u206f\ufeff"  # soft hyphen, zero width
    "\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"  # fillers and blanks that look like nothing
    "\u2028\u2029"  # line and paragraph separator
    "\ufe00-\ufe0e\ufdd0-\ufdef\ufff0-\ufffb\ufffe\uffff"  # variation selectors, noncharacters
    "\ud800-\udfff\ue000-\uf8ff"  # lone surrogates, private use
    "\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a"
    "\U0001fffe\U0001ffff\U0002fffe\U0002ffff\U0003fffe\U0003ffff"  # more noncharacters
    "\U000e0000-\U0010ffff"  # tags, more variation selectors, private planes
)
_JOINER: Final = "\u200d"
_SELECTOR: Final = "\ufe0f"
_SUSPECT: Final = f"[{_HIDDEN}]"
# A joiner belongs between emoji, a selector behind one or within a key cap; all others hide something.
_LONE_JOINER: Final = f"(?<![{_EMOJI}{_SELECTOR}]){_JOINER}|{_JOINER}(?![{_EMOJI}])"
_LONE_SELECTOR: Final = f"(?<![{_EMOJI}0-9#*]){_SELECTOR}|(?<=[0-9#*]){_SELECTOR}(?!\u20e3)"
_CONTROLS: Final = {c: 0x2400 + c for c in range(0x20) if c not in (0x09, 0x0A)} | {0x7F: 0x2421}
# Where characters without a width of their own live: below U+3100, then far apart, then outside the BMP.
_MARK_BLOCKS: Final = ((0x0300, 0x3100), (0xA600, 0xAC00), (0xFB00, 0xFE30))
_HIGH_MARK_BLOCKS: Final = ((0x10000, 0x12000), (0x16A00, 0x17000), (0x1BC00, 0x1BD00), (0x1CF00, 0x1F000))
_ABOVE_LATIN: Final = f"[\u0300-\uffff]{{{STACK_LIMIT + 1}}}"
_ABOVE_BMP: Final = f"[\U00010000-\U0001efff]{{{STACK_LIMIT + 1}}}"
_GAP: Final = r"[ \t]*\n\s*|[ \t]{24,}"
"""A line's end with all white space around it, or blanks that could push something out of sight."""
_LINE_ENDS_SHOWN: Final = 2
_SETTLED_LATER: Final = "\r" + _JOINER + _SELECTOR
_CONTEXT: Final = STACK_LIMIT + 2
_PICTURES_KEPT: Final = 65_536


def clean(text: str) -> str:
    """Return `text` with everything a terminal could act on or hide made visible; tabs and newlines stay."""
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if text.isascii():
        return text.translate(_CONTROLS)
    if _JOINER in text:
        text = _compiled(_LONE_JOINER).sub("<U+200D>", text)
    if _SELECTOR in text:
        text = _compiled(_LONE_SELECTOR).sub("<U+FE0F>", text)
    if _compiled(_SUSPECT).search(text):
        text = text.translate(_pictures)
    if _compiled(_ABOVE_LATIN).search(text):
        text = _stacks(_MARK_BLOCKS).sub(r"\1…", text)
    if _compiled(_ABOVE_BMP).search(text):
        text = _stacks(_HIGH_MARK_BLOCKS).sub(r"\1…", text)
    return text


def clean_line(text: str, limit: int = 200) -> str:
    """Return `text` cleaned, on one line of at most `limit` characters; `…` marks a cut."""
    cut = text[: limit + 1]
    line = clean(cut.strip()).replace("\n", f" {LINE_END} ").replace("\t", " ")
    return line if len(line) <= limit and len(text) <= limit else line[: limit - 1] + "…"


def on_one_line(text: str, limit: int) -> str:
    """Return a text of several lines on one, so that a person still sees where one ends.

    A gap that could hide what stands behind it is counted. At most `limit` characters; `…` marks a cut.
    """
    line = _compiled(_GAP).sub(_sign, text.strip()).replace("\t", " ")
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _sign(gap: re.Match[str]) -> str:
    ends = gap[0].count("\n")
    if not ends:
        return f"⟨{len(gap[0])} spaces⟩"
    if ends <= _LINE_ENDS_SHOWN:
        return f" {LINE_END}" * ends + " "
    return f" {LINE_END} ⟨{ends - 1} empty lines⟩ {LINE_END} "


class StreamCleaner:
    """Cleans a text that arrives in pieces; the result is the same wherever it was cut."""

    def __init__(self) -> None:
        self._context = ""
        self._held = ""

    def feed(self, piece: str) -> str:
        """Return what can be shown now; a last character whose fate hangs on the next one waits."""
        text = self._context + self._held + piece
        end = len(text) - 1 if text[-1:] and text[-1] in _SETTLED_LATER else len(text)
        self._held = text[end:]
        return self._emit(text[:end])

    def flush(self) -> str:
        """Return what still waits: the text has ended."""
        text, self._held = self._context + self._held, ""
        return self._emit(text)

    def _emit(self, text: str) -> str:
        shown = clean(text)[len(clean(self._context)) :]
        self._context = text[-_CONTEXT:]
        return shown


class _Pictures(dict[int, str]):
    """What is drawn for a character, by its code; found out when it is first met.

    A table is up to ten times as fast as a call for each match, and hostile text is nothing but matches.
    """

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if code in _CONTROLS:
            shown = chr(_CONTROLS[code])
        else:
            shown = f"<U+{code:04X}>" if _compiled(_SUSPECT).match(character) else character
        if len(self) < _PICTURES_KEPT:
            self[code] = shown
        return shown


_pictures: Final = _Pictures()


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern when it is first needed: most texts are ASCII, and a process starts without."""
    return re.compile(pattern)


@functools.cache
def _stacks(blocks: tuple[tuple[int, int], ...]) -> re.Pattern[str]:
    """Match more than `STACK_LIMIT` characters in a row that have no width of their own."""
    marks = {c for first, end in blocks for c in range(first, end) if unicodedata.category(chr(c))[0] == "M"}
    # Written as ranges: beyond U+FFFF the regex engine tries single characters one after the other.
    firsts = sorted(c for c in marks if c - 1 not in marks)
    lasts = sorted(c for c in marks if c + 1 not in marks)
    ranges = "".join(f"{chr(a)}-{chr(b)}" for a, b in zip(firsts, lasts, strict=True))
    one = f"[{ranges}\u1161-\u11ff\ud7b0-\ud7fb]"
    return re.compile(f"({one}{{{STACK_LIMIT}}}){one}+")
