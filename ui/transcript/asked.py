"""Where the prompts stand, and which one is answered by what is in view; pure."""

from bisect import bisect_left, bisect_right

from ui.transcript.blocks import PromptBlock
from ui.transcript.transcript import Transcript


class Asked:
    """The positions of the prompts; each block is looked at once."""

    def __init__(self) -> None:
        self._transcript: Transcript | None = None
        self._positions: list[int] = []
        self._looked_at = 0

    def above(self, transcript: Transcript, position: int) -> int | None:
        """Return the last prompt that begins above a position."""
        positions = self._in(transcript)
        at = bisect_left(positions, position)
        return positions[at - 1] if at else None

    def below(self, transcript: Transcript, position: int) -> int | None:
        """Return the first prompt that begins below a position."""
        positions = self._in(transcript)
        at = bisect_right(positions, position)
        return positions[at] if at < len(positions) else None

    def _in(self, transcript: Transcript) -> list[int]:
        if transcript is not self._transcript:
            self._transcript, self._positions, self._looked_at = transcript, [], 0
        first, blocks = transcript.dropped, transcript.blocks
        for at in range(max(0, self._looked_at - first), len(blocks)):
            block = blocks[at]
            if isinstance(block, PromptBlock) and block.first:
                self._positions.append(first + at)
        self._looked_at = first + len(blocks)
        while self._positions and self._positions[0] < first:
            del self._positions[0]
        return self._positions
