"""What is known of programs: which run their arguments, which only print, which options write (data)."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

SHELLS: Final = frozenset(
    {
        "ash", "bash", "csh", "dash", "fish", "ksh", "lksh", "mksh", "pdksh", "posh", "rbash", "sh", "tcsh",
        "yash", "zsh",
    }
)  # fmt: skip
SOURCING: Final = frozenset({".", "source"})
CARRIERS: Final = (
    SHELLS
    | SOURCING
    | {
        "alias", "at", "batch", "builtin", "busybox", "cgexec", "choom", "chronic", "chroot", "chrt",
        "command", "coproc", "dbus-run-session", "doas", "entr", "env", "eval", "exec", "fakeroot", "fd",
        "find", "flock", "gdb", "gosu", "hyperfine", "ionice", "linux32", "linux64", "ltrace", "newgrp",
        "nice", "nohup", "nsenter", "numactl", "parallel", "perf", "pkexec", "prlimit", "runcon", "runuser",
        "schedtool", "screen", "script", "setarch", "setpriv", "setsid", "sg", "ssh", "start-stop-daemon",
        "stdbuf", "strace", "su", "sudo", "systemd-run", "taskset", "time", "timeout", "tmux", "toybox",
        "trap", "unbuffer", "unshare", "valgrind", "watch", "xargs", "xvfb-run",
    }
)  # fmt: skip
"""What runs a command that stands among its arguments, as words or as one text."""
INTERPRETERS: Final = CARRIERS | {
    "awk", "bun", "bunx", "deno", "gawk", "irb", "lua", "node", "nodejs", "npx", "perl", "php", "pwsh",
    "pypy", "python", "ruby", "sed", "tclsh", "uvx",
}  # fmt: skip
"""Programs that run what their arguments say: with any arguments they would be any command."""
STARTING_SHELLS: Final = frozenset(
    {"batch", "at", "chroot", "newgrp", "nsenter", "runuser", "script", "sg", "ssh", "su", "unshare"}
)
"""What starts a shell where no command is named, here or elsewhere."""
FROM_INPUT: Final = frozenset({"parallel", "xargs"})
"""What adds words to a command that are in no line."""

PRINTING: Final = frozenset(
    {
        ":", "[", "basename", "cat", "cd", "cmp", "comm", "cut", "date", "df", "diff", "dirname", "du",
        "echo", "egrep", "false", "fgrep", "file", "grep", "head", "ls", "mkdir", "printf", "pwd",
        "readlink", "realpath", "rg", "rmdir", "sort", "stat", "tail", "test", "touch", "tr", "true", "type",
        "uniq", "wc", "which",
    }
)  # fmt: skip
"""What runs none of its arguments, but for the options below: a denied name among them is only a word."""
RUNNING_OPTIONS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {"rg": ("--pre", "--hostname-bin"), "sort": ("--compress-program",)}
)
SYSTEM_FOLDERS: Final = frozenset({"", "/bin", "/usr/bin"})
"""Where a known name is the known program; anywhere else it could be any."""

GIT_PRINTING: Final = frozenset(
    {
        "add", "blame", "branch", "checkout", "cherry-pick", "commit", "describe", "diff", "init", "log",
        "ls-files", "merge", "mv", "reset", "restore", "rev-list", "rev-parse", "revert", "rm",
        "shortlog", "show", "stash", "status", "switch", "tag",
    }
)  # fmt: skip
"""Subcommands of git that run none of their arguments."""
GIT_CARRYING: Final = frozenset(
    {"bisect", "difftool", "filter-branch", "for-each-repo", "mergetool", "rebase", "submodule"}
)
GIT_VALUED: Final = frozenset({"-C", "--git-dir", "--work-tree", "--namespace", "--attr-source"})
"""Options before the subcommand that have a value behind them."""
GIT_READING: Final = frozenset({"get", "list", "--get", "--get-all", "--get-regexp", "--list", "-l"})
GIT_NAMING: Final = frozenset({"user.name", "user.email"})
"""What `git config` may do without changing what git runs."""

SETTING: Final = frozenset(
    {
        "alias", "declare", "enable", "eval", "exec", "export", "getopts", "hash", "let", "local", "mapfile",
        "read", "readarray", "readonly", "set", "shopt", "source", "trap", "typeset", "unalias", "unset",
        "wait", ".",
    }
)  # fmt: skip
"""Builtins that change what the words behind them mean: variables, names, options of the shell."""
NAMING: Final = frozenset({"alias", "enable", "hash"})
"""Builtins that give a known name another meaning."""
VALUED_BY_SHELLS: Final = frozenset({"-o", "-O", "+o", "+O", "--rcfile", "--init-file"})
SUBSCRIPTED: Final = SETTING | {"[", "printf", "test"}
"""Builtins that run a substitution in the subscript of a variable, quoted or not: `a[$(id)]`."""
SUBSTITUTION: Final = re.compile(r"`|\$\(")
GOVERNING: Final = re.compile(
    r"(?:PS4|PS0|BASH_ENV|ENV|PATH|PROMPT_COMMAND|SHELLOPTS|BASHOPTS|(?:LD|GIT|BASH_FUNC)_[A-Za-z0-9_%]*)"
)
"""Variables that decide what runs."""
GOVERNING_SET: Final = re.compile(rf"(?<![\w$]){GOVERNING.pattern}\+?=")
HARMLESS_VALUE: Final = re.compile(r"cat|true|:|\d*")


class Writing(NamedTuple):
    """Options with which a program that reads writes a file or runs another program."""

    long: tuple[str, ...] = ()
    """Also their abbreviations."""
    short: str = ""
    """Letters that begin a word."""
    clustered: str = ""
    """Letters that may stand behind other letters."""


WRITING: Final[Mapping[str, Writing]] = MappingProxyType(
    {
        "curl": Writing(("--output", "--config", "--remote-name", "--dump-header"), clustered="oOKDc"),
        "date": Writing(("--set",), clustered="s"),
        "diff": Writing(("--output",), short="o"),
        "file": Writing(("--compile",), clustered="C"),
        "git": Writing(
            (
                "--config", "--exec", "--exec-path", "--ext-diff", "--extcmd",
                "--open-files-in-pager", "--output", "--output-directory", "--receive-pack", "--textconv",
                "--upload-pack",
            ),
            short="oOx",
        ),
        "less": Writing(("--log-file", "--LOG-FILE"), clustered="oO"),
        "man": Writing(("--pager", "--html"), clustered="PH"),
        "rg": Writing(("--pre", "--hostname-bin")),
        "sort": Writing(("--output", "--compress-program"), clustered="o"),
        "tree": Writing(short="o"),
        "wget": Writing(("--output-document", "--output-file", "--execute"), clustered="oOe"),
        "yq": Writing(("--inplace", "--in-place", "--split-exp"), clustered="is"),
    }
)  # fmt: skip


def program_name(program: str) -> str:
    """Return the name without its path and the version at its end: `python` for `/usr/bin/python3.11`."""
    name = program.rpartition("/")[2]
    return name.rstrip("0123456789.-") or name
