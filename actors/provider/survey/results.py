"""Tool results as values: listings, search results, numbered lines. Pure."""

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

TEXT_LIMIT: Final = 100
"""Characters of a line of code in the report."""
OWN: Final = ".fido-"
"""How the files begin that Fido itself puts into a workspace; they are no part of a survey."""
_HEADER = re.compile(r"(\d+) files?, (\d+) bytes")
_ENTRY = re.compile(r"(\d+) (.+)")
_FOLDED = re.compile(r"(.+?) \((\d+) files?\)")
_MATCH = re.compile(r"(.+?):(\d+): ?(.*)")
_MORE = re.compile(r"\[(\d+) of (?:at least )?(\d+) matches")
_GROUP = re.compile(r"(.+) (\d+)")
_LINE = re.compile(r"(\d+)\t(.*)")


@dataclass(frozen=True, slots=True)
class Match:
    """A line that a search found."""

    path: str
    line: int
    text: str

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(slots=True)
class Listing:
    """What `list_files` told."""

    files: int = 0
    size: int = 0
    """Bytes."""
    entries: list[tuple[str, int]] = field(default_factory=list)
    """Path and bytes; folders, which end with `/`, where a depth was asked for."""
    is_cut: bool = False
    extensions: Counter[str] = field(default_factory=Counter)
    """Files by extension, complete also when the list is cut."""


@dataclass(frozen=True, slots=True)
class Matches:
    """What `ripgrep` told."""

    shown: tuple[Match, ...] = ()
    total: int = 0


def read_listing(content: str) -> Listing:
    """Read a result of `list_files`; lines that make no sense are passed over."""
    listing = Listing()
    lines = content.splitlines()
    if lines and (header := _HEADER.match(lines[0])):
        listing.files, listing.size = int(header[1]), int(header[2])
    for line in lines[1:]:
        if line.startswith("[by extension: "):
            listing.extensions = _groups(line.removeprefix("[by extension: ").removesuffix("]"))
        elif line.startswith("["):
            listing.is_cut = listing.is_cut or " more files" in line
        elif entry := _ENTRY.fullmatch(line):
            _enter(listing, _path(_unfolded(entry[2])), int(entry[1]))
    if not listing.is_cut:
        listing.extensions = Counter(extension(path) for path, _ in listing.entries)
    return listing


def read_matches(content: str) -> Matches:
    """Read a result of `ripgrep` without context lines."""
    found, total = [], 0
    for line in content.splitlines():
        if more := _MORE.match(line):
            total = int(more[2])
        elif (match := _quoted_match(line)) or (match := _plain_match(line)):
            found.append(match)
    shown = tuple(match for match in found if not match.path.startswith(OWN))
    return Matches(shown, max(total, len(found)) - len(found) + len(shown))


def read_lines(content: str) -> list[tuple[int, str]]:
    """Read a result of `read_file`: number and text of each line."""
    return [(int(m[1]), m[2]) for line in content.split("\n") if (m := _LINE.fullmatch(line))]


def extension(path: str) -> str:
    """Extension with its dot, in lower case; empty when there is none."""
    stem, dot, last = path.rpartition("/")[2].rpartition(".")
    return dot + last.lower() if stem else ""


def snippet(text: str) -> str:
    """A line of code, bounded, fit for a code span."""
    flat = " ".join(text.split()).replace("`", "'")
    return flat if len(flat) <= TEXT_LIMIT else flat[:TEXT_LIMIT] + "…"


def _enter(listing: Listing, path: str, size: int) -> None:
    if not path.startswith(OWN):
        listing.entries.append((path, size))
        return
    listing.files -= 1
    listing.size -= size
    listing.extensions[extension(path)] -= 1


def _unfolded(name: str) -> str:
    folded = _FOLDED.fullmatch(name)
    return folded[1] if folded and (folded[1].endswith(("/", '/"'))) else name


def _path(shown: str) -> str:
    """A path as it is, from how the tools show it: odd ones stand as JSON strings."""
    if not shown.startswith('"'):
        return shown
    try:
        return str(json.loads(shown))
    except ValueError:
        return shown


def _quoted_match(line: str) -> Match | None:
    if not line.startswith('"'):
        return None
    try:
        path, end = json.JSONDecoder().raw_decode(line)
    except ValueError:
        return None
    rest = re.fullmatch(r":(\d+): ?(.*)", line[end:])
    return Match(str(path), int(rest[1]), rest[2]) if rest else None


def _plain_match(line: str) -> Match | None:
    match = None if line.startswith("[") and line.endswith("]") else _MATCH.fullmatch(line)
    return Match(match[1], int(match[2]), match[3]) if match else None


def _groups(text: str) -> Counter[str]:
    groups: Counter[str] = Counter()
    for part in text.split(", "):
        if (group := _GROUP.fullmatch(part)) and group[1].startswith("."):
            groups[_path(group[1]).lower()] += int(group[2])
    return groups
