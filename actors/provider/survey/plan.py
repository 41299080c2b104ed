"""The survey's plan: its items, and what shows that each is done. Pure."""

from itertools import islice
from typing import Any, Final

from actors.provider.survey.facts import Facts

MOST_PLACES: Final = 3
_ITEMS: Final[tuple[tuple[str, str, str, tuple[str, ...]], ...]] = (
    ("inspect-layout", "See what is in the workspace", "List files and folders.", ()),
    ("read-entry-points", "Read where the program starts", "Read the entry points.", ("inspect-layout",)),
    ("search-risks", "Search for TODO, FIXME and risky calls", "Search the code.", ("inspect-layout",)),
    ("delegate-inspection", "Have a subagent look for silenced checks", "Delegate it.", ("inspect-layout",)),
    ("report", "Report with file and line", "Write the report.", ("read-entry-points", "search-risks")),
)  # fmt: skip
IDS: Final = tuple(item[0] for item in _ITEMS)


def plan(facts: Facts, reason: str, current: str) -> dict[str, Any]:
    """Arguments of `update_plan`: what comes before `current` is over, what comes behind it is pending.

    An empty `current` means that all is over. A step whose tool failed is blocked, not done, and nothing
    depends on it any more.
    """
    over = IDS[: IDS.index(current)] if current else IDS
    evidence = _evidence(facts)
    blocked = {item_id: why for item_id in over if not evidence[item_id] and (why := _why(facts, item_id))}
    items = []
    for item_id, title, next_action, needs in _ITEMS:
        item: dict[str, Any] = {"id": item_id, "title": title}
        if item_id in blocked:
            item |= {"status": "blocked", "next_action": blocked[item_id]}
        elif item_id in over:
            item |= {"status": "done", "evidence": evidence[item_id] or ["nothing there to look at"]}
        else:
            item |= {"status": "in_progress" if item_id == current else "pending", "next_action": next_action}
        items.append(item | {"dependencies": [need for need in needs if need not in blocked]})
    return {"reason": reason, "items": items}


def _evidence(facts: Facts) -> dict[str, list[str]]:
    layout = f"list_files: {facts.layout.files} files, {facts.layout.size} bytes"
    found = (match.place for matches in (facts.risky, facts.todo, facts.entry) for match in matches.shown)
    places = [_short(place) for place in islice(found, MOST_PLACES)]
    searches = [
        f"ripgrep {name}: {found.total} matches"
        for name, found in (
            ("TODO|FIXME", facts.todo),
            ("risky calls", facts.risky),
            ("entry points", facts.entry),
        )
        if facts.was_searched
    ]
    inspected = facts.inspection
    return {
        "inspect-layout": [layout] if facts.was_listed else [],
        "read-entry-points": [_short(f"{path}:1") for path in facts.read],
        "search-risks": places or searches,
        "delegate-inspection": [f"delegate: {inspected.status}, {len(inspected.findings)} findings"]
        if inspected
        else [],
        "report": places or [layout],
    }


def _why(facts: Facts, item_id: str) -> str:
    tools = {
        "inspect-layout": "list_files",
        "read-entry-points": "read_file",
        "search-risks": "ripgrep",
        "delegate-inspection": "delegate",
    }
    failure = facts.failure_of(tools.get(item_id, ""))
    return _short(f"It could not be done: {failure}") if failure else ""


def _short(text: str) -> str:
    """At most as long as a plan takes."""
    flat = " ".join(text.split())
    return flat if len(flat) <= 200 else flat[:199] + "…"
