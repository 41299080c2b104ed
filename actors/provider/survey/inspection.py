"""The subagent's part: look for silenced checks, and answer in the result contract. Pure."""

import json
from typing import Any, Final

from actors.provider.survey import queries
from actors.provider.survey.results import Match, read_listing, read_matches, snippet
from actors.provider.survey.turn import Reply, Turn, call_of

MOST_FINDINGS: Final = 20
MOST_PATHS: Final = 3


def decide(turn: Turn) -> Reply:
    """Look in one round, answer in the next."""
    if turn.rounds:
        return Reply(json.dumps(_result(turn), ensure_ascii=False, indent=1))
    places: list[dict[str, Any]] = [{"path": path} for path in turn.paths[:MOST_PATHS]] or [{}]
    calls = [("ripgrep", queries.SILENCED | place) for place in places]
    calls += [("list_files", {"depth": 1} | place) for place in places]
    return Reply("", tuple(call_of(name, given, f"call_sub_{n}") for n, (name, given) in enumerate(calls)))


def _result(turn: Turn) -> dict[str, Any]:
    found = [read_matches(d.content) for d in turn.all("ripgrep")]
    files = sum(read_listing(d.content).files for d in turn.all("list_files"))
    total = sum(each.total for each in found)
    shown = [match for each in found for match in each.shown][:MOST_FINDINGS]
    failures = [f"{d.name} failed: {d.error}" for d in turn.done if d.error]
    summary = f"{total} silenced checks in {files} files." if found else "Nothing could be searched."
    return {
        "status": "failed" if not found else "partial" if failures else "completed",
        "summary": summary + (f" The first {len(shown)} are listed." if total > len(shown) else ""),
        "findings": [_finding(match) for match in shown],
        "recommended_next_steps": ["Look at each: give the reason beside it, or remove it."] if shown else [],
        "tests_to_run": [],
        "uncertainties": [
            *failures,
            *(["They were found by a pattern; strings and comments may be among them."] if shown else []),
        ],
    }


def _finding(match: Match) -> dict[str, Any]:
    claim = f"{queries.silence(match.text)}: `{snippet(match.text)}`"
    return {"file": match.path, "line": match.line, "claim": claim, "confidence": "medium"}
