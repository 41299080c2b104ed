"""ripgrep: what is found, how it is told, and that it ends."""

import asyncio
import os
from pathlib import Path

import pytest

from actors.files.rg import run_rg
from actors.files.workspace import Workspace
from actors.tools.ripgrep import Matches, Ripgrep
from tests.fakes.calling import call, refusal


@pytest.fixture
def tool(tmp_path: Path) -> Ripgrep:
    return Ripgrep(Workspace(tmp_path))


def write(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text, encoding="utf-8", newline="")


def test_matches_are_told_by_path_and_line(tool: Ripgrep, tmp_path: Path) -> None:
    write(tmp_path, "b.py", "x\n  def foo():\n")
    write(tmp_path, "a/a.py", "foo\nbar\nfoo bar: 1-2\n")
    assert call(tool, pattern="foo").content == "a/a.py:1: foo\na/a.py:3: foo bar: 1-2\nb.py:2:   def foo():"


def test_context_is_told_apart_from_matches(tool: Ripgrep, tmp_path: Path) -> None:
    write(tmp_path, "a", "1:1:before\nfoo\nafter\n\n\n\nfoo\n")
    lines = call(tool, pattern="foo", context=1).content.split("\n")
    assert lines == ["a-1- 1:1:before", "a:2: foo", "a-3- after", "--", "a-6- ", "a:7: foo"]


def test_the_first_results_by_path_are_shown_and_all_are_counted(tool: Ripgrep, tmp_path: Path) -> None:
    for n in range(300):
        write(tmp_path, f"{n:03}", "foo\nfoo\n")
    lines = call(tool, pattern="foo", max_results=5).content.split("\n")
    assert lines[:5] == ["000:1: foo", "000:2: foo", "001:1: foo", "001:2: foo", "002:1: foo"]
    assert lines[5].startswith("[5 of 600 matches in 300 files")
    assert len(lines) == 6


def test_a_flood_of_matches_is_bounded_and_not_called_exact(tool: Ripgrep, tmp_path: Path) -> None:
    write(tmp_path, "a", "foo\n" * 20_000)
    content = call(tool, pattern="foo", max_results=1000).content
    assert len(content) < 40_000
    assert "of at least 10000 matches" in content


def test_a_long_line_is_cut_and_the_place_of_the_match_told(tool: Ripgrep, tmp_path: Path) -> None:
    write(tmp_path, "min.js", "x" * 100_000 + "needle" + "y" * 100_000)
    content = call(tool, pattern="needle").content
    assert len(content) < 1000
    assert content.endswith("… [cut, match at min.js:1:100001]")


def test_crlf_lines_match_at_their_end(tool: Ripgrep, tmp_path: Path) -> None:
    write(tmp_path, "a", "foo\r\nfoo bar\r\n")
    assert call(tool, pattern="foo$").content == "a:1: foo"


def test_case_glob_and_path_narrow_the_search(tool: Ripgrep, tmp_path: Path) -> None:
    for name in ("a.py", "src/b.py", "src/c.md", "-rf/d.py"):
        write(tmp_path, name, "Foo\n")
    assert call(tool, pattern="foo").content == "[no match]"
    assert call(tool, pattern="foo", ignore_case=True, glob="*.md").content == "src/c.md:1: Foo"
    assert call(tool, pattern="Foo", path="src", glob="!*.md").content == "src/b.py:1: Foo"
    assert call(tool, pattern="Foo", path="-rf").content == "-rf/d.py:1: Foo"
    assert call(tool, pattern="Foo", path="src/b.py").content == "src/b.py:1: Foo"


@pytest.mark.parametrize("glob", ["*", "**/*", "*.js", "vendor/**"])
def test_no_glob_brings_ignored_files_back(tool: Ripgrep, tmp_path: Path, glob: str) -> None:
    write(tmp_path, ".gitignore", "vendor\n")
    write(tmp_path, "vendor/a.js", "foo\n")
    assert call(tool, pattern="foo", glob=glob).content == "[no match]"


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("foo(", "unclosed group"),
        ("a{2,1}", "repetition"),
        ("(?=x)", "look-around"),
        ("(a{1000}){1000}{1000}", "size limit"),
        ("a\nb", "not allowed"),
        ("a\0b", "NUL"),
        ("a\ud800", "half of a character"),
        ("a" * 200_000, "200,000 characters"),
    ],
)
def test_a_bad_pattern_is_refused_with_the_reason(
    tool: Ripgrep, tmp_path: Path, pattern: str, reason: str
) -> None:
    write(tmp_path, "a", "x\n")
    told = refusal(tool, pattern=pattern)
    assert told.code == "bad_pattern"
    assert reason in told.message
    assert "--" not in told.message


@pytest.mark.parametrize("glob", ["a\0", "a\ud800", "*" * 2000, "{a", "[", "{a,{b,c}"])
def test_a_bad_glob_is_refused_with_the_reason(tool: Ripgrep, glob: str) -> None:
    assert refusal(tool, pattern="x", glob=glob).code == "bad_glob"


def test_a_byte_order_mark_is_no_part_of_the_first_line(tool: Ripgrep, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbffoo\n")
    (tmp_path / "b").write_bytes("foo\n".encode("utf-16"))
    assert call(tool, pattern="^foo").content == "a:1: foo\nb:1: foo"


@pytest.mark.parametrize("pattern", ["-x", "--files", "--pre=touch made"])
def test_a_pattern_is_never_an_option(tool: Ripgrep, tmp_path: Path, pattern: str) -> None:
    write(tmp_path, "a", f"{pattern}\n")
    assert call(tool, pattern=pattern).content == f"a:1: {pattern}"
    assert os.listdir(tmp_path) == ["a"]


def test_a_users_rg_configuration_changes_nothing(
    tool: Ripgrep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "a", "foo\n")
    write(tmp_path, "rc", "--invert-match\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "rc"))
    assert call(tool, pattern="foo").content == "a:1: foo"


def test_binaries_pipes_loops_and_odd_names_do_not_disturb(tool: Ripgrep, tmp_path: Path) -> None:
    (tmp_path / "late").write_bytes(b"foo\n" + b"x\n" * 100_000 + b"\0foo\n")
    (tmp_path / "early").write_bytes(b"foo\0foo\n")
    (tmp_path / "latin").write_bytes(b"foo \xe9\n")
    (tmp_path / "wide").write_bytes("foo wide\n".encode("utf-16"))
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    write(tmp_path, "two\n\nlines", "foo\n")
    lines = call(tool, pattern="foo").content.split("\n")
    assert lines == ["late:1: foo", "latin:1: foo é", '"two\\n\\nlines":1: foo', "wide:1: foo wide"]
    assert refusal(tool, pattern="foo", path="pipe").code == "not_a_regular_file"


def test_output_is_understood_however_it_is_cut_into_pieces() -> None:
    output = b"b\x001:1:foo\n2:3:a foo\n\na\x007:1:foo\n"
    for size in range(1, len(output)):
        found = Matches(10, "", None)
        for at in range(0, len(output), size):
            found.take(output[at : at + size])
        found.finish()
        assert (found.total, found.files) == (3, 2)
        assert [path for path, _, _ in found.blocks] == [b"a", b"b"]


def test_a_search_past_its_deadline_is_killed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    end = asyncio.run(run_rg(["--regexp=x", "pipe"], tmp_path, lambda _: None, deadline_s=0.2))
    assert end.status is None


def test_a_cancelled_search_leaves_no_process(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    async def cancelled() -> bool:
        search = asyncio.create_task(run_rg(["--regexp=x", "pipe"], tmp_path, lambda _: None))
        writer = await asyncio.wait_for(asyncio.to_thread(os.open, tmp_path / "pipe", os.O_WRONLY), 10)
        search.cancel()
        await asyncio.wait([search], timeout=10)
        try:
            os.write(writer, b"x")
        except BrokenPipeError:
            return search.cancelled()
        finally:
            os.close(writer)
        return False

    assert asyncio.run(cancelled())
