"""A diff as a person reads it: in an approval, and behind the line of a call that has changed a file."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.files.unified_diff import diff
from ipc.messages import ToolFinished, ToolStarted
from tests.fakes.facts import session
from tests.fakes.screen import Desktop
from ui.diffs import DiffLine, diff_lines

LINES = st.lists(st.sampled_from(["a", "b", "", "-- a", "++ b", "@@ -1 +1 @@", "- x", "+", " "]), max_size=12)


def patched(columns: int, display: str, status: str = "ok") -> Desktop:
    return Desktop(columns, 30).tell(
        session(),
        ToolStarted(call_id="1", name="patch", summary="a.py"),
        ToolFinished(call_id="1", name="patch", status=status, duration_ms=9, display=display),  # type: ignore[arg-type]
    )


@given(LINES, LINES)
def test_every_line_of_a_change_is_told_with_its_number(before: list[str], after: list[str]) -> None:
    told = diff_lines(
        diff("-- name", "".join(map("{}\n".format, before)), "".join(map("{}\n".format, after)))
    )
    assert all(line.sign for line in told if line.text)
    for line in told:
        if line.sign:
            assert (before if line.sign == "-" else after)[line.number - 1] == line.text
    new = {line.number for line in told if line.sign == "+"}
    gone = {line.number for line in told if line.sign == "-"}
    kept = [line for at, line in enumerate(before, 1) if at not in gone]
    assert kept == [line for at, line in enumerate(after, 1) if at not in new]


@given(st.text(st.sampled_from("+-@ 1,a\n"), max_size=60))
def test_nothing_that_changes_is_left_out_of_any_text(text: str) -> None:
    shown = "\n".join(line.sign + line.text for line in diff_lines(text))
    for line in text.split("\n"):
        if not line.startswith(("--- ", "+++ ", "@@ ")):
            assert line in shown


def test_what_is_no_line_of_the_file_is_a_remark() -> None:
    told = diff_lines("--- a\n+++ a\n@@ -1,9 +1,9 @@\n x\n… 30 more lines of the diff")
    assert told == (DiffLine(" ", 1, "x"), DiffLine("", 0, "… 30 more lines of the diff"))
    assert diff_lines("a: 5 lines became 7") == (DiffLine("", 0, "a: 5 lines became 7"),)


@pytest.mark.parametrize("columns", [40, 60, 80, 120, 200])
def test_a_change_is_one_line_with_its_size_and_its_diff_on_a_key(columns: int) -> None:
    desk = patched(columns, "--- a.py\n+++ a.py\n@@ -1,2 +1,3 @@\n kept\n-old\n+new\n+more")
    assert "+2 -1" in desk.line_with("✓ patch a.py")
    endless = "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file"
    assert "+1 -1" in patched(80, endless).line_with("✓ patch a.py")
    assert "old" not in desk.text
    desk.press("f3")
    left = [" ".join(line.split("│")[0].split()) for line in desk.lines]
    for line in ("1 kept", "2 - old", "2 + new", "3 + more"):
        assert line in left
    assert desk.roles_of("+ more") >= {"added"}
    assert "old" not in desk.press("f3").text


def test_of_a_diff_that_was_cut_no_size_is_told() -> None:
    desk = patched(80, "--- a.py\n+++ a.py\n@@ -0,0 +1,900 @@\n+one\n… 4,000 characters more")
    assert "+1" not in desk.text
    assert "4,000 characters more" in desk.press("f3").text


def test_a_change_that_failed_says_why_and_shows_no_diff() -> None:
    desk = patched(80, "old_text was not found in a.py.", "error").press("f3")
    assert "old_text was not found in a.py." in desk.text


def test_a_hostile_line_of_a_diff_is_cleaned() -> None:
    desk = patched(80, "@@ -0,0 +1 @@\n+\x1b[2J\u202eb").press("f3")
    assert "1 + ␛[2J<U+202E>b" in desk.text


def test_a_large_diff_is_unfolded_at_once_and_drawn_once() -> None:
    lines = "".join(f"+    line number {number}\n" for number in range(1, 1101))
    desk = patched(100, f"--- a\n+++ b\n@@ -0,0 +1,1100 @@\n{lines}")
    begun = time.thread_time()
    desk.press("f3").draw()
    assert time.thread_time() - begun < 0.3
    assert "1100 +     line number 1100" in desk.text
    desk.press("shift tab").draw()
    seen = desk.screen.transcript._frame
    desk.screen.changed()
    desk.draw()
    assert desk.screen.transcript._frame is seen


def test_a_long_line_of_a_diff_goes_on_behind_its_number() -> None:
    desk = patched(40, f"@@ -0,0 +1 @@\n+{'x' * 50}").press("f3")
    first, second = (line.rstrip(" █┃│") for line in desk.lines if "xx" in line)
    assert first.index("x") == second.index("x") == first.index("+") + 2
    assert (first + second).count("x") == 50
