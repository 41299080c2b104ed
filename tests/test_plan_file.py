"""The plan on disk: complete or not at all, and never over somebody else's edit."""

import json
import os
import resource
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actors.clock import timestamp
from actors.plan.file import MAX_BYTES, NAME, ChangedOutside, PlanFile, StoreFailed, encode
from ipc.messages import Plan
from tests.fakes.any_plans import legal_items
from tests.fakes.plans import plan, step

PLAN = plan(step("a", status="done"), step("b", details="two\nlines", title="größer ✓"))


@pytest.fixture
def file(tmp_path: Path) -> PlanFile:
    opened = PlanFile(tmp_path)
    opened.load()
    return opened


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def kept_aside(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"{NAME}.bad-*"))


# --- storing -------------------------------------------------------------------------------------------


def test_a_stored_plan_is_read_back_by_the_next_process(file: PlanFile, tmp_path: Path) -> None:
    file.store(PLAN)
    loaded = PlanFile(tmp_path).load()
    assert (loaded.plan, loaded.found, loaded.warning) == (PLAN, True, "")


def test_the_file_is_private_readable_json_and_alone(file: PlanFile, tmp_path: Path) -> None:
    file.store(PLAN)
    text = (tmp_path / NAME).read_text(encoding="utf-8")
    assert names(tmp_path) == [NAME]
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o600
    assert '\n  "reason": "For a test"' in text
    assert "größer ✓" in text
    assert text.endswith("}\n")
    assert list(json.loads(text)) == ["version", "revision", "updatedAt", "reason", "session", "items"]


@settings(max_examples=30)
@given(legal_items())
def test_the_same_plan_is_the_same_bytes(items: tuple) -> None:  # type: ignore[type-arg]
    assert encode(plan(*items)) == encode(plan(*items))
    assert json.loads(encode(plan(*items)))["items"] == [
        {
            "id": item.id,
            "title": item.title,
            "status": item.status,
            "details": item.details,
            "dependencies": list(item.dependencies),
            "next_action": item.next_action,
            "evidence": list(item.evidence),
            "verdicts": list(item.verdicts),
        }
        for item in items
    ]


def test_a_time_stamp_has_milliseconds_and_a_z() -> None:
    assert timestamp()[10] == "T"
    assert timestamp()[-5] == "."
    assert timestamp()[-1] == "Z"


@pytest.mark.fault(42, says="a temporary file of a crash lies there")
def test_a_leftover_of_a_crash_is_removed_and_never_loaded(tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.tmp").write_bytes(encode(PLAN))
    assert PlanFile(tmp_path).load().plan == Plan()
    assert names(tmp_path) == []


@pytest.mark.fault(42, says="a link lies in the place of the temporary file")
def test_a_planted_link_in_the_place_of_the_temporary_file_is_not_followed(
    file: PlanFile, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious", encoding="utf-8")
    (tmp_path / f"{NAME}.tmp").symlink_to(victim)
    file.store(PLAN)
    assert victim.read_text(encoding="utf-8") == "precious"
    assert names(tmp_path) == [NAME, "victim"]


# --- failures of the disk ---------------------------------------------------------------------------------


@pytest.mark.fault(36, says="a limit of the size of files")
def test_a_full_disk_leaves_the_old_plan_and_serves_again_when_there_is_room(
    file: PlanFile, tmp_path: Path
) -> None:
    file.store(PLAN)
    before, after = (tmp_path / NAME).read_bytes(), plan(step("c", details="x" * 500), revision=2)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(StoreFailed, match="File too large"):
            file.store(after)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (tmp_path / NAME).read_bytes() == before
    assert names(tmp_path) == [NAME]
    file.store(after)
    assert PlanFile(tmp_path).load().plan == after


@pytest.mark.fault(38, says="the plan's folder is gone for a while")
def test_a_removed_workspace_is_an_error_and_not_the_end(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    file = PlanFile(folder)
    assert file.load().plan == Plan()
    with pytest.raises(StoreFailed, match="No such file or directory"):
        file.store(PLAN)
    folder.mkdir()
    file.store(PLAN)
    assert PlanFile(folder).load().plan == PLAN


# --- what lies in the plan's place -----------------------------------------------------------------------


def link_to_elsewhere(path: Path) -> None:
    target = path.with_name("elsewhere")
    target.write_bytes(encode(PLAN))
    path.symlink_to(target)


def unix_socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(path.name)
    finally:
        os.chdir(here)


def sparse_gigabyte(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(1024**3)


def content(text: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(text)


UNUSABLE: dict[str, tuple[Callable[[Path], object], str]] = {
    "link": (link_to_elsewhere, "is a symbolic link"),
    "dangling link": (lambda path: path.symlink_to("nowhere"), "is a symbolic link"),
    "fifo": (os.mkfifo, "is not a regular file"),
    "directory": (lambda path: path.mkdir(), "is not a regular file"),
    "socket": (unix_socket, "is not a regular file"),
    "huge": (sparse_gigabyte, f"has {1024**3} bytes"),
    "empty": (content(b""), "is damaged"),
    "zeros": (content(bytes(4096)), "is damaged"),
    "bad UTF-8": (content(b'{"reason":"\xff"}'), "is damaged"),
    "deep": (content(b'{"items":' + b"[" * (MAX_BYTES // 2)), "is damaged"),
    "half": (content(encode(PLAN)[:-100]), "is damaged"),
    "other JSON": (content(b"[]"), "is damaged"),
    "unknown status": (content(encode(PLAN).replace(b'"done"', b'"completed"')), "'completed'"),
    "unknown field": (content(encode(PLAN).replace(b'"reason"', b'"because"')), "because"),
    "same ids": (content(encode(PLAN).replace(b'"b"', b'"a"')), "already used by item 1"),
    "newer": (content(encode(PLAN).replace(b'"version": 1', b'"version": 2')), "a newer Fido (format 2"),
    "newer with other fields": (content(b'{"version":7,"steps":{}}'), "a newer Fido (format 7"),
    "no version": (content(b'{"version":0}'), "out of range"),
    "huge revision": (content(b'{"revision":99999999999999999}'), "out of range"),
    "no time": (content(encode(PLAN).replace(b'"2026-', b'"MMXXVI-')), "is damaged"),
}


@pytest.mark.fault(40, says="anything but a plan lies in its place")
@pytest.mark.parametrize("case", UNUSABLE)
def test_what_is_no_plan_is_kept_aside_and_told_and_the_plan_starts_empty(case: str, tmp_path: Path) -> None:
    make, reason = UNUSABLE[case]
    path = tmp_path / NAME
    make(path)
    before = path.lstat()
    file = PlanFile(tmp_path)
    started = time.monotonic()
    loaded = file.load()
    assert time.monotonic() - started < 1
    (kept,) = kept_aside(tmp_path)
    assert (loaded.plan, loaded.found) == (Plan(), False)
    assert reason in loaded.warning
    assert kept.name in loaded.warning
    assert (kept.lstat().st_ino, kept.lstat().st_size) == (before.st_ino, before.st_size)
    file.store(PLAN)
    assert PlanFile(tmp_path).load().plan == PLAN


def test_a_file_without_optional_fields_is_a_plan(tmp_path: Path) -> None:
    short = b'{"version":1,"items":[{"id":"a","title":" t ","status":"pending","next_action":"go"}]}'
    (tmp_path / NAME).write_bytes(short)
    (item,) = PlanFile(tmp_path).load().plan.items
    assert (item.title, item.evidence) == ("t", ())


def test_evidence_in_a_file_without_verdicts_is_claimed(tmp_path: Path) -> None:
    old = (
        b'{"version":1,"items":[{"id":"a","title":"t","status":"done","evidence":["x","y"]},'
        b'{"id":"b","title":"u","status":"done","evidence":["x"],"verdicts":["verified","verified"]}]}'
    )
    (tmp_path / NAME).write_bytes(old)
    loaded = PlanFile(tmp_path).load()
    assert [item.verdicts for item in loaded.plan.items] == [("claimed", "claimed"), ("verified",)]


def test_earlier_copies_are_never_overwritten(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / NAME).write_text(f"broken {number}", encoding="utf-8")
        PlanFile(tmp_path).load()
    kept = {path.read_text(encoding="utf-8") for path in kept_aside(tmp_path)}
    assert kept == {f"broken {number}" for number in range(5)}


@pytest.mark.fault(40, says="a byte of the plan is damaged")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, len(encode(PLAN)) - 1), byte=st.integers(0, 255))
def test_any_damaged_byte_is_read_as_a_legal_plan_or_kept_aside(
    tmp_path: Path, place: int, byte: int
) -> None:
    damaged = bytearray(encode(PLAN))
    damaged[place] = byte
    (tmp_path / NAME).write_bytes(damaged)
    loaded = PlanFile(tmp_path).load()
    if loaded.found:
        assert loaded.plan.version == 1
        assert (tmp_path / NAME).read_bytes() == damaged
    else:
        assert damaged in [path.read_bytes() for path in kept_aside(tmp_path)]
    for path in kept_aside(tmp_path):
        path.unlink()


# --- edits from outside ------------------------------------------------------------------------------------


def edited_in_place(path: Path) -> None:
    with open(path, "r+b") as opened:
        opened.write(encode(PLAN).replace(b"test", b"TEST"))


EDITS: dict[str, Callable[[Path], object]] = {
    "in place, same size": edited_in_place,
    "replaced": lambda path: path.write_bytes(encode(plan(step("z")))),
    "damaged": lambda path: path.write_bytes(b"<<<<<<< HEAD"),
    "removed": lambda path: path.unlink(),
    "made a directory": lambda path: (path.unlink(), path.mkdir()),
    "made a link": lambda path: (path.unlink(), path.symlink_to("elsewhere")),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_from_outside_is_seen_and_not_overwritten(edit: str, file: PlanFile, tmp_path: Path) -> None:
    file.store(PLAN)
    assert file.is_unchanged()
    EDITS[edit](tmp_path / NAME)
    left = (tmp_path / NAME).lstat() if os.path.lexists(tmp_path / NAME) else None
    assert not file.is_unchanged()
    with pytest.raises(ChangedOutside):
        file.store(plan(step("mine"), revision=2))
    now = (tmp_path / NAME).lstat() if os.path.lexists(tmp_path / NAME) else None
    assert (now and now.st_ino) == (left and left.st_ino)
    file.load()
    file.store(plan(step("mine"), revision=2))


def test_the_same_content_written_again_is_no_edit(file: PlanFile, tmp_path: Path) -> None:
    file.store(PLAN)
    (tmp_path / NAME).write_bytes(encode(PLAN))
    assert file.is_unchanged()
    file.store(plan(step("b"), revision=2))


def test_a_file_that_appears_is_an_edit(file: PlanFile, tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(encode(PLAN))
    with pytest.raises(ChangedOutside):
        file.store(plan(step("mine")))
