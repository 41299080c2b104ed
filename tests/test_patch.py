"""patch: what it does to a file on disk, and what it leaves alone."""

import asyncio
import json
import os
import stat
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.calls import ToolResult
from actors.files.workspace import Workspace
from actors.invocation import AnyTool, InvocationGuard, Refusal
from actors.tools.patch import Patch, PatchInput
from actors.tools.read_file import ReadFile
from actors.tools.tool import ToolInput
from ipc.messages import ToolCall
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
    (tmp_path / "nothing").touch()
    assert refusal(tool, path="nothing", old_text="x", new_text="y").code == "no_match"
    (tmp_path / "marked").write_bytes(b"\xff\xfe")
    call(tool, path="marked", old_text="", new_text="x")
    assert (tmp_path / "marked").read_bytes() == b"\xff\xfex\0"


@pytest.mark.report("FILE-09")
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


@pytest.mark.report("FILE-09")
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


def test_a_file_that_changed_since_it_was_read_is_left_alone(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    tool, reader, path = Patch(workspace, NOTHING_KEPT), ReadFile(workspace), tmp_path / "a"
    edit = {"path": "a", "old_text": "one", "new_text": "two"}
    path.write_text("one\nold\n", encoding="utf-8")
    call(reader, path="a", limit=1)
    path.write_text("one\nnew\n", encoding="utf-8")
    told = refusal(tool, **edit)
    assert told.code == "changed_since_read"
    assert "read_file" in told.next_step
    assert path.read_text(encoding="utf-8") == "one\nnew\n"
    call(reader, path="a", limit=1)
    call(tool, **edit)
    call(tool, path="a", old_text="two", new_text="three")  # what it wrote itself it has seen
    assert path.read_text(encoding="utf-8") == "three\nnew\n"


def test_the_same_content_again_is_no_change_and_what_was_never_read_may_be_edited(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    for name in ("a", "b"):
        (tmp_path / name).write_text("one\n", encoding="utf-8")
    call(ReadFile(workspace), path="a")
    (tmp_path / "a").unlink()
    (tmp_path / "a").write_text("one\n", encoding="utf-8")
    for name in ("a", "b"):
        call(Patch(workspace, NOTHING_KEPT), path=name, old_text="one", new_text="two")


def test_a_file_that_changes_between_the_approval_and_the_edit_is_left_alone(
    tool: Patch, tmp_path: Path
) -> None:
    (tmp_path / "a").write_text("one\n", encoding="utf-8")
    edit = {"path": "a", "old_text": "one", "new_text": "two"}
    tool.preview(PatchInput.model_validate(edit))
    (tmp_path / "a").write_text("one\nmore\n", encoding="utf-8")
    assert refusal(tool, **edit).code == "changed_since_read"
    created = {"path": "new", "old_text": "", "new_text": "ours"}
    tool.preview(PatchInput.model_validate(created))
    (tmp_path / "new").write_text("theirs", encoding="utf-8")
    assert refusal(tool, **created).code == "already_exists"


@pytest.mark.report("FILE-03")
def test_a_byte_order_mark_survives_an_edit_and_a_rewrite_and_is_never_shown(tmp_path: Path) -> None:
    workspace, mark = Workspace(tmp_path), b"\xef\xbb\xbf"
    tool, path = Patch(workspace, NOTHING_KEPT), tmp_path / "a"
    path.write_bytes(mark + "fürst\nsecond\n".encode())
    assert call(ReadFile(workspace), path="a").content.startswith("1\tfürst\n")
    call(tool, path="a", old_text="second", new_text="2nd")
    assert path.read_bytes() == mark + "fürst\n2nd\n".encode()
    call(tool, path="a", old_text="fürst\n2nd", new_text="1st\n2nd")
    assert path.read_bytes() == mark + b"1st\n2nd\n"
    output = call(tool, path="a", old_text="1st\n2nd\n", new_text="all new\n")
    assert path.read_bytes() == mark + b"all new\n"
    assert "\ufeff" not in output.display


@pytest.mark.report("FILE-01")
def test_text_with_lf_matches_lines_with_crlf_and_new_lines_get_crlf(tool: Patch, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"def a():\r\n\tone\r\n\ttwo\r\n\tthree\r\nend\r\n")
    call(
        tool, path="a.py", old_text="\tone\n\ttwo\n\tthree\n", new_text="\tone\n\t2\n\t2.5\n\tthree\n\tfour\n"
    )
    assert (tmp_path / "a.py").read_bytes() == (
        b"def a():\r\n\tone\r\n\t2\r\n\t2.5\r\n\tthree\r\n\tfour\r\nend\r\n"
    )


class AnyoneMay:
    async def check(self, tool: AnyTool, given: ToolInput, call: ToolCall) -> Refusal | None:
        return None


class NobodyWatches:
    def call_started(self, call: ToolCall, summary: str) -> None:
        pass

    def call_finished(self, call: ToolCall, result: ToolResult) -> None:
        pass


@pytest.mark.report("FILE-15")
def test_each_kind_of_miss_says_what_to_change_and_touches_nothing(tool: Patch, tmp_path: Path) -> None:
    before = "def a():\n    return 1\n\ndef b():\n    return 1\n"
    (tmp_path / "a.py").write_text(before, encoding="utf-8")
    guard = InvocationGuard({"patch": tool}, AnyoneMay(), NobodyWatches())
    edits = {
        "no_match": ("def b():\n  return 1", "x", "4\tdef b():\n5\t    return 1"),
        "several_matches": ("    return 1", "x", "lines 2, 5"),
        "identical_text": ("def a():", "def a():", "line 1"),
        "bad_arguments": ("def a():", "x", "path"),
    }
    told = set()
    for code, (old, new, shown) in edits.items():
        arguments = {"old_text": old, "new_text": new} | ({"path": "a.py"} if code != "bad_arguments" else {})
        result = asyncio.run(guard.invoke(ToolCall(id="1", name="patch", arguments=json.dumps(arguments))))
        error = json.loads(result.content)["error"]
        assert error["code"] == code
        assert shown in error["message"]
        assert error["next_step"]
        told.add(error["next_step"])
        assert (tmp_path / "a.py").read_text(encoding="utf-8") == before
    assert len(told) == len(edits)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(["a", "é", " ", "\n", "\r\n"]), max_size=12),
    st.lists(st.sampled_from(["b", "é", "\n", "\r\n"]), max_size=12),
    st.text("xyé", max_size=4),
    st.sampled_from([("utf-8", b""), ("utf-8", b"\xef\xbb\xbf"), ("utf-16-le", b"\xff\xfe")]),
    st.sampled_from([0o644, 0o600, 0o755, 0o440, 0o2750]),
    st.booleans(),
)
def test_on_disk_an_edit_changes_its_bytes_and_nothing_else(
    front: list[str], back: list[str], new: str, codec: tuple[str, bytes], mode: int, through_a_link: bool
) -> None:
    name, mark = codec
    before, after = (mark + "".join(front).encode(name), "".join(back).encode(name))
    with TemporaryDirectory() as folder:
        path, other = Path(folder) / "file", Path(folder) / "other"
        path.write_bytes(before + "WORD".encode(name) + after)
        other.write_bytes(b"WORD")
        path.chmod(mode | stat.S_IWUSR)
        (Path(folder) / "link").symlink_to("file")
        old, unchanged = path.stat(), other.stat()
        named = "link" if through_a_link else "file"
        call(Patch(Workspace(Path(folder)), NOTHING_KEPT), path=named, old_text="WORD", new_text=new)
        assert path.read_bytes() == before + new.encode(name) + after
        assert (path.stat().st_mode, path.stat().st_uid) == (old.st_mode, old.st_uid)
        assert other.stat() == unchanged
        assert os.readlink(Path(folder) / "link") == "file"
        assert sorted(os.listdir(folder)) == ["file", "link", "other"]


def test_a_copy_of_marked_control_characters_is_told_what_to_send(tool: Patch, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"d\re\n\x1b[31mred\n")
    marked = refusal(tool, path="a", old_text="␛[31mred", new_text="plain")
    assert marked.code == "no_match"
    assert r"␛ is \u001b" in marked.next_step
    call(tool, path="a", old_text="\x1b[31mred", new_text="plain")
    call(tool, path="a", old_text="d\re", new_text="de")
    assert (tmp_path / "a").read_bytes() == b"de\nplain\n"


def test_nearest_lines_show_their_control_characters(tool: Patch, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one\nsome words here d\re\n")
    failure = refusal(tool, path="a", old_text="some words here de", new_text="x")
    assert "d␍e" in failure.message
    assert r"␍ is \r" in failure.next_step
