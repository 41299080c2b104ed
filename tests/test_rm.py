"""rm: one entry, never what a link leads to."""

import os
from pathlib import Path

from actors.files.workspace import Workspace
from actors.tools.rm import Rm
from tests.fakes.calling import call, refusal
from tests.fakes.snapshots import NOTHING_KEPT


def test_rm_removes_files_pipes_and_links_but_no_target(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "precious").write_text("x", encoding="utf-8")
    tool = Rm(Workspace(tmp_path / "work"), NOTHING_KEPT)
    (tmp_path / "work" / "file").touch()
    (tmp_path / "work" / "link").symlink_to("../precious")
    (tmp_path / "work" / "here").symlink_to(".")
    os.mkfifo(tmp_path / "work" / "pipe")
    assert call(tool, path="file").content == "Removed file."
    assert call(tool, path="link").content == "Removed the link link."
    call(tool, path="here")
    call(tool, path=str(tmp_path / "work" / "pipe"))
    assert os.listdir(tmp_path / "work") == []
    assert (tmp_path / "precious").read_text(encoding="utf-8") == "x"


def test_rm_refuses_folders_strangers_and_git(tmp_path: Path) -> None:
    (tmp_path / "work" / "folder").mkdir(parents=True)
    (tmp_path / "precious").touch()
    (tmp_path / "work" / "out").symlink_to("..")
    tool = Rm(Workspace(tmp_path / "work"), NOTHING_KEPT)
    assert "rmdir" in refusal(tool, path="folder").next_step
    assert refusal(tool, path="missing").code == "not_found"
    for path in ("../precious", "out/precious", "/etc/passwd"):
        assert refusal(tool, path=path).code == "outside_workspace"
    for path in (".", "", ".git/index", ".fido-plan.json"):
        assert refusal(tool, path=path).code == "protected_path"
    assert (tmp_path / "precious").exists()
