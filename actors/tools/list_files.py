"""`list_files`: what is in the workspace or a folder of it.

The first line is `N files, N bytes`, with all files counted. Then `SIZE PATH`, one a line, by the bytes of
the path; a folder at the wanted depth is one line, `SIZE PATH/ (N files)`. Notes stand in brackets.
"""

import heapq
import os
from collections import Counter
from dataclasses import dataclass, field
from itertools import repeat
from typing import ClassVar

from pydantic import Field

from actors.files.path_glob import PathGlob
from actors.files.rg import UNREADABLE, WALK, RgEnd, narrowed, read_glob, run_rg, search_place
from actors.files.workspace import Workspace, counted, shown
from actors.tools.tool import Effect, Invocation, ToolFailure, ToolInput, ToolOutput

MAX_ENTRIES = 500
MAX_BYTES = 32 << 10
MAX_KEPT = 20_000
"""Files that are remembered before all but the first of them are forgotten again."""
MAX_GROUPS = 12


class ListFilesInput(ToolInput):
    """A folder and what of it."""

    path: str = Field("", description="Folder; default: the workspace")
    glob: str = Field("", description="As *.py or src/**/*.{ts,tsx}; a leading ! excludes")
    depth: int = Field(0, ge=0, description="Folders this deep become one line each; 0: none")


@dataclass(slots=True)
class Listing:
    """The files that rg has named so far; only the groups of them grow with their number."""

    root: bytes
    """The workspace, with a slash behind it."""
    folder: str
    """The listed folder with a slash behind it; empty for the workspace."""
    glob: PathGlob | None
    depth: int
    files: int = 0
    size: int = 0
    entries: list[tuple[bytes, int, int]] = field(default_factory=list)
    """Path, 0, and size in bytes."""
    folded_files: Counter[bytes] = field(default_factory=Counter)
    folded_size: Counter[bytes] = field(default_factory=Counter)
    by_extension: Counter[bytes] = field(default_factory=Counter)
    by_parent: Counter[bytes] = field(default_factory=Counter)
    _folds: dict[bytes, bytes] = field(default_factory=dict)
    _rest: bytes = b""

    def take(self, chunk: bytes) -> None:
        """Take output of `rg --files --null`."""
        *paths, self._rest = (self._rest + chunk).split(b"\0")
        if self.glob is not None:
            paths = [path for path in paths if self.glob.matches(os.fsdecode(path), self.folder)]
        below = len(os.fsencode(self.folder))
        split = [path.rpartition(b"/") for path in paths]
        self.by_parent.update([parent for parent, _, _ in split])
        self.by_extension.update([_extension(name) for _, _, name in split])
        sizes = self._sizes(paths)
        self.files += len(paths)
        self.size += sum(sizes)
        if self.depth > 0:
            self._take_folded(paths, [self._fold(parent, below) for parent, _, _ in split], sizes)
        else:
            self.entries += zip(paths, repeat(0), sizes, strict=False)
        if len(self.entries) > MAX_KEPT:
            self.entries = heapq.nsmallest(MAX_ENTRIES, self.entries)

    def _take_folded(self, paths: list[bytes], folders: list[bytes], sizes: list[int]) -> None:
        for path, folder, size in zip(paths, folders, sizes, strict=True):
            if folder:
                self.folded_files[folder] += 1
                self.folded_size[folder] += size
            else:
                self.entries.append((path, 0, size))

    def _sizes(self, paths: list[bytes]) -> list[int]:
        """Of what is gone by now, 0."""
        try:
            return [os.lstat(self.root + path).st_size for path in paths]
        except OSError:
            return [self._size(path) for path in paths]

    def _size(self, path: bytes) -> int:
        try:
            return os.lstat(self.root + path).st_size
        except OSError:
            return 0

    def _fold(self, parent: bytes, below: int) -> bytes:
        """The folder whose line stands for the files of `parent`; empty when each has its own."""
        known = self._folds.get(parent)
        if known is None:
            parts = parent[below:].split(b"/") if len(parent) > below else []
            deep = len(parts) >= self.depth
            known = parent[:below] + b"/".join(parts[: self.depth]) + b"/" if deep else b""
            self._folds[parent] = known
        return known

    def by_folder(self) -> Counter[bytes]:
        """Files by the first folder on their way, `./` for those right here."""
        groups: Counter[bytes] = Counter()
        for parent, files in self.by_parent.items():
            top = parent[len(os.fsencode(self.folder)) :].partition(b"/")[0]
            groups[(top or b".") + b"/"] += files
        return groups

    def first(self) -> list[tuple[bytes, int, int]]:
        """The first entries by path: path, number of files where it is a folder, size in bytes."""
        folded = [(path, count, self.folded_size[path]) for path, count in self.folded_files.items()]
        return heapq.nsmallest(MAX_ENTRIES, folded + self.entries)


class ListFiles:
    """Lists with sizes; honours the ignore files, bounded, the totals always complete."""

    name: ClassVar[str] = "list_files"
    effect: ClassVar[Effect] = "read"
    input: ClassVar[type[ListFilesInput]] = ListFilesInput

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def summary(self, given: ListFilesInput) -> str:
        return f"{given.path or '.'} {given.glob}".strip()

    async def run(self, given: ListFilesInput, invocation: Invocation) -> ToolOutput:
        where, folder = search_place(self._workspace, given.path)
        glob = read_glob(given.glob)
        listing = Listing(os.fsencode(self._workspace.root) + b"/", folder, glob, given.depth)
        arguments = [*WALK, *narrowed(glob), "--files", "--null", *where]
        end = await run_rg(arguments, self._workspace.root, listing.take)
        if end.complaint:
            raise ToolFailure("rg_failed", f"Listing failed: {end.complaint}", "Correct path or glob.")
        return ToolOutput("\n".join(_told(listing, end)))


def _told(listing: Listing, end: RgEnd) -> list[str]:
    lines = [f"{counted(listing.files, 'file')}, {counted(listing.size, 'byte')}"]
    if end.status is None:
        lines.append("[stopped at the time limit: the totals are not complete; choose a smaller folder]")
    elif end.status == UNREADABLE and (listing.files or listing.glob is None):
        lines.append("[some folders could not be read]")
    entries, hidden = _entries(listing)
    if hidden:
        lines += (_summary("by extension", listing.by_extension), _summary("by folder", listing.by_folder()))
    lines += entries
    if hidden:
        lines.append(f"[{counted(hidden, 'more file')}; narrow path or glob, or set depth]")
    if not listing.files:
        lines.append("[no file, or only ignored ones]")
    return lines


def _entries(listing: Listing) -> tuple[list[str], int]:
    """Lines in the order of their paths, as far as they may be shown, and how many files they leave out."""
    lines: list[str] = []
    room, hidden = MAX_BYTES, listing.files
    for path, count, size in listing.first():
        line = f"{size} {_printable(path)}" + (f" ({counted(count, 'file')})" if count else "")
        room -= len(line) + 1
        if room < 0:
            break
        lines.append(line)
        hidden -= count or 1
    return lines, hidden


def _summary(title: str, groups: Counter[bytes]) -> str:
    ranked = sorted(groups.items(), key=lambda item: (-item[1], item[0]))
    told = [f"{_printable(name) if name else 'none'} {files}" for name, files in ranked[:MAX_GROUPS]]
    more = f", {len(ranked) - MAX_GROUPS} others" if len(ranked) > MAX_GROUPS else ""
    return f"[{title}: {', '.join(told)}{more}]"


def _extension(name: bytes) -> bytes:
    stem, dot, extension = name.rpartition(b".")
    return dot + extension if stem else b""


def _printable(path: bytes) -> str:
    return shown(os.fsdecode(path))
