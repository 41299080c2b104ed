"""The simple commands of a shell command line, and which of them must have succeeded with it (pure)."""

import re
import shlex
from collections.abc import Iterator
from typing import Final, NamedTuple

from actors.permissions.shell_words import plain_words

LONGEST_LINE: Final = 10_000
"""Characters of a line that is taken apart; longer ones are scripts."""

_KEYWORDS: Final = frozenset(
    {
        "!", "[[", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if",
        "select", "then", "until", "while", "{", "}",
    }
)  # fmt: skip
_ORDINARY: Final = re.compile(r"[\w@%+=:,./-]+(?: [\w@%+=:,./-]+)*", re.ASCII)
"""What would come out as it is; most commands do, and this is twenty times as fast."""
_PIECE: Final = re.compile(
    r"""
      (?P<gap> [^\S\n]+ | \\\n | (?<![^\s;&|]) \#[^\n]*
      | (?: (?<!\S)\d+ )? (?: &>>? | >> | >\| | >& | <& | <> | > | <(?!<) ) [^\S\n]*
        (?: '[^']*' | "[^"]*" | [^\s;&|<>()'"`]+ ) )
    | (?P<text> '[^']*' | "(?:[^"\\]|\\.)*" | \\. | [^\s'"\\;&|<>()`]+ )
    | (?P<operator> && | \|\| | \|& | [;&|\n] )
    """,
    re.DOTALL | re.VERBOSE,
)


class Part(NamedTuple):
    """One simple command of a line."""

    command: str
    """Without redirections, as `canonical` writes it."""
    certain: bool
    """Whether it succeeded if the whole line did: `b` in `a; b`, both in `a && b`, no `a` in `a | b`."""


def canonical(command: str) -> str:
    """A command on one line, the same however it is quoted and spaced."""
    if _ORDINARY.fullmatch(command):
        return command
    words = plain_words(command.strip())
    return shlex.join(words) if words else " ".join(command.split())


def parts(line: str) -> tuple[Part, ...]:
    """The simple commands of a line in order; none when it is more than lists and pipelines of such."""
    if len(line) > LONGEST_LINE:
        return ()
    found = _split(line)
    if found is None or any(text.split()[0] in _KEYWORDS for text, _ in found):
        return ()
    certain = list(_certain([operator for _, operator in found]))
    return tuple(Part(canonical(text), sure) for (text, _), sure in zip(found, certain, strict=True))


def _split(line: str) -> list[tuple[str, str]] | None:
    """Each simple command with the operator behind it; None when something else is in the line."""
    found: list[tuple[str, str]] = []
    text, at = "", 0
    while piece := _PIECE.match(line, at):
        at = piece.end()
        if operator := piece["operator"]:
            if text.strip():
                found.append((text.strip(), operator))
            elif operator != "\n":
                return None
            text = ""
        else:
            text += piece["text"] or " "
    if at < len(line):
        return None
    return [*found, (text.strip(), "")] if text.strip() else found


def _certain(operators: list[str]) -> Iterator[bool]:
    """For each command whether it succeeded if the whole did; `operators` stand behind the commands."""
    last = len(operators) - 1
    begin = last
    while begin > 0 and operators[begin - 1] in ("&&", "||", "|", "|&"):
        begin -= 1
    is_known = "||" not in operators[begin:] and operators[-1:] != ["&"]
    for position, operator in enumerate(operators):
        yield is_known and position >= begin and (position == last or operator == "&&")
