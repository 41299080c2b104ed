"""Permissions: who may do what, and which command a pattern means."""

import shlex
import subprocess
from typing import get_args

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from actors.catalog.builtin import EFFECTS
from actors.permissions.policy import (
    DEFAULT_TABLE,
    Answer,
    CommandRule,
    Grants,
    Rules,
    Verdict,
    decide,
    is_interpreter,
)
from actors.permissions.shell_words import plain_words
from ipc.messages import Mode

ANSWERS = st.sampled_from(get_args(Answer))
MODES = st.sampled_from(get_args(Mode))
COMMANDS = st.sampled_from(["git status", "ls", "rm -rf .", "git status; ls", ""])
RULES = st.builds(
    Rules.build,
    st.dictionaries(st.sampled_from(sorted(EFFECTS)), ANSWERS),
    st.dictionaries(st.sampled_from(["git status", "ls *", "rm *"]), ANSWERS),
)
GRANTS = st.builds(Grants, st.frozensets(st.sampled_from(sorted(EFFECTS))), st.frozensets(COMMANDS))


def main(tool: str, mode: Mode = "agent", rules: Rules | None = None, command: str = "") -> Verdict:
    return decide(tool, EFFECTS[tool], mode=mode, rules=rules or Rules(), command=command)


def shell(command: str, tool_answer: Answer = "ask", **patterns: Answer) -> Answer:
    rules = Rules.build(
        {"bash_exec": tool_answer}, {key.replace("_", " "): value for key, value in patterns.items()}
    )
    return main("bash_exec", rules=rules, command=command).answer


def test_the_default_table_covers_every_tool() -> None:
    assert set(DEFAULT_TABLE) == set(EFFECTS)


@pytest.mark.parametrize("tool", sorted(EFFECTS))
def test_by_default_changes_are_asked_and_all_else_is_allowed(tool: str) -> None:
    asked = EFFECTS[tool] in ("write", "execute")
    assert main(tool).answer == ("ask" if asked else "allow")


@given(st.sampled_from(sorted(EFFECTS)), RULES, GRANTS, COMMANDS)
def test_plan_mode_lets_nothing_change(tool: str, rules: Rules, grants: Grants, command: str) -> None:
    verdict = decide(tool, EFFECTS[tool], mode="plan", rules=rules, grants=grants, command=command)
    if EFFECTS[tool] in ("write", "execute"):
        assert verdict.answer == "deny"


@given(st.sampled_from(sorted(EFFECTS)), MODES, RULES, GRANTS, COMMANDS)
def test_what_is_not_allowed_says_why_and_what_a_person_denies_stays_denied(
    tool: str, mode: Mode, rules: Rules, grants: Grants, command: str
) -> None:
    verdict = decide(tool, EFFECTS[tool], mode=mode, rules=rules, grants=grants, command=command)
    if rules.tools[tool] == "deny":
        assert verdict.answer == "deny"
    if verdict.answer == "deny":
        assert verdict.code
        assert verdict.message
        assert verdict.next_step


def test_yolo_allows_all_by_default_and_nothing_is_told_in_plan_mode_but_changes() -> None:
    assert {main(tool, "yolo").answer for tool in EFFECTS} == {"allow"}
    denied = {tool for tool in EFFECTS if main(tool, "plan").answer == "deny"}
    assert denied == {"bash_exec", "mkdir", "patch", "rm", "rmdir"}
    assert main("patch", "plan").code == "denied_by_mode"


def test_a_tool_in_no_table_is_denied_in_every_mode() -> None:
    for mode in get_args(Mode):
        verdict = decide("teleport", "read", mode=mode, rules=Rules())
        assert (verdict.answer, verdict.code) == ("deny", "not_in_table")


def test_a_grant_covers_the_tool_or_the_very_command() -> None:
    grants = Grants().adding("patch").adding("bash_exec", "make test")

    def answer(tool: str, command: str = "") -> Answer:
        return decide(tool, EFFECTS[tool], mode="agent", rules=Rules(), grants=grants, command=command).answer

    assert answer("patch") == "allow"
    assert answer("mkdir") == "ask"
    assert answer("bash_exec", "make test") == "allow"
    assert answer("bash_exec", "make test && rm -rf .") == "ask"
    denied = Rules.build({"patch": "deny"}, {})
    assert decide("patch", "write", mode="agent", rules=denied, grants=grants).answer == "deny"


@pytest.mark.parametrize(
    "command",
    [
        "git statusfoo", "git status; rm -rf .", "git status && ls", "git status|sh", "git status & ls",
        "git status\nls", "git status $(ls)", "git status `ls`", "git status > x", "git status <x",
        "(git status)", "{ git status; }", "GIT_DIR=x git status", "git status *", "git status ~",
        "git status $X",
        'git status "$X"', "git status #x", "git\\ status", "./git status", "time git status", "! git status",
        "git status {a,b}", "git 'status", "", "git status -x", "git",
    ],
)  # fmt: skip
def test_a_pattern_means_its_own_words_and_nothing_more(command: str) -> None:
    assert shell(command, git_status="allow") == "ask"


@pytest.mark.parametrize("command", ["git status", "  git   status\t", "git 'status'", '"git" sta"tus"'])
def test_a_pattern_means_the_words_however_they_are_written(command: str) -> None:
    assert shell(command, git_status="allow") == "allow"


def test_a_star_stands_for_any_words_at_the_end() -> None:
    rules = Rules.build({}, {"git diff *": "allow"})
    for command in ("git diff", "git diff HEAD~1 -- 'a b'"):
        assert main("bash_exec", rules=rules, command=command).answer == "allow"
    for command in ("git difftool", "git diff; ls"):
        assert main("bash_exec", rules=rules, command=command).answer == "ask"


def test_a_denial_wins_and_then_the_narrower_pattern() -> None:
    rules = Rules.build(
        {"bash_exec": "allow"},
        {"git *": "ask", "git status": "allow", "git push *": "deny", "git push x": "allow"},
    )
    for command, answer in {
        "git status": "allow", "git log": "ask", "git push x": "deny", "ls": "allow", "ls; git push": "ask",
    }.items():  # fmt: skip
        assert main("bash_exec", rules=rules, command=command).answer == answer
    assert main("bash_exec", "yolo", rules, "git push").answer == "deny"
    assert shell("git status", "deny", git_status="allow") == "deny"


DENIED: dict[str, Answer] = {"git push *": "deny", "git fetch": "ask"}
PUSHES = ["git push x", "git push x\n", "\ngit push"]
HIDING = ["true; git push x", "git push x\ntrue", "$(git push x)", "git push $REMOTE"]


@pytest.mark.parametrize("mode", get_args(Mode))
def test_a_denied_command_does_not_run_unasked_in_any_mode(mode: Mode) -> None:
    rules = Rules.build({"bash_exec": "allow"}, DENIED)
    assert {main("bash_exec", mode, rules, command).answer for command in PUSHES} == {"deny"}
    assert "allow" not in {main("bash_exec", mode, rules, command).answer for command in HIDING}


def test_yolo_asks_for_what_could_hide_a_denied_command_and_for_nothing_else() -> None:
    rules = Rules.build({}, DENIED)
    assert {main("bash_exec", "yolo", rules, command).answer for command in HIDING} == {"ask"}
    assert {main("bash_exec", "yolo", rules, plain).answer for plain in ("ls", "git fetch")} == {"allow"}
    assert {main("bash_exec", "yolo", None, command).answer for command in HIDING} == {"allow"}
    asks_only = Rules.build({}, {"git fetch": "ask"})
    assert main("bash_exec", "yolo", asks_only, "true; git fetch").answer == "allow"
    granted = Grants().adding("bash_exec", HIDING[0])
    again = decide("bash_exec", "execute", mode="yolo", rules=rules, grants=granted, command=HIDING[0])
    assert again.answer == "allow"


@pytest.mark.parametrize(
    "pattern", ["python *", "/usr/bin/python3.11 -m *", "bash -c *", "env *", "sudo git *"]
)
def test_an_interpreter_is_never_allowed_by_its_prefix(pattern: str) -> None:
    with pytest.raises(ValueError, match="any program"):
        CommandRule.parse(pattern, "allow")
    assert CommandRule.parse(pattern, "deny").more
    assert CommandRule.parse(pattern.removesuffix(" *"), "allow").answer == "allow"


def test_interpreters_are_known_with_path_and_version() -> None:
    assert all(map(is_interpreter, ["python3.12", "/bin/sh", "node20", "perl5.36", "xargs"]))
    assert not any(map(is_interpreter, ["git", "ls", "pytest", "shfmt"]))


@pytest.mark.parametrize("pattern", ["", "*", "git*", "a; b", "a $(b)", "git * status", "a 'b", "X=1 a"])
def test_a_pattern_that_is_no_plain_command_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="one plain command"):
        CommandRule.parse(pattern, "allow")


SHELL_TEXT = st.text("ab ~'\"=:#-/.$\\!;\t%^é", max_size=12)


@given(SHELL_TEXT)
def test_plain_words_are_what_shlex_says(command: str) -> None:
    words = plain_words(command)
    if words is not None:
        assert list(words) == shlex.split(command)


@settings(max_examples=60)
@given(SHELL_TEXT)
@example("x a=~")
@example("x a=b:~")
@example("x HEAD~1 a:b a=b#c %x ^y")
def test_plain_words_are_what_a_real_shell_says(command: str) -> None:
    words = plain_words(command)
    if words is not None:
        script = f"HOME=/elsewhere; printf '%s\\0' {command}"
        told = subprocess.run(
            ["bash", "-c", script], capture_output=True, check=True, stdin=subprocess.DEVNULL
        )
        assert told.stdout.decode().split("\0")[:-1] == list(words)


@given(
    st.text(max_size=20),
    st.sampled_from([";", "&", "|", "\n", "`", "$(", ">", "<", "*", "\0"]),
    st.text(max_size=20),
)
def test_nothing_live_outside_of_quotes_is_ever_plain(front: str, live: str, back: str) -> None:
    if not set("'\"") & set(front):
        assert plain_words(front + live + back) is None


@pytest.mark.parametrize("character", ["\n", "\r", "\v", "\x1b", "\0", "\u2028", "\u202e"])
def test_what_can_not_be_seen_is_never_plain(character: str) -> None:
    assert plain_words(f"a{character}b") is None
