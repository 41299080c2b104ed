"""Rules on commands: what a pattern means, and what becomes of it in a whole command line."""

import shlex
import subprocess
import time
from typing import get_args

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from actors.permissions.command_rules import Answer, CommandRule, is_interpreter, judge
from actors.permissions.policy import Rules, Verdict, decide
from actors.permissions.shell_line import read_line
from actors.permissions.shell_words import plain_words
from actors.permissions.subject import Subject
from ipc.messages import Mode


def main(command: str, mode: Mode = "agent", rules: Rules | None = None) -> Verdict:
    return decide("bash_exec", "execute", mode=mode, rules=rules or Rules(), subject=Subject(command=command))


def shell(command: str, otherwise: Answer = "ask", **patterns: Answer) -> Answer:
    rules = [CommandRule.parse(key.replace("_", " "), value) for key, value in patterns.items()]
    return judge(command, rules, otherwise).answer


@pytest.mark.report("PERM-02")
@pytest.mark.parametrize(
    "command",
    [
        "git statusfoo", "git status; rm -rf .", "git status && ls", "git status|sh", "git status & ls",
        "git status\nls", "git status $(ls)", "git status `ls`", "git status > x", "git status <x",
        "git status <<< x", "git status <<EOF\nx\nEOF", "git status <(ls)", "git status 2> x",
        "git status &> x",
        "GIT_DIR=x git status", "X=1; git status", "export X=1; git status", "git() { ls; }; git status",
        "for PATH in /tmp; do git status; done", "git status *", "git status ~", "git status $X",
        'git status "$X"', "./git status", "time git status", "env git status", "git status {a,b}",
        "git 'status", "", "#", "git status -x", "git", "git\\\nstatus", "git sta\\\ntus", "git\x00 status",
        "git status\r\nls", "(git status", "if git status", "cat <<EOF | git status\nx\nEOF",
        "unset PATH; git status", "[[ $(ls) ]] && git status", "git > /dev/null", "git status ${X:=1}",
        "git status $((X=1))", "git" + " " * 5000 + "status",
    ],
)  # fmt: skip
def test_a_pattern_means_its_own_words_and_nothing_more(command: str) -> None:
    assert shell(command, git_status="allow") == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "git status", "  git   status\t", "git 'status'", '"git" sta"tus"', "git status\n",
        "git status; git status",
        "git status && git status || git status", "git status | git status", "(git status)",
        "{ git status; }",
        "! git status", "git status # all of it", "git status &", "if git status; then git status; fi",
        "while git status; do git status; done", "git status 2>/dev/null", "git status >/dev/null 2>&1",
        "git status </dev/null", "git > /dev/null status", "git \\\nstatus", "git status >&-",
    ],
)  # fmt: skip
def test_a_line_of_nothing_but_allowed_commands_is_allowed_however_it_is_written(command: str) -> None:
    assert shell(command, git_status="allow") == "allow"


def test_every_command_of_a_line_has_to_be_allowed_by_some_pattern() -> None:
    rules = Rules.build({}, {"git diff *": "allow", "wc *": "allow", "cd *": "allow"})
    for command in ("git diff", "git diff HEAD~1 -- 'a b'", 'cd x && git diff -- $A "$(wc a)" | wc -l'):
        assert main(command, rules=rules).answer == "allow"
    for command in ("git difftool", "git diff; ls", "git diff | tee x", 'git diff "$(rm x)"', "git $A"):
        assert main(command, rules=rules).answer == "ask"


def test_a_denial_wins_and_then_the_narrower_pattern() -> None:
    rules = Rules.build(
        {"bash_exec": "allow"},
        {"git *": "ask", "git status": "allow", "git push *": "deny", "git push x": "allow"},
    )
    for command, answer in {
        "git status": "allow", "git log": "ask", "git push x": "deny", "ls": "allow", "ls; git push": "deny",
        "git status; git log": "ask", "sudo git log": "ask", "git status; ls > x": "allow", "git $X": "ask",
    }.items():  # fmt: skip
        assert main(command, rules=rules).answer == answer, command
    assert main("git push", "yolo", rules).answer == "deny"
    assert shell("git status", "deny", git_status="allow") == "deny"


DENIED: dict[str, Answer] = {"git push *": "deny", "git fetch": "ask"}
PUSHES = [
    "git push x", "git push x\n", "\ngit push", "true; git push x", "git push x\ntrue", "$(git push x)",
    "a | git push",
    "`git push`", "echo \"$(git push)\"", "a <(git push)", "a > >(git push)", "(git push)", "{ git push; }",
    "f() { git push; }; f", "if a; then git push; fi", "for x in a; do git push; done",
    "case a in a) git push;; esac",
    "while a; do git push; done", "[[ $(git push) ]]", "x=$(git push)", "export X=$(git push)",
    "a ${x:-$(git push)}",
    "a $(( $(git push) ))", "cat <<E\n$(git push)\nE", "cat <<E | git push\nx\nE", "a <<< $(git push)",
    "X=1 git push", "git push > x", "git > x push", "git 2>&1 push", "! git push", "git push &",
    "coproc git push",
    "'git' \"push\"", "g'i't push", "/usr/bin/git push", "./git push", "git -C x push",
    "git -c a=b --no-pager push",
    "git --git-dir=x push", "env X=1 git push", "env -i -u A X=1 git push", "sudo git push",
    "sudo -u bob git push",
    "timeout 5 git push", "timeout -k 1 5s git push", "nohup git push &", "time git push", "time -p git push",
    "nice -n 5 git push", "xargs git push", "find . -exec git push {} \\;", "command git push",
    "exec git push",
    "builtin command git push", "setsid git push", "stdbuf -oL git push", "sh -c 'git push'",
    'bash -lc "git push"',
    "sh -c 'true; git push'", "sudo sh -c 'git push'", "sh -c 'sh -c \"git push\"'", "eval git push",
    "eval 'git push'",
    "trap 'git push' EXIT", "alias x='git push'; x", "env -S 'git push'", "watch 'git push'",
    "su -c 'git push'",
    "ssh host git push", "xargs -n1 sh -c 'git push'", "git \\\n push", "git push ${X}", "git push 'unended",
]  # fmt: skip
HIDING = [
    "git pull 'unended", "git $X", "git $X x", "$X push", "$X", "git pu{sh,ll}", "git pu[s]h", "git pus?",
    "git -C $X $Y",
    "eval $X", "sh -c $X", 'sh -c "git $X"', "sh <<< x", "echo 'git push' | sh", "sh < x", "sh -s", "sh <(a)",
    "xargs git", "xargs sh -c '{}'", "sudo $X", "git pus\\\nh", "gi\\\nt push", "git\x00push", "(git status",
    "$'git' push", "git $'push'", "\\git push", "f() { \"$@\"; }; f git push", "sudo bash",
    "git" + " " * 5000 + "push",
    "sh -c 'sh -c \"sh -c \\\"sh -c git\\\"\"'",
]  # fmt: skip


@pytest.mark.parametrize("mode", get_args(Mode))
def test_a_denied_command_is_found_wherever_it_stands(mode: Mode) -> None:
    rules = Rules.build({"bash_exec": "allow"}, DENIED)
    found = {command: main(command, mode, rules).answer for command in PUSHES}
    assert {command: answer for command, answer in found.items() if answer != "deny"} == {}


@pytest.mark.parametrize("mode", ["agent", "yolo"])
def test_what_could_hide_a_denied_command_is_asked_about(mode: Mode) -> None:
    rules = Rules.build({"bash_exec": "allow"}, DENIED)
    found = {command: main(command, mode, rules).answer for command in HIDING}
    assert {command: answer for command, answer in found.items() if answer != "ask"} == {}


def test_yolo_asks_for_nothing_else() -> None:
    rules = Rules.build({}, DENIED)
    plain = [
        "ls", "git fetch", "git pull; ls > x", "rm $X", "echo git push", "grep 'git push' *.md", "X=$Y make",
        "for f in *; do wc $f; done", "timeout 5 pytest -q", "python -c 'import os'",
        "cat <<E > x\ngit push\nE",
        "git log --grep push", "git commit -m 'git push'", "xargs grep x", "find . -name '*.py'",
        "sh build.sh push",
    ]  # fmt: skip
    assert {command for command in plain if main(command, "yolo", rules).answer != "allow"} == set()
    assert {main(command, "yolo").answer for command in HIDING} == {"allow"}
    asks_only = Rules.build({}, {"git fetch": "ask"})
    assert main("true; git fetch", "yolo", asks_only).answer == "allow"


@pytest.mark.report("PERM-02")
@pytest.mark.parametrize(
    "pattern", ["python *", "/usr/bin/python3.11 -m *", "bash -c *", "env *", "sudo git *", "xargs *", ". *"]
)
def test_an_interpreter_is_never_allowed_by_its_prefix(pattern: str) -> None:
    with pytest.raises(ValueError, match="any program"):
        CommandRule.parse(pattern, "allow")
    assert CommandRule.parse(pattern, "deny").more
    assert CommandRule.parse(pattern.removesuffix(" *"), "allow").answer == "allow"


@pytest.mark.report("PERM-02")
def test_an_interpreter_that_is_allowed_by_its_name_runs_nothing_that_the_line_gives_it() -> None:
    assert shell("python", python="allow") == "allow"
    for command in ("python -c x", "python x", "python <x", "python <<< x", "python <<E\nx\nE", "python3"):
        assert shell(command, python="allow") == "ask"
    assert shell("echo x | python", python="allow", **{"echo *": "allow"}) == "ask"
    assert shell("python | cat", python="allow", **{"cat *": "allow"}) == "allow"


def test_interpreters_are_known_with_path_and_version() -> None:
    assert all(map(is_interpreter, ["python3.12", "/bin/sh", "node20", "perl5.36", "xargs", "."]))
    assert not any(map(is_interpreter, ["git", "ls", "pytest", "shfmt"]))


@pytest.mark.parametrize("pattern", ["", "*", "git*", "a; b", "a $(b)", "git * status", "a 'b", "X=1 a"])
def test_a_pattern_that_is_no_plain_command_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="one plain command"):
        CommandRule.parse(pattern, "allow")


@pytest.mark.parametrize(
    "text", ["a|", "$(", "((", "env ", "xargs sh -c ", "<<A\n", "sudo 'sudo ", "a=(", "`a "]
)
def test_no_line_takes_long_to_judge(text: str) -> None:
    rules = [CommandRule.parse("git push *", "deny"), CommandRule.parse("git *", "ask")]
    begun = time.monotonic()
    for size in (3_900, 60_000):
        judge((text * size)[:size], rules, "allow")
    assert time.monotonic() - begun < 5


@settings(deadline=None)
@given(st.text(max_size=60), st.sampled_from(["allow", "ask"]))
def test_whatever_is_in_a_line_it_is_judged(text: str, otherwise: Answer) -> None:
    rules = [CommandRule.parse("git push *", "deny"), CommandRule.parse("ls *", "allow")]
    judged = judge(text, rules, otherwise)
    assert judged.answer in get_args(Answer)
    hidden = judge(f"{text}\ngit push", rules, "allow").answer
    assert hidden in ("deny", "ask") or "<<" in text or "#" in text or "\\" in text


SHELL_TEXT = st.text("ab ~'\"=:#-/.$\\!;\t%^é", max_size=12)


@given(SHELL_TEXT)
def test_plain_words_are_what_shlex_says(command: str) -> None:
    words = plain_words(command)
    if words is not None:
        assert list(words) == shlex.split(command)


@settings(max_examples=60, deadline=None)
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


@settings(max_examples=60)
@given(
    st.lists(SHELL_TEXT, min_size=1, max_size=3),
    st.sampled_from([";", "&&", "||", "|", "\n", " > /dev/null "]),
)
def test_the_words_of_every_command_of_a_line_are_what_a_real_shell_says(
    commands: list[str], operator: str
) -> None:
    """Each command is shown by a function of the shell, in place of its program."""
    text = operator.join(f"show {each}" for each in commands)
    line = read_line(text)
    if not (line.is_clear and line.is_plain) or any(None in each.words for each in line.commands):
        return
    script = f"HOME=/elsewhere; exec 3>&1; show() {{ printf '%s\\0' show \"$@\" $'\\1' >&3; }}; {text}"
    told = subprocess.run(["bash", "-c", script], capture_output=True, check=False, stdin=subprocess.DEVNULL)
    seen = told.stdout.decode().split("\0\1\0")[:-1]
    expected = [
        "\0".join(("show", *map(str, each.words[1:]))) for each in line.commands if each.words[0] == "show"
    ]
    if operator in ("&&", "||", "|"):
        assert set(seen) <= set(expected)
    elif "syntax error" not in told.stderr.decode():
        assert seen == expected
