"""How a file is replaced: in one step, as it was but for its content, with nothing left behind."""

import contextlib
import os
import random
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from actors.files.replacement import Changed, Replacements
from actors.files.workspace import Workspace
from actors.tools.patch import Patch
from tests.fakes.calling import call
from tests.fakes.snapshots import NOTHING_KEPT
from tests.fakes.somebody import NOBODY, somebodys_folder

ROOT = Path(__file__).parent.parent


@pytest.mark.report("FILE-10")
def test_a_replaced_file_keeps_mode_owner_and_attributes(tmp_path: Path) -> None:
    path = tmp_path / "tool.sh"
    path.write_text("#!/bin/sh\necho old\n", encoding="utf-8")
    path.chmod(0o750)
    if os.geteuid() == 0:
        os.chown(path, 12345, 23456)
    with contextlib.suppress(OSError):  # not every file system has such a thing
        os.setxattr(path, "user.note", b"kept")
    attributes = os.listxattr(path)
    before = path.stat()
    call(Patch(Workspace(tmp_path), NOTHING_KEPT), path="tool.sh", old_text="old", new_text="new")
    after = path.stat()
    assert path.read_bytes() == b"#!/bin/sh\necho new\n"
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert os.listxattr(path) == attributes
    assert os.listdir(tmp_path) == ["tool.sh"]


@pytest.mark.report("FILE-10")
def test_a_new_file_follows_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        call(Patch(Workspace(tmp_path), NOTHING_KEPT), path="new", old_text="", new_text="x\n")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file of somebody else")
def test_a_mode_that_acts_for_its_owner_goes_with_the_owner() -> None:
    with somebodys_folder() as folder:
        path = folder / "a"
        os.seteuid(0)
        path.write_bytes(b"old")
        path.chmod(0o4777)
        os.seteuid(NOBODY)
        Replacements().replace(path, b"new", path.stat())
        assert path.read_bytes() == b"new"
        assert (path.stat().st_uid, stat.S_IMODE(path.stat().st_mode)) == (NOBODY, 0o777)


def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="directory"):
        Replacements(tmp_path / "notes").replace(tmp_path / "folder", b"new", (tmp_path / "folder").stat())
    assert sorted(os.listdir(tmp_path)) == ["folder", "notes"]


def test_another_program_that_was_quicker_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"theirs")
    with pytest.raises(Changed):
        Replacements().replace(path, b"ours", None)
    before = path.stat()
    path.write_bytes(b"theirs, too")
    with pytest.raises(Changed):
        Replacements().replace(path, b"ours", before)
    assert path.read_bytes() == b"theirs, too"
    assert os.listdir(tmp_path) == ["a"]


WRITER = """
import sys
from pathlib import Path
from actors.files.replacement import Replacements
work, notes = map(Path, sys.argv[1:])
replacements, path = Replacements(notes), work / "big"
print(flush=True)
while True:
    for letter in (b"a", b"b"):
        replacements.replace(path, letter * 2_000_000, path.stat())
"""


@pytest.mark.report("FILE-11")
def test_a_reader_sees_old_or_new_and_the_next_start_sweeps_what_a_kill_left(tmp_path: Path) -> None:
    """The kill comes after a random number of reads: before, while and after a temporary file is there."""
    work, notes = tmp_path / "work", tmp_path / "notes"
    work.mkdir()
    path, foreign = work / "big", work / ".fido-0123456789abcdef.tmp"
    whole = [letter * 2_000_000 for letter in (b"a", b"b")]
    path.write_bytes(whole[1])
    foreign.write_bytes(b"of another program")
    chance, left = random.Random(11), 0
    for _ in range(10):
        command = [sys.executable, "-c", WRITER, str(work), str(notes)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            for _ in range(chance.randrange(1, 40)):
                assert path.read_bytes() in whole
            writer.send_signal(signal.SIGKILL)
        left += len(os.listdir(work)) - 2
        Workspace(work, notes=notes)
        assert sorted(os.listdir(work)) == [foreign.name, "big"]
        assert os.listdir(notes) == []
        assert path.read_bytes() in whole
    assert left, "no kill has come while a temporary file was there"


def test_what_a_living_process_is_writing_is_not_swept(tmp_path: Path) -> None:
    living, notes = Replacements(tmp_path / "notes"), tmp_path / "notes"
    with living.beside(tmp_path / "a") as temporary:
        temporary.write_bytes(b"half")
        Replacements(notes).sweep()
        assert temporary.exists()
    assert sorted(os.listdir(tmp_path)) == ["notes"]
    assert stat.S_IMODE(notes.stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in notes.iterdir()} == {0o600}


def test_a_note_that_names_something_else_removes_nothing(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (tmp_path / "precious").write_bytes(b"x")
    (tmp_path / ".fido-0123456789abcdef.tmp").symlink_to("precious")
    for number, named in enumerate(("precious", ".fido-0123456789abcdef.tmp", "missing", "")):
        (notes / str(number)).write_text(str(tmp_path / named) if named else "", encoding="utf-8")
    Replacements(notes).sweep()
    assert sorted(os.listdir(tmp_path)) == [".fido-0123456789abcdef.tmp", "notes", "precious"]


def test_a_folder_of_notes_that_can_not_be_made_is_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    workspace = Workspace(tmp_path, notes=tmp_path / "a" / "notes")
    call(Patch(workspace, NOTHING_KEPT), path="a", old_text="old", new_text="new")
    assert (tmp_path / "a").read_bytes() == b"new"
