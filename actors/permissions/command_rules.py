"""Rules on shell commands: which words a pattern means, and what they make of a whole line (pure)."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from actors.permissions.shell_line import Line, SimpleCommand, read_line
from actors.permissions.shell_words import plain_words

Answer = Literal["allow", "ask", "deny"]
Match = Literal["yes", "maybe", "no"]

_SHELLS: Final = frozenset({"ash", "bash", "csh", "dash", "fish", "ksh", "sh", "tcsh", "zsh"})
_CARRIERS: Final = frozenset(
    {
        *_SHELLS, ".", "alias", "builtin", "busybox", "chroot", "chrt", "command", "coproc", "doas", "env",
        "entr", "eval", "exec", "fd", "find", "flock", "ionice", "nice", "nohup", "parallel", "runuser",
        "script", "setsid", "source", "ssh", "stdbuf", "strace", "su", "sudo", "systemd-run", "taskset",
        "time", "timeout", "trap", "unshare", "watch", "xargs",
    }
)  # fmt: skip
"""What runs a command that stands among its arguments, as words or as one text."""
_INTERPRETERS: Final = _CARRIERS | {
    "awk", "bun", "bunx", "deno", "gawk", "irb", "lua", "node", "nodejs", "npx", "perl", "php", "pwsh",
    "pypy", "python", "ruby", "sed", "tclsh", "uvx",
}  # fmt: skip
"""Programs that run what their arguments say: with any arguments they would be any command."""
_FROM_INPUT: Final = frozenset({"parallel", "xargs"})
_TEXT: Final = re.compile(r"[\s;&|()<>`$=]")
"""What makes of a word a possible command line."""
_DEEPEST: Final = 3
"""How many texts in texts are read: a shell that starts a shell that starts a shell."""


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

    def __str__(self) -> str:
        return " ".join((*self.words, "*") if self.more else self.words)

    def matches(self, words: Sequence[str | None]) -> bool:
        """Whether these are exactly the words of the pattern, or begin with them where more may follow."""
        head = tuple(words[: len(self.words)])
        return head == self.words and (self.more or len(words) == len(self.words))

    def meets(self, words: Sequence[str | None]) -> Match:
        """Whether a command could be meant, wherever its program lies and whatever options come first."""
        if not words or words[0] is None:
            return "maybe" if words else "no"
        if self.words[0] not in (words[0], _name(words[0])):
            return "no"
        found = {self._begins(words[at:]) for at in _behind_options(words)}
        return "yes" if "yes" in found else "maybe" if "maybe" in found else "no"

    def _begins(self, rest: Sequence[str | None]) -> Match:
        wanted = self.words[1:]
        for at, word in enumerate(wanted):
            if at == len(rest) or (rest[at] is not None and rest[at] != word):
                return "no"
            if rest[at] is None:
                return "maybe"
        left = rest[len(wanted) :]
        if self.more or not left:
            return "yes"
        return "maybe" if all(word is None for word in left) else "no"


@dataclass(frozen=True, slots=True)
class Judged:
    """What the rules say of a line."""

    answer: Answer
    because: str = ""
    """The pattern that decided, or why the line is asked about; empty: no rule has anything to say."""
    could_be_denied: bool = False
    """Whether a part of it that can not be read could be a command that is denied."""


def judge(command: str, rules: Sequence[CommandRule], otherwise: Answer) -> Judged:
    """Judge a line by each command in it: the strictest answer counts, `otherwise` where no rule does.

    Allowed is only what is nothing but allowed commands. Denied is whatever has a denied one somewhere: in a
    substitution, behind `sudo` or `xargs`, in the text of `sh -c`. What can not be read is asked about where
    a rule could mean it.
    """
    if not rules or otherwise == "deny":
        return Judged(otherwise)
    line = read_line(command)
    denied = [rule for rule in rules if rule.answer == "deny"]
    reaches = [list(_reach(each)) for each in line.commands]
    matches = [(rule, _strongest(rule, reach)) for rule in denied for reach in reaches]
    if met := next((rule for rule, match in matches if match == "yes"), None):
        return Judged("deny", str(met))
    hidden = bool(denied) and (not line.is_clear or any(match == "maybe" for _, match in matches))
    asked = [rule for rule in rules if rule.answer == "ask"]
    answers = [
        _for_one(each, reach, rules, asked, otherwise)
        for each, reach in zip(line.commands, reaches, strict=True)
    ]
    if hidden or (not line.is_clear and asked):
        return Judged("ask", "it can not be read to its end", could_be_denied=hidden)
    strictest = max(answers, key=lambda each: _STRICTNESS[each.answer], default=Judged(otherwise))
    if strictest.answer == "allow" and otherwise != "allow" and not (line.is_plain and line.is_clear):
        return Judged(otherwise, "it does more than run allowed commands")
    return strictest


def is_interpreter(program: str) -> bool:
    """Whether a program, perhaps with a path and a version, runs what its arguments say."""
    return _name(program).rstrip("0123456789.-") in _INTERPRETERS or program == "."


_STRICTNESS: Final = {"allow": 0, "ask": 1, "deny": 2}


def _for_one(
    command: SimpleCommand,
    reach: Sequence[Sequence[str | None]],
    rules: Sequence[CommandRule],
    asked: Sequence[CommandRule],
    otherwise: Answer,
) -> Judged:
    """The answer to one command: that of the narrowest pattern which means exactly this."""
    matching = [rule for rule in rules if rule.matches(command.words)]
    if matching:
        rule = max(matching, key=_narrowness)
        fed = command.is_fed and is_interpreter(rule.words[0])
        return Judged("ask", "it is given what it runs") if fed else Judged(rule.answer, str(rule))
    met = next((rule for rule in asked if _strongest(rule, reach) != "no"), None)
    return Judged("ask", str(met)) if met else Judged(otherwise)


def _narrowness(rule: CommandRule) -> tuple[int, bool, bool]:
    return len(rule.words), not rule.more, rule.answer == "ask"


def _strongest(rule: CommandRule, reach: Iterable[Sequence[str | None]]) -> Match:
    found = {rule.meets(words) for words in reach}
    return "yes" if "yes" in found else "maybe" if "maybe" in found else "no"


def _reach(command: SimpleCommand, depth: int = 0) -> Iterator[tuple[str | None, ...]]:
    """The command, and where its program runs another one, everything that this could be.

    Options of such programs are not known here: every word could be where the other command begins.
    """
    words = command.words
    yield words
    carriers = {_name(word) for word in words if word is not None} & _CARRIERS
    if not words or words[0] is None or _name(words[0]) not in _CARRIERS:
        return
    more = (None,) if carriers & _FROM_INPUT else ()
    for at in range(1, len(words)):
        yield (*words[at:], *more)
        word = words[at]
        if word is not None and _TEXT.search(word):
            yield from _in_text(word, depth)
    if carriers & _SHELLS and (carriers & _FROM_INPUT or not any(_is_operand(word) for word in words[1:])):
        yield (None,)  # a shell that reads its commands from somewhere else


def _in_text(text: str, depth: int) -> Iterator[tuple[str | None, ...]]:
    """The commands of a word that is run as a line, or of what stands behind `NAME=` in it."""
    if depth == _DEEPEST:
        yield (None,)
        return
    for line in map(read_line, {text, text.partition("=")[2]}):
        yield from _everything(line, depth + 1)


def _everything(line: Line, depth: int) -> Iterator[tuple[str | None, ...]]:
    if not line.is_clear:
        yield (None,)
    for command in line.commands:
        yield from _reach(command, depth)


def _is_operand(word: str | None) -> bool:
    return word is not None and not word.startswith("-") and _name(word) not in _SHELLS


def _behind_options(words: Sequence[str | None]) -> list[int]:
    """Where what follows the program can begin: behind options, each of which may have a value."""
    places, waiting = {1}, [1]
    while waiting:
        at = waiting.pop()
        if at < len(words) and ((word := words[at]) is None or word.startswith("-")):
            found = {at + 1, at + 2} - places
            places |= found
            waiting += found
    return sorted(place for place in places if place <= len(words))


def _name(program: str) -> str:
    return program.rpartition("/")[2]
