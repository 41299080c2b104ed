"""Answers of the terminal among what is typed: they are no keys, whenever and however they come."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ui.answers import Answers

DARK, LIGHT = b"\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\", b"\x1b]11;rgba:ff/ff/ff/ff\x07"


def sifted(*pieces: bytes, awaited: bool = True) -> tuple[bytes, list[str]]:
    """What is left of the pieces, and what was learned."""
    learned: list[str] = []
    answers = Answers(learned.append)
    answers.awaited = awaited
    return b"".join(bytes(answers.sift(piece)) for piece in pieces), learned


@pytest.mark.parametrize(("answer", "background"), [(DARK, "dark"), (LIGHT, "light")])
def test_an_answer_tells_the_background_and_is_no_key(answer: bytes, background: str) -> None:
    assert sifted(b"ab" + answer + b"cd") == (b"abcd", [background])


@given(st.integers(1, len(DARK) - 1), st.integers(1, len(DARK) - 1))
def test_an_answer_in_three_pieces_is_one(one: int, other: int) -> None:
    first, second = sorted((one, other))
    left, learned = sifted(b"x", DARK[:first], DARK[first:second], DARK[second:], b"y")
    assert learned == ["dark"]
    # An Esc at the end of a piece is let through at once: it may be the key, and nobody waits with it.
    assert left in (b"xy", b"x\x1by")


def test_a_late_answer_is_taken_though_nobody_waits_for_it_any_more() -> None:
    assert sifted(b"a", DARK, b"b", awaited=False) == (b"ab", ["dark"])


@given(st.lists(st.sampled_from([b"\x1b", b"a", b"\x1b[A", b"\x1bOP", "漢".encode(), b"\x03", b"]", b"1"])))
def test_keys_come_through_as_they_are(pieces: list[bytes]) -> None:
    left, learned = sifted(*pieces, b" ", awaited=False)
    assert left == b"".join(pieces) + b" "
    assert learned == []


def test_an_esc_is_not_held_back_while_an_answer_is_awaited() -> None:
    assert sifted(b"\x1b") == (b"\x1b", [])


def test_a_key_that_looks_like_the_beginning_of_an_answer_comes_with_the_next_one() -> None:
    assert sifted(b"\x1b]", b"x") == (b"\x1b]x", [])


@pytest.mark.parametrize("said", [b"\x1b]11;?\x07", b"\x1b]11;rgb:zz\x07", b"\x1b]11;\x1b\\"])
def test_an_answer_that_says_nothing_is_no_key_either(said: bytes) -> None:
    assert sifted(b"a" + said + b"b") == (b"ab", [])


def test_what_never_ends_is_given_up() -> None:
    left, learned = sifted(b"\x1b]11;rgb:1e1e", b"0" * 100, b"typed")
    assert left.endswith(b"typed")
    assert learned == []
