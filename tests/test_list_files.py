"""list_files: what is listed, in which order, and what the totals cover."""

import os
import random
import re
from pathlib import Path

import pytest

from actors.files.workspace import Workspace
from actors.tools.list_files import MAX_ENTRIES, ListFiles
from tests.fakes.calling import call, refusal


@pytest.fixture
def tool(tmp_path: Path) -> ListFiles:
    return ListFiles(Workspace(tmp_path))


def plant(root: Path, *names: str, size: int = 3) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"x" * size)


def test_files_are_sorted_by_their_bytes_with_sizes_and_totals(tool: ListFiles, tmp_path: Path) -> None:
    plant(tmp_path, "b.py", "a/z.py", "a-b/x", "Z", "é")
    lines = call(tool).content.split("\n")
    assert lines == ["5 files, 15 bytes", "3 Z", "3 a-b/x", "3 a/z.py", "3 b.py", "3 é"]


def test_ignored_files_and_git_stay_out_also_without_a_repository(tool: ListFiles, tmp_path: Path) -> None:
    plant(
        tmp_path,
        "keep.log",
        "x.log",
        "node_modules/a/b.js",
        "sub/y.log",
        "sub/keep.log",
        ".git/config",
        ".env",
    )
    (tmp_path / ".gitignore").write_text("*.log\nnode_modules/\n", encoding="utf-8")
    (tmp_path / "sub" / ".gitignore").write_text("!keep.log\n", encoding="utf-8")
    names = {line.partition(" ")[2] for line in call(tool).content.split("\n")[1:]}
    assert names == {".env", ".gitignore", "sub/.gitignore", "sub/keep.log"}


@pytest.mark.parametrize("glob", ["*", "**", "**/*", "*.js", "node_modules/**", "**/node_modules/**"])
def test_no_glob_brings_ignored_files_back(tool: ListFiles, tmp_path: Path, glob: str) -> None:
    plant(tmp_path, "a.js", "node_modules/b.js", "build.js")
    (tmp_path / ".gitignore").write_text("node_modules\nbuild.js\n", encoding="utf-8")
    content = call(tool, glob=glob).content
    assert "b.js" not in content.replace("a.js", "")
    assert "build.js" not in content


def test_a_glob_and_a_folder_narrow_the_list(tool: ListFiles, tmp_path: Path) -> None:
    plant(tmp_path, "a.py", "src/b.py", "src/deep/c.py", "src/deep/d.md")
    assert call(tool, glob="*.py", path="src").content.split("\n")[1:] == ["3 src/b.py", "3 src/deep/c.py"]
    assert call(tool, glob="deep/*.py", path="src").content.split("\n")[1:] == ["3 src/deep/c.py"]
    assert call(tool, path="src/b.py").content == "1 file, 3 bytes\n3 src/b.py"
    assert refusal(tool, glob="[").code == "bad_glob"


def test_depth_folds_what_lies_deeper(tool: ListFiles, tmp_path: Path) -> None:
    plant(tmp_path, "a.py", "src/b.py", "src/deep/c.py", "src/deep/er/d.py")
    assert call(tool, depth=1).content.split("\n") == ["4 files, 12 bytes", "3 a.py", "9 src/ (3 files)"]
    assert call(tool, path="src", depth=1).content.split("\n")[1:] == ["3 src/b.py", "6 src/deep/ (2 files)"]


def test_a_cut_list_counts_everything_and_says_what_kinds_there_are(tool: ListFiles, tmp_path: Path) -> None:
    names = [f"pkg{n % 7}/file{n:04}.{'py' if n % 3 else 'md'}" for n in range(1, 2001)]
    plant(tmp_path, *random.Random(1).sample(names, len(names)), "LICENSE", size=10)
    lines = call(tool).content.split("\n")
    assert lines[0] == "2001 files, 20010 bytes"
    assert lines[1] == "[by extension: .py 1334, .md 666, none 1]"
    assert lines[2].startswith("[by folder: pkg1/ 286, pkg2/ 286, ")
    shown = lines[3:-1]
    assert shown == ["10 LICENSE", *(f"10 {name}" for name in sorted(names))][:MAX_ENTRIES]
    assert lines[-1].startswith(f"[{2001 - MAX_ENTRIES} more files")


def test_names_out_of_the_ordinary_stay_on_their_line(tool: ListFiles, tmp_path: Path) -> None:
    plant(tmp_path, "new\nline", "esc\x1b[2J", 'quo"te', "two words", "-rf", "$(date)", "😀.txt")
    os.close(os.open(os.fsencode(tmp_path) + b"/\xff\xfe", os.O_CREAT | os.O_WRONLY))
    lines = call(tool).content.split("\n")
    assert len(lines) == 9
    assert all(line.isprintable() for line in lines)
    assert {'3 "new\\nline"', "3 two words", "3 -rf", "3 😀.txt"} <= set(lines)


def test_long_names_do_not_make_the_list_long(tool: ListFiles, tmp_path: Path) -> None:
    plant(tmp_path, *(f"{'d' * 200}/{'e' * 200}/{n:03}{'x' * 200}" for n in range(200)))
    content = call(tool).content
    assert len(content) < 40_000
    assert re.search(r"\[\d+ more files", content)


def test_an_empty_folder_is_told_as_such(tool: ListFiles) -> None:
    assert call(tool).content == "0 files, 0 bytes\n[no file, or only ignored ones]"


def test_pipes_loops_and_links_outside_neither_hang_nor_show(tool: ListFiles, tmp_path: Path) -> None:
    plant(tmp_path, "a", "-rf/b")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(".")
    (tmp_path / "out").symlink_to("/etc")
    assert call(tool).content.split("\n") == ["2 files, 6 bytes", "3 -rf/b", "3 a"]
    assert call(tool, path="-rf").content.split("\n")[1:] == ["3 -rf/b"]
    assert refusal(tool, path="pipe").code == "not_a_regular_file"
    assert refusal(tool, path="out").code == "outside_workspace"
    assert refusal(tool, path="nothing").code == "not_found"
