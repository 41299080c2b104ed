"""How a prompt is cut: a long one into blocks of which only the first is seen at first; pure."""

from collections.abc import Iterator
from typing import Final

from ui.transcript.blocks import PromptBlock

MOST_ROWS: Final = 12
"""Rows of a prompt that is shown as a whole, about."""
SHOWN_ROWS: Final = 8
"""Rows that are always seen of a longer one."""
_PART: Final = 2_000
"""Characters that are laid out at once: 2 ms."""
_ROW: Final = 80
"""Characters that are taken for a row: nobody knows the width here."""


def blocks(prompt: str) -> list[PromptBlock]:
    """Return the blocks of a prompt, which is clean already; their texts together are the prompt."""
    text = prompt.strip("\n").rstrip()
    if not text:
        return []
    if _rows(text) <= MOST_ROWS and len(text) <= _PART:
        return [PromptBlock(text, first=True)]
    head = _cut(text, SHOWN_ROWS)
    more = text.count("\n", head) + 1
    rest = [PromptBlock(part, first=False, more=more) for part in _parts(text[head:])]
    return [PromptBlock(text[:head], first=True, more=more), *rest]


def _rows(text: str) -> int:
    return sum(1 + len(line) // _ROW for line in text.split("\n"))


def _cut(text: str, rows: int) -> int:
    """Return where so many rows end: at a line's end, in a long line between words."""
    at = 0
    while rows > 0 and at < len(text):
        end = text.find("\n", at) + 1 or len(text)
        if end - at > rows * _ROW:
            limit = at + rows * _ROW
            return text.rfind(" ", at, limit) + 1 or limit
        rows -= 1 + (end - at) // _ROW
        at = end
    return at


def _parts(text: str) -> Iterator[str]:
    """Yield a text in parts that are laid out at once."""
    while len(text) > _PART:
        cut = text.rfind("\n", 0, _PART) + 1 or text.rfind(" ", 0, _PART) + 1 or _PART
        yield text[:cut]
        text = text[cut:]
    yield text
