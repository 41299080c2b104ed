"""What is copied of the transcript: an answer as it was written, a piece of code without its fence; pure."""

from collections.abc import Iterator, Sequence

from ui.transcript.blocks import Block, TextBlock, raw_text
from ui.transcript.pieces import code_of


def last_answer(blocks: Sequence[Block]) -> str:
    """Return the last answer as it was written, or what is kept of it; empty when there is none."""
    return next(map(raw_text, _answers(blocks)), "")


def last_code(blocks: Sequence[Block]) -> str:
    """Return the last code of all answers; empty when there is none."""
    for answer in _answers(blocks):
        for piece in reversed(list(_whole(answer))):
            if code := _codes(piece):
                return code[-1]
    return ""


def without_fence(text: str) -> str:
    """Return the code when a text is one whole fence, else the text."""
    code = code_of(text)
    return text if code is None else code


def _answers(blocks: Sequence[Block]) -> Iterator[list[TextBlock]]:
    """Yield the answers, the last one first; notes may stand within one, and its beginning may be gone."""
    pieces: list[TextBlock] = []
    for block in reversed(blocks):
        if isinstance(block, TextBlock):
            pieces.append(block)
            if block.first:
                yield pieces[::-1]
                pieces = []
    if pieces:
        yield pieces[::-1]


def _whole(answer: Sequence[TextBlock]) -> Iterator[list[TextBlock]]:
    """Yield the pieces of an answer, each with those in which it goes on."""
    start = 0
    for at in range(1, len(answer) + 1):
        if at == len(answer) or not answer[at].goes_on:
            yield list(answer[start:at])
            start = at


def _codes(piece: Sequence[TextBlock]) -> list[str]:
    from ui.transcript import parsing  # 40 ms, which no first frame needs

    opening, margin, text = piece[0].opening, piece[0].margin, raw_text(piece)
    code = code_of(opening + text)
    if code is not None:
        return [code]
    unindented = "\n".join(
        line[min(margin, len(line) - len(line.lstrip(" "))) :] for line in text.split("\n")
    )
    return parsing.codes(opening + unindented)
