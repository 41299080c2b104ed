"""Which evidence of a plan is known to be true (pure).

Rules
-----
An entry of `evidence` names commands and files. Names are: the entry as a whole when it is a command; what
stands in backticks; a command at its beginning, with a sign or a word such as `passed` behind it; every
file, with or without a line. The rest is prose.

An entry is verified when it names something and all that it names holds: of a command, that the session ran
it and that its last run succeeded; of a file, that the session read, changed or found it, at the line it
names. Prose is never judged; but what may be one more command (an option, a known program, a word before a
file as in `lint src/app.py`) is no prose, and the entry is claimed. All else is claimed.

What was verified stays so while item and entry stay the same, also for a session that did nothing of it,
until a command it names does not succeed. Nothing that a model sends is a verdict.
"""

import posixpath
import re
from collections.abc import Iterable
from functools import cached_property
from itertools import islice
from typing import Final, Literal

import msgspec

from actors.session.commands import canonical
from ipc.messages import Deed, PlanItem, Verdict

Finding = Literal["holds", "failed", "unknown"]
"""`failed`: a command it names was run, and its last run did not succeed."""

MAX_CUTS: Final = 8
"""Places in an entry where a command at its beginning may end."""

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
_BEFORE_FILE: Final = re.compile(
    r"(?:^|[^\w\s]|\b(?:and|as|at|by|both|file|files|from|in|line|of|see|the|to|under|with))\s*$",
    re.IGNORECASE,
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
    return tuple(deed for deed in deeds if text and _last_or_first_word(deed).translate(_UNQUOTED) in text)


def _last_or_first_word(deed: Deed) -> str:
    """A command's program, a file's name."""
    return deed.subject.partition(" ")[0] if deed.kind == "command" else deed.subject.rpartition("/")[2]


class _Known:
    """Deeds by what they were done to."""

    def __init__(self, deeds: Iterable[Deed]) -> None:
        self.commands: dict[str, bool] = {}
        """Whether the last run succeeded."""
        self.files: dict[str, list[tuple[int, int]]] = {}
        """First and last lines."""
        for deed in deeds:
            if deed.kind == "command":
                self.commands[deed.subject] = deed.ok
            elif deed.ok:
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
        for item in items
    )


def _look(entry: str, known: _Known) -> Finding:
    whole = _command(entry, known)
    if whole != "unknown":
        return whole
    findings: list[Finding] = []
    take = _take_ticked if "`" in entry else _take_first_command
    prose = _take_files(take(entry, known, findings), known, findings)
    if "failed" in findings:
        return "failed"
    if not findings or "unknown" in findings or (prose != _NAME and _may_name_more(prose, known)):
        return "unknown"
    return "holds"


def _take_ticked(entry: str, known: _Known, findings: list[Finding]) -> str:
    """Find what stands in backticks; return the text with signs in its place."""

    def take(span: re.Match[str]) -> str:
        finding = _command(span[1], known)
        place = _TICKED_PLACE.fullmatch(span[1].strip())
        if finding == "unknown" and place is not None and _holds(place, known):
            finding = "holds"
        findings.append(finding)
        return _NAME

    return _TICKED.sub(take, entry)


def _take_first_command(entry: str, known: _Known, findings: list[Finding]) -> str:
    """Find a command at the beginning, the longest that was run; return the text with a sign in its place."""
    for cut in reversed(list(islice(_BEHIND_COMMAND.finditer(entry), MAX_CUTS))):
        finding = _command(entry[: cut.start()], known)
        if finding != "unknown":
            findings.append(finding)
            return _NAME + entry[cut.start() :]
    return entry


def _take_files(prose: str, known: _Known, findings: list[Finding]) -> str:
    """Find all that looks like a file or is one; return the text with signs in its place."""

    def take(place: re.Match[str]) -> str:
        path = _path(place)
        if path not in known.files and ("." not in path or not _LOOKS_LIKE_FILE.fullmatch(path)):
            return place[0]
        is_alone = _BEFORE_FILE.search(prose[: place.start()]) is not None
        findings.append("holds" if is_alone and _holds(place, known) else "unknown")
        return _NAME

    return _PLACE.sub(take, prose)


def _command(text: str, known: _Known) -> Finding:
    succeeded = known.commands.get(canonical(text.strip().removeprefix("$ ")))
    if succeeded is None:
        return "unknown"
    return "holds" if succeeded else "failed"


def _path(place: re.Match[str]) -> str:
    path = place["path"]
    return posixpath.normpath(path) if "./" in path or "//" in path else path


def _holds(place: re.Match[str], known: _Known) -> bool:
    """Whether a file was seen, at the lines that are named."""
    seen = known.files.get(_path(place), [])
    if place["first"] is None:
        return bool(seen)
    first = int(place["first"])
    last = max(first, int(place["last"] or 0))
    return any(start <= first and (end == 0 or last <= end) for start, end in seen)


def _may_name_more(prose: str, known: _Known) -> bool:
    """Whether there may be a command in the prose that was not found as one."""
    return (
        _OPTION.search(prose) is not None
        or _PROGRAM.search(prose) is not None
        or any(word[1] in known.programs for word in _NEXT_WORD.finditer(prose))
    )
