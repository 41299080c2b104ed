"""Shell lines taken apart: which commands are in one, and what its end tells of each."""

import shlex
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.session.commands import canonical, parts


def told(line: str) -> list[tuple[str, bool]]:
    return [(part.command, part.certain) for part in parts(line)]


def test_one_command_is_the_same_however_it_is_spaced_and_quoted() -> None:
    assert canonical(" pytest   -k 'a b' ") == canonical('pytest -k "a b"') == "pytest -k 'a b'"
    assert canonical("echo $HOME  *.py\n") == "echo $HOME *.py"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("pytest -q", [("pytest -q", True)]),
        ("cd a && pytest -q", [("cd a", True), ("pytest -q", True)]),
        ("a; b && c", [("a", False), ("b", True), ("c", True)]),
        ("a\nb\n\n", [("a", False), ("b", True)]),
        ("a &&\n b", [("a", True), ("b", True)]),
        ("a && b | c", [("a", True), ("b", False), ("c", True)]),
        ("a | b; c", [("a", False), ("b", False), ("c", True)]),
        ("a || b", [("a", False), ("b", False)]),
        ("a && b || c; d", [("a", False), ("b", False), ("c", False), ("d", True)]),
        ("a &", [("a", False)]),
        ("a & b", [("a", False), ("b", True)]),
    ],
)
def test_a_line_tells_of_each_command_whether_it_must_have_succeeded(
    line: str, expected: list[tuple[str, bool]]
) -> None:
    assert told(line) == expected


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("pytest -q > log 2>&1", "pytest -q"),
        ("pytest -q &>> 'a log'", "pytest -q"),
        ("pytest -q 2>/dev/null <in", "pytest -q"),
        ("# the tests\npytest -q # all", "pytest -q"),
        ("pytest \\\n -q", "pytest -q"),
        ("grep 'a && b; c' f", "grep 'a && b; c' f"),
        ('git log --pretty="%h #1"', "git log '--pretty=%h #1'"),
    ],
)
def test_what_is_around_a_command_is_no_part_of_it(line: str, command: str) -> None:
    assert told(line) == [(command, True)]


@pytest.mark.parametrize(
    "line",
    [
        "if a; then b; fi",
        "for x in 1 2; do a; done",
        "(a)",
        "a $(b)",
        "a `b`",
        "! a",
        "{ a; }",
        "cat <<E\nx\nE",
        "a <(b)",
        "echo 'open",
        "a ;; b",
        "&& a",
        "",
        "x" * 10_001,
    ],
)
def test_what_is_more_than_a_list_of_commands_is_not_taken_apart(line: str) -> None:
    assert parts(line) == ()


@given(st.text(alphabet="ab '\"\\;&|<>(){}`#$\n!*2=", max_size=30))
def test_any_line_is_taken_apart_or_not_and_no_command_is_empty(line: str) -> None:
    assert all(part.command for part in parts(line))
    assert canonical(canonical(line)) == canonical(line)


@given(st.lists(st.lists(st.text("ab '\"&|;", min_size=1, max_size=4), min_size=1, max_size=3), min_size=1))
def test_quoted_words_are_never_taken_for_operators(commands: list[list[str]]) -> None:
    line = " && ".join(map(shlex.join, commands))
    found = [shlex.split(part.command) for part in parts(line)]
    assert found == commands or len(line) > 10_000


@pytest.mark.parametrize("unit", ["'", "a", "\\", ">", "1", '"\\', " ", "a;", "# ", "<", "a&"])
def test_a_hostile_line_costs_little_time(unit: str) -> None:
    started = time.monotonic()
    parts(unit * (10_000 // len(unit)))
    assert time.monotonic() - started < 1
