"""Rules on shell commands: which words a pattern means, and what they make of a whole line (pure)."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Final, Literal

from actors.permissions.program_words import (
    carries,
    changes_shell,
    hides,
    is_mentioned,
    is_printing,
    writes,
)
from actors.permissions.programs import (
    FROM_INPUT,
    INTERPRETERS,
    NAMING,
    SHELLS,
    SOURCING,
    STARTING_SHELLS,
    VALUED_BY_SHELLS,
    program_name,
)
from actors.permissions.shell_line import Line, SimpleCommand, read_line
from actors.permissions.shell_words import plain_words

Answer = Literal["allow", "ask", "deny"]
Match = Literal["yes", "maybe", "no"]

_TEXT: Final = re.compile(r"[\s;&|()<>`$=]")
"""What makes of a word a possible command line."""
_GIT_PROGRAM: Final = re.compile(r"(?:.*/)?git-([a-z-]+)")
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
        if self.words[0] not in (words[0], words[0].rpartition("/")[2]):
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
    texts = [_texts_for(each, line, command) for each in line.commands]
    found = [(rule, _match(rule, *each)) for rule in denied for each in zip(reaches, texts, strict=True)]
    if met := next((rule for rule, match in found if match == "yes"), None):
        return Judged("deny", str(met))
    hidden = bool(denied) and (not line.is_clear or any(match == "maybe" for _, match in found))
    asked = [rule for rule in rules if rule.answer == "ask"]
    answers = [
        _for_one(each, partial(_match, reach=reach, texts=text), rules, asked, otherwise)
        for each, reach, text in zip(line.commands, reaches, texts, strict=True)
    ]
    if hidden or (not line.is_clear and asked):
        return Judged("ask", "it can not be read to its end", could_be_denied=hidden)
    strictest = max(answers, key=lambda each: _STRICTNESS[each.answer], default=Judged(otherwise))
    if strictest.answer == "allow" and otherwise != "allow" and not _is_all(line):
        return Judged(otherwise, "it does more than run allowed commands")
    return strictest


def is_interpreter(program: str) -> bool:
    """Whether a program, perhaps with a path and a version, runs what its arguments say."""
    return program_name(program) in INTERPRETERS


_STRICTNESS: Final = {"allow": 0, "ask": 1, "deny": 2}


def _is_all(line: Line) -> bool:
    """Whether a line does nothing but run its commands."""
    return line.is_plain and line.is_clear and not any(changes_shell(each.words) for each in line.commands)


def _for_one(
    command: SimpleCommand,
    match: Callable[[CommandRule], Match],
    rules: Sequence[CommandRule],
    asked: Sequence[CommandRule],
    otherwise: Answer,
) -> Judged:
    """The answer to one command: that of the narrowest pattern which means exactly this."""
    matching = [rule for rule in rules if rule.matches(command.words) and not _goes_beyond(rule, command)]
    if matching:
        rule = max(matching, key=_narrowness)
        fed = command.is_fed and is_interpreter(rule.words[0])
        return Judged("ask", "it is given what it runs") if fed else Judged(rule.answer, str(rule))
    met = next((rule for rule in asked if match(rule) != "no"), None)
    return Judged("ask", str(met)) if met else Judged(otherwise)


def _narrowness(rule: CommandRule) -> tuple[int, bool, bool]:
    return len(rule.words), not rule.more, rule.answer == "ask"


def _goes_beyond(rule: CommandRule, command: SimpleCommand) -> bool:
    """Whether a rule that allows any words does not mean these: they write a file or run a program."""
    return rule.answer == "allow" and rule.more and writes(command.words, len(rule.words))


def _match(rule: CommandRule, reach: Iterable[Sequence[str | None]], texts: Iterable[str]) -> Match:
    found = {rule.meets(words) for words in reach}
    if "yes" in found:
        return "yes"
    return "maybe" if "maybe" in found or any(is_mentioned(rule.words, text) for text in texts) else "no"


def _texts_for(command: SimpleCommand, line: Line, whole: str) -> tuple[str, ...]:
    """What a command could take for another command, in whatever form: none for one that only prints."""
    if is_printing(command.words) and not any(NAMING & set(each.words[:1]) for each in line.commands):
        return ()
    words = " ".join(word for word in command.words[1:] if word is not None)
    return words, command.text, line.loose if line.is_plain and not command.is_fed else whole


def _reach(command: SimpleCommand, depth: int = 0) -> Iterator[tuple[str | None, ...]]:
    """The command, and where its program runs another one, everything that this could be.

    Options of such programs are not known here: every word could be where the other command begins.
    """
    words = command.words
    yield from _readings(words)
    if not carries(words):
        return
    names = {program_name(word) for word in words if word is not None}
    if names & (SHELLS | SOURCING) and _is_bare_shell(words):
        yield (None,)
    if command.is_fed and _starts_shell(words, names):
        yield (None,)
    more = (None,) if names & FROM_INPUT else ()
    for at in range(1, len(words)):
        yield from _readings((*words[at:], *more))
        word = words[at]
        if word is not None and _TEXT.search(word):
            yield from _in_text(word, depth)


def _readings(words: tuple[str | None, ...]) -> Iterator[tuple[str | None, ...]]:
    yield words
    if hides(words):
        yield (None,)
    if words and words[0] is not None and (found := _GIT_PROGRAM.fullmatch(words[0])):
        yield ("git", found[1], *words[1:])


def _in_text(text: str, depth: int) -> Iterator[tuple[str | None, ...]]:
    """The commands of a word that is run as a line, or of what stands behind `NAME=` in it."""
    if depth == _DEEPEST:
        yield (None,)
        return
    glued = (text[2:], text[3:]) if text.startswith("-") and not text.startswith("--") else ()
    for line in map(read_line, {text, text.partition("=")[2], *glued}):
        yield from _everything(line, depth + 1)


def _everything(line: Line, depth: int) -> Iterator[tuple[str | None, ...]]:
    if not line.is_clear:
        yield (None,)
    for command in line.commands:
        yield from _reach(command, depth)


def _starts_shell(words: Sequence[str | None], names: set[str]) -> bool:
    if names & {"doas", "sudo"} and {"-s", "-i"} & set(words):
        return True
    return bool(names & (SHELLS | SOURCING | STARTING_SHELLS))


def _is_bare_shell(words: Sequence[str | None]) -> bool:
    """Whether a shell among these words reads its commands from somewhere else."""
    plain = (word for before, word in pairwise(words) if before not in VALUED_BY_SHELLS and word is not None)
    operands = [word for word in plain if not word.startswith(("-", "+"))]
    operands = [word for word in operands if program_name(word) not in SHELLS | SOURCING]
    is_device = any(word.startswith(("/dev/", "/proc/")) for word in operands)
    return not operands or is_device or any(word in ("-s", "-i") for word in words)


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
