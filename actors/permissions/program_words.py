"""What the words of one command mean for its program: does it run them, hide something, set, write (pure)."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from actors.permissions.programs import (
    CARRIERS,
    FROM_INPUT,
    GIT_CARRYING,
    GIT_NAMING,
    GIT_PRINTING,
    GIT_READING,
    GIT_VALUED,
    GOVERNING,
    GOVERNING_SET,
    HARMLESS_VALUE,
    PRINTING,
    RUNNING_OPTIONS,
    SETTING,
    SUBSCRIPTED,
    SUBSTITUTION,
    SYSTEM_FOLDERS,
    WRITING,
    program_name,
)

Words = Sequence[str | None]

_INPUT_OPTION: Final = re.compile(r"-[0rt]+|--null|--no-run-if-empty|-[nPL]\d+|-I(?:\{\}|%)")
_INPUT_VALUED: Final = {"-n": re.compile(r"\d+"), "-P": re.compile(r"\d+"), "-L": re.compile(r"\d+")}
_INPUT_VALUED["-I"] = re.compile(r"\{\}|%")
_SUBSCRIPTED_BY_WORDS: Final = SUBSCRIPTED & {"[", "let", "mapfile", "printf", "read", "test", "unset"}
"""Of these, those in which a word that only the shell knows is seldom anything but a trick."""
_GLUED: Final = re.compile(r"(?:^|(?<=[\s'\"]))-[A-Za-z]")


def carries(words: Words) -> bool:
    """Whether a command runs another one that stands among its words."""
    if not words or words[0] is None:
        return False
    if program_name(words[0]) in CARRIERS:
        return True
    return program_name(words[0]) == "git" and _subcommand(words)[1] in GIT_CARRYING


def is_printing(words: Words) -> bool:
    """Whether a command is known to run none of its words."""
    if not words or words[0] is None:
        return False
    folder, _, name = words[0].rpartition("/")
    if folder not in SYSTEM_FOLDERS or _has_option(words[1:], RUNNING_OPTIONS.get(name, ())):
        return False
    if name == "git":
        return not hides(words) and _subcommand(words)[1] in GIT_PRINTING
    return name in PRINTING and not changes_shell(words)


def hides(words: Words) -> bool:
    """Whether a command may do something that its words do not show, or only in a form not read here."""
    if not words or words[0] is None:
        return False
    name = program_name(words[0])
    if name == "git":
        return _hides_in_git(words)
    if name in FROM_INPUT:
        return name != "xargs" or not is_printing((*_behind_xargs(words), None))
    if name in SUBSCRIPTED and _has_live_subscript(words):
        return True
    if name in _SUBSCRIPTED_BY_WORDS and None in words and changes_shell(words):
        return True
    if name in SETTING | {"printf"} and any(word and GOVERNING.fullmatch(word) for word in words[1:]):
        return changes_shell(words) and name != "export"
    sets = (found for word in words if word and (found := GOVERNING_SET.search(word)))
    return name not in PRINTING and any(not HARMLESS_VALUE.fullmatch(_value(found)) for found in sets)


def _value(found: re.Match[str]) -> str:
    return found.string[found.end() :]


def changes_shell(words: Words) -> bool:
    """Whether a builtin sets something for what comes behind it, or may run what a word says."""
    if not words or words[0] is None:
        return False
    name = words[0]
    if name in SETTING:
        return True
    if name in SUBSCRIPTED and _has_live_subscript(words):
        return True
    if name == "printf":
        return len(words) > 1 and (words[1] is None or words[1].startswith("-v"))
    return name in ("test", "[") and (
        bool({"-v", "-R"} & set(words)) or (len(words) > 1 and words[1] is None)
    )


def writes(words: Words, known: int) -> bool:
    """Whether an option behind the words that a rule names writes a file or runs a program.

    A word that only the shell knows could be such an option, but behind `--`.
    """
    if not words or words[0] is None or (table := WRITING.get(program_name(words[0]))) is None:
        return False
    if program_name(words[0]) == "git" and hides(words):
        return True
    options = words[known : words.index("--", known) if "--" in words[known:] else None]
    short = (word for word in options if word and word.startswith("-") and not word.startswith("--"))
    return (
        None in options
        or _has_option(options, table.long)
        or any(word[1:2] in set(table.short) or set(table.clustered) & set(word) for word in short)
    )


def _has_option(words: Words, options: tuple[str, ...]) -> bool:
    """Whether a word could be one of these, or its abbreviation; what only the shell knows could be."""
    names = [word if word is None else word.partition("=")[0] for word in words if word != "--"]
    return any(
        name is None or (name.startswith("--") and option.startswith(name))
        for name in names
        for option in options
    )


@lru_cache(maxsize=100)
def is_mentioned(words: tuple[str, ...], text: str) -> bool:
    """Whether the words of a rule stand in a text, in their order, whatever stands between them."""
    for each in (text, _GLUED.sub(" ", text), text.replace("git-", "git ")):
        at = 0
        for word in words:
            found = _standing(word).search(each, at)
            if found is None:
                break
            at = found.end()
        else:
            return True
    return False


@lru_cache(maxsize=1_000)
def _standing(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.-]){re.escape(word)}(?![\w-]|\.\w)")


def _subcommand(words: Words) -> tuple[int, str | None]:
    """Where the subcommand of git stands, and what it is; null for what only the shell knows."""
    at = 1
    while at < len(words) and (word := words[at]) is not None and word.startswith("-"):
        at += 2 if word in GIT_VALUED | {"-c", "--config-env"} else 1
    return at, words[at] if at < len(words) else ""


def _hides_in_git(words: Words) -> bool:
    at, subcommand = _subcommand(words)
    options = [word for word in words[1:at] if word is not None]
    if any(word == "-c" or word.startswith(("--config-env", "--exec-path=")) for word in options):
        return True
    if subcommand != "config":
        return False
    rest = [word for word in words[at + 1 :] if word not in ("--global", "--local")]
    return not rest or rest[0] not in GIT_READING | GIT_NAMING


def _behind_xargs(words: Words) -> Words:
    at = 1
    while at < len(words) and (word := words[at]) is not None and word.startswith("-"):
        value = words[at + 1] if at + 1 < len(words) else None
        if word in _INPUT_VALUED and value and _INPUT_VALUED[word].fullmatch(value):
            at += 2
        elif _INPUT_OPTION.fullmatch(word):
            at += 1
        else:
            return ()
    return words[at:] or ("echo",)


def _has_live_subscript(words: Words) -> bool:
    return any(word and "[" in word and SUBSTITUTION.search(word) for word in words)
