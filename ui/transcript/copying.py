"""What is copied of the transcript: an answer as it was written, a piece of code without its fence; pure."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

from ui.transcript.blocks import Block, TextBlock, raw_text

_FENCE: Final = re.compile(
    r"^(?P<margin> *(?:(?:[-*+]|\d{1,9}[.)]) +)?)(?P<sign>`{3,}|~{3,})[^`\n]*\n"
    r"(?P<code>.*?)(?:\n? *(?P=sign)[`~]* *$|\Z)",
    re.MULTILINE | re.DOTALL,
)


def last_answer(blocks: Sequence[Block]) -> str:
    """Return the last answer as it was written; empty when there is none."""
    return next(_answers(blocks), "")


def last_code(blocks: Sequence[Block]) -> str:
    """Return the last fenced code of all answers; empty when there is none."""
    for answer in _answers(blocks):
        if found := list(_FENCE.finditer(answer)):
            return _code(found[-1])
    return ""


def without_fence(text: str) -> str:
    """Return the code when a text is one whole fence, else the text."""
    found = _FENCE.match(text)
    return _code(found) if found and not text[found.end() :].strip() else text


def _answers(blocks: Sequence[Block]) -> Iterator[str]:
    """Yield the answers, the last one first; notes may stand within one."""
    pieces: list[TextBlock] = []
    for block in reversed(blocks):
        if isinstance(block, TextBlock):
            pieces.append(block)
            if block.first:
                yield raw_text(reversed(pieces))
                pieces = []


def _code(fence: re.Match[str]) -> str:
    return textwrap.dedent(fence["code"]) if fence["margin"] else fence["code"]
