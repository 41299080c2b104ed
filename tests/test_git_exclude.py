"""Fido's files stay out of Git, and Git's tracked files stay out of Fido's hands."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from actors.plan.git_exclude import exclude


def git(folder: Path, *words: str) -> str:
    given = {"HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"]}
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    run = subprocess.run(
        ["git", *who, *words], cwd=folder, env=given, capture_output=True, text=True, timeout=30, check=True
    )
    return run.stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


def unseen_by_git(folder: Path) -> bool:
    (folder / ".fido-plan.json").write_text("{}", encoding="utf-8")
    (folder / ".fido-plan.json.bad-1").write_text("{}", encoding="utf-8")
    return git(folder, "status", "--porcelain", "--untracked-files=all") == ""


def test_our_files_are_excluded_once(repository: Path) -> None:
    before = (repository / ".git/info/exclude").read_text(encoding="utf-8")
    assert exclude(repository)
    assert unseen_by_git(repository)
    once = (repository / ".git/info/exclude").read_text(encoding="utf-8")
    assert once.startswith(before)
    assert not exclude(repository)
    assert (repository / ".git/info/exclude").read_text(encoding="utf-8") == once


def test_a_folder_inside_a_repository_belongs_to_it(repository: Path) -> None:
    inner = repository / "a" / "b"
    inner.mkdir(parents=True)
    assert exclude(inner)
    assert unseen_by_git(inner)


def test_a_worktree_shares_the_exclude_file_of_its_repository(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", str(tmp_path / "tree"))
    assert exclude(tmp_path / "tree")
    assert unseen_by_git(tmp_path / "tree")
    assert not exclude(repository)


def test_a_missing_info_folder_and_a_last_line_without_end_are_no_hindrance(repository: Path) -> None:
    path = repository / ".git/info/exclude"
    path.write_text("*.log", encoding="utf-8")
    assert exclude(repository)
    assert path.read_text(encoding="utf-8").splitlines()[0] == "*.log"
    path.unlink()
    path.parent.rmdir()
    assert exclude(repository)
    assert unseen_by_git(repository)


def test_outside_of_a_repository_nothing_is_written(tmp_path: Path) -> None:
    assert not exclude(tmp_path)
    (tmp_path / ".git").mkdir()
    assert not exclude(tmp_path)
    (tmp_path / ".git").rmdir()
    (tmp_path / ".git").write_text("gitdir: /etc\n", encoding="utf-8")
    assert not exclude(tmp_path)
    assert os.listdir(tmp_path) == [".git"]


def test_an_exclude_file_that_is_a_link_is_left_alone(repository: Path, tmp_path: Path) -> None:
    victim = tmp_path / "bashrc"
    victim.write_text("precious\n", encoding="utf-8")
    path = repository / ".git/info/exclude"
    path.unlink()
    path.symlink_to(victim)
    assert not exclude(repository)
    assert victim.read_text(encoding="utf-8") == "precious\n"


def test_an_exclude_file_that_is_a_pipe_does_not_block(repository: Path) -> None:
    path = repository / ".git/info/exclude"
    path.unlink()
    os.mkfifo(path)
    exclude(repository)


def test_a_pipe_among_the_files_of_git_is_not_waited_for(repository: Path) -> None:
    os.mkfifo(repository / ".git/commondir")
    program = (
        "import pathlib, sys\nfrom actors.plan.git_exclude import exclude\n"
        "print(exclude(pathlib.Path(sys.argv[1])))"
    )
    run = subprocess.run(
        [sys.executable, "-I", "-c", program, str(repository)], capture_output=True, timeout=10, check=True
    )
    assert run.stdout == b"True\n"
