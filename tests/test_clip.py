"""Clip: the two ends of a stream, whatever pieces it comes in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.shell.clip import Clip

PIECES = st.lists(st.binary(max_size=40), max_size=30)
SIZES = st.integers(0, 50)


@given(PIECES, SIZES, SIZES)
def test_ends_are_kept_whatever_the_pieces(pieces: list[bytes], head: int, tail: int) -> None:
    clip = Clip(head, tail)
    for piece in pieces:
        clip.add(piece)
    whole = b"".join(pieces)
    assert clip.head == whole[:head]
    behind = whole[head:]
    assert clip.tail == (behind[-tail:] if tail else b"")
    assert clip.total == len(whole)


@pytest.mark.parametrize("size", [1, 9, 1000])
def test_memory_does_not_grow_with_the_stream(size: int) -> None:
    clip = Clip(10, 10)
    for _ in range(1000):
        clip.add(b"x" * size)
        assert sum(map(len, (clip.head, clip._large, clip._small))) <= 10 + 10 + 20
