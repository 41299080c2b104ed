"""What a person has written and not sent: a text in which a long paste is one character."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final, NamedTuple

from ipc.terminal_text import clean, clean_line
from ui import keys

FOLDED_LINES: Final = 8
"""Lines of a paste from which on it is folded into a chip."""
FOLDED_CHARACTERS: Final = 1_000
EDITABLE_LINES: Final = 200
"""Lines up to which a text is laid out in the composer; on a longer one every key would be felt."""
EDITABLE_CHARACTERS: Final = 20_000
EDITABLE_LINE: Final = 2_000
"""Characters of a line up to which it is: every key lays the whole of it out, 12 µs for each."""

_FIRST_CHIP: Final = 0xD800
_LAST_CHIP: Final = 0xDFFF
"""Half a pair each, which no text can hold: `received` lets none in from outside."""
_HALF: Final = "[\ud800-\udfff]"
_SHOWN_CHARACTERS: Final = 400


class Paste(NamedTuple):
    """What a chip stands for."""

    text: str
    size: str
    """For people; told once, as a paste may have millions of lines."""


class Draft(NamedTuple):
    """A text, where its cursor stands, and what its chips stand for."""

    text: str = ""
    pos: int = 0
    chips: Mapping[str, Paste] = {}
    """The paste of each chip in the text, by its character."""

    @property
    def whole(self) -> str:
        """The text with every chip in full: what is sent."""
        return unfolded(self.text, self.chips)

    @property
    def command(self) -> keys.Entered | None:
        """The local command that it looks like: as a person has typed it, so a folded paste never is one."""
        entered = keys.local_command(self.text)
        if entered is None or not self.chips:
            return entered
        line = labelled(entered.line, self.chips)
        return entered._replace(line=line, words=unfolded(entered.words, self.chips))

    @property
    def line(self) -> str:
        """The text on one line, each chip as its label."""
        return clean_line(" ".join(labelled(self.text, self.chips).split()), _SHOWN_CHARACTERS)


def received(text: str) -> str:
    """Return a text from outside as it is kept and sent: as it came, but for what no text can hold.

    Lines end with a newline; for half a pair stands U+FFFD, for NUL, which servers refuse, its picture.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\u2400")
    return text if text.isascii() else _compiled().sub("\ufffd", text)


def draft_of(text: str) -> Draft:
    """Return a draft of a whole text, the cursor at its end; one too long to be laid out is a chip."""
    text = received(text)
    chips: dict[str, Paste] = {}
    text = text if is_editable(text) else folded(text, chips)
    return Draft(text, len(text), chips)


def joined(drafts: list[Draft], between: str = "\n\n") -> Draft:
    """Return all drafts as one, the cursor at its end."""
    chips: dict[str, Paste] = {}
    texts = [adopted(draft, chips) for draft in drafts if draft.text]
    text = between.join(texts)
    return Draft(text, len(text), chips)


def folded_again(text: str, chips: Mapping[str, Paste]) -> Draft:
    """Return a whole text with chips where what they stand for is still there as it was."""
    kept = {}
    for chip, paste in chips.items():
        if paste.text in text:
            text = text.replace(paste.text, chip, 1)
            kept[chip] = paste
    if is_editable(text):
        return Draft(text, len(text), kept)
    return draft_of(unfolded(text, kept))


def adopted(draft: Draft, chips: dict[str, Paste]) -> str:
    """Return a draft's text with its chips added to `chips`; one whose character is taken gets another."""
    renamed = {}
    for chip, paste in draft.chips.items():
        if chips.get(chip, paste).text != paste.text:
            renamed[chip] = folded(paste.text, chips)
        else:
            chips[chip] = paste
    if not renamed:
        return draft.text
    return _compiled().sub(lambda found: renamed.get(found[0], found[0]), draft.text)


def folded(text: str, chips: dict[str, Paste]) -> str:
    """Return a character that stands for a text from now on; the text itself when all are taken."""
    lines = text.rstrip("\n").count("\n") + 1
    count = lines if lines > 1 else len(text)
    what = "line" if lines > 1 else "character"
    chip = 1 + max(map(ord, chips), default=_FIRST_CHIP - 1)
    if chip > _LAST_CHIP:
        return text
    chips[chr(chip)] = Paste(text, f"{count:,} {what}{'s' if count > 1 else ''}")
    return chr(chip)


def is_long(pasted: str) -> bool:
    """Tell whether a paste is folded."""
    return len(pasted) > FOLDED_CHARACTERS or pasted.rstrip("\n").count("\n") >= FOLDED_LINES


def is_editable(text: str) -> bool:
    """Tell whether a text is short enough to be laid out at every key, as it is drawn."""
    if len(text) > EDITABLE_CHARACTERS:
        return False
    drawn = clean(text)
    lines = drawn.split("\n") if len(drawn) <= EDITABLE_CHARACTERS else ()
    return 0 < len(lines) <= EDITABLE_LINES and max(map(len, lines)) <= EDITABLE_LINE


def is_chip(character: str) -> bool:
    """Tell whether a character stands for a paste."""
    return _FIRST_CHIP <= ord(character) <= _LAST_CHIP


def chips_in(text: str) -> Iterator[tuple[int, str]]:
    """Yield the place and the character of each chip."""
    if not text.isascii():
        for found in _compiled().finditer(text):
            yield found.start(), found[0]


def unfolded(text: str, chips: Mapping[str, Paste]) -> str:
    """Return a text with every chip in full."""
    return _compiled().sub(lambda found: chips[found[0]].text, text) if chips else text


def labelled(text: str, chips: Mapping[str, Paste]) -> str:
    """Return a text with a label for each chip."""
    parts: list[str] = []
    at = 0
    for number, (place, chip) in enumerate(chips_in(text), start=1):
        parts += text[at:place], label(number, chips[chip])
        at = place + 1
    return "".join([*parts, text[at:]])


def label(number: int, paste: Paste) -> str:
    """Return what is shown for a chip."""
    return f"[paste #{number}: {paste.size}]"


@cache
def _compiled() -> re.Pattern[str]:
    return re.compile(_HALF)
