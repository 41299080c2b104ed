"""All that can be read in the transcript as one text; only what has changed is read again; pure."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Final

from ui.transcript.blocks import Block
from ui.transcript.transcript import Transcript

_END: Final = "\0"
"""Between blocks: no text that was cleaned has it."""


class Pages:
    """To look through 50,000 lines as one text takes 3 ms, block by block 150 ms."""

    def __init__(self, read: Callable[[Block], str]) -> None:
        """`read` returns what can be read of a block."""
        self._read = read
        self.transcript: Transcript | None = None
        """The one that was looked at."""
        self.text = ""
        self.first = 0
        """The position of the first block."""
        self._exactly = True
        self._blocks: list[Block] = []
        self._revisions: list[int] = []
        self._texts: list[str] = []
        self._starts: list[int] = [0]
        """Where each block begins, and the end."""

    def look_at(self, transcript: Transcript, *, exactly: bool) -> None:
        """Read what has changed; `exactly`: with capitals."""
        blocks = transcript.blocks
        same = self._same(blocks) if transcript is self.transcript else 0
        changed = len(self._blocks) > same or len(blocks) > same
        self.transcript, self.first = transcript, transcript.dropped
        if changed:
            texts = self._read_again(blocks[same:], same)
            self._blocks[same:], self._texts[same:] = blocks[same:], texts
            self._revisions[same:] = [block.revision for block in blocks[same:]]
        if changed or exactly != self._exactly:
            self._put_together(same if exactly == self._exactly else 0, exactly=exactly)

    @property
    def end(self) -> int:
        """The position behind the last block."""
        return self.first + len(self._blocks)

    def thing(self, position: int) -> Block:
        """Return the block at a position."""
        return self._blocks[position - self.first]

    def start(self, position: int) -> int:
        """Return where the block at a position begins; of one that is not there, the nearest end."""
        return self._starts[max(0, min(position - self.first, len(self._blocks)))]

    def at(self, place: int) -> tuple[int, Block]:
        """Return the block that has a place in the text, with its position."""
        at = bisect_right(self._starts, place) - 1
        return self.first + at, self._blocks[at]

    def _same(self, blocks: Sequence[Block]) -> int:
        """Return how many blocks from the beginning are as they were."""
        before = zip(blocks, self._blocks, self._revisions, strict=False)
        unlike = (
            at for at, (new, old, revision) in enumerate(before) if new is not old or new.revision != revision
        )
        return next(unlike, min(len(blocks), len(self._blocks)))

    def _read_again(self, blocks: Sequence[Block], same: int) -> list[str]:
        """Read blocks, but for those that were only moved."""
        before = zip(self._blocks[same:], self._revisions[same:], self._texts[same:], strict=True)
        known = {id(block): (revision, text) for block, revision, text in before}
        texts = []
        for block in blocks:
            revision, text = known.get(id(block), (-1, ""))
            texts.append(text if revision == block.revision else plainly(self._read(block)))
        return texts

    def _put_together(self, same: int, *, exactly: bool) -> None:
        self._exactly = exactly
        parts = [(text if exactly else text.lower()) + _END for text in self._texts[same:]]
        begin = self._starts[same]
        self.text = self.text[:begin] + "".join(parts)
        self._starts[same:] = accumulate(map(len, parts), initial=begin)


def plainly(text: str) -> str:
    """Return a text in which only words count, not how they are set."""
    return " ".join(text.split())
