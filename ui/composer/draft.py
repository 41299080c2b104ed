"""What a person has written and not sent: a text in which a long paste is one character."""

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from ipc.terminal_text import clean, clean_line

FOLDED_LINES: Final = 8
"""Lines of a paste from which on it is folded into a chip."""
FOLDED_CHARACTERS: Final = 1_000
EDITABLE_LINES: Final = 200
"""Lines up to which a text is laid out in the composer; on a longer one every key would be felt."""
EDITABLE_CHARACTERS: Final = 20_000
EDITABLE_LINE: Final = 2_000
"""Characters of a line up to which it is: every key lays the whole of it out, 12 µs for each."""

_FIRST_CHIP: Final = 0xF0000
"""Characters of a private plane: cleaning takes them out of whatever comes from outside."""
_CHIP: Final = re.compile("[\U000f0000-\U000ffffd]")
_SHOWN_CHARACTERS: Final = 400


class Draft(NamedTuple):
    """A text, where its cursor stands, and what its chips stand for."""

    text: str = ""
    pos: int = 0
    chips: Mapping[str, str] = {}
    """The pasted text of each chip in the text, by its character."""

    @property
    def whole(self) -> str:
        """The text with every chip in full: what is sent."""
        return unfolded(self.text, self.chips)

    @property
    def line(self) -> str:
        """The text on one line, each chip as its label."""
        return clean_line(" ".join(labelled(self.text, self.chips).split()), _SHOWN_CHARACTERS)


def draft_of(text: str) -> Draft:
    """Return a draft of a whole text, the cursor at its end; one too long to be laid out is a chip."""
    text = clean(text)
    if is_editable(text):
        return Draft(text, len(text))
    chip = new_chip({})
    return Draft(chip, 1, {chip: text})


def joined(drafts: list[Draft], between: str = "\n\n") -> Draft:
    """Return all drafts as one, the cursor at its end."""
    chips: dict[str, str] = {}
    texts = [adopted(draft, chips) for draft in drafts if draft.text]
    text = between.join(texts)
    return Draft(text, len(text), chips)


def folded_again(text: str, chips: Mapping[str, str]) -> Draft:
    """Return a whole text with chips where what they stand for is still there as it was."""
    kept = {}
    for chip, pasted in chips.items():
        if pasted in text:
            text = text.replace(pasted, chip, 1)
            kept[chip] = pasted
    if is_editable(text):
        return Draft(text, len(text), kept)
    return draft_of(unfolded(text, kept))


def adopted(draft: Draft, chips: dict[str, str]) -> str:
    """Return a draft's text with its chips added to `chips`; one whose character is taken gets another."""
    text = draft.text
    for chip, pasted in draft.chips.items():
        if chips.get(chip, pasted) != pasted:
            mine = new_chip({**chips, **draft.chips})
            text = text.replace(chip, mine)
            chips[mine] = pasted
        else:
            chips[chip] = pasted
    return text


def is_long(pasted: str) -> bool:
    """Tell whether a paste is folded."""
    return len(pasted) > FOLDED_CHARACTERS or pasted.rstrip("\n").count("\n") >= FOLDED_LINES


def is_editable(text: str) -> bool:
    """Tell whether a text is short enough to be laid out at every key."""
    lines = text.split("\n") if len(text) <= EDITABLE_CHARACTERS else ()
    return 0 < len(lines) <= EDITABLE_LINES and max(map(len, lines)) <= EDITABLE_LINE


def new_chip(chips: Mapping[str, str]) -> str:
    """Return a character that stands for no paste yet."""
    return chr(1 + max((ord(chip) for chip in chips), default=_FIRST_CHIP - 1))


def chips_in(text: str) -> Iterator[tuple[int, str]]:
    """Yield the place and the character of each chip."""
    for found in _CHIP.finditer(text):
        yield found.start(), found[0]


def unfolded(text: str, chips: Mapping[str, str]) -> str:
    """Return a text with every chip in full."""
    return _CHIP.sub(lambda found: chips.get(found[0], ""), text)


def labelled(text: str, chips: Mapping[str, str]) -> str:
    """Return a text as it is shown, with a label for each chip."""
    parts: list[str] = []
    at = 0
    for number, (place, chip) in enumerate(chips_in(text), start=1):
        parts += text[at:place], label(number, chips.get(chip, ""))
        at = place + 1
    return "".join([*parts, text[at:]])


def label(number: int, pasted: str) -> str:
    """Return what is shown for a chip."""
    lines = pasted.rstrip("\n").count("\n") + 1
    size = f"{lines:,} lines" if lines > 1 else f"{len(pasted):,} characters"
    return f"[paste #{number}: {size}]"
