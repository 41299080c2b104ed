"""Finding a file by some letters of its path, among a hundred thousand of them; pure.

The matcher is frizbee's (Smith-Waterman as in fzf, 2-4 ms for 50,000 paths, where expressions of the
standard library took 40-80 ms). It is loaded when somebody first asks for a file.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from ipc.terminal_text import clean

if TYPE_CHECKING:
    from frizbee import Haystacks, Matcher

MOST: Final = 100
"""Files that are offered; who does not see it among these types on."""
_RANKED: Final = 300
"""Best matches of the paths, and of the names alone, that are ranked together."""
_FILE_BONUS: Final = 16
"""Points for letters that are all in the name: a bit more than another letter is worth."""
_FOLDER_BONUS: Final = 12
_SLICE: Final = 4_000
"""Paths that are taken in at once: 2-3 ms."""
_LONGEST: Final = 200
"""Characters of a query that are looked for."""


class Paths:
    """The files of a workspace and their folders, which end in a slash."""

    def __init__(self) -> None:
        self._entries: list[str] = []
        self._paths: Haystacks
        self._names: Haystacks

    def __len__(self) -> int:
        return len(self._entries)

    def take(self, files: Sequence[str]) -> Iterator[None]:
        """Take these files in a piece at a time, so that a key can come between; the last piece fills it.

        Names that would look like others when drawn are left out: they could not be typed either.
        """
        import frizbee  # 2 ms

        entries: list[str] = []
        folders = {""}
        for start in range(0, len(files), _SLICE):
            entries += _drawable(files[start : start + _SLICE], folders)
            yield
        entries.sort()  # as good as sorted
        paths, names = frizbee.Haystacks(), frizbee.Haystacks()
        for start in range(0, len(entries), _SLICE):
            piece = entries[start : start + _SLICE]
            paths.extend(piece)
            names.extend([each[name_start(each) :] for each in piece])
            yield
        self._entries, self._paths, self._names = entries, paths, names

    def find(self, query: str) -> list[str]:
        """Return what matches best, the best first; what a folder holds where the query names one."""
        if not self._entries:
            return []
        return (self._held(query) if query.endswith("/") or not query else []) or self._ranked(query)

    def _held(self, folder: str) -> list[str]:
        """Return what is in a folder itself, folders first; in the workspace when it is empty."""
        inside: list[str] = []
        at = bisect_left(self._entries, folder)
        end = bisect_left(self._entries, f"{folder[:-1]}0") if folder else len(self)  # 0 is behind the slash
        while at < end:
            path = self._entries[at]
            at = bisect_left(self._entries, f"{path[:-1]}0", at) if _is_folder(path, folder) else at + 1
            inside += [path] if path != folder else []
        return sorted(inside, key=lambda path: (not path.endswith("/"), path.casefold()))[:MOST]

    def _ranked(self, query: str) -> list[str]:
        matcher = _matcher(query, _RANKED)
        scores = {each.index: each.score for each in matcher.match_list(self._paths)}
        for each in matcher.match_list(self._names):
            bonus = _FOLDER_BONUS if self._entries[each.index].endswith("/") else _FILE_BONUS
            scores[each.index] = max(scores.get(each.index, 0), each.score + bonus)
        best = sorted((-score, len(self._entries[at]), self._entries[at]) for at, score in scores.items())
        return [path for _, _, path in best[:MOST]]


def marks(query: str, paths: Sequence[str]) -> list[frozenset[int]]:
    """Return which characters of each path stand for the query: those of its name, when it holds them all."""
    if not query:
        return [frozenset()] * len(paths)
    matcher = _matcher(query, len(paths))
    found: dict[int, frozenset[int]] = {}
    for match in matcher.match_list_indices(paths):
        found[match.index] = _characters(paths[match.index], match.indices)
    starts = [name_start(path) for path in paths]
    names = [path[start:] for path, start in zip(paths, starts, strict=True)]
    for match in matcher.match_list_indices(names):
        start, lit = starts[match.index], _characters(names[match.index], match.indices)
        found[match.index] = frozenset(start + at for at in lit)
    return [found.get(at, frozenset()) for at in range(len(paths))]


def _characters(text: str, indices: Sequence[int]) -> frozenset[int]:
    """Return the characters to which these bytes of a text in UTF-8 belong."""
    if text.isascii():
        return frozenset(indices)
    owners = [at for at, character in enumerate(text) for _ in character.encode()]
    return frozenset(owners[index] for index in indices)


def _matcher(query: str, most: int) -> "Matcher":
    import frizbee

    scoring = frizbee.Scoring(matching_case_bonus=0)  # else a folder `readme/` comes before README.md
    return frizbee.Matcher(clean(query[:_LONGEST]), max_items=most, casing="ignore", scoring=scoring)


def _drawable(files: Sequence[str], folders: set[str]) -> Iterable[str]:
    """Yield these files, and before them those folders around them that are not in `folders` yet."""
    together = "\n".join(files)
    plain = clean(together) == together and "\t" not in together and together.count("\n") == len(files) - 1
    for path in files:
        if not plain and (clean(path) != path or "\t" in path or "\n" in path):
            continue
        if path[: path.rfind("/") + 1] not in folders:
            above = [path[: at + 1] for at, each in enumerate(path) if each == "/"]
            yield from (folder for folder in above if folder not in folders)
            folders.update(above)
        yield path


def name_start(path: str) -> int:
    """Return where in a path the name of the file or folder begins."""
    return path.rfind("/", 0, -1) + 1


def _is_folder(path: str, within: str) -> bool:
    return path.endswith("/") and path != within
