"""Globs: what they match, and that no path makes them slow."""

import time
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.files.path_glob import compile_glob

SEGMENTS = st.sampled_from(["a", "b", "*", "?", "a*", "*b", "a*b", "*a*b*", "[ab]", "[!a]?", "**"])
PATHS = st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=5)


def matches_slowly(segments: list[str], parts: list[str]) -> bool:
    """The meaning of a glob, written without a thought for speed."""
    if not segments:
        return not parts
    first, *rest = segments
    if first == "**":
        return (
            bool(parts) if not rest else any(matches_slowly(rest, parts[i:]) for i in range(len(parts) + 1))
        )
    return bool(parts) and fnmatchcase(parts[0], first) and matches_slowly(rest, parts[1:])


@given(st.lists(SEGMENTS, min_size=1, max_size=6), PATHS)
def test_a_glob_means_what_its_segments_mean(segments: list[str], parts: list[str]) -> None:
    wanted = segments if len(segments) > 1 else ["**", *segments]
    assert compile_glob("/".join(segments)).matches("/".join(parts)) == matches_slowly(wanted, parts)


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("*.py", "a.py"),
        ("*.py", "src/deep/a.py"),
        ("src/*.py", "src/a.py"),
        ("/src/*.py", "src/a.py"),
        ("./src/*.py", "src/a.py"),
        ("src/", "src/deep/a"),
        ("src/**", "src/deep/a"),
        ("**/test_*.py", "tests/test_a.py"),
        ("*.{ts,tsx}", "ui/a.tsx"),
        ("{src,tests}/**/*.py", "tests/a.py"),
        ("[a-c]*", "blue"),
        ("é?.txt", "éß.txt"),
        ("!*.md", "a.py"),
        ("a+b(1).txt", "a+b(1).txt"),
    ],
)
def test_a_glob_matches(glob: str, path: str) -> None:
    assert compile_glob(glob).matches(path)


@pytest.mark.parametrize(
    ("glob", "path"),
    [("src/*.py", "src/deep/a.py"), ("src/*.py", "lib/src/a.py"), ("*.py", "a.pyc"), ("!*.md", "a.md")],
)
def test_a_glob_does_not_match(glob: str, path: str) -> None:
    assert not compile_glob(glob).matches(path)


def test_a_glob_may_count_from_the_searched_folder() -> None:
    glob = compile_glob("api/*.py")
    assert glob.matches("src/api/a.py", "src/")
    assert not glob.matches("src/api/a.py")


@given(st.lists(SEGMENTS, min_size=1, max_size=4), PATHS)
def test_the_names_of_a_glob_leave_out_no_file_that_it_matches(segments: list[str], parts: list[str]) -> None:
    glob = compile_glob("/".join(segments))
    if glob.names and glob.matches("/".join(parts)):
        assert any(fnmatchcase(parts[-1], name) for name in glob.names)


@pytest.mark.parametrize("glob", ["[a", "{a", "a}", "{a}", "{a,b}" * 7])
def test_a_glob_that_can_not_be_read_is_refused(glob: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        compile_glob(glob)


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("*a*a*a*a*a*a*c", "a" * 250),
        ("**/a*b/**/a*b/**/a*b/**/a*b/**/c", "/".join(["aab"] * 200)),
        ("a*a*a*a*a*b/**/a*a*a*a*b/**/*a*c", "/".join(["a" * 100 + "b"] * 20)),
    ],
)
def test_no_path_makes_a_glob_slow(glob: str, path: str) -> None:
    begin = time.perf_counter()
    assert not compile_glob(glob).matches(path)
    assert time.perf_counter() - begin < 0.5
