"""The ledger of a session: what it really did, from its events alone."""

import json
import time
from collections.abc import Iterator
from typing import Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.conversation import encode_tool_result
from actors.session.events import (
    AnyEvent,
    CallEnded,
    CallStarted,
    FileChange,
    FilesChanged,
    FilesRestored,
    FilesRestoring,
    FileState,
    MessageAppended,
    PromptTaken,
)
from actors.session.ledger import MAX_CHANGED, MAX_DEEDS, MAX_RANGES, MAX_SUBJECT, Ledger
from ipc.messages import Deed, ToolStatus
from tests.fakes.session_events import HEADER


def calling(
    name: str, arguments: object, status: ToolStatus = "ok", display: str = "", call_id: str = "c"
) -> Iterator[AnyEvent]:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    yield CallStarted(turn=1, call_id=call_id, name=name, arguments=text)
    yield CallEnded(turn=1, call_id=call_id, name=name, status=status, duration_ms=1, display=display)


def running(command: str, status: ToolStatus = "ok") -> Iterator[AnyEvent]:
    return calling("bash_exec", {"command": command}, status)


def changing(*paths: str, command: str = "make", status: ToolStatus = "ok") -> Iterator[AnyEvent]:
    """A shell command that made these files."""
    started, ended = running(command, status)
    after = FileState(kind="file", content="0" * 64)
    yield started
    yield FilesChanged(
        turn=1, call_id="c", changes=tuple(FileChange(path=path, after=after) for path in paths)
    )
    yield ended


def reading(path: str, display: str) -> Iterator[AnyEvent]:
    return calling("read_file", {"path": path}, display=display)


def ledger(*calls: Iterator[AnyEvent]) -> Ledger:
    made = Ledger()
    made.apply(HEADER)
    for call in calls:
        for event in call:
            made.apply(event)
    return made


def commands(*calls: Iterator[AnyEvent]) -> dict[str, bool]:
    return {deed.subject: deed.ok for deed in ledger(*calls).deeds() if deed.kind == "command"}


def files(*calls: Iterator[AnyEvent]) -> list[tuple[str, int, int]]:
    deeds = ledger(*calls).deeds()
    return [(deed.subject, deed.first_line, deed.last_line) for deed in deeds if deed.kind == "file"]


# --- commands ----------------------------------------------------------------------------------------------


def test_a_command_counts_with_the_outcome_of_its_last_run() -> None:
    assert commands(running("pytest -q", "error"), running("pytest  -q")) == {"pytest -q": True}
    assert commands(running("pytest -q"), running("pytest -q", "error")) == {"pytest -q": False}
    assert commands(running("pytest -q"), running("pytest -q", "cancelled")) == {"pytest -q": False}


def test_a_command_that_was_denied_was_never_run() -> None:
    assert commands(running("pytest -q"), running("pytest -q", "denied")) == {"pytest -q": True}
    assert commands(running("npm test", "denied")) == {}


def test_every_command_of_a_line_counts_as_far_as_its_end_is_known() -> None:
    assert commands(running("cd a && ruff check . && pytest -q")) == {
        "cd a": True,
        "ruff check .": True,
        "pytest -q": True,
        "cd a && ruff check . && pytest -q": True,
    }
    assert commands(running("pytest -q 2>&1 | tail -3")) == {
        "pytest -q": False,
        "tail -3": True,
        "pytest -q 2>&1 | tail -3": False,
    }


def test_a_pipe_that_hides_the_end_of_a_command_takes_back_what_an_earlier_run_showed() -> None:
    assert commands(running("pytest -q"), running("pytest -q | tail"))["pytest -q"] is False


@pytest.mark.parametrize("line", ["pytest -q || true", "pytest -q; true", "pytest -q &", "pytest -q | tail"])
def test_a_line_that_hides_how_a_command_ended_has_not_succeeded(line: str) -> None:
    assert commands(running(line))[line] is False
    assert commands(running(line))["pytest -q"] is False


def test_a_line_that_can_not_be_taken_apart_counts_by_its_own_end() -> None:
    assert commands(running("(cd a && pytest -q)")) == {"(cd a && pytest -q)": True}


def test_a_call_without_an_end_is_no_deed() -> None:
    started = next(running("pytest -q"))
    assert commands(iter([started])) == {}
    later = CallEnded(turn=2, call_id="c", name="bash_exec", status="ok", duration_ms=1)
    next_turn = PromptTaken(turn=2, text="go on", at="")
    assert commands(iter([started, next_turn, later])) == {}


@pytest.mark.parametrize("arguments", ["", "{", "[]", "null", '{"command":7}', '{"command":null}', "{}"])
def test_arguments_that_can_not_be_read_are_no_deed(arguments: str) -> None:
    assert ledger(calling("bash_exec", arguments), calling("read_file", arguments)).deeds() == ()


# --- files -------------------------------------------------------------------------------------------------


def test_a_read_file_counts_with_the_lines_that_were_shown() -> None:
    assert files(reading("src/a.py", "5\tx\n6\ty\n[lines 5-6 of 90; read on with offset 7]")) == [
        ("src/a.py", 5, 6)
    ]
    assert files(reading("empty.py", "[empty file]")) == [("empty.py", 1, 1)]


def test_the_lines_of_a_long_read_are_those_of_its_result_and_not_of_its_display() -> None:
    text = "".join(f"{number}\t{'x' * 90}\n" for number in range(1, 300)) + "[lines 1-299 of 299]"
    shortened = f"{text[:4000]}\n… {len(text) - 4000:,} characters more"
    long = list(reading("a.py", shortened))
    ((name, first, last),) = files(iter(long))
    assert (name, first) == ("a.py", 1)
    assert 30 < last < 50
    result = MessageAppended(turn=1, message=msgspec.Raw(encode_tool_result("c", text)))
    other = MessageAppended(turn=1, message=msgspec.Raw(encode_tool_result("d", text)))
    assert files(iter([*long, other, result])) == [("a.py", 1, 299)]


def test_ranges_of_one_file_are_joined_where_they_touch() -> None:
    reads = [reading("a.py", f"[lines {first}-{last} of 99]") for first, last in ((1, 5), (20, 30), (6, 10))]
    assert files(*reads) == [("a.py", 1, 10), ("a.py", 20, 30)]


@pytest.mark.parametrize("path", ["src/a.py", "./src/a.py", "/w/src/a.py", "src/b/../a.py", "src/a.py:3:9"])
def test_one_file_has_one_name(path: str) -> None:
    assert files(reading(path, "[lines 1-2 of 2]")) == [("src/a.py", 1, 2)]


def test_a_file_outside_the_workspace_keeps_its_whole_path() -> None:
    assert files(reading("/elsewhere/a.py", "[lines 1-2 of 2]")) == [("/elsewhere/a.py", 1, 2)]


def test_a_patched_file_counts_with_the_lines_of_its_diff() -> None:
    display = "--- a.py\n+++ a.py\n@@ -3,7 +3,8 @@\n x\n@@ -40 +41,0 @@\n-y"
    assert files(calling("patch", {"path": "a.py", "new_text": "z"}, display=display)) == [
        ("a.py", 3, 10),
        ("a.py", 41, 41),
    ]
    assert files(calling("patch", {"path": "new.py"}, display="")) == [("new.py", 1, 1)]


def test_lines_that_a_search_found_count() -> None:
    display = 'src/a.py:7: def f():\nsrc/a.py-8-     pass\nb-1.txt:3: a:9: b\n"odd\\n":1: x\n[3 of 9 matches]'
    assert files(calling("ripgrep", {"pattern": "f"}, display=display)) == [
        ("src/a.py", 7, 8),
        ("b-1.txt", 3, 3),
    ]


@pytest.mark.parametrize("status", ["ok", "error", "cancelled"])
def test_a_file_that_a_command_made_counts_by_its_name_and_first_line(status: ToolStatus) -> None:
    assert files(changing("made.txt", "src/b.py", status=status)) == [("made.txt", 1, 1), ("src/b.py", 1, 1)]
    seen = reading("made.txt", "[lines 2-9 of 9]")
    assert files(changing("made.txt"), seen) == [("made.txt", 1, 9)]


def test_only_what_is_a_file_now_counts_as_changed() -> None:
    was = FileState(kind="file", content="0" * 64)
    started, ended = running("make clean")
    changes = (
        FileChange(path="gone.txt", before=was),
        FileChange(path="folder", after=FileState(kind="folder")),
        FileChange(path="link", after=FileState(kind="link", content="a.py")),
        FileChange(path="run.sh", before=was, after=FileState(kind="file", mode=0o755, content=was.content)),
    )
    changed = FilesChanged(turn=1, call_id="c", changes=changes)
    assert files(iter([started, changed, ended])) == [("run.sh", 1, 1)]


def test_the_lines_of_a_patch_are_those_of_its_diff_alone() -> None:
    started, ended = calling("patch", {"path": "a.py"}, display="@@ -40 +40 @@\n-x\n+y")
    was = FileState(kind="file", content="0" * 64)
    changed = FilesChanged(turn=1, call_id="c", changes=(FileChange(path="a.py", before=was, after=was),))
    assert files(iter([started, changed, ended])) == [("a.py", 40, 40)]


@pytest.mark.parametrize("direction", ["undo", "redo"])
def test_a_file_that_a_person_took_back_counts_only_when_it_is_seen_again(
    direction: Literal["undo", "redo"],
) -> None:
    done = list(changing("made.txt", "kept.txt"))
    begun = FilesRestoring(turn=1, direction=direction, paths=("made.txt", "never.txt"))
    back = FilesRestored(turn=1, direction=direction, paths=begun.paths)
    assert files(iter([*done, back])) == files(iter([*done, begun])) == [("kept.txt", 1, 1)]
    again = reading("made.txt", "[lines 3-4 of 4]")
    assert files(iter([*done, back]), again) == [("kept.txt", 1, 1), ("made.txt", 3, 4)]


def test_a_command_that_changes_very_many_files_pushes_no_other_deed_out() -> None:
    many = changing(*(f"out/{number}" for number in range(5_000)))
    deeds = ledger(running("pytest -q"), many).deeds()
    assert len(deeds) == MAX_CHANGED + 2
    assert deeds[0].subject == "pytest -q"


@pytest.mark.parametrize("name", ["read_file", "patch", "ripgrep"])
@pytest.mark.parametrize("status", ["error", "denied", "cancelled"])
def test_a_call_that_failed_shows_nothing_of_a_file(name: str, status: ToolStatus) -> None:
    display = "@@ -1,2 +1,2 @@\na.py:7: x\n[lines 1-2 of 2]"
    assert files(calling(name, {"path": "a.py"}, status, display)) == []


def test_other_tools_are_no_deeds() -> None:
    assert ledger(calling("update_plan", {"path": "a"}), calling("list_files", {"path": "src"})).deeds() == ()


# --- bounds ------------------------------------------------------------------------------------------------


def test_the_newest_deeds_are_kept_each_once_and_the_latest_last() -> None:
    calls = [running(f"make t{number}") for number in range(MAX_DEEDS + 10)]
    deeds = ledger(*calls, running("make t500")).deeds()
    assert len(deeds) == MAX_DEEDS
    assert [deed.subject for deed in deeds[-2:]] == [f"make t{MAX_DEEDS + 9}", "make t500"]
    assert deeds[0].subject == "make t10"
    assert len({deed.subject for deed in deeds}) == MAX_DEEDS


def test_many_ranges_and_long_names_stay_within_bounds() -> None:
    reads = [reading("a.py", f"[lines {n * 10}-{n * 10 + 1} of 99999]") for n in range(1, 200)]
    seen = ledger(*reads).deeds()
    assert len(seen) == MAX_RANGES
    assert (1990, 1991) in [(deed.first_line, deed.last_line) for deed in seen]
    assert ledger(running("x" * (MAX_SUBJECT + 1)), reading("y" * 600, "[lines 1-1 of 1]")).deeds() == ()


def test_a_session_of_many_calls_is_followed_at_little_cost() -> None:
    display = "\n".join(f"src/file{n % 7}.py:{n * 3}: text of a line" for n in range(90))
    events = [
        *running("cd sub && pytest -q 2>&1 | tail -5"),
        *reading("src/a.py", "1\tx\n" * 900 + "[lines 1-900 of 900]"),
        *calling("ripgrep", {"pattern": "x"}, display=display),
    ]
    followed = Ledger()
    started = time.process_time()
    for _ in range(100):
        for event in events:
            followed.apply(event)
    assert time.process_time() - started < 2
    assert 0 < len(followed.deeds()) < 100


EVENTS = st.lists(
    st.builds(
        calling,
        st.sampled_from(["bash_exec", "read_file", "patch", "ripgrep", "update_plan"]),
        st.fixed_dictionaries({}, optional={"command": st.text(max_size=8), "path": st.text(max_size=8)}),
        st.sampled_from(["ok", "error", "denied", "cancelled"]),
        st.text(st.sampled_from("ab1:-@+, []\n\tlines of") | st.characters(codec="utf-8"), max_size=40),
    ).map(list),
    max_size=8,
)


@given(EVENTS)
def test_any_calls_give_a_ledger_that_a_fresh_fold_of_the_same_events_gives_too(
    calls: list[list[AnyEvent]],
) -> None:
    deeds = ledger(*map(iter, calls)).deeds()
    assert deeds == ledger(*map(iter, calls)).deeds()
    assert all(
        isinstance(deed, Deed) and deed.subject and 0 <= deed.first_line <= deed.last_line for deed in deeds
    )
