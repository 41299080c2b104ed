"""Globs over paths: they narrow what is listed and searched, and never bring back what is ignored (pure).

rg's own `--glob` overrides the ignore files (`**/*` would search node_modules), so a glob is compiled here,
and rg only gets the part that its file types, which rank below the ignore files, can express.
"""

import re
from dataclasses import dataclass

MAX_ALTERNATIVES = 64


@dataclass(frozen=True, slots=True)
class PathGlob:
    """A compiled glob: without a slash for names at any depth, with one for paths from the top."""

    pattern: re.Pattern[str]
    names: tuple[str, ...]
    """Globs of which every matching file's name matches one; empty: nothing is known about names."""
    negated: bool = False

    def matches(self, path: str, folder: str = "") -> bool:
        """Whether a path is meant; the glob may count from the workspace or from the searched folder."""
        found = self.pattern.fullmatch(path) or (folder and self.pattern.fullmatch(path.removeprefix(folder)))
        return bool(found) is not self.negated


def compile_glob(glob: str) -> PathGlob:
    """Compile `*`, `?`, `[a-z]`, `{a,b}`, `**` and a leading `!`. Raises `ValueError` for what is none."""
    negated = glob.startswith("!")
    alternatives = [_anchored(each) for each in _expand(glob.removeprefix("!"))]
    names = tuple(each.rpartition("/")[2] for each in alternatives)
    if negated or any(name == "**" or name.startswith("include:") for name in names):
        names = ()
    source = "|".join(map(_path_pattern, alternatives))
    return PathGlob(re.compile(source, re.DOTALL), names, negated)


def _anchored(glob: str) -> str:
    """Spell out where a glob starts and that a folder means all that is in it."""
    glob = glob.removeprefix("./")
    if glob.endswith("/"):
        glob += "**"
    if "/" not in glob and glob != "**":
        return "**/" + glob
    return glob.lstrip("/")


def _expand(glob: str) -> list[str]:
    """Write out `{a,b}`, so that each alternative is a plain sequence of segments."""
    found = re.search(r"\{([^{}]*)\}", glob)
    if found is None:
        if "{" in glob or "}" in glob:
            raise ValueError("a brace is not closed")
        return [glob]
    if "," not in found[1]:
        raise ValueError("a brace needs alternatives: {a,b}")
    expanded: list[str] = []
    for choice in found[1].split(","):
        expanded += _expand(glob[: found.start()] + choice + glob[found.end() :])
        if len(expanded) > MAX_ALTERNATIVES:
            raise ValueError(f"its braces stand for more than {MAX_ALTERNATIVES} globs")
    return expanded


def _path_pattern(glob: str) -> str:
    """One regular expression for a path.

    Everything but the last part is atomic: the leftmost match of a run of plain segments is as good as any
    later one, so nothing is ever tried twice and no path can make the match slow.
    """
    runs: list[list[str]] = [[]]
    for segment in glob.split("/"):
        if segment == "**":
            runs.append([])
        else:
            runs[-1].append(_segment_pattern(segment))
    if len(runs) == 1:
        return "/".join(runs[0])
    first, *middle, last = runs
    start = "".join(part + "/" for part in first)
    between = "".join(rf"(?>(?:[^/]+/)*?{'/'.join(run)}/)" for run in middle if run)
    return start + between + (r"(?:[^/]+/)*" + "/".join(last) if last else ".+")


def _segment_pattern(segment: str) -> str:
    first, *rest = re.split(r"\*+", segment)
    if not rest:
        return _literal(first)
    middle = "".join(rf"(?>[^/]*?{_literal(part)})" for part in rest[:-1])
    return _literal(first) + middle + "[^/]*" + _literal(rest[-1])


def _literal(text: str) -> str:
    """A pattern for text that has no star in it."""
    out: list[str] = []
    at = 0
    while at < len(text):
        if text[at] == "[":
            end = text.find("]", at + 2)
            if end < 0:
                raise ValueError("a bracket is not closed")
            out.append(_character_class(text[at + 1 : end]))
            at = end
        elif text[at] == "?":
            out.append("[^/]")
        else:
            out.append(re.escape(text[at]))
        at += 1
    return "".join(out)


def _character_class(content: str) -> str:
    inverted = content[0] in "!^"
    members = re.sub(r"[\\\[\]^&~|]", r"\\\g<0>", content[1:] if inverted else content)
    if not members:
        raise ValueError("a bracket is empty")
    return f"(?!/)[{'^' if inverted else ''}{members}]"
