"""The survey step by step: which calls come next, and what is said with them. Pure."""

from typing import Any, Final

from actors.provider.survey import inspection, queries
from actors.provider.survey.facts import Facts, Finding
from actors.provider.survey.plan import plan
from actors.provider.survey.report import report
from actors.provider.survey.turn import Reply, Turn, call_of

LINES_READ: Final = 120
"""Lines of each file that is read."""
CHECKED: Final = 3
"""Most findings of the subagent that are read again."""

Calls = list[tuple[str, dict[str, Any]]]


def decide(turn: Turn) -> Reply:
    """Return the next answer of the built-in model; the same request always gets the same one."""
    if turn.is_subagent:
        return inspection.decide(turn)
    facts = Facts(turn)
    steps = (_start, _close) if facts.is_empty else (_start, _read, _delegate, _verify, _close)
    text, calls = steps[turn.rounds](facts) if turn.rounds < len(steps) else ("", [])
    if not calls:
        return Reply(report(facts))
    made = [call_of(name, given, f"call_{turn.rounds}_{n}") for n, (name, given) in enumerate(calls)]
    return Reply(text, tuple(made))


def _start(facts: Facts) -> tuple[str, Calls]:
    listings: Calls = [("list_files", look) for look in (queries.LAYOUT, queries.FOLDERS, queries.TESTS)]
    return (
        "I am Fido's built-in offline model, no language model: I can not discuss your request, but I can "
        "survey this workspace with the real tools. First I look at what is here.\n",
        [*_planned(facts, "Survey this workspace", "inspect-layout"), *listings],
    )


def _read(facts: Facts) -> tuple[str, Calls]:
    words = queries.focus_words(facts.turn.prompt)
    searches = [queries.TODO, queries.RISKY, queries.ENTRY, queries.focus(facts.turn.prompt)]
    calls: Calls = [("read_file", {"path": path, "limit": LINES_READ}) for path in facts.files_to_read()]
    calls += [("ripgrep", search) for search in searches if search]
    calls += [("list_files", queries.of_extension(ending)) for ending in facts.main_extensions()]
    named = f" and for what you named ({', '.join(words)})" if words else ""
    return f"I read the entry points and search for TODO, FIXME, risky calls{named}.\n", calls


def _delegate(facts: Facts) -> tuple[str, Calls]:
    folder = facts.main_folder()
    task: dict[str, Any] = {
        "task": f"Find silenced checks in {folder or 'this workspace'}: skipped tests, exceptions that are "
        "caught and dropped, type and lint errors that are switched off.",
        "context": "Each of them hides an error until it hurts; the main agent surveys the rest meanwhile.",
    }
    if folder:
        task["scope"] = {"paths": [folder]}
    return (
        f"{facts.todo.total} lines with TODO or FIXME, {facts.risky.total} risky calls. A subagent now looks "
        f"for silenced checks in {folder or 'the workspace'}.\n",
        [
            *_planned(facts, "The layout is known, the searches are done", "delegate-inspection"),
            ("delegate", task),
        ],
    )


def _verify(facts: Facts) -> tuple[str, Calls]:
    found = facts.inspection
    checks: Calls = [
        ("read_file", {"path": each.file, "offset": each.line, "limit": 1})
        for each in (checkable(found.findings) if found else ())
    ]
    text = "The delegation brought nothing; I go on without it.\n"
    if found:
        check = "; I check the first ones against the files" if checks else ""
        text = f"The subagent is back with {len(found.findings)} findings{check}.\n"
    return text, [*_planned(facts, "The subagent has reported", "report"), *checks]


def _close(facts: Facts) -> tuple[str, Calls]:
    return "", _planned(facts, "The survey is complete; the report follows", "")


def checkable(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The first findings that name a line."""
    return tuple(each for each in findings if each.file and each.line)[:CHECKED]


def _planned(facts: Facts, reason: str, current: str) -> Calls:
    return [("update_plan", plan(facts, reason, current))] if facts.may_plan else []
