"""`ripgrep`: search of file contents, sorted by path, bounded.

rg searches in parallel and prints the files as they are done; what is kept is sorted here, since its own
`--sort path` would search in one thread.
"""

import functools
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from pydantic import Field

from actors.files.control_marks import key, marked
from actors.files.other_encodings import Others, arguments_of, encoding_of, find_others
from actors.files.path_glob import PathGlob
from actors.files.rg import DEADLINE_S, UNREADABLE, WALK, RgEnd, narrowed, read_glob, run_rg, search_place
from actors.files.text_encoding import UTF_8, Encoding
from actors.files.workspace import Workspace, counted, shown
from actors.tools.tool import Effect, Invocation, ToolFailure, ToolInput, ToolOutput

DEFAULT_RESULTS = 100
MAX_RESULTS = 1000
MAX_IN_FILE = 10_000
"""Matches after which rg leaves a file, so that one file's results fit into memory."""
MAX_CONTEXT = 10
MAX_PATTERN = 10_000
"""Characters: an argument of a program has a limit of 128 KiB."""
MAX_COLUMNS = 300
MAX_BYTES = 32 << 10
FORMAT = (
    "--heading", "--null", "--with-filename", "--line-number", "--column", "--crlf",
    f"--max-count={MAX_IN_FILE}", f"--max-columns={MAX_COLUMNS}", "--max-columns-preview",
)  # fmt: skip
_LINE = re.compile(rb"(\d+)(?::(\d+):|-)(.*)", re.DOTALL)
_MATCH = re.compile(rb"^\d+:\d+:", re.MULTILINE)
_FOREIGN = re.compile(r"[^\x00-\x7f]|(?<!\\)(?:\\\\)*\\[xuUpP]")
"""In a pattern: what only other characters than ASCII can be, or may be."""
_ANYTHING = re.compile(r"\[\^|(?<!\\)(?:\\\\)*(?:\.|\\[wWSDB])")
"""In a pattern: what any character can be, or many."""
_CUT = re.compile(r" \[\.\.\. (omitted end of long line|\d+ more match(es)?)\]$")


class RipgrepInput(ToolInput):
    """What is sought, and where."""

    pattern: str = Field(description="Rust regex")
    path: str = Field("", description="Folder or file; default: the workspace")
    glob: str = Field("", description="As *.py or src/**/*.{ts,tsx}; a leading ! excludes")
    ignore_case: bool = False
    context: int = Field(0, ge=0, description="Lines around each match")
    max_results: int = Field(DEFAULT_RESULTS, ge=1, description="Most matches shown")


Encodings = Callable[[bytes], Encoding | None]


@dataclass(slots=True)
class Matches:
    """What rg has printed so far; of it the first `keep` matches by path."""

    keep: int
    folder: str
    glob: PathGlob | None
    total: int = 0
    files: int = 0
    some_left: bool = False
    """True when a file had more matches than are counted."""
    blocks: list[tuple[bytes, bytes, int]] = field(default_factory=list)
    """Path, lines, number of matches."""
    apart: dict[bytes, int] = field(default_factory=dict)
    """Matches in files that are read anew, in their own encoding; the reading with more of them counts."""
    _kept: int = 0
    _last: bytes | None = None
    """The path behind which nothing is kept any more."""
    _rest: bytearray = field(default_factory=bytearray)
    _name: bytes = b""
    """Start of a path that has an empty line in it."""

    def take(self, chunk: bytes) -> None:
        """Take output: blocks of `PATH NUL LINES`, with an empty line between them."""
        seen = max(0, len(self._rest) - 1)
        self._rest += chunk
        end = self._rest.rfind(b"\n\n", seen)
        if end >= 0:
            self._take_blocks(bytes(self._rest[:end]))
            del self._rest[: end + 2]

    def finish(self) -> None:
        """Take what is left when a run of rg has no more to come."""
        self._take_blocks(bytes(self._rest))
        self._rest.clear()
        self._name = b""
        self._forget()

    def _take_blocks(self, text: bytes) -> None:
        for block in text.split(b"\n\n"):
            path, nul, lines = block.partition(b"\0")
            if nul:
                self._add(self._name + path, lines)
                self._name = b""
            else:
                self._name += block + b"\n\n"
        if self._kept > 10 * self.keep:
            self._forget()

    def _add(self, path: bytes, lines: bytes) -> None:
        if self.glob is not None and not self.glob.matches(os.fsdecode(path), self.folder):
            return
        count = len(_MATCH.findall(lines))
        if path in self.apart and not self._is_better(path, count):
            return
        self.total += count
        self.files += 1
        self.some_left = self.some_left or count >= MAX_IN_FILE
        if self._last is None or path < self._last:
            self.blocks.append((path, lines, count))
            self._kept += min(count, self.keep)

    def _is_better(self, path: bytes, count: int) -> bool:
        """Whether a reading of a file has more matches than an earlier one, which is taken out then."""
        earlier = self.apart[path]
        if count <= earlier:
            return False
        if earlier:
            self.total -= earlier
            self.files -= 1
            self.blocks = [each for each in self.blocks if each[0] != path]
        self.apart[path] = count
        return True

    def _forget(self) -> None:
        """Drop what lies behind the first `keep` matches."""
        self.blocks.sort()
        self._kept = 0
        for index, (_, _, count) in enumerate(self.blocks):
            self._kept += count
            if self._kept >= self.keep:
                del self.blocks[index + 1 :]
                self._last = self.blocks[-1][0]


class Ripgrep:
    """Searches with rg; the results are the same in every run."""

    name: ClassVar[str] = "ripgrep"
    effect: ClassVar[Effect] = "read"
    input: ClassVar[type[RipgrepInput]] = RipgrepInput

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def summary(self, given: RipgrepInput) -> str:
        where = f" in {given.path}" if given.path else ""
        return f"{given.pattern}{where} {given.glob}".strip()

    async def run(self, given: RipgrepInput, invocation: Invocation) -> ToolOutput:
        where, folder = search_place(self._workspace, given.path)
        glob = read_glob(given.glob)
        found = Matches(max(1, min(given.max_results, MAX_RESULTS)), folder, glob)
        choices = [*FORMAT, *_choices(given)]
        others = Others()
        if _FOREIGN.search(given.pattern):
            others = await find_others(self._workspace, glob, folder, where)
            found.apart = dict.fromkeys(others.paths(), 0)
        end = await self._search(given.pattern, [*WALK, *narrowed(glob), *choices, *where], found)
        if not found.total and not others.by_label and _ANYTHING.search(given.pattern):
            others = await find_others(self._workspace, glob, folder, where)
        for each in arguments_of(others):
            await self._search(given.pattern, [*WALK, *choices, *each], found)
        lines = _told(found, end, functools.cache(lambda path: encoding_of(self._workspace, path)))
        return ToolOutput("\n".join([*lines, *_not_searched(others, is_empty=not found.total)]))

    async def _search(self, pattern: str, arguments: list[str], found: Matches) -> RgEnd:
        end = await run_rg(arguments, self._workspace.root, found.take)
        if end.complaint:
            raise _refused(pattern, end.complaint)
        found.finish()
        return end


def _choices(given: RipgrepInput) -> list[str]:
    """Arguments for what is sought. Raises `ToolFailure` for what can be no argument."""
    if any(each == "\0" or "\ud800" <= each <= "\udfff" for each in given.pattern):
        message = "The pattern holds a NUL character or half of a character: no line of text has one."
        raise ToolFailure("bad_pattern", message, "Leave it out, or write a dot for any character.")
    if len(given.pattern) > MAX_PATTERN:
        message = f"The pattern has {len(given.pattern):,} characters; it may have {MAX_PATTERN:,}."
        raise ToolFailure("bad_pattern", message, "Search for a part of it.")
    context = max(0, min(given.context, MAX_CONTEXT))
    return [
        f"--regexp={given.pattern}",
        *(["--ignore-case"] if given.ignore_case else []),
        *([f"--context={context}"] if context else []),
    ]


def _refused(pattern: str, complaint: str) -> ToolFailure:
    reason = complaint.removeprefix("rg: ").partition("\n\nConsider")[0]  # options that are not there
    return ToolFailure(
        "bad_pattern",
        f"rg can not search for {pattern!r}: {reason}",
        r"Write a Rust regex for one line: \( for a bracket, no look-around, no backreference.",
    )


def _not_searched(others: Others, *, is_empty: bool) -> Iterator[str]:
    if others.missed or not others.all_seen:
        files = counted(others.missed, "file") if others.missed else "some files"
        yield f"[{files} in other encodings than UTF-8 and UTF-16 not searched as such]"
    if is_empty and others.guessed:
        yield f"[the encoding of {counted(others.guessed, 'file')} is a guess; there may be matches]"


def _told(found: Matches, end: RgEnd, encoding: Encodings) -> list[str]:
    lines: list[str] = []
    matches, room = 0, MAX_BYTES
    for line, is_match in _lines(found.blocks, encoding):
        room -= len(line) + 1
        if room < 0 or (is_match and matches == found.keep):
            break
        lines.append(line)
        matches += is_match
    if marks := key("\n".join(lines)):
        lines.append(f"[control characters are marked: {marks}, in JSON]")
        lines[:-1] = map(marked, lines[:-1])
    return [*lines, *_notes(found, end, matches)]


def _lines(blocks: list[tuple[bytes, bytes, int]], encoding: Encodings) -> Iterator[tuple[str, bool]]:
    """What a model reads, and whether it is a match; a line of context has dashes for the colons."""
    for path, body, _ in blocks:
        name = shown(os.fsdecode(path))
        for raw in body.split(b"\n"):
            if raw in (b"--", b"--\r"):
                yield "--", False
            elif parts := _LINE.fullmatch(raw):
                number, column = int(parts[1]), int(parts[2] or 0)
                text = _decoded(parts[3], path, encoding)
                mark = ":" if column else "-"
                cut = f", match at {name}:{number}:{column}" if column else ""
                line, was_cut = _CUT.subn("", text.removesuffix("\r"))
                ending = f"… [cut{cut}]" if was_cut else ""
                yield f"{name}{mark}{number}{mark} {line}{ending}", bool(column)


def _decoded(line: bytes, path: bytes, encoding: Encodings) -> str:
    """A line as its file has it; rg hands on what is no UTF-8 as it is."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode((encoding(path) or UTF_8).codec, "replace")


def _notes(found: Matches, end: RgEnd, told: int) -> list[str]:
    notes: list[str] = []
    more = found.total - told
    at_least = "at least " if found.some_left or end.status is None else ""
    if not found.total:
        notes.append("[no match]")
    elif more:
        notes.append(
            f"[{told} of {at_least}{found.total} matches in {counted(found.files, 'file')}; "
            "narrow the pattern, path or glob, or raise max_results]"
        )
    if end.status is None:
        notes.append(f"[stopped after {DEADLINE_S:.0f} s: not all files were searched]")
    elif end.status == UNREADABLE and (found.total or found.glob is None):
        notes.append("[some files or folders could not be read]")
    elif end.status not in (0, 1, UNREADABLE):
        notes.append(f"[the search broke off with status {end.status}: not all files were searched]")
    return notes
