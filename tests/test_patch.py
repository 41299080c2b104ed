"""patch: what it does to a file on disk, and what it leaves alone."""

import os
from pathlib import Path

import pytest

from actors.files.workspace import Workspace
from actors.tools.patch import Patch, PatchInput
from tests.fakes.calling import call, refusal
from tests.fakes.snapshots import NOTHING_KEPT
from tests.fakes.somebody import somebodys_folder


@pytest.fixture
def tool(tmp_path: Path) -> Patch:
    return Patch(Workspace(tmp_path), NOTHING_KEPT)


def test_an_edit_shows_a_diff_and_says_where(tool: Patch, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    output = call(tool, path="a.py", old_text="two\n", new_text="2\nand a half\n")
    assert (tmp_path / "a.py").read_bytes() == b"one\r\n2\r\nand a half\r\nthree\r\n"
    assert output.content == "Changed a.py at line 2."
    assert output.display.split("\n")[2:] == [
        "@@ -1,3 +1,4 @@",
        " one",
        "-two",
        "+2",
        "+and a half",
        " three",
    ]


def test_a_preview_is_the_diff_and_writes_nothing(tool: Patch, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one\n", encoding="utf-8")
    asked = {"path": "a", "old_text": "one", "new_text": "two"}
    preview = tool.preview(PatchInput.model_validate(asked))
    assert (tmp_path / "a").read_text(encoding="utf-8") == "one\n"
    assert call(tool, **asked).display == preview


def test_empty_old_text_creates_a_file_and_never_overwrites_one(tool: Patch, tmp_path: Path) -> None:
    call(tool, path="new.py", old_text="", new_text="x = 1\r\n")
    assert (tmp_path / "new.py").read_bytes() == b"x = 1\r\n"
    assert refusal(tool, path="new.py", old_text="", new_text="y").code == "already_exists"
    (tmp_path / "empty").touch(mode=0o755)
    call(tool, path="empty", old_text="", new_text="#!/bin/sh\n")
    assert (tmp_path / "empty").read_bytes() == b"#!/bin/sh\n"
    assert (tmp_path / "empty").stat().st_mode & 0o777 == 0o755
    assert refusal(tool, path="no/new.py", old_text="", new_text="y").code == "no_folder"


def test_a_link_stays_a_link_and_its_target_is_written(tool: Patch, tmp_path: Path) -> None:
    (tmp_path / "real").write_text("one\n", encoding="utf-8")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "dangling").symlink_to("made")
    call(tool, path="link", old_text="one", new_text="two")
    call(tool, path="dangling", old_text="", new_text="new\n")
    assert os.readlink(tmp_path / "link") == "real"
    assert os.readlink(tmp_path / "dangling") == "made"
    assert (tmp_path / "real").read_text(encoding="utf-8") == "two\n"
    assert (tmp_path / "made").read_text(encoding="utf-8") == "new\n"


def test_other_hard_links_keep_the_old_content_and_this_is_said(tool: Patch, tmp_path: Path) -> None:
    (tmp_path / "one").write_text("old\n", encoding="utf-8")
    os.link(tmp_path / "one", tmp_path / "other")
    assert "2 hard links" in call(tool, path="one", old_text="old", new_text="new").content
    assert (tmp_path / "other").read_text(encoding="utf-8") == "old\n"


def test_a_refused_edit_leaves_the_file_untouched(tool: Patch, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("one\none\n", encoding="utf-8")
    before = path.stat()
    for old, new in (("one", "two"), ("three", "four"), ("one\none", "one\none")):
        refusal(tool, path="a", old_text=old, new_text=new)
    assert path.stat() == before
    assert os.listdir(tmp_path) == ["a"]
    call(tool, path="a", old_text="one", new_text="two", replace_all=True)
    assert path.read_text(encoding="utf-8") == "two\ntwo\n"


@pytest.mark.parametrize("path", ["../out", "link", "link/x", "/etc/passwd"])
def test_nothing_outside_is_written(tool: Patch, tmp_path: Path, path: str) -> None:
    (tmp_path / "link").symlink_to(tmp_path.parent)
    assert refusal(tool, path=path, old_text="", new_text="x").code in ("outside_workspace", "is_a_folder")


def test_what_is_no_text_file_is_refused(tool: Patch, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "binary").write_bytes(b"\x7fELF\0\0")
    os.mkfifo(tmp_path / "pipe")
    asked = {"old_text": "a", "new_text": "b"}
    assert refusal(tool, path="folder", **asked).code == "is_a_folder"
    assert refusal(tool, path="binary", **asked).code == "binary_file"
    assert refusal(tool, path="pipe", **asked).code == "not_a_regular_file"
    assert refusal(tool, path="missing", **asked).code == "not_found"
    assert refusal(tool, path=".git/hooks/pre-commit", old_text="", new_text="x").code == "protected_path"
    assert refusal(tool, path="a", old_text="", new_text="\ud800").code == "bad_text"


def test_a_read_only_file_is_left_alone() -> None:
    with somebodys_folder() as folder:
        path = folder / "a"
        path.write_text("one\n", encoding="utf-8")
        path.chmod(0o444)
        told = refusal(Patch(Workspace(folder), NOTHING_KEPT), path="a", old_text="one", new_text="two")
        assert told.code == "read_only"
        assert path.read_text(encoding="utf-8") == "one\n"
