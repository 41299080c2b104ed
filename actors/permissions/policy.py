"""Which call of the main agent is allowed, asked or denied (pure)."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import assert_never

from actors.permissions.command_rules import Answer, CommandRule, Judged, judge
from actors.permissions.grants import Grant, grant_for, line_in
from actors.permissions.place_rules import HostRule, PathRule
from actors.permissions.subject import NOTHING, Subject
from actors.tools.tool import Effect
from ipc.messages import DecidedBy, Mode

DEFAULT_TABLE: Mapping[str, Answer] = MappingProxyType(
    {
        "ask_user": "allow",
        "bash_exec": "ask",
        "browse_url": "ask",
        "delegate": "allow",
        "list_files": "allow",
        "mkdir": "ask",
        "patch": "ask",
        "read_file": "allow",
        "ripgrep": "allow",
        "rm": "ask",
        "rmdir": "ask",
        "update_plan": "allow",
        "websearch": "ask",
    }
)
_STRICTEST_FIRST: tuple[Answer, ...] = ("deny", "ask", "allow")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision on a call; what is not allowed says why and what to do."""

    answer: Answer
    by: DecidedBy = "table"
    """What decided."""
    because: str = ""
    """The rule's pattern, the mode, or what could not be read."""
    code: str = ""
    """`not_in_table`, `denied_by_rule` or `denied_by_mode`."""
    message: str = ""
    next_step: str = ""
    subject: Subject = NOTHING
    """What of the call was judged."""
    grant: Grant | None = None
    """Of what is asked: what a yes for more than this once would cover."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What the person has set, on top of the defaults."""

    tools: Mapping[str, Answer] = field(default_factory=lambda: DEFAULT_TABLE)
    """The whole table, from tool to answer."""
    commands: tuple[CommandRule, ...] = ()
    """Answers to single commands of `bash_exec`."""
    paths: tuple[PathRule, ...] = ()
    """Answers to calls that change one of these paths, the later ones win."""
    hosts: tuple[HostRule, ...] = ()
    """Answers to calls of `browse_url` on these hosts."""
    lines: Mapping[str, Answer] = field(default_factory=dict)
    """Answers to whole command lines, just as they are written."""

    @classmethod
    def build(
        cls,
        tools: Mapping[str, Answer],
        commands: Mapping[str, Answer],
        paths: Mapping[str, Answer] = MappingProxyType({}),
        hosts: Mapping[str, Answer] = MappingProxyType({}),
        lines: Mapping[str, Answer] = MappingProxyType({}),
    ) -> "Rules":
        """Put the person's answers over the default table. Raises `ValueError` for a bad pattern."""
        return cls(
            {**DEFAULT_TABLE, **tools},
            tuple(CommandRule.parse(pattern, answer) for pattern, answer in commands.items()),
            tuple(PathRule.parse(glob, answer) for glob, answer in paths.items()),
            tuple(HostRule.parse(host, answer) for host, answer in hosts.items()),
            dict(lines),
        )


def decide(
    tool: str,
    effect: Effect,
    *,
    mode: Mode,
    rules: Rules,
    grants: Collection[Grant] = (),
    subject: Subject = NOTHING,
) -> Verdict:
    """Judge a call of the main agent.

    What the person denies stays denied in every mode, and nothing is denied by default. Where commands are
    denied, one that can not be read as plain words is asked even in `yolo`: it could be one of them.
    """
    table = rules.tools.get(tool)
    if table is None:
        message = f"{tool} is in no permission table."
        return Verdict("deny", "table", "", "not_in_table", message, "Use another tool, or tell the user.")
    judged = _by_rules(subject, table, rules)
    by: DecidedBy = "rule" if judged.because else "table"
    if judged.answer == "deny":
        what = f": {judged.because}" if judged.because else ""
        message = f"The user's settings deny this use of {tool}{what}."
        next_step = "Do without it, or say what it is needed for."
        return Verdict("deny", by, judged.because, "denied_by_rule", message, next_step)
    if mode == "plan" and effect in ("write", "execute"):
        message = f"{tool} could change something, and in plan mode nothing is changed."
        next_step = "Describe the change; the user can switch the mode."
        return Verdict("deny", "mode", mode, "denied_by_mode", message, next_step)
    grant = grant_for(tool, subject, by_rule=by == "rule")
    if judged.answer == "ask" and grant is not None and grant in grants:
        return Verdict("allow", "grant", grant.words)
    match mode:
        case "plan" | "agent":
            return Verdict(judged.answer, by, judged.because, subject=subject, grant=grant)
        case "yolo" if judged.answer == "ask" and not judged.could_be_denied:
            return Verdict("allow", "mode", mode)
        case "yolo":
            return Verdict(judged.answer, by, judged.because, subject=subject, grant=grant)
        case _ as never:
            assert_never(never)


def _by_rules(subject: Subject, table: Answer, rules: Rules) -> Judged:
    """The table's answer, or that of the rule which means this call; no rule allows what the table denies."""
    if table == "deny":
        return Judged(table)
    if subject.command:
        judged = judge(subject.command, rules.commands, table)
        exact = rules.lines.get(line_in(subject.folder, subject.command))
        return judged if exact is None or judged.answer == "deny" else Judged(exact, "this very line")
    if subject.host:
        return _on_host(subject.host, table, rules.hosts)
    return max(
        (_on_path(path, subject.with_content, table, rules.paths) for path in subject.paths),
        key=_strictness,
        default=Judged(table),
    )


def _on_path(path: str, with_content: bool, table: Answer, rules: Iterable[PathRule]) -> Judged:
    """A denial counts first, then the last rule that means the path; below a folder only restrictions do."""
    found = Judged(table)
    for rule in rules:
        if rule.means(path, with_content=with_content and rule.answer != "allow"):
            if rule.answer == "deny":
                return Judged("deny", rule.glob)
            found = Judged(rule.answer, rule.glob)
    return found


def _on_host(host: str, table: Answer, rules: Iterable[HostRule]) -> Judged:
    """A denial counts first, then the narrowest rule that means the host."""
    matching = [rule for rule in rules if rule.means(host)]
    if not matching:
        return Judged(table)
    rule = max(matching, key=lambda rule: (rule.answer == "deny", len(rule.host), rule.answer == "ask"))
    return Judged(rule.answer, rule.host)


def _strictness(judged: Judged) -> int:
    return -_STRICTEST_FIRST.index(judged.answer)
