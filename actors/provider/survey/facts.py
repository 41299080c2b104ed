"""What the survey knows so far: the results of its calls, read once. Pure."""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from actors.provider.survey import queries
from actors.provider.survey.results import Listing, Matches, extension, read_lines, read_listing, read_matches
from actors.provider.survey.turn import Done, Turn

LANGUAGES: Final = {
    ".py": "Python", ".pyi": "Python", ".js": "JavaScript", ".jsx": "JavaScript", ".mjs": "JavaScript",
    ".cjs": "JavaScript", ".ts": "TypeScript", ".tsx": "TypeScript", ".go": "Go", ".rs": "Rust", ".c": "C",
    ".h": "C", ".cc": "C++", ".cpp": "C++", ".hpp": "C++", ".java": "Java", ".kt": "Kotlin", ".rb": "Ruby",
    ".php": "PHP", ".cs": "C#", ".swift": "Swift", ".scala": "Scala", ".sh": "Shell", ".bash": "Shell",
    ".lua": "Lua", ".ex": "Elixir", ".exs": "Elixir", ".hs": "Haskell", ".ml": "OCaml", ".dart": "Dart",
    ".sql": "SQL", ".html": "HTML", ".css": "CSS", ".scss": "CSS", ".vue": "Vue", ".svelte": "Svelte",
    ".r": "R", ".jl": "Julia", ".zig": "Zig", ".tf": "Terraform", ".md": "Markdown", ".rst": "reST",
}  # fmt: skip
PROSE: Final = frozenset({"Markdown", "reST"})
MANIFESTS: Final = (
    "pyproject.toml", "package.json", "Cargo.toml", "go.mod", "Makefile", "Procfile", "Dockerfile",
    "setup.py", "pom.xml", "build.gradle", "Gemfile", "composer.json",
)  # fmt: skip
FILES_READ: Final = 4


class Finding(msgspec.Struct):
    """A claim of the subagent."""

    file: str = ""
    line: int | None = None
    claim: str = ""


class Inspection(msgspec.Struct):
    """What the delegation brought."""

    status: str = ""
    summary: str = ""
    findings: tuple[Finding, ...] = ()
    uncertainties: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Language:
    """Files of one language."""

    name: str
    files: int
    size: int | None
    """Bytes; None when a cut list does not tell."""


class Facts:
    """Everything that the calls of a turn have brought."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        layout = turn.find("list_files", queries.LAYOUT)
        self.was_listed = layout is not None
        self.layout = read_listing(layout.content) if layout else Listing()
        self.folders = self._listing(queries.FOLDERS)
        self.tests = self._listing(queries.TESTS)
        self.todo = self._matches(queries.TODO)
        self.risky = self._matches(queries.RISKY)
        self.entry = self._matches(queries.ENTRY)
        words = queries.focus(turn.prompt)
        self.focus = self._matches(words) if words else Matches()
        reads = [
            (str(d.arguments.get("path", "")), d.arguments, read_lines(d.content))
            for d in turn.all("read_file")
        ]
        self.read = {path: lines for path, arguments, lines in reads if "offset" not in arguments}
        self.lines = {(path, number): text for path, _, lines in reads for number, text in lines}
        self.inspection = self._inspection()
        self.failed = tuple(d for d in turn.done if d.error)

    @property
    def was_searched(self) -> bool:
        """Whether a search brought a result, also none."""
        return bool(self.turn.all("ripgrep"))

    @property
    def is_empty(self) -> bool:
        """Whether the workspace was seen to hold no file."""
        return self.was_listed and not self.layout.files

    @property
    def may_plan(self) -> bool:
        """Whether the plan takes what we write into it."""
        return not any(d.name == "update_plan" for d in self.failed)

    def failure_of(self, name: str) -> str:
        """Why calls of a tool failed; empty when none did."""
        return next((d.error for d in self.failed if d.name == name), "")

    def files_to_read(self) -> list[str]:
        """A README, what says how the project is built, and the likeliest entry points."""
        paths = sorted((path for path, _ in self.layout.entries), key=lambda path: (path.count("/"), path))
        readme = [p for p in paths if re.match(r"readme(\.|$)", p.rpartition("/")[2], re.IGNORECASE)]
        manifests = [p for name in MANIFESTS for p in paths if p == name]
        mains = [
            p for p in paths if re.match(r"(main|app|cli|index|server|__main__)\.\w+$", p.rpartition("/")[2])
        ]
        code = [p for p in mains if LANGUAGES.get(extension(p), "Markdown") not in PROSE]
        return list(dict.fromkeys([*readme[:1], *manifests[:2], *code[:2]]))[:FILES_READ]

    def languages(self) -> list[Language]:
        """Languages by their bytes, or by their files where bytes are not known."""
        files, sizes = Counter[str](), Counter[str]()
        for ending, count in self.layout.extensions.items():
            if language := LANGUAGES.get(ending):
                files[language] += count
        for path, size in self.layout.entries:
            if language := LANGUAGES.get(extension(path)):
                sizes[language] += size
        found = [Language(name, count, self._size(name, sizes)) for name, count in files.items()]
        return sorted(found, key=lambda each: (-(each.size or 0), -each.files, each.name))

    def main_extensions(self) -> list[str]:
        """The extensions whose sizes a cut list does not tell, the most frequent first."""
        if not self.layout.is_cut:
            return []
        counted = [(-n, e) for e, n in self.layout.extensions.items() if e in LANGUAGES and e.isascii()]
        return [ending for _, ending in sorted(counted)][:4]

    def main_folder(self) -> str:
        """The top folder with most code; empty when it lies at the top itself."""
        sizes = Counter[str]()
        for path, size in self.layout.entries:
            if LANGUAGES.get(extension(path), "Markdown") not in PROSE:
                sizes[path.partition("/")[0] if "/" in path else ""] += size
        return max(sizes, key=lambda name: (sizes[name], name), default="")

    def _size(self, language: str, listed: Counter[str]) -> int | None:
        if not self.layout.is_cut:
            return listed[language]
        endings = [e for e in self.layout.extensions if LANGUAGES.get(e) == language]
        told = [self.turn.find("list_files", queries.of_extension(e)) for e in endings]
        return None if None in told else sum(read_listing(d.content).size for d in told if d)

    def _listing(self, arguments: dict[str, Any]) -> Listing:
        done = self.turn.find("list_files", arguments)
        return read_listing(done.content) if done else Listing()

    def _matches(self, arguments: dict[str, Any]) -> Matches:
        done = self.turn.find("ripgrep", arguments)
        return read_matches(done.content) if done else Matches()

    def _inspection(self) -> Inspection | None:
        for done in self.turn.all("delegate"):
            return _inspection_of(done)
        return None


def _inspection_of(done: Done) -> Inspection | None:
    try:
        return msgspec.json.decode(done.content, type=Inspection)
    except msgspec.DecodeError:
        return None
