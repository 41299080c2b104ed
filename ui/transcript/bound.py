"""How much of a session the screen keeps; pure."""

from collections.abc import Sequence
from typing import Final, assert_never

from ui.transcript.blocks import Block, NoteBlock, PromptBlock, TextBlock, ThoughtBlock, ToolBlock

MOST_LINES: Final = 60_000
MOST_CHARACTERS: Final = 8_000_000
_LEFT: Final = 0.9
"""Share of the most that is left after something went: to count what is there takes 20 ms."""


class Room:
    """How much can be added before the oldest has to go."""

    def __init__(self, most_lines: int = MOST_LINES, most_characters: int = MOST_CHARACTERS) -> None:
        self._most = (most_lines, most_characters)
        self._lines, self._characters = self._most

    def takes(self, lines: int, characters: int) -> bool:
        """Count what is added; tell whether all that there was counted last has room still."""
        self._lines -= lines
        self._characters -= characters
        return self._lines >= 0 and self._characters >= 0

    def excess(self, blocks: Sequence[Block]) -> tuple[int, int]:
        """Count anew; return how many of the oldest blocks have to go, and how many lines these are."""
        sizes = [size(block) for block in blocks]
        lines, characters = sum(size[0] for size in sizes), sum(size[1] for size in sizes)
        most_lines, most_characters = self._most
        gone = gone_lines = 0
        if lines > most_lines or characters > most_characters:
            for block_lines, block_characters in sizes[:-1]:
                if lines <= most_lines * _LEFT and characters <= most_characters * _LEFT:
                    break
                lines, characters = lines - block_lines, characters - block_characters
                gone, gone_lines = gone + 1, gone_lines + block_lines
        self._lines, self._characters = most_lines - lines, most_characters - characters
        return gone, gone_lines


def size(block: Block) -> tuple[int, int]:
    """Return the lines and characters of a block, folded or not."""
    match block:
        case PromptBlock():
            text = block.text
        case TextBlock():
            text = block.joint[1:] + block.text
        case ThoughtBlock():
            text = block.text
        case ToolBlock():
            diff = sum(len(line.text) for line in block.diff)
            lines = 1 + block.output.count("\n") + block.detail.count("\n") + len(block.diff)
            return lines, len(block.summary) + len(block.output) + len(block.detail) + diff
        case NoteBlock():
            text = f"{block.text}\n{block.next_step}"
        case _:
            assert_never(block)
    return text.count("\n") + 1, len(text)
