"""The survey's report, in Markdown: what was found, each with file and line. Pure."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from actors.provider.survey import queries
from actors.provider.survey.facts import Facts, Finding
from actors.provider.survey.results import Match, Matches, extension, snippet

MOST: Final = 12
"""Most lines of one section."""
NO_MODEL: Final = (
    "I am Fido's built-in offline model: no language model, but a fixed survey. For answers, set "
    "`OPENAI_API_KEY`, or `OPENAI_BASE_URL` for another server (a local one needs no key), and the model's "
    "name in `FIDO_MODEL`; `fido doctor` checks them."
)
_TITLE: Final = re.compile(r"^(# |\w)")
_TELLING: Final = re.compile(
    r"^name ?= ?|^\s*\"(name|main|start|dev|test)\": |^module |^\[(project\.scripts|\[bin\])\]"
    r"|^[a-z][\w-]*:( |$)"
)
"""A name, a command, a target."""


def report(facts: Facts) -> str:
    """Put the report together; sections with nothing to say are left out."""
    sections = [
        ("Languages and sizes", _sizes(facts)),
        ("Entry points", _entry_points(facts)),
        ("Tests", _tests(facts)),
        ("TODO and FIXME", _marks(facts)),
        ("Risky calls", _risks(facts)),
        ("Silenced checks", _silences(facts)),
        (f"What you named: {', '.join(queries.focus_words(facts.turn.prompt))}", _named(facts)),
        ("What did not work", _failures(facts)),
    ]
    parts = [f"# Survey of this workspace\n\n{_headline(facts)}"]
    parts += [f"## {title}\n\n" + "\n".join(lines) for title, lines in sections if lines]
    return "\n\n".join([*parts, NO_MODEL])


def _headline(facts: Facts) -> str:
    if facts.is_empty:
        return "There is no file here, or only ignored ones."
    if not facts.was_listed:
        return "The files could not be listed."
    most = [language.name for language in facts.languages() if language.name != "Markdown"][:1]
    mostly = f", mostly {most[0]}" if most else ""
    return f"{_files(facts.layout.files)}, {_bytes(facts.layout.size)}{mostly}."


def _sizes(facts: Facts) -> list[str]:
    lines = [
        f"- {each.name}: {_files(each.files)}" + ("" if each.size is None else f", {_bytes(each.size)}")
        for each in facts.languages()[:8]
    ]
    folders = sorted((e for e in facts.folders.entries if e[0].endswith("/")), key=lambda e: (-e[1], e[0]))[
        :6
    ]
    if folders:
        lines.append("- Largest folders: " + ", ".join(f"`{name}` {_bytes(size)}" for name, size in folders))
    if facts.layout.entries and not facts.layout.is_cut:
        name, size = max(facts.layout.entries, key=lambda entry: (entry[1], entry[0]))
        lines.append(f"- Largest file: `{name}` {_bytes(size)}")
    return lines


def _entry_points(facts: Facts) -> list[str]:
    lines = [f"- `{path}:{number}` {snippet(text)}" for path, number, text in _headings(facts)]
    return lines + _lines(_without_tests(facts, facts.entry))


def _headings(facts: Facts) -> Iterable[tuple[str, int, str]]:
    """The lines of the files that were read which say what the project is and how it is started."""
    for path, lines in facts.read.items():
        telling = _TITLE if extension(path) in (".md", ".rst", "") and not path.endswith("file") else _TELLING
        limit = 1 if telling is _TITLE else 5
        yield from [(path, number, text) for number, text in lines if telling.search(text)][:limit]


def _tests(facts: Facts) -> list[str]:
    if not facts.tests.files:
        return [] if facts.is_empty or not facts.was_listed else ["No file looks like a test."]
    paths = [f"`{path}:1`" for path, _ in facts.tests.entries[:4]]
    return [f"{_files(facts.tests.files)}, {_bytes(facts.tests.size)}, such as {', '.join(paths)}."]


def _marks(facts: Facts) -> list[str]:
    return _counted(facts.todo, "lines", "None found." if facts.was_searched else "")


def _risks(facts: Facts) -> list[str]:
    nothing = "None of the calls that often hurt was found." if facts.was_searched else ""
    return _counted(
        facts.risky, "calls to look at; a pattern found them, so some are harmless", nothing, kinds=True
    )


def _silences(facts: Facts) -> list[str]:
    found = facts.inspection
    if found is None:
        why = facts.failure_of("delegate")
        return [f"The subagent could not look for them: {why}"] if why else []
    lines = [f"A subagent looked for them: {found.summary}"]
    lines += [_claim(facts, each) for each in found.findings[:MOST]]
    return lines + [f"- Uncertain: {each}" for each in found.uncertainties[:3]]


def _claim(facts: Facts, finding: Finding) -> str:
    text = facts.lines.get((finding.file, finding.line or 0))
    place = f"{finding.file}:{finding.line}" if finding.line else finding.file
    checked = " (checked)" if text is not None and snippet(text)[:40] in finding.claim else ""
    return f"- `{place}` {finding.claim}{checked}"


def _named(facts: Facts) -> list[str]:
    if not queries.focus_words(facts.turn.prompt):
        return []
    return _counted(facts.focus, "lines", "It stands nowhere in the files." if facts.was_searched else "")


def _failures(facts: Facts) -> list[str]:
    return list(dict.fromkeys(f"- `{d.name}`: {snippet(d.error)}" for d in facts.failed))


def _counted(found: Matches, what: str, nothing: str, *, kinds: bool = False) -> list[str]:
    if not found.total:
        return [nothing] if nothing else []
    more = found.total - min(MOST, len(found.shown))
    lines = [f"{found.total:,} {what}:", *_lines(found.shown, kinds=kinds)]
    return [*lines, f"- and {more:,} more"] if more else lines


def _lines(matches: Sequence[Match], *, kinds: bool = False) -> list[str]:
    return [
        f"- `{m.place}` " + (f"{queries.risk(m.text)}: " if kinds else "") + f"`{snippet(m.text)}`"
        for m in matches[:MOST]
    ]


def _without_tests(facts: Facts, found: Matches) -> list[Match]:
    tests = {path for path, _ in facts.tests.entries}
    return [match for match in found.shown if match.path not in tests]


def _files(count: int) -> str:
    return f"{count:,} file" + ("" if count == 1 else "s")


def _bytes(size: int) -> str:
    """A size for a person."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} bytes"
