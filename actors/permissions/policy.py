"""Which call of the main agent is allowed, asked or denied (pure)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, assert_never

from actors.permissions.shell_words import plain_words
from actors.tools.tool import Effect
from ipc.messages import Mode

Answer = Literal["allow", "ask", "deny"]

DEFAULT_TABLE: Mapping[str, Answer] = MappingProxyType(
    {
        "ask_user": "allow",
        "bash_exec": "ask",
        "delegate": "allow",
        "list_files": "allow",
        "mkdir": "ask",
        "patch": "ask",
        "read_file": "allow",
        "ripgrep": "allow",
        "rm": "ask",
        "rmdir": "ask",
        "update_plan": "allow",
    }
)

_INTERPRETERS = frozenset(
    {
        "ash", "awk", "bash", "bun", "busybox", "csh", "dash", "deno", "doas", "env", "eval",
        "exec", "fd", "find", "fish", "gawk", "irb", "ksh", "lua", "nice", "nohup", "node",
        "nodejs", "npx", "parallel", "perl", "php", "pwsh", "pypy", "python", "ruby", "script",
        "sed", "setsid", "sh", "ssh", "stdbuf", "strace", "su", "sudo", "tclsh", "time", "timeout",
        "uvx", "watch", "xargs", "zsh",
    }
)  # fmt: skip
"""Programs that run what their arguments say: with any arguments they would be any command."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision on a call; what is not allowed says why and what to do."""

    answer: Answer
    code: str = ""
    """`not_in_table`, `denied_by_rule` or `denied_by_mode`."""
    message: str = ""
    next_step: str = ""


ALLOWED = Verdict("allow")


@dataclass(frozen=True, slots=True)
class CommandRule:
    """A pattern of whole words for one plain command and the answer to it."""

    words: tuple[str, ...]
    more: bool
    """True when any words may follow."""
    answer: Answer

    @classmethod
    def parse(cls, pattern: str, answer: Answer) -> "CommandRule":
        """Read `git status` or `git diff *`. Raises `ValueError` with a sentence for a person."""
        stem = pattern.strip()
        more = stem.endswith(" *")
        words = plain_words(stem.removesuffix(" *"))
        if words is None:
            raise ValueError(f"{pattern!r} is not one plain command; write it as git status or git diff *")
        if more and answer == "allow" and is_interpreter(words[0]):
            raise ValueError(
                f"{pattern!r} would allow any program, since {words[0]} runs what its arguments say; "
                "write the whole command without *"
            )
        return cls(words, more, answer)

    def matches(self, words: tuple[str, ...]) -> bool:
        return words[: len(self.words)] == self.words and (self.more or len(words) == len(self.words))


@dataclass(frozen=True, slots=True)
class Rules:
    """What the person has set, on top of the defaults."""

    tools: Mapping[str, Answer] = field(default_factory=lambda: DEFAULT_TABLE)
    """The whole table, from tool to answer."""
    commands: tuple[CommandRule, ...] = ()
    """Answers to single `bash_exec` commands."""

    @classmethod
    def build(cls, tools: Mapping[str, Answer], commands: Mapping[str, Answer]) -> "Rules":
        """Put the person's answers over the default table. Raises `ValueError` for a bad command pattern."""
        return cls(
            {**DEFAULT_TABLE, **tools},
            tuple(CommandRule.parse(pattern, answer) for pattern, answer in commands.items()),
        )


@dataclass(frozen=True, slots=True)
class Grants:
    """What the person has allowed for the rest of the session."""

    tools: frozenset[str] = frozenset()
    commands: frozenset[str] = frozenset()

    def adding(self, tool: str, command: str = "") -> "Grants":
        """With one more: the tool, or of `bash_exec` this very command and no other."""
        if tool == "bash_exec":
            return Grants(self.tools, self.commands | {command})
        return Grants(self.tools | {tool}, self.commands)

    def cover(self, tool: str, command: str = "") -> bool:
        return command in self.commands if tool == "bash_exec" else tool in self.tools


def decide(
    tool: str,
    effect: Effect,
    *,
    mode: Mode,
    rules: Rules,
    grants: Grants = Grants(),
    command: str = "",
) -> Verdict:
    """Judge a call of the main agent; `command` is the text of a `bash_exec`.

    What the person denies stays denied in every mode, and nothing is denied by default. Where commands are
    denied, one that can not be read as plain words is asked even in `yolo`: it could be one of them.
    """
    answer = rules.tools.get(tool)
    if answer is None:
        message = f"{tool} is in no permission table."
        return Verdict("deny", "not_in_table", message, "Use another tool, or tell the user.")
    if tool == "bash_exec":
        answer = _for_command(command, answer, rules.commands)
    if answer == "deny":
        message = f"The user's settings deny this use of {tool}."
        return Verdict("deny", "denied_by_rule", message, "Do without it, or say what it is needed for.")
    match mode:
        case "plan":
            return _in_plan_mode(tool, effect, answer, granted=grants.cover(tool, command))
        case "agent":
            return ALLOWED if grants.cover(tool, command) else Verdict(answer)
        case "yolo":
            hidden = tool == "bash_exec" and _could_hide_denied(command, rules.commands)
            return Verdict("ask") if hidden and not grants.cover(tool, command) else ALLOWED
        case _ as never:
            assert_never(never)


def is_interpreter(program: str) -> bool:
    """Whether a program, perhaps with a path and a version, runs what its arguments say."""
    return program.rpartition("/")[2].rstrip("0123456789.-") in _INTERPRETERS


def _in_plan_mode(tool: str, effect: Effect, answer: Answer, *, granted: bool) -> Verdict:
    if effect in ("write", "execute"):
        message = f"{tool} could change something, and in plan mode nothing is changed."
        return Verdict(
            "deny", "denied_by_mode", message, "Describe the change; the user can switch the mode."
        )
    return ALLOWED if granted else Verdict(answer)


def _for_command(command: str, answer: Answer, rules: tuple[CommandRule, ...]) -> Answer:
    """The answer of the narrowest pattern, a denial before all others."""
    if answer == "deny":
        return answer
    words = _words(command)
    if words is None:
        restricted = any(rule.answer != "allow" for rule in rules)
        return "ask" if restricted else answer
    matching = [rule for rule in rules if rule.matches(words)]
    if not matching:
        return answer
    return max(matching, key=_weight).answer


def _could_hide_denied(command: str, rules: tuple[CommandRule, ...]) -> bool:
    return _words(command) is None and any(rule.answer == "deny" for rule in rules)


def _words(command: str) -> tuple[str, ...] | None:
    """Its plain words; an empty line before or behind a command changes nothing about it."""
    return plain_words(command.strip("\n"))


def _weight(rule: CommandRule) -> tuple[bool, int, bool, bool]:
    return rule.answer == "deny", len(rule.words), not rule.more, rule.answer == "ask"
