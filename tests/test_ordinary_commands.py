"""Ordinary lines, and what common rules make of them: what careful rules must not stand in the way of."""

import pytest

from actors.permissions.command_rules import Answer, CommandRule, judge

ALLOWED = (
    "git status *", "git diff *", "git log *", "git add *", "git commit *", "ls *", "cat *", "grep *", "rg *",
    "head *", "tail *", "wc *", "echo *", "cd *", "npm test", "npm run lint", "pytest *", "make", "sort *",
    "test *",
)  # fmt: skip
DENIED = ("git push *", "rm *", "sudo *", "curl *")

MESSAGE = "git commit -m \"$(cat <<'EOF'\nFix `x` and $(y)\n\nIt's as rm x did.\nEOF\n)\""

ORDINARY: dict[str, tuple[Answer, Answer]] = {
    "git status | head": ("allow", "allow"),
    "git status && git diff --stat": ("allow", "allow"),
    "git diff HEAD~1 -- src": ("allow", "allow"),
    "git log --oneline -5 | cat": ("allow", "allow"),
    "npm test && npm run lint": ("allow", "allow"),
    "cd x && make": ("allow", "allow"),
    "cd x && \\\n  make": ("allow", "allow"),
    "pytest -q 2>&1 | tail -20": ("allow", "allow"),
    "grep -rn 'git push' . | head": ("allow", "allow"),
    "rg 'rm -rf' src": ("allow", "allow"),
    "test -f x && echo yes": ("allow", "allow"),
    "ls *.py": ("allow", "allow"),
    'echo "${HOME}" | wc -c': ("allow", "allow"),
    "git commit -m 'Use `x` and $(y), not rm x'": ("allow", "allow"),
    'git add -A && git commit -m "As git push did: \\"x\\""': ("ask", "allow"),
    MESSAGE: ("ask", "allow"),
    "cat > notes.md <<'EOF'\nUse `rm x`, $(y)\nEOF": ("ask", "allow"),
    "cat > x.py <<EOF\nprint(1)\nEOF": ("ask", "allow"),
    "FOO=1 pytest -q": ("ask", "allow"),
    "GIT_PAGER=cat git log": ("ask", "allow"),
    'for f in *.py; do wc -l "$f"; done': ("ask", "allow"),
    "while read l; do echo $l; done < x": ("ask", "allow"),
    "[[ -n $X ]] && echo y": ("ask", "allow"),
    "X=$(git rev-parse HEAD); echo $X": ("ask", "allow"),
    "export FOO=bar; npm start": ("ask", "allow"),
    "a=$((1 + 2)); echo ${a:-3}": ("ask", "allow"),
    "set -e; make": ("ask", "allow"),
    "python3 -c 'print(1)'": ("ask", "allow"),
    "find . -perm 644 -name '*.py' | xargs grep -n foo": ("ask", "allow"),
    "cat x | xargs -n 1 grep -i foo | timeout 5 head": ("ask", "allow"),
    "sed -i 's/a/b/' x.py": ("ask", "allow"),
    "awk '{print $1}' x": ("ask", "allow"),
    "diff <(ls a) <(ls b)": ("ask", "allow"),
    "docker run --rm -it x": ("ask", "allow"),
    "timeout 60 uv run pytest": ("ask", "allow"),
    "git config user.name x && git rm x && git stash push": ("ask", "allow"),
    "source venv/bin/activate && bash build.sh": ("ask", "allow"),
    "git push": ("ask", "deny"),
    "make && rm -rf build": ("ask", "deny"),
    "npm run build -- rm x": ("ask", "ask"),
    "python3 -c \"subprocess.run(['git', 'push'])\"": ("ask", "ask"),
    "echo 'rm x' > f; sh f": ("ask", "ask"),
    "X=--pre=rm; rg $X y": ("ask", "ask"),
    "echo x | xargs -I% % y": ("ask", "ask"),
    "shopt -s expand_aliases\nalias ls=env\nls rm x": ("ask", "ask"),
    "test -v a[\\$\\(r\\m\\ x\\)]": ("ask", "ask"),
    "declare a[\\$\\(r\\m\\ x\\)]=1": ("ask", "ask"),
    "X=$'a[\\x24(r\\x6d x)]'; : $((X))": ("ask", "ask"),
    "cat f > >(bash --rcfile x)": ("ask", "ask"),
    "exec < f; bash -o errexit": ("ask", "ask"),
    "git bisect run rm x": ("ask", "deny"),
    "git submodule foreach 'rm x'": ("ask", "deny"),
    "IFS=$'\\n'; ls | xargs": ("ask", "allow"),
    "bash -x build.sh": ("ask", "allow"),
    "ssh host < f": ("ask", "ask"),
    "cat x | sudo -u y -s": ("ask", "deny"),
    "PATH=$PWD/bin:$PATH make": ("ask", "ask"),
    "git -c core.pager=x log": ("ask", "ask"),
}


@pytest.mark.parametrize("command", ORDINARY)
def test_an_ordinary_line_is_answered_as_a_person_expects(command: str) -> None:
    allowing = [CommandRule.parse(each, "allow") for each in ALLOWED]
    denying = [CommandRule.parse(each, "deny") for each in DENIED]
    answers = judge(command, allowing, "ask").answer, judge(command, denying, "allow").answer
    assert answers == ORDINARY[command]


@pytest.mark.parametrize(
    ("pattern", "command", "answer"),
    [
        ("git diff *", "git diff --output=x", "ask"),
        ("git diff *", "git diff --outp x", "ask"),
        ("git *", "git diff --ext-diff", "ask"),
        ("git *", "git -c core.pager=x log", "ask"),
        ("git switch *", "git switch -c x", "allow"),
        ("git config *", "git config alias.x y", "ask"),
        ("git grep *", "git grep -Ox y", "ask"),
        ("git diff *", "git diff $X", "ask"),
        ("git diff *", "git diff -- $X --output=x", "allow"),
        ("git diff *", "git diff --oneline -U3", "allow"),
        ("sort *", "sort -uo x y", "ask"),
        ("sort *", "sort --compress-program=x y", "ask"),
        ("sort *", "sort *", "ask"),
        ("sort *", "/usr/bin/sort -rn x", "ask"),
        ("sort *", "sort -rn x", "allow"),
        ("rg *", "rg --pre x y", "ask"),
        ("git diff --output=x", "git diff --output=x", "allow"),
        ("git diff --output=x *", "git diff --output=x y", "allow"),
    ],
)
def test_a_rule_for_any_words_does_not_mean_options_that_write_or_run(
    pattern: str, command: str, answer: Answer
) -> None:
    assert judge(command, [CommandRule.parse(pattern, "allow")], "ask").answer == answer


def test_an_option_that_writes_is_no_matter_where_everything_is_allowed() -> None:
    assert judge("git diff --output=x", [CommandRule.parse("git diff *", "allow")], "allow").answer == "allow"
    assert judge("git diff --output=x", [CommandRule.parse("git diff *", "deny")], "allow").answer == "deny"
