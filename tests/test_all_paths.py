"""The files of a workspace as a person may name them: the ignore rules hold, what is left out is said."""

import asyncio
import os
from pathlib import Path

from actors.files.all_paths import list_paths
from actors.files.workspace import Workspace
from ipc.messages import PathsListed, Refused


def listed(workspace: Workspace, **more: float) -> PathsListed:
    reply = asyncio.run(list_paths(workspace, **more))  # type: ignore[arg-type]
    assert isinstance(reply, PathsListed)
    return reply


def touch(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()


def test_files_are_listed_sorted_without_ignored_ones_and_gits_own(tmp_path: Path) -> None:
    touch(
        tmp_path, "b.py", "a b/c'd.py", "build/x.o", ".git/config", ".hidden", 'q"uote', "two\nlines", "ä/ö"
    )
    (tmp_path / ".gitignore").write_text("build/\n", encoding="utf-8")
    assert listed(Workspace(tmp_path)) == PathsListed(
        paths=(".gitignore", ".hidden", "a b/c'd.py", "b.py", 'q"uote', "two\nlines", "ä/ö")
    )


def test_an_empty_workspace_has_no_files(tmp_path: Path) -> None:
    assert listed(Workspace(tmp_path)) == PathsListed(paths=())


def test_a_name_that_is_no_text_and_what_is_private_are_left_out(tmp_path: Path) -> None:
    touch(tmp_path, "good", "keys/id", "keysmith")
    (tmp_path / os.fsdecode(b"bad\xff")).touch()
    assert listed(Workspace(tmp_path, private=[tmp_path / "keys"])).paths == ("good", "keysmith")


def test_more_files_than_are_listed_are_said_to_be_there(tmp_path: Path) -> None:
    touch(tmp_path, *(f"{number}" for number in range(30)))
    cut = listed(Workspace(tmp_path), most=10)
    assert (len(cut.paths), cut.is_cut) == (10, True)
    assert not listed(Workspace(tmp_path), most=30).is_cut


def test_a_listing_that_takes_too_long_ends(tmp_path: Path) -> None:
    touch(tmp_path, "a")
    assert listed(Workspace(tmp_path), deadline_s=0).is_cut


def test_a_workspace_that_is_gone_is_an_error_in_words(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "gone")
    reply = asyncio.run(list_paths(workspace))
    assert isinstance(reply, Refused)
    assert reply.message
