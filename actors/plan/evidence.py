"""Which evidence of a plan is known to be true (pure).

Rules
-----
An entry of `evidence` names commands and files. Names are: the entry as a whole when it is a command; what
stands in backticks; a command at its beginning, with a sign or a word such as `passed` behind it; every
file, with or without a line. The rest is prose.

An entry is verified when it names something and all that it names holds: of a command, that the session ran
it and that its last run succeeded; of a file, that the session read, changed or found it, at the line it
names. Prose is never judged; but what may be one more command (an option, a known program, a word before a
file as in `lint src/app.py`) is no prose, and the entry is claimed. All else is claimed. Verified says that
it was done, not that it proves the step: `echo hi` is verified when it was run.

What was verified stays so while item and entry stay the same, also for a session that did nothing of it,
until a command it names does not succeed. Nothing that a model sends is a verdict.
"""

import posixpath
import re
from collections.abc import Iterable
from functools import cached_property, lru_cache
from itertools import islice
from typing import Final, Literal, NamedTuple

import msgspec

from actors.session.commands import canonical
from ipc.messages import Deed, PlanItem, Verdict

Finding = Literal["holds", "failed", "unknown"]
"""`failed`: a command it names was run, and its last run did not succeed."""

MAX_CUTS: Final = 8
"""Places in an entry where a command at its beginning may end."""
MAX_KEPT: Final = 1024
"""Entries whose reading is kept; a plan has 200 at most."""

_UNQUOTED: Final = str.maketrans("", "", "'\"")
_NAME: Final = "\0"
"""Stands for a name in the prose around it."""
_TICKED: Final = re.compile(r"`+([^`]+)`+")
_PLACE: Final = re.compile(
    r"(?P<path>(?:\.{0,2}/)?(?:[\w@+.-]+/)*[\w@+.-]*\w)"
    r"(?:(?::|\#L|,? lines? )(?P<first>\d{1,9})(?:[-–]L?(?P<last>\d{1,9}))?(?::\d+)?)?"
)
_TICKED_PLACE: Final = re.compile(r"(?P<path>.+?)(?::(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?(?::\d+)?)?")
_LOOKS_LIKE_FILE: Final = re.compile(r"(?:.*/[^/]+|[^/]*[^/.]{2})\.[A-Za-z][A-Za-z0-9]{0,7}")
_BEHIND_COMMAND: Final = re.compile(
    r"\s(?=[-–—]\s|[(#→]|[-=]>)|[:;,]\s"
    r"|\s(?=(?:passe[sd]|succeed(?:s|ed)|ok|is|exit(?:s|ed)?|\d+ (?:passed|tests?))\b)",
    re.IGNORECASE,
)
_LAST_WORD: Final = re.compile(r"\w*$")
_BEFORE_FILE: Final = frozenset(
    {
        "",
        "and",
        "as",
        "at",
        "by",
        "both",
        "file",
        "files",
        "from",
        "in",
        "line",
        "of",
        "see",
        "the",
        "to",
        "under",
        "with",
    }
)
_OPTION: Final = re.compile(r"(?<!\S)--?[A-Za-z]")
_PROGRAM: Final = re.compile(
    r"\b(?:bash|cargo|clippy|cmake|ctest|curl|deno|docker|eslint|flake8|git|gradle|jest|kubectl|mocha|mvn|mypy|"
    r"ninja|npm|npx|nox|pip|pnpm|pylint|pyright|pytest|python3?|rspec|ruff|rustc|terraform|tox|tsc|uv|vitest|"
    r"yarn)\b"
)
_NEXT_WORD: Final = re.compile(r"(?:[,;&|+]|\b(?:and|plus|then)\b)\s*([\w./-]+)")


def relevant(items: Iterable[PlanItem], deeds: Iterable[Deed]) -> tuple[Deed, ...]:
    """The deeds that the evidence of these items may be about: what decides, in a message a tenth as long."""
    text = "\n".join(entry for item in items for entry in item.evidence).translate(_UNQUOTED)
    return tuple(deed for deed in deeds if _may_name(text, deed)) if text else ()


def _may_name(text: str, deed: Deed) -> bool:
    """Whether a command's program, or a file's name, is in a text without quotes."""
    subject = deed.subject
    word = subject.partition(" ")[0] if deed.kind == "command" else subject.rpartition("/")[2]
    if "'" in word or '"' in word:
        word = word.translate(_UNQUOTED)
    return word in text


class _Known:
    """Deeds by what they were done to."""

    def __init__(self, deeds: Iterable[Deed]) -> None:
        self.commands: dict[str, bool] = {}
        """Whether the last run succeeded."""
        self.files: dict[str, list[tuple[int, int]]] = {}
        """First and last lines."""
        for deed in deeds:
            if deed.kind == "command" and deed.subject:
                self.commands[deed.subject] = deed.ok
            elif deed.kind == "file" and deed.ok:
                self.files.setdefault(deed.subject, []).append((deed.first_line, deed.last_line))

    @cached_property
    def programs(self) -> frozenset[str]:
        """First words of the commands."""
        return frozenset(command.partition(" ")[0] for command in self.commands)


def judge(
    items: Iterable[PlanItem], previous: Iterable[PlanItem], deeds: Iterable[Deed]
) -> tuple[PlanItem, ...]:
    """The same items, each entry of evidence with its verdict; what they bring as verdicts is ignored."""
    known = _Known(deeds)
    verified = {
        (item.id, entry)
        for item in previous
        for entry, verdict in zip(item.evidence, item.verdicts, strict=False)
        if verdict == "verified"
    }

    def verdict(item_id: str, entry: str) -> Verdict:
        finding = _look(entry, known)
        kept = finding == "unknown" and (item_id, entry) in verified
        return "verified" if kept or finding == "holds" else "claimed"

    return tuple(
        msgspec.structs.replace(item, verdicts=tuple(verdict(item.id, entry) for entry in item.evidence))
        if item.evidence or item.verdicts
        else item
        for item in items
    )


class _Name(NamedTuple):
    """What may be a command or a file."""

    command: str
    """As `canonical` writes it."""
    path: str
    first: int
    """First line; 0: none is named."""
    last: int
    """Last line."""


class _File(NamedTuple):
    """What may be a file in prose."""

    name: _Name
    is_likely: bool
    """Whether it looks like one, also when the session knows none of this name."""
    is_alone: bool
    """Whether the word before it does not make a command of both."""


class _Prose(NamedTuple):
    """What is left of an entry without its commands."""

    files: tuple[_File, ...]
    may_be_command: bool
    """Whether an option or a well-known program is in it."""
    openings: tuple[str, ...]
    """Words that may begin another command."""


def _look(entry: str, known: _Known) -> Finding:
    whole = _ended(_whole(entry), known)
    if whole != "unknown":
        return whole
    findings, rest = _commands(entry, known)
    prose = _prose(rest)
    for file in prose.files:
        if file.is_likely or file.name.path in known.files:
            findings.append("holds" if file.is_alone and _seen(file.name, known) else "unknown")
    if "failed" in findings:
        return "failed"
    is_certain = findings and "unknown" not in findings and not prose.may_be_command
    return "holds" if is_certain and known.programs.isdisjoint(prose.openings) else "unknown"


def _commands(entry: str, known: _Known) -> tuple[list[Finding], str]:
    """Findings on what stands in backticks, else on a command at the beginning; the text around them."""
    if "`" in entry:
        names, rest = _ticked(entry)
        return [_finding(name, known) for name in names], rest
    for command, rest in _beginnings(entry):
        ended = _ended(command, known)
        if ended != "unknown":
            return [ended], rest
    return [], entry


def _finding(name: _Name, known: _Known) -> Finding:
    ended = _ended(name.command, known)
    return "holds" if ended == "unknown" and _seen(name, known) else ended


def _ended(command: str, known: _Known) -> Finding:
    succeeded = known.commands.get(command)
    if succeeded is None:
        return "unknown"
    return "holds" if succeeded else "failed"


def _seen(name: _Name, known: _Known) -> bool:
    """Whether a file was seen, at the lines that are named."""
    seen = known.files.get(name.path, [])
    if not name.first:
        return bool(seen)
    return any(start <= name.first and (end == 0 or name.last <= end) for start, end in seen)


# --- how an entry is read; most come again with the next plan, and reading costs more than judging ----------


@lru_cache(MAX_KEPT)
def _whole(entry: str) -> str:
    return canonical(entry.strip().removeprefix("$ "))


@lru_cache(MAX_KEPT)
def _ticked(entry: str) -> tuple[tuple[_Name, ...], str]:
    """What stands in backticks, and the text with signs in its place."""
    names = tuple(
        _name(span[1], _TICKED_PLACE.fullmatch(span[1].strip())) for span in _TICKED.finditer(entry)
    )
    return names, _TICKED.sub(_NAME, entry)


@lru_cache(MAX_KEPT)
def _beginnings(entry: str) -> tuple[tuple[str, str], ...]:
    """What may be a command at the beginning, the longest first, each with the text behind a sign for it."""
    cuts = [cut.start() for cut in islice(_BEHIND_COMMAND.finditer(entry), MAX_CUTS)]
    return tuple((_whole(entry[:cut]), _NAME + entry[cut:]) for cut in reversed(cuts))


@lru_cache(MAX_KEPT)
def _prose(text: str) -> _Prose:
    files: list[_File] = []

    def take(place: re.Match[str]) -> str:
        name = _name("", place)
        is_likely = "." in name.path and _LOOKS_LIKE_FILE.fullmatch(name.path) is not None
        files.append(_File(name, is_likely, _is_alone(text[max(0, place.start() - 20) : place.start()])))
        return _NAME if is_likely else place[0]

    rest = _PLACE.sub(take, text)
    may_be_command = _OPTION.search(rest) is not None or _PROGRAM.search(rest) is not None
    return _Prose(tuple(files), may_be_command, tuple(_NEXT_WORD.findall(rest)))


def _is_alone(before: str) -> bool:
    """Whether a file behind these characters stands for itself: `see a.py`, not `lint a.py`."""
    word = _LAST_WORD.search(before.rstrip())
    return word is not None and word[0].lower() in _BEFORE_FILE


def _name(text: str, place: re.Match[str] | None) -> _Name:
    if place is None:
        return _Name(_whole(text), "", 0, 0)
    path, first = place["path"], int(place["first"] or 0)
    if "./" in path or "//" in path:
        path = posixpath.normpath(path)
    return _Name(_whole(text), path, first, max(first, int(place["last"] or 0)))
