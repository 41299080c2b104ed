"""How a text is drawn while it is edited: a label for each chip, and nothing that a terminal could act on."""

from collections.abc import Hashable, Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple
from unicodedata import category

from urwid.str_util import move_next_char

from ipc.terminal_text import clean
from ui.composer import draft as drafts
from ui.composer.draft import Paste

_NOTHING: Final = "\u25cc"
"""Stands below a mark that stands for itself."""
_LINES_KNOWN: Final = 2 * drafts.EDITABLE_LINES


class Stretch(NamedTuple):
    """Characters that are drawn as others."""

    start: int
    end: int
    """Places in the text."""
    drawn: str
    role: str


class Shown:
    """A text as it is drawn, and which place in it stands for which in the text."""

    def __init__(self, source: str, chips: Mapping[str, Paste]) -> None:
        self.source: Final = source
        self._stretches = _stretches(source, chips)
        parts: list[str] = []
        self.roles: list[tuple[Hashable, int]] = []
        at = 0
        for start, end, drawn, role in self._stretches:
            parts += source[at:start], drawn
            self.roles += (None, start - at), (role, len(drawn))
            at = end
        self.text: Final = "".join([*parts, source[at:]])

    def drawn_at(self, place: int) -> int:
        """Return where a place in the text is drawn."""
        moved = 0
        for start, end, drawn, _ in self._stretches:
            if place <= start:
                break
            if place < end:
                return start + moved
            moved += len(drawn) - (end - start)
        return place + moved

    def edited_at(self, drawn_at: int) -> int:
        """Return the place in the text of one in what is drawn; within a stretch, its nearer end."""
        moved = 0
        for start, end, drawn, _ in self._stretches:
            before = drawn_at - moved - start
            if before <= 0:
                break
            if before < len(drawn):
                return end if 2 * before >= len(drawn) else start
            moved += len(drawn) - (end - start)
        return drawn_at - moved


def _stretches(text: str, chips: Mapping[str, Paste]) -> list[Stretch]:
    if text.isascii() and clean(text) == text:
        return []
    found: list[Stretch] = []
    at = number = 0
    for line in text.split("\n"):
        for start, end, drawn in _unlike(line):
            paste = chips.get(line[start:end])
            if paste is not None:
                number += 1
                found.append(Stretch(at + start, at + end, drafts.label(number, paste), "chip"))
            else:
                found.append(Stretch(at + start, at + end, drawn, "dim"))
        at += len(line) + 1
    return found


@lru_cache(_LINES_KNOWN)
def _unlike(line: str) -> tuple[tuple[int, int, str], ...]:
    """Return what of a line is drawn as something else: by what a person takes for one character."""
    return () if clean(line) == line and not _is_mark(line[:1]) else tuple(_unlike_characters(line))


def _unlike_characters(line: str) -> Iterator[tuple[int, int, str]]:
    at = behind = 0
    while at < len(line):
        end = at + 1 if drafts.is_chip(line[at]) else move_next_char(line, at, len(line))
        character = line[at:end]
        drawn = clean(character)
        if behind == at and _is_mark(line[at]):  # it would join what is drawn before it
            drawn = f"{_NOTHING}{drawn}"
        if drawn != character:
            yield at, end, drawn
            behind = end
        at = end


def _is_mark(character: str) -> bool:
    return character != "" and category(character)[0] == "M"
