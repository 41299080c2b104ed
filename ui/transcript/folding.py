"""What a block has more than it shows at first, and what belongs together; pure."""

from collections.abc import Sequence
from typing import assert_never

from ui.transcript.blocks import (
    Block,
    NoteBlock,
    PromptBlock,
    TextBlock,
    ThoughtBlock,
    ToolBlock,
    raw_text,
)
from ui.transcript.copying import without_fence


def foldable(block: Block) -> bool:
    """Tell whether a block has more to show than it does when folded."""
    match block:
        case PromptBlock():
            return block.more > 0
        case ThoughtBlock():
            return not block.lasts
        case ToolBlock():
            return bool(block.diff) or len(block.output) > len(block.detail)
        case TextBlock() | NoteBlock():
            return False
        case _:
            assert_never(block)


def unfolded(block: Block, everything: bool) -> bool:
    """Tell whether a block is shown as a whole; `everything`: all but those the person has folded."""
    return everything if block.unfolded is None else block.unfolded


def hidden(block: Block, everything: bool) -> bool:
    """Tell whether nothing of a block is seen: of a long prompt that is folded, all but its beginning."""
    return isinstance(block, PromptBlock) and not block.first and not unfolded(block, everything)


def unit(blocks: Sequence[Block], at: int) -> range:
    """Return the indices of the blocks that are one thing to a person: a long one goes on in the next."""
    start, stop = at, at + 1
    while start > 0 and _goes_on(blocks[start]):
        start -= 1
    while stop < len(blocks) and _goes_on(blocks[stop]):
        stop += 1
    return range(start, stop)


def source(blocks: Sequence[Block], everything: bool) -> str:
    """Return what one thing says as it can be used elsewhere: Markdown, code, a command and its output."""
    if texts := [block for block in blocks if isinstance(block, TextBlock)]:
        return without_fence(raw_text(texts))
    return "".join(_source(block, everything) for block in blocks).strip("\n")


def written(block: Block) -> str:
    """Return what a block says as it was written, folded or not."""
    match block:
        case PromptBlock() | TextBlock() | ThoughtBlock():
            return block.text
        case ToolBlock():
            return f"{block.name} {block.summary}\n{block.output}"
        case NoteBlock():
            return f"{block.text}\n{block.next_step}"
        case _:
            assert_never(block)


def _goes_on(block: Block) -> bool:
    return isinstance(block, TextBlock | PromptBlock) and block.goes_on


def _source(block: Block, everything: bool) -> str:
    if isinstance(block, ToolBlock):
        shown = unfolded(block, everything)
        return f"{block.summary}\n{block.output}" if shown else block.summary
    return written(block)
