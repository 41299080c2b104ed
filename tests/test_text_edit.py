"""Exact replacement: the meant bytes change and no others, whatever the file looks like."""

import time

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from actors.files.text_edit import edit
from actors.tools.tool import ToolFailure

BREAKS = ("\n", "\r\n")
UNITS = st.lists(st.sampled_from(["a", "b", "é", "😀", " ", *BREAKS]), min_size=1, max_size=20)
PLAIN = st.text("abé😀 \n", max_size=6)
CODECS = st.sampled_from(
    [("utf-8", b""), ("utf-8", b"\xef\xbb\xbf"), ("utf-16-le", b"\xff\xfe"), ("utf-32-be", b"\0\0\xfe\xff")]
)


def as_read(units: list[str]) -> str:
    return "".join("\n" if unit in BREAKS else unit for unit in units)


def common(one: str, other: str) -> int:
    return next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


@given(UNITS, st.data(), PLAIN, CODECS, st.booleans())
def test_an_edit_changes_the_target_bytes_and_no_others(
    units: list[str], data: st.DataObject, new: str, codec: tuple[str, bytes], sent_with_crlf: bool
) -> None:
    """Units are characters, or whole line breaks, so that what is kept can be told apart exactly."""
    start = data.draw(st.integers(0, len(units) - 1))
    end = data.draw(st.integers(start + 1, len(units)))
    old = as_read(units[start:end])
    seen = as_read(units)
    assume(old != new)
    assume(seen.find(old) == start)
    assume(seen.find(old, start + 1) < 0)
    name, bom = codec
    before = bom + "".join(units).encode(name)
    sent = (old, new) if not sent_with_crlf else (old.replace("\n", "\r\n"), new.replace("\n", "\r\n"))
    after = edit(before, *sent).data
    front = common(old, new)
    back = min(common(old[::-1], new[::-1]), min(len(old), len(new)) - front)
    kept_front = bom + "".join(units[: start + front]).encode(name)
    kept_back = "".join(units[end - back :]).encode(name)
    assert after.startswith(kept_front)
    assert after.endswith(kept_back)
    assert len(after) >= len(kept_front) + len(kept_back)
    text = after[len(bom) :].decode(name).replace("\r\n", "\n")
    assert text == seen[:start] + new + seen[start + len(old) :]


@given(UNITS, st.text("ab\n", min_size=1, max_size=3), PLAIN)
@example(["\r\n", "a", "\r\n", "a"], "\na", "b")
def test_replacing_all_is_what_replacing_in_the_text_as_read_is(units: list[str], old: str, new: str) -> None:
    seen = as_read(units)
    assume(old in seen)
    assume(old != new)
    made = edit("".join(units).encode(), old, new, replace_all=True)
    assert made.after.replace("\r\n", "\n") == seen.replace(old, new)
    assert len(made.lines) == seen.count(old)


@pytest.mark.report("FILE-01")
@given(st.lists(st.sampled_from(["one", "two", ""]), min_size=1, max_size=8), PLAIN)
def test_a_file_of_crlf_lines_stays_one(lines: list[str], new: str) -> None:
    before = "".join(line + "\r\n" for line in [*lines, "target"])
    after = edit(before.encode(), "target\n", f"{new}\nx\n").data
    assert after.count(b"\n") == after.count(b"\r\n")


def test_lines_that_stay_keep_their_own_endings_in_a_mixed_file() -> None:
    before = b"a\r\nb\nc\r\nd\n"
    assert edit(before, "a\nb\nc\nd\n", "a\nB\nnew\nc\nd\n").data == b"a\r\nB\nnew\nc\r\nd\n"
    assert edit(before, "a\nb\nc\n", "A\nb\nC\n").data == b"A\r\nb\nC\r\nd\n"


def refused(before: bytes, old: str, new: str) -> ToolFailure:
    with pytest.raises(ToolFailure) as caught:
        edit(before, old, new)
    assert caught.value.next_step
    return caught.value


def test_a_byte_order_mark_stays_though_the_first_line_is_edited() -> None:
    assert edit(b"\xef\xbb\xbffirst\n", "first", "1st").data == b"\xef\xbb\xbf1st\n"
    assert edit(b"\xef\xbb\xbffirst\n", "\ufefffirst", "\ufeff1st").data == b"\xef\xbb\xbf1st\n"


def test_the_three_failures_are_told_apart_with_lines_and_what_to_do() -> None:
    before = b"def a():\n    return 1\n\ndef b():\n    return 1\n"
    several = refused(before, "    return 1\n", "    return 2\n")
    assert several.code == "several_matches"
    assert "lines 2, 5" in several.message
    assert "replace_all" in several.next_step
    identical = refused(before, "def a():\r\n", "def a():\n")
    assert identical.code == "identical_text"
    assert "line 1" in identical.message
    missing = refused(before, "def b():\n  return 1\n", "x")
    assert missing.code == "no_match"
    assert "4\tdef b():\n5\t    return 1" in missing.message
    assert "white space" in missing.message


def test_overlapping_places_are_several() -> None:
    assert refused(b"aaa", "aa", "b").code == "several_matches"
    assert edit(b"x\r\nfoo\r\n", "\nfoo", "\nbar").data == b"x\r\nbar\r\n"


@pytest.mark.report("FILE-14")
def test_a_similar_region_is_shown_and_never_edited() -> None:
    before = b"begin\n    alpha = 1\n    beta = 2\nend\n"
    told = refused(before, "begin\n    alpha = 1\n    gamma = 3\nend\n", "x")
    assert told.code == "no_match"
    assert "1\tbegin\n2\t    alpha = 1\n3\t    beta = 2\n4\tend" in told.message


def test_line_numbers_in_the_old_text_are_noticed() -> None:
    assert "line numbers" in refused(b"one\ntwo\n", "1\tone\n2\ttwo\n", "x").message


@pytest.mark.parametrize("text", ["", "\n", "x" * 100_000, "a\n" * 50_000])
def test_a_miss_in_any_file_is_told_in_bounded_words(text: str) -> None:
    told = refused(text.encode(), "something else\n" * 5000, "x")
    assert told.code == "no_match"
    assert len(told.message) < 4000


@pytest.mark.parametrize("codec", ["utf-8", "latin-1"])
def test_replacing_very_many_places_takes_time_in_proportion(codec: str) -> None:
    """100,000 places take 1.1 s; counting lines from the start for each takes 26 s."""
    before = ("é\n" + "word 1\n" * 100_000).encode(codec)
    started = time.process_time()
    made = edit(before, "word", "text", replace_all=True)
    assert time.process_time() - started < 5
    assert made.lines == tuple(range(2, 100_002))
    assert b"word" not in made.data
