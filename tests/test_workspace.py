"""Where paths lead, what may be touched, and how a file is replaced."""

import os
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.files.workspace import Workspace, shown
from actors.tools.tool import ToolFailure


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "work"
    (root / "src").mkdir(parents=True)
    (root / "src" / "app.py").write_text("x", encoding="utf-8")
    (tmp_path / "secret").write_text("key", encoding="utf-8")
    return Workspace(root)


def code_of(caught: pytest.ExceptionInfo[ToolFailure]) -> str:
    assert caught.value.next_step
    return caught.value.code


@pytest.mark.parametrize("path", ["src/app.py", "./src/../src/app.py", "src//app.py", "ROOT/src/app.py"])
def test_relative_and_absolute_paths_lead_to_the_same_file(workspace: Workspace, path: str) -> None:
    resolved = workspace.resolve_inside(path.replace("ROOT", str(workspace.root)))
    assert workspace.relative(resolved) == "src/app.py"


@pytest.mark.parametrize(
    "path", ["../secret", "/etc/passwd", "src/../../secret", "out", "out/x", "up/secret"]
)
def test_a_path_that_leads_outside_is_refused_however_it_is_written(workspace: Workspace, path: str) -> None:
    (workspace.root / "out").symlink_to("/etc/passwd")
    (workspace.root / "up").symlink_to("..")
    with pytest.raises(ToolFailure) as caught:
        workspace.resolve_inside(path)
    assert code_of(caught) == "outside_workspace"


def test_a_link_to_inside_may_be_followed_and_a_tilde_is_a_name(workspace: Workspace) -> None:
    (workspace.root / "link").symlink_to("src")
    assert workspace.resolve_inside("link/app.py") == workspace.root / "src" / "app.py"
    assert workspace.resolve_inside("~/x") == workspace.root / "~" / "x"


def test_a_workspace_reached_through_a_link_is_the_same_workspace(
    workspace: Workspace, tmp_path: Path
) -> None:
    (tmp_path / "alias").symlink_to(workspace.root)
    alias = Workspace(tmp_path / "alias")
    assert alias.root == workspace.root
    assert alias.resolve_inside(str(tmp_path / "alias" / "src")) == workspace.root / "src"


@pytest.mark.parametrize("path", ["a\0b", "\ud800", "a/" * 3000])
def test_a_path_that_can_not_exist_is_refused(workspace: Workspace, path: str) -> None:
    with pytest.raises(ToolFailure) as caught:
        workspace.resolve_inside(path)
    assert code_of(caught) == "bad_path"


def test_a_missing_file_names_its_neighbours(workspace: Workspace) -> None:
    with pytest.raises(ToolFailure) as caught:
        workspace.resolve_existing("src/ap.py")
    assert code_of(caught) == "not_found"
    assert "src/app.py" in caught.value.next_step


@pytest.mark.parametrize(
    "path", ["", ".", "src/..", "ROOT", ".git", ".git/config", "src/.GIT/x", "here/.git"]
)
def test_the_workspace_itself_and_git_are_not_changed(workspace: Workspace, path: str) -> None:
    (workspace.root / "here").symlink_to(".")
    for resolve in (workspace.resolve_for_change, workspace.resolve_entry):
        with pytest.raises(ToolFailure) as caught:
            resolve(path.replace("ROOT", str(workspace.root)))
        assert code_of(caught) == "protected_path"


def test_the_plan_file_is_left_to_its_owner(workspace: Workspace) -> None:
    with pytest.raises(ToolFailure) as caught:
        workspace.resolve_for_change(".fido-plan.json")
    assert "update_plan" in caught.value.next_step


def test_pipes_devices_and_sockets_are_refused_without_waiting(workspace: Workspace) -> None:
    os.mkfifo(workspace.root / "pipe")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(workspace.root / "socket"))
    for name in ("pipe", "socket"):
        with pytest.raises(ToolFailure) as caught:
            workspace.open_file(workspace.root / name)
        assert code_of(caught) == "not_a_regular_file"
    with pytest.raises(ToolFailure) as caught:
        Workspace(Path("/dev")).open_file(Path("/dev/zero"))
    assert "device" in caught.value.message


def test_a_link_that_leads_to_itself_is_refused(workspace: Workspace) -> None:
    (workspace.root / "loop").symlink_to("loop")
    with pytest.raises(ToolFailure) as caught:
        workspace.open_file(workspace.resolve_existing("loop"))
    assert code_of(caught) == "not_a_regular_file"


@given(st.text())
def test_a_shown_name_stays_on_its_line(name: str) -> None:
    text = shown(name)
    assert text.isprintable()
    assert "\n" not in text
    assert text == name or text.startswith('"')


def test_a_folder_that_is_also_readable_is_read_by_its_whole_path_and_never_written(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "output").mkdir()
    kept = tmp_path / "output" / "1.txt"
    kept.write_text("x", encoding="utf-8")
    (tmp_path / "output" / "out").symlink_to("/etc/passwd")
    workspace = Workspace(tmp_path / "work", [tmp_path / "output"])
    assert workspace.resolve_existing(str(kept)) == workspace.resolve_searchable("../output/1.txt") == kept
    assert workspace.relative(kept) == str(kept)
    for resolve in (workspace.resolve_inside, workspace.resolve_for_change, workspace.resolve_entry):
        with pytest.raises(ToolFailure) as caught:
            resolve(str(kept))
        assert code_of(caught) == "outside_workspace"
    for path, code in {"../output/2.txt": "not_found", "../output/out": "outside_workspace"}.items():
        with pytest.raises(ToolFailure) as caught:
            workspace.resolve_existing(path)
        assert code_of(caught) == code


def test_what_a_path_is_is_told_in_words_that_fit(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(ToolFailure, match="loop is a symbolic link that leads in a circle, not a file"):
        workspace.open_file(workspace.resolve_existing("loop"))
    with pytest.raises(ToolFailure, match=r"^/etc/none lies outside the workspace"):
        workspace.resolve_inside("/etc/none")
    with pytest.raises(ToolFailure, match=r"\.\./x leads to /"):
        workspace.resolve_inside("../x")


def test_an_error_names_no_more_than_a_part_of_a_very_long_name(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    name = "begin" + "x" * 300 + "end"
    with pytest.raises(ToolFailure) as refused:
        workspace.entry_status(workspace.resolve_inside(name))
    assert len(refused.value.message) < 250
    assert "begin" in refused.value.message
    assert "end" in refused.value.message
