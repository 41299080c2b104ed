"""rmdir: empty folders, full ones on demand, and none that matters more."""

import os
from pathlib import Path

import pytest

from actors.files.workspace import Workspace
from actors.tools.rmdir import Rmdir
from tests.fakes.calling import call, refusal
from tests.fakes.snapshots import NOTHING_KEPT


@pytest.fixture
def tool(tmp_path: Path) -> Rmdir:
    (tmp_path / "work" / "full" / "deep").mkdir(parents=True)
    (tmp_path / "work" / "empty").mkdir()
    (tmp_path / "work" / "full" / "deep" / "file").touch()
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").touch()
    return Rmdir(Workspace(tmp_path / "work"), NOTHING_KEPT)


def test_rmdir_removes_an_empty_folder_and_no_full_one(tool: Rmdir, tmp_path: Path) -> None:
    call(tool, path="empty/")
    told = refusal(tool, path="full")
    assert told.code == "not_empty"
    assert "deep" in told.message
    assert os.listdir(tmp_path / "work") == ["full"]


def test_rmdir_removes_all_and_follows_no_link(tool: Rmdir, tmp_path: Path) -> None:
    (tmp_path / "work" / "full" / "out").symlink_to("../../precious")
    (tmp_path / "work" / "full" / "deep" / "up").symlink_to("..")
    assert call(tool, path="full", recursive=True).content == "Removed the folder full and 4 entries in it."
    assert os.listdir(tmp_path / "work") == ["empty"]
    assert os.listdir(tmp_path / "precious") == ["file"]


def test_rmdir_refuses_the_workspace_links_files_and_repositories(tool: Rmdir, tmp_path: Path) -> None:
    (tmp_path / "work" / "out").symlink_to("../precious")
    (tmp_path / "work" / "full" / "deep" / ".git").mkdir()
    for path in (".", "", "full/..", str(tmp_path / "work"), ".git"):
        assert refusal(tool, path=path, recursive=True).code == "protected_path"
    assert refusal(tool, path="full", recursive=True).code == "protected_path"
    assert refusal(tool, path="out", recursive=True).code == "not_a_folder"
    assert refusal(tool, path="out/file", recursive=True).code == "outside_workspace"
    assert refusal(tool, path="..", recursive=True).code == "outside_workspace"
    assert refusal(tool, path="missing").code == "not_found"
    assert (tmp_path / "work" / "full" / "deep" / "file").exists()
    assert os.listdir(tmp_path / "precious") == ["file"]


def test_one_entry_is_one(tmp_path: Path) -> None:
    tool = Rmdir(Workspace(tmp_path), NOTHING_KEPT)
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a").touch()
    assert "d is not empty: 1 entry, as a." in refusal(tool, path="d").message
    assert call(tool, path="d", recursive=True).content == "Removed the folder d and 1 entry in it."
