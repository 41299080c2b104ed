"""The diff of an edit: what a person needs to judge it, no more, at once."""

import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from actors.files.text_edit import edit
from actors.files.unified_diff import MAX_SHOWN, diff

TEXTS = st.lists(st.sampled_from(["a", "b", "c", "\n", "\r\n", "é"]), max_size=60).map("".join)


def applied(before: str, told: str) -> str:
    """What a person who follows a diff line by line makes of a text."""
    old = before.replace("\r\n", "\n").splitlines(keepends=True)
    result: list[str] = []
    at = 0
    lines = told.split("\n")[2:]
    for number, line in enumerate(lines):
        text = line[1:] + ("" if lines[number + 1 : number + 2] == ["\\ No newline at end of file"] else "\n")
        match line[:1]:
            case "@":
                start, _, count = line.split()[1].lstrip("-").partition(",")
                begin = int(start) if count == "0" else int(start) - 1
                result += old[at:begin]
                at = begin
            case "+":
                result.append(text)
            case "-" | " ":
                assert old[at] == text
                result += [text] * (line[0] == " ")
                at += 1
    return "".join(result + old[at:])


@given(TEXTS, TEXTS)
def test_a_diff_turns_the_old_text_into_the_new_one(before: str, after: str) -> None:
    assert applied(before, diff("f", before, after)) == after.replace("\r\n", "\n")


@given(TEXTS, st.text("abc\n", min_size=1, max_size=3), st.text("abcé\n", max_size=5))
def test_the_diff_of_an_edit_is_the_edit(before: str, old: str, new: str) -> None:
    assume(old in before.replace("\r\n", "\n"))
    assume(old != new)
    made = edit(before.encode(), old, new, replace_all=True)
    told = diff("f", made.before, made.after, made.spans)
    assert applied(before, told) == made.after.replace("\r\n", "\n")


def test_places_far_apart_are_hunks_with_three_lines_around_them() -> None:
    before = "".join(f"{number}\n" for number in range(1, 31))
    made = edit(before.encode(), "5\n", "5\nnew\n", replace_all=True)
    told = diff("f", made.before, made.after, made.spans).split("\n")
    assert [line for line in told if line[:1] in "@+-"] == [
        "--- f", "+++ f", "@@ -3,6 +3,7 @@", "+new", "@@ -13,6 +14,7 @@", "+new", "@@ -23,6 +25,7 @@", "+new",
    ]  # fmt: skip


def test_a_last_line_that_gets_its_end_is_told() -> None:
    told = diff("f", "a", "a\n")
    assert told == "--- f\n+++ f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a"


@pytest.mark.parametrize("line", ["x\n", "word {}\n", "word {}\nother\n"])
def test_very_many_places_are_told_at_once_and_in_bounds(line: str) -> None:
    """With a comparison of all lines, 20,000 changed ones take minutes."""
    before = "".join(line.format(number % 100) for number in range(20_000))
    made = edit(before.encode(), line[0], "y", replace_all=True)
    started = time.process_time()
    told = diff("f", made.before, made.after, made.spans)
    assert time.process_time() - started < 3
    assert len(told) < MAX_SHOWN + 2000
    assert "+y" in told
    assert told.endswith("… more lines of the diff are not shown")


def test_one_place_of_very_many_lines_is_told_at_once() -> None:
    before = "".join(f"x{number % 100}\n" for number in range(20_000))
    after = "".join(f"x{number * 7 % 100}\n" for number in range(20_000))
    started = time.process_time()
    told = diff("f", before, after)
    assert time.process_time() - started < 3
    assert len(told) < MAX_SHOWN + 2000
