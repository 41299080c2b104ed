"""A damaged session log: a line costs itself alone, and is reported."""

import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actors.session.log import Recovery, SessionLog, read_log
from tests.fakes.fault_table import Fault
from tests.fakes.session_events import HEADER, messages, opened, refusal_to_open, said, written


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


@pytest.mark.fault(45, says="the log ends at any byte")
def test_a_log_cut_at_any_byte_keeps_every_finished_line(folder: Path, fault: Fault) -> None:
    path = written(folder, said("one"), said("two"), said("three"))
    whole = path.read_bytes()
    last = whole.rindex(b"\n", 0, -1) + 1
    for cut in range(last, len(whole)):
        with fault.attempt():
            path.write_bytes(whole[:cut])
            recovery = opened(path)
            assert messages(recovery) == ["one", "two"]
            assert recovery.torn_bytes == cut - last
            assert [skipped.line for skipped in recovery.skipped] == ([4] if cut > last else [])
            assert path.read_bytes() == whole[:last]
    path.write_bytes(whole)
    assert opened(path).torn_bytes == 0


def test_a_cut_log_goes_on_where_it_was_cut(folder: Path) -> None:
    path = written(folder, said("one"), said("two"))
    path.write_bytes(path.read_bytes()[:-3])
    log, _ = SessionLog.open(path)
    log.append(said("new"))
    log.close()
    assert opened(path) == Recovery((HEADER, said("one"), said("new")))


@pytest.mark.fault(46, says="zeros behind the last record")
def test_a_zero_filled_tail_is_cut(folder: Path) -> None:
    path = written(folder, said("one"))
    with open(path, "ab") as file:
        file.write(bytes(8192))
    recovery = opened(path)
    assert (messages(recovery), recovery.torn_bytes) == (["one"], 8192)


def test_a_reader_leaves_a_torn_tail_to_the_writer(folder: Path) -> None:
    path = written(folder, said("one"))
    with open(path, "ab") as file:
        file.write(b'{"seq":2,')
    before = path.read_bytes()
    assert read_log(path).torn_bytes == 9
    assert path.read_bytes() == before


EVENTS = (HEADER, said("one"), said("two"), said("three"))


@pytest.fixture(scope="module")
def undamaged(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return written(tmp_path_factory.mktemp("log"), *EVENTS[1:]).read_bytes()


@pytest.mark.fault(46, says="a byte of the log is damaged")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(place=st.floats(0, 1, exclude_max=True), byte=st.integers(0, 255))
def test_any_damaged_byte_costs_its_line_alone_and_is_reported(
    tmp_path: Path, undamaged: bytes, place: float, byte: int
) -> None:
    damaged = bytearray(undamaged)
    at = int(place * (len(damaged) - 1))  # without the last one there is a torn tail
    line = damaged[:at].count(b"\n") + 1
    damaged[at] = byte
    (tmp_path / "s-1.jsonl").write_bytes(damaged)
    recovery = opened(tmp_path / "s-1.jsonl")
    lost = [event for event in EVENTS if event not in recovery.events]
    assert lost in ([], [EVENTS[line - 1]])
    assert not lost or line in [skipped.line for skipped in recovery.skipped]
    assert (tmp_path / "s-1.jsonl").read_bytes() == damaged


def test_what_is_no_event_in_the_middle_is_passed_over_with_its_number(folder: Path) -> None:
    path = written(folder, said("one"), said("two"))
    header, one, two = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(header + b"no event\n" + one + bytes(500) + two + b"\xff\n" + b"[" * 100_000 + b"\n")
    before = path.read_bytes()
    recovery = opened(path)
    assert messages(recovery) == ["one", "two"]
    assert [skipped.line for skipped in recovery.skipped] == [2, 4, 5, 6]
    assert path.read_bytes() == before


def test_unknown_events_are_passed_over(folder: Path) -> None:
    class Invented(msgspec.Struct, tag=True):
        anything: int = 1

    path = written(folder, Invented(), said("known"))  # type: ignore[arg-type]
    recovery = opened(path)
    assert (messages(recovery), recovery.skipped) == (["known"], ())


def test_unknown_fields_of_a_known_event_are_ignored_and_missing_ones_reported(folder: Path) -> None:
    class Notice(msgspec.Struct, tag=True):
        message: str
        level: str | msgspec.UnsetType = msgspec.UNSET
        colour: str = "red"

    path = written(folder, Notice(message="richer", level="info"), Notice(message="poorer"))  # type: ignore[arg-type]
    recovery = opened(path)
    assert messages(recovery) == ["richer"]
    assert [(skipped.line, skipped.reason) for skipped in recovery.skipped] == [
        (3, "an event of another shape")
    ]


def test_missing_and_repeated_lines_are_reported(folder: Path) -> None:
    path = written(folder, said("one"), said("two"), said("three"))
    header, one, _, three = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(header + one + one + three)
    recovery = opened(path)
    assert messages(recovery) == ["one", "three"]
    assert [skipped.line for skipped in recovery.skipped] == [3, 4]
    assert recovery.skipped[1].reason == "1 missing before it"


def test_what_was_left_out_is_told_in_one_sentence_with_all_numbers(folder: Path) -> None:
    path = written(folder, *map(said, "abcdefgh"))
    lines = path.read_bytes().splitlines(keepends=True)
    lines[1] = lines[2] = b"no event\n"
    lines[4] = bytes(300) + b"\n"
    del lines[6:8]
    path.write_bytes(b"".join(lines) + b'{"seq":')
    assert opened(path).notice() == (
        "6 records of the session log could not be read and were left out: lines 2-3 (damaged); "
        "line 5 (damaged); line 7 (2 missing before it); line 8 (unfinished)."
    )
    assert opened(written(folder.parent / "well")).notice() == ""


def test_a_log_that_is_damaged_everywhere_is_told_in_one_screenful(folder: Path) -> None:
    path = written(folder, said("one"))
    path.write_bytes(
        path.read_bytes() + (b"damaged\n" + path.read_bytes().splitlines(keepends=True)[1]) * 500
    )
    notice = opened(path).notice()
    assert notice.startswith("1,000 records")
    assert len(notice) < 600


@pytest.mark.parametrize("content", [b"", b"\n", b"precious notes", b"precious\nnotes\n", bytes(100)])
def test_a_file_without_any_event_is_refused_and_left_as_it_is(folder: Path, content: bytes) -> None:
    folder.mkdir(parents=True)
    path = folder / "s-1.jsonl"
    path.write_bytes(content)
    refusal_to_open("log_unreadable", path)
    assert path.read_bytes() == content


def test_what_is_no_file_is_refused_without_waiting(folder: Path) -> None:
    folder.mkdir(parents=True)
    refusal_to_open("session_not_found", folder / "none.jsonl")
    os.mkfifo(folder / "pipe.jsonl")
    refusal_to_open("log_unreadable", folder / "pipe.jsonl")
    (folder / "folder.jsonl").mkdir()
    refusal_to_open("log_failed", folder / "folder.jsonl")
    (folder / "link.jsonl").symlink_to(written(folder))
    refusal_to_open("log_failed", folder / "link.jsonl")
