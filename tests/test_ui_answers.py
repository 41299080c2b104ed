"""Answers of the terminal among what is typed: they are no keys, whenever and however they come."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ui.answers import Answers

FOREIGN = [
    b"\x1b]10;rgb:ffff/ffff/ffff\x07",
    b"\x1b]4;1;rgb:ff/00/00\x1b\\",
    b"\x1b]52;c;aGVsbG8=\x07",
    b"\x1b]lTitle\x1b\\",
    b"\x1bP1$r0m\x1b\\",
    b"\x1bP>|xterm(370)\x1b\\",
    b"\x1b_Gi=1;OK\x1b\\",
]
"""Answers to what Fido has not asked."""

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
    left, learned = sifted(b"\x1b]11;rgb:1e1e", b"0" * 70_000, b"typed")
    assert left.endswith(b"typed")
    assert learned == []


@pytest.mark.parametrize("answer", FOREIGN)
def test_an_answer_to_what_another_program_has_asked_is_no_key(answer: bytes) -> None:
    assert sifted(b"ab" + answer + b"cd", awaited=False) == (b"abcd", [])
    half = len(answer) // 2
    assert sifted(b"ab" + answer[:half], answer[half:] + b"cd", awaited=False) == (b"abcd", [])


def test_a_private_message_is_no_key() -> None:
    assert sifted(b"ab\x1b^private\x1b\\cd", awaited=False) == (b"abcd", [])


@pytest.mark.parametrize("key", [b"\x03", b"\x1b[A", b"\r", b"\x1b[27u"])
@pytest.mark.parametrize("answer", [DARK[:18], *(answer[:-2] for answer in FOREIGN[1:7])])
def test_a_key_ends_an_answer_that_was_cut_off(answer: bytes, key: bytes) -> None:
    assert sifted(b"ab" + answer, key + b"cd") == (b"ab" + key + b"cd", [])


def test_an_answer_that_was_cut_off_is_given_up_after_a_moment() -> None:
    answers = Answers(lambda _: None)
    assert answers.sift(DARK[:18]) == []
    assert answers.holds
    assert not answers.give_up()
    assert bytes(answers.sift(b"hello")) == b"hello"


@pytest.mark.parametrize("passed", [False, True])
def test_keys_that_look_like_the_beginning_of_an_answer_come_after_a_moment(passed: bool) -> None:
    answers = Answers(lambda _: None)
    answers.awaited = True
    before = bytes(answers.sift(b"\x1b")) if passed else b""
    assert answers.sift(b"]" if passed else b"\x1b]") == []
    assert answers.give_up()
    assert before + bytes(answers.sift(b"")) == b"\x1b]"
    assert bytes(answers.sift(b"x")) == b"x"


@pytest.mark.parametrize("keys", [b"\x1b]", b"\x1b_", b"\x1bP", b"\x1b_a", b"\x1bPx\x1bPy", b"\x1b]a"])
def test_keys_with_alt_that_begin_no_answer_come_at_once(keys: bytes) -> None:
    assert sifted(keys, awaited=False) == (keys, [])
