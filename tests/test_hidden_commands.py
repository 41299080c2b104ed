"""Commands that a line hides from a rule, as they were found by trying: none of these runs unasked."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.permissions.policy import Rules, decide
from actors.permissions.subject import Subject
from ipc.messages import Mode


def answer(command: str, rules: Rules, mode: Mode = "agent") -> str:
    return decide("bash_exec", "execute", mode=mode, rules=rules, subject=Subject(command=command)).answer


DENYING = Rules.build({"bash_exec": "allow"}, {"rm *": "deny", "git push *": "deny"})
ALLOWING = Rules.build(
    {},
    dict.fromkeys(
        (
            "git status", "git diff *", "echo *", "cd *", "test *", "printf *", "read *", "ls *", "sort *",
            ": *", "true", "cat *",
        ),
        "allow",
    ),
)  # fmt: skip

HIDING = [
    "env '-Srm x'", "env -S'rm x'", "script -qc'rm x' /dev/null", "flock f -c'rm x'", "su -c'rm x'",
    "echo rm | xargs -I% % x", "echo rm x | xargs env", "echo rm x | xargs command",
    "echo rm x | xargs -I% env % x", "echo 'rm x' | parallel", "echo 'rm x' | bash -s x",
    "bash -s x <<< 'rm y'", "bash /dev/stdin <<< 'rm y'", ". /dev/stdin <<< 'rm y'",
    "source /dev/stdin <<E\nrm x\nE", "bash -o errexit <<< 'rm x'", "bash -O extglob <<< 'rm x'",
    "bash +x <<< 'rm x'", "bash --rcfile f <<< 'rm x'", 'bash -c "$(cat f)"', "test -v 'a[$(rm x)]'",
    "printf -v 'a[$(rm x)]' x", "unset 'a[$(rm x)]'", "let 'a[$(rm x)]'", "read 'a[$(rm x)]' <<< 1",
    "PS4='$(rm x)'; set -x; :", "PS4='$(rm x)' bash -xc :", "X='$(rm x)'; : ${X@P}",
    'X=\'$(rm x)\'; : "${X@P}"', "mapfile -C 'rm x' -c 1 A < f", "compgen -C 'rm x' a",
    "compgen -W '$(rm x)' a", "hash -p /bin/rm ls; ls x", "jobs -x rm x", "enable -f ./x.so rm",
    "BASH_ENV=f bash -c :", "git -c alias.p=push p", "git -c alias.p='!rm x' p",
    "git -c core.pager='rm x' -p log", "git -c core.fsmonitor='rm x' status",
    "git config alias.p push; git p",
    "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.p GIT_CONFIG_VALUE_0=push git p",
    "GIT_SSH_COMMAND='rm x' git fetch", "GIT_EXTERNAL_DIFF='rm x' git diff",
    "git rebase --exec 'rm x' HEAD", "git bisect run rm x", "git submodule foreach 'rm x'", "git-push",
    "/usr/lib/git-core/git-push x", "git difftool -x 'rm x'", "git grep -O'rm x' a", "prlimit rm x",
    "setarch x86_64 rm x", "linux64 rm x", "setpriv rm x", "nsenter rm x", "fakeroot rm x", "uv run rm x",
    "poetry run rm x", "gdb --args rm x", "valgrind rm x", "ltrace rm x", "perf stat rm x",
    "hyperfine 'rm x'", "tmux new-session -d 'rm x'", "screen -dm rm x", "at now <<< 'rm x'",
    'awk \'BEGIN{system("rm x")}\'', "tar cf a b --checkpoint-action=exec='rm x'", "rg --pre rm x",
    "make -f - <<< 'a:;rm x'", "rbash -c 'rm x'", "mksh -c 'rm x'", "bash5 -c 'rm x'", "toybox rm x",
    "/lib64/ld-linux-x86-64.so.2 /bin/rm x", "start-stop-daemon --start --exec /bin/rm -- x",
    "cp /bin/rm z; ./z x", "ln -s /bin/rm z; ./z x", "dbus-run-session rm x", "xvfb-run rm x",
    "choom -n 0 -- rm x", "unbuffer rm x", "chronic rm x", "ionice rm x", "time -p -- rm x", "pkexec rm x",
    "gosu root rm x", "docker run x rm x", "cgexec rm x", "sg root 'rm x'", "newgrp - <<< 'rm x'",
    "runcon x rm x", "numactl rm x", "schedtool -e rm x", "dash -c 'rm x'", '"`echo rm`" x', "`echo rm` x",
    "r$()m x", "${Z}rm x", "rm${IFS}x", "{rm,x}", "$'\\x72m' x", '$"rm" x', '"r"m x', "r''m x", "/bin/r? x",
    "~/../bin/rm x", "~root/rm x", "function f { rm x; }; f", "f() rm x", "case x in x) rm y;; esac",
    "select a in b; do rm x; break; done", "for((i=0;i<1;i++)); do rm x; done", "((x=1)) && rm x",
    "[[ a == a ]] && rm x", "[ a ] && rm x", "time { rm x; }", "coproc X { rm x; }", "`echo \\`rm x\\``",
    "a=(`rm x`)", "a=([0]=$(rm x))", "cat <<E\n$(rm x)\nE", 'cat <<"E"\nE\nrm x', "cat <<'E'\nE\nrm x",
    "cat <<\\E\nE\nrm x", "cat <<E''F\nEF\nrm x", "cat <<-E\n\tE\nrm x", "cat <<A <<B\nA\nB\nrm x",
    "cat << E # c\nE\nrm x", "echo a#b; rm x", "echo a # c\nrm x", "echo $#; rm x", "echo ${#x}; rm x",
    "echo ${x#a}; rm x", 'echo "$(echo ")" ; rm x)"', 'echo $(echo "a)" ; rm x)', "echo $'a\\'b'; rm x #'",
    "echo $'\\'' ; rm x # '", 'echo "a\\" ; echo b" ; rm x', "echo \\'; rm x; echo \\'",
    'echo \\"; rm x; echo \\"', "x=$((1)); rm x", "x=$((1+$(rm x)))", ": $(( a[$(rm x)] ))",
    ": ${x[$(rm x)]}", ": ${x:-`rm x`}", ": >$(rm x)", ": 2>&1; rm x", "! rm x", "!! ; rm x",
    "if :; then :; elif rm x; then :; fi", "until rm x; do :; done", "exec rm x", "exec 3>&1; rm x",
    'trap "rm x" 0', "{ rm x;}", "(rm x)", "((rm x))", "rm", "then rm x", "do rm x", "git push",
    "git 'push' x", "rm x", ': "${x:-`rm x`}"', ": ${x:=`rm x`}", ": $((`rm x`))", "cat <<E\n`rm x`\nE",
    "cat <<E\na `rm x` b\nE", "cat <<E\n${x:-`rm x`}\nE", "cat <<E\n${x:-$(rm x)}\nE", ': ${x:-"`rm x`"}',
    ": ${x/a/`rm x`}", ": ${x#`rm x`}", ": ${x:`rm x`:1}", ": ${x:$(rm x)}", ": ${x[`rm x`]}",
    "a[`rm x`]=1", "a[$(rm x)]=1", "[[ a == `rm x` ]]", "[[ a =~ `rm x` ]]", "[[ a =~ $(rm x) ]]",
    "case `rm x` in a) :;; esac", "case a in `rm x`) :;; esac", "for i in `rm x`; do :; done",
    "for ((i=`rm x`;i<1;i++)); do :; done", "for ((i=$(rm x);;)); do :; done", "((`rm x`))",
    "((a=$(rm x)))", "cat <<<`rm x`", 'cat <<<"`rm x`"', ": >`rm x`", ': $"`rm x`"', ': $"$(rm x)"',
    ": `echo \\`rm x\\``", ": `echo $(rm x)`", ": ${x:+`rm x`}", ": ${x^^`rm x`}", ": ${x@Q} `rm x`",
    ": ${!x} `rm x`", "let a=`rm x`", "let a=$(rm x)", ": ${x:-a`rm x`}", ": ${x:-a$(rm x)}",
    ": ${x:-a<(rm x)}", ": ${x:-<(rm x)}", ": ${x//`rm x`/b}", ": ${x//$(rm x)/b}", ": ${x/$(rm x)}",
    ": ${x%`rm x`}", ": ${x%%$(rm x)}", "export a=`rm x`", "local a=`rm x`", "declare a[`rm x`]=1",
    "readonly a=$(rm x)", "unset `rm x`", "a+=`rm x`", "$[`rm x`]", ": $[ $(rm x) ]", ": $[`rm x`]",
    "coproc `rm x`", "function `x` { rm x; }", "exec {a}>`rm x`", "exec {a}>$(rm x)",
    "if `rm x`; then :; fi", "[ `rm x` ]", "test $(rm x)", "select i in `rm x`; do :; done",
    "cat <<-E\n\t`rm x`\n\tE", "cat <<E\n\\$(x)`rm x`\nE", "cat <<E\n$((`rm x`))\nE",
    'cat <<E\n"`rm x`"\nE', "cat <<E\n'`rm x`'\nE", "cat <<E\n'$(rm x)'\nE", ': "a`rm x`b"', ": a`rm x`b",
    ": ${x:-${y:-`rm x`}}", ": ${x-`rm x`}", ": ${x?`rm x`}", ": ${x:?`rm x`}", ": ${x=`rm x`}",
    ": ${x:-$'`'} `rm x` `:`", ": ${#x[`rm x`]}", ": ${x[@]:`rm x`}", ": ${x,,`rm x`}",
    "case a in a) :;; b|`rm x`) ;; esac", ": {a,`rm x`}", "a=`rm x` b", "a=~/`rm x` b",
    'echo "${x%"`rm x`"}"', '[ -n "${x:-`rm x`}" ]', "[[ -n ${x:-`rm x`} ]]",
    "for i in ${x:-`rm x`}; do :; done", ": ${x:-`rm x`;}",
]  # fmt: skip
"""With `rm` and `git push` denied."""

DOING_MORE = [
    "echo `echo \\`id\\``", 'echo "`echo \\`id\\``"', "echo `echo \\$(id)`", 'echo "`echo \\"\\$(id)\\"`"',
    'echo `echo "\\`id\\`"`', "echo `echo '$(id)'`", "echo `echo '\\`id\\`'`",
    "echo `echo \\\\\\`id\\\\\\``", 'echo "`echo "$(id)"`"', "echo `echo a #`; id #`",
    "echo $(echo a # $(\nid\n))", "echo `git status #`id`", "echo `echo \\\n`", 'echo "a\\`id\\`"',
    "echo \\`id\\`", "echo \\$(id)", "echo $\\(id\\)", "echo $$(id)", "echo $`id`", 'echo $"$(id)"',
    "echo $'\\'`id`'", "echo $'a\\\\'`id`", 'echo "$(echo \\"`id`\\")"', "echo <(echo `id`)", "echo $X`id`",
    "echo $@`id`", "echo $1`id`", "echo a`id`b", 'echo "$X`id`"', "echo -`id`", "cd `id`", "echo ~`id`",
    "echo {`id`,a}", "echo `id", 'echo "`id"', "echo $(id", "git status&&id", "git status;id",
    "git status|id", "git status\tid", "git status\x0bid", "git status\x0cid", "git diff --ext-diff",
    "echo a 2>/dev/null&id", "echo a >&2id", "echo a 2>&1id", "echo a ;`id`", "`echo id`", "$(echo id)",
    "echo $[1+`id`]", "echo a=`id`", "echo a=$(id)", "git diff <(id)", "echo !(id)", "echo @(a|b)",
    "echo ?(id)", "echo a; (id)", "! echo $(id)", "if echo; then echo; else id; fi",
    "while echo; do echo; done; id", "echo ${X[`id`]}", "echo ${!X}", "echo a >/dev/null`id`",
    "echo a >&$(id)", 'echo "\\`id`"', 'echo "\\\\`id`"', 'echo "\\\\\\`id`"', "cd $(echo `echo \\`id\\``)",
    "git status &>1", "git status &>-", "git status &>>1", "git status >&1x", "git status <> /dev/null",
    "git diff --output=/tmp/x", "printf -v PATH /tmp; git status", "read PATH; git status",
    "read -r PATH </dev/null; ls x", "echo ${x:-`id`}", "echo ${x:-$(id)}", "echo `git status`",
    "echo ${X@P}", "test -v 'a[$(id)]'", "printf -v 'a[$(id)]' x", "printf %d 'a[$(id)]'",
    "test 'a[$(id)]' -eq 1", "[ 'a[$(id)]' -eq 1 ]", "git status # foo\nid", "echo a\\\nb",
    'echo "a`git status`"', "echo >&$X", "echo a >/dev/null/../x", "echo >/dev/stdout", "echo $((1))",
    "true() { id; }; true", "cd () (id); cd x", "git status ;; id", "echo x &\nid", "time git status",
    "cat x | sort -o y", "sort --compress-program=id x", "echo \u200bx", "echo \u201c$(id)\u201d",
    "[[ a ]]", "echo a;#b\nid", "git status\\\n", "git status \\\n;\\\nid", "git diff `git diff x`",
    "echo x 3<>/dev/null",
]  # fmt: skip
"""With harmless commands allowed, by any arguments."""


def test_a_denied_command_is_never_run_unasked_however_it_is_hidden() -> None:
    assert [command for command in HIDING if answer(command, DENYING, "yolo") == "allow"] == []


def test_allowed_commands_allow_nothing_that_stands_between_them() -> None:
    assert [command for command in DOING_MORE if answer(command, ALLOWING) != "ask"] == []


PIECES = [
    "denied", "denied x", "d''enied", " ", " ", "echo ", ": ", "`", "\\`", "$(", ")", "${x:-", "}", "'", '"',
    "\\", "\n", ";", "&", "|", "<<E\n", "<<'E'\n", "\nE\n", "<<<", "#", "$'", "((", "))", "[[ ", " ]]", "[",
    "]", "=", "x=", "a[", "$((", "test -v ", "printf -v ", "{ ", "; }", "-eq 1", "||", ">", "${x@P}", "$x",
    "eval ", "<(",
]  # fmt: skip


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(
        [
            "%s", "echo `%s`", 'echo "%s"', "cat <<E\n%s\nE", ": ${x:-%s}", "x='%s'; : ${x@P} $((x))",
            "echo $(%s)", "[[ %s ]]", "printf -v '%s' x", "test -v '%s'", "echo '%s'",
        ]
    ),
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join),
)  # fmt: skip
def test_what_is_allowed_runs_no_denied_command_in_a_real_shell(
    tmp_path_factory: pytest.TempPathFactory, frame: str, text: str
) -> None:
    """The denied program is a function of the shell that leaves a mark; there are no other programs."""
    command = frame.replace("%s", text)
    denying = Rules.build({"bash_exec": "allow"}, {"denied *": "deny"})
    if "allow" not in (answer(command, denying, "yolo"), answer(command, ALLOWING)):
        return
    folder = Path(tmp_path_factory.mktemp("shell"))
    mark = folder / "mark"
    environment = {"PATH": "/nonexistent", "BASH_FUNC_denied%%": f"() {{ : > {mark}; }}"}
    subprocess.run(
        ["/bin/bash", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=20,
    )
    assert not mark.exists(), command
