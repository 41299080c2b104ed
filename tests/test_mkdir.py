"""mkdir: folders inside the workspace and nowhere else."""

from pathlib import Path

from actors.files.workspace import Workspace
from actors.tools.mkdir import Mkdir
from tests.fakes.calling import call, refusal
from tests.fakes.snapshots import NOTHING_KEPT


def test_mkdir_makes_missing_parents_and_minds_no_folder_that_is_there(tmp_path: Path) -> None:
    tool = Mkdir(Workspace(tmp_path), NOTHING_KEPT)
    assert call(tool, path="a/b/c").content == "Made a/b/c."
    assert (tmp_path / "a" / "b" / "c").is_dir()
    assert "there already" in call(tool, path="a/b").content


def test_mkdir_refuses_what_is_a_file_or_lies_outside(tmp_path: Path) -> None:
    tool = Mkdir(Workspace(tmp_path), NOTHING_KEPT)
    (tmp_path / "file").touch()
    (tmp_path / "out").symlink_to(tmp_path.parent)
    assert refusal(tool, path="file").code == "already_exists"
    assert refusal(tool, path="file/x").code == "system_error"
    assert refusal(tool, path="out/x").code == "outside_workspace"
    assert refusal(tool, path=".git/hooks/x").code == "protected_path"
    assert not (tmp_path.parent / "x").exists()
