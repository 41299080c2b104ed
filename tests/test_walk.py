"""What a list and a search of a workspace leave out, and what they are not stopped by."""

import os
import socket
import subprocess
import time
from pathlib import Path

import pytest

from actors.files.rg import find_rg
from actors.files.workspace import Workspace
from actors.tools.list_files import ListFiles
from actors.tools.read_file import ReadFile
from actors.tools.ripgrep import Ripgrep
from tests.fakes.calling import call, refusal
from tests.fakes.somebody import somebodys_folder


def plant(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("foo\n", encoding="utf-8")


def listed(root: Path) -> list[str]:
    lines = call(ListFiles(Workspace(root))).content.split("\n")[1:]
    return [line.partition(" ")[2] for line in lines]


def searched(root: Path) -> list[str]:
    return [
        line.partition(":")[0] for line in call(Ripgrep(Workspace(root)), pattern="foo").content.split("\n")
    ]


@pytest.mark.report("FILE-12")
def test_pipes_sockets_loops_and_closed_folders_are_passed_by_and_told() -> None:
    with somebodys_folder() as root:
        plant(root, "a", "b/c", "closed/d")
        os.mkfifo(root / "pipe")
        (root / "loop").symlink_to("loop")
        (root / "b" / "up").symlink_to("..")
        (root / "closed").chmod(0)
        began = time.monotonic()
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(root / "socket"))
            try:
                found = call(Ripgrep(Workspace(root)), pattern="foo").content
                names = call(ListFiles(Workspace(root))).content
                for name in ("pipe", "socket", "loop"):
                    assert refusal(ReadFile(Workspace(root)), path=name).code == "not_a_regular_file"
            finally:
                (root / "closed").chmod(0o700)
        assert time.monotonic() - began < 10
        assert found == "a:1: foo\nb/c:1: foo\n[some files or folders could not be read]"
        assert names == "2 files, 8 bytes\n[some folders could not be read]\n4 a\n4 b/c"


@pytest.mark.report("FILE-13")
def test_ignore_rules_hold_in_list_and_search_also_without_rg_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(tmp_path, *(f"node_modules/{number // 100}/{number}.js" for number in range(2000)))
    plant(tmp_path, "a", "x.log", "sub/x.log", "sub/keep.log", "sub/deep/keep.log", "build/b", ".git/config")
    (tmp_path / "rules").write_text("node_modules\n*.log\n/build/\n", encoding="utf-8")
    (tmp_path / ".gitignore").symlink_to("rules")
    (tmp_path / "sub" / ".gitignore").write_text("!keep.log\n", encoding="utf-8")
    kept = ["a", "sub/deep/keep.log", "sub/keep.log"]
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    find_rg.cache_clear()
    assert searched(tmp_path) == kept
    assert listed(tmp_path) == sorted([*kept, "rules", "sub/.gitignore"])


@pytest.mark.report("FILE-13")
def test_a_linked_worktree_and_its_repository_ignore_the_same(tmp_path: Path) -> None:
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    main, linked = tmp_path / "main", tmp_path / "linked"
    for words in (
        ["init", "-q", str(main)],
        ["-C", str(main), "commit", "-q", "--allow-empty", "-m", "first"],
        ["-C", str(main), "worktree", "add", "-q", str(linked)],
    ):
        subprocess.run([*git, *words], check=True, timeout=30, capture_output=True)
    (main / ".git" / "info" / "exclude").write_text("secret\n/only-here\n", encoding="utf-8")
    for root in (main, linked):
        plant(root, "a", "secret", "sub/secret", "only-here", "sub/only-here")
        assert searched(root) == listed(root) == ["a", "sub/only-here"]
