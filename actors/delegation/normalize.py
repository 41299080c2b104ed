"""From whatever a subagent wrote to one honest, bounded `delegate_result` (pure).

Rules
-----
The identity is the runner's, never the text's. A run that did not end by itself is at most `partial`, and
`failed` when nothing was said; the text may only lower that, and a text out of form is at most `partial`.
Whatever was cut, dropped or guessed is said in `uncertainties`.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar, get_args

import msgspec

from actors.delegation.objects import THIN, Found, find_result, has_result, points_back
from actors.delegation.problems import INSTEAD
from actors.delegation.result import (
    CHECK_BYTES,
    MAX_BYTES,
    MAX_ENTRIES,
    MAX_FINDINGS,
    MAX_LINE,
    MAX_SUMMARY_BYTES,
    Confidence,
    DelegateResult,
    Finding,
    Identity,
    ResultError,
)
from ipc.messages import DelegationStatus, Problem
from ipc.terminal_text import clean

_LISTS: Final = ("recommended_next_steps", "tests_to_run", "uncertainties")
_RANKS: Final[tuple[DelegationStatus, ...]] = ("failed", "partial", "completed")
_CONFIDENCES: Final[tuple[Confidence, ...]] = get_args(Confidence)
_NO_RESULT: Final = "The subagent ended without a result."
_WROTE_NOTHING: Final = "It wrote neither a summary nor a finding."
_NOT_ALL: Final = "The subagent did not come to its end, so this may not be all."
_OUT_OF_FORM: Final = "The subagent's last text was not in the required form; it stands here as it came."
_BROKEN_OFF: Final = "The subagent's last text broke off before its end."
_NOTE_BYTES: Final = 1_000
"""What the notes that come last may take."""
_LINE_NUMBER: Final = re.compile(r"\s*(?:lines?\s|L)?(\d{1,9})(?!\d)", re.IGNORECASE)
_URL: Final = re.compile(r"https?://([^/\s]+)(?:/\S*?(?=[.:,)]*(?:\s|$)))?")
_HOST: Final = r"\1"
_FILE_AND_LINE: Final = re.compile(r"(.+?):(\d{1,9})(?:[-:]\d*)*", re.DOTALL)

_encode: Final = msgspec.json.Encoder().encode

T = TypeVar("T")


def normalize(
    agent_id: str, texts: Sequence[str], problem: Problem | None = None, server_said: str = ""
) -> DelegateResult:
    """Make the result of a run from its assistant texts, oldest first.

    `problem` is why the run did not end by itself, with a code of `CODES`; `server_said` is what a model
    server gave as its reason. At most `MAX_BYTES` come out, the room for the checks included, whatever
    went in.
    """
    said = [text for text in texts if text.strip()]
    draft = _Draft(problem)
    if problem is not None and said:
        draft.notes.append(_NOT_ALL)
    if problem is not None and server_said.strip():
        draft.notes.append(f"The last request failed: {_URL.sub(_HOST, _line(server_said))}")
    found = find_result(said)
    if found is not None:
        draft.take(found)
    elif problem is not None:
        draft.take_latest(said)
    elif said:
        draft.summary = said[-1]
        draft.fall_short(_OUT_OF_FORM)
    if points_back(draft.summary) if found else len(draft.summary) <= THIN:
        draft.support(said[:-1])
    return draft.finished(agent_id)


class _Draft:
    """A result in the making, with notes about what did not get in."""

    def __init__(self, problem: Problem | None) -> None:
        self.status: DelegationStatus = "partial" if problem else "completed"
        self.problem = problem
        self.summary = ""
        """As it came: neither cleaned nor cut."""
        self.notes: list[str] = []
        self._findings: list[Finding] = []
        self._lists: dict[str, list[str]] = {name: [] for name in _LISTS}
        self._dropped: Counter[str] = Counter()

    def lower(self, status: DelegationStatus) -> None:
        self.status = min(self.status, status, key=_RANKS.index)

    def fall_short(self, why: str) -> None:
        """Note that what was asked for is not there in its form."""
        self.lower("partial")
        self.notes.append(why)
        self.problem = self.problem or Problem(code="malformed_output", message=why)

    def take(self, found: Found) -> None:
        """Take over what the subagent's own object says."""
        value = found.value
        self.notes += found.notes
        if found.is_doubtful:
            self.lower("partial")
        if found.is_broken_off:
            self.problem = self.problem or Problem(code="malformed_output", message=_BROKEN_OFF)
        self._take_status(value.get("status", self.status))
        summary = value.get("summary")
        if summary is not None and not isinstance(summary, str):
            self.notes.append("The summary was not a text; it stands here as JSON.")
        self.summary = _as_text(summary)
        findings = value.get("findings")
        if isinstance(findings, str):  # mostly "none"
            self.notes.append(f"The findings were a text, not a list: {_line(findings)}")
        else:
            self._findings = self._taken("findings", _list_of(value, "findings"), _finding, MAX_FINDINGS)
        for name in _LISTS:
            self._lists[name] = self._taken(name, _list_of(value, name), _entry, MAX_ENTRIES)

    def take_latest(self, said: Sequence[str]) -> None:
        """Take over as many of the latest texts as there is room for; the last one in any case."""
        kept, room = list(said[-1:]), MAX_SUMMARY_BYTES - len("".join(said[-1:]))
        for text in reversed(said[:-1]):
            room -= len(text)
            if room < 0:
                self.notes.append(f"{len(said) - len(kept):,} earlier texts of the subagent are not here.")
                break
            kept.insert(0, text)
        self.summary = "\n\n".join(text.strip() for text in kept)

    def support(self, earlier: Sequence[str]) -> None:
        """Add the longest earlier text to a last word that is none itself."""
        longest = max(earlier, key=len, default="")
        if self._findings or len(longest) <= 2 * THIN or has_result(longest):
            return
        self.summary = f"{self.summary}\n\nEarlier the subagent wrote:\n{longest}".strip()
        self.notes.append("The last text says hardly anything, so the longest earlier text follows it.")

    def finished(self, agent_id: str) -> DelegateResult:
        """The result within its bounds."""
        self._bound_summary(agent_id)
        if not self.summary and not self._findings:
            self.status = "failed"
            self.problem = self.problem or Problem(code="malformed_output", message=_WROTE_NOTHING)
            self.summary = _NO_RESULT
        if self.problem is not None:
            self._lists["recommended_next_steps"].insert(0, INSTEAD[self.problem.code])
        while len(_encode(result := self._result(agent_id))) > self._room():
            self._drop_one()
        return result

    def _bound_summary(self, agent_id: str) -> None:
        """Clean the summary, and cut it where it needs more than its share and than the lists leave it."""
        said, self.summary = self.summary.strip(), ""
        left = self._room() - len(_encode(self._result(agent_id))) - _NOTE_BYTES
        self.summary, cut = _excerpt(said, max(left, MAX_SUMMARY_BYTES))
        if cut:
            self.notes.append(f"The summary had {len(said):,} characters; {cut:,} were cut and are not kept.")

    def _room(self) -> int:
        return MAX_BYTES - CHECK_BYTES * len(self._findings)

    def _take_status(self, claimed: object) -> None:
        if claimed in _RANKS:
            self.lower(claimed)
        else:
            self.lower("partial")
            self.notes.append("The subagent's own status was not one of completed, partial, failed.")

    def _taken(self, name: str, values: list[Any], read: Callable[[Any], T | None], most: int) -> list[T]:
        taken: list[T] = []
        for value in values[: 4 * most]:
            each = read(value)
            if each is None:
                self._dropped[f"malformed {name}"] += 1
            else:
                taken.append(each)
        self._dropped[name] += len(values[4 * most :]) + len(taken[most:])
        return taken[:most]

    def _drop_one(self) -> None:
        """Make the largest list one shorter; the lists together are what can be too large."""
        groups: dict[str, list[Any]] = {"findings": self._findings, **self._lists}
        name = max(groups, key=lambda name: len(_encode(groups[name])))
        groups[name].pop()
        self._dropped[name] += 1

    def _result(self, agent_id: str) -> DelegateResult:
        lost = ", ".join(f"{count:,} {name}" for name, count in self._dropped.items() if count)
        notes = [*self.notes, f"Left out of this result, malformed or over its bounds: {lost}."]
        problem = self.problem
        return DelegateResult(
            identity=Identity(agent_id=agent_id),
            status=self.status,
            summary=self.summary,
            findings=tuple(self._findings),
            recommended_next_steps=tuple(self._lists["recommended_next_steps"]),
            tests_to_run=tuple(self._lists["tests_to_run"]),
            uncertainties=(*notes[: None if lost else -1], *self._lists["uncertainties"]),
            error=ResultError(problem.code, _line(problem.message)) if problem else None,
        )


def _finding(value: Any) -> Finding | None:
    fields = value if isinstance(value, dict) else {"claim": value}
    claim = _entry(fields.get("claim", value))
    if claim is None or not isinstance(value, str | dict):
        return None
    file, line = fields.get("file"), _line_number(fields.get("line"))
    file = _line(file).strip("`\"'") if isinstance(file, str) else ""
    if place := _FILE_AND_LINE.fullmatch(file):
        file, line = place[1], line or _line_number(place[2])
    confidence = str(fields.get("confidence")).lower()
    return Finding(file, line, claim, next((each for each in _CONFIDENCES if each == confidence), "low"))


def _entry(value: Any) -> str | None:
    """A sentence of a list; what is no text is shown as JSON."""
    return _line(_as_text(value)) or None


def _line_number(value: Any) -> int | None:
    match = None if isinstance(value, bool | dict | list) else _LINE_NUMBER.match(str(value))
    return int(match[1]) if match and int(match[1]) > 0 else None


def _list_of(found: dict[str, Any], name: str) -> list[Any]:
    value = found.get(name)
    if isinstance(value, list):
        return value
    return [] if value is None else [value]


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value in (None, {}, []):
        return ""
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return ""


def _line(text: str) -> str:
    """A text of at most `MAX_LINE` characters and the word on what was cut."""
    text = text.strip()
    shown, cut = clean(text[:MAX_LINE]), max(0, len(text) - MAX_LINE)
    cut += max(0, len(shown) - MAX_LINE)
    return f"{shown[:MAX_LINE]}… [{cut:,} characters cut]" if cut else shown


def _excerpt(text: str, limit: int) -> tuple[str, int]:
    """Both ends of a text that is too long, cleaned, and how many characters were cut between them.

    Answers begin well and conclude at the end.
    """
    kept = min(len(text), limit)
    while True:
        cut, behind = len(text) - kept, kept // 3
        if cut:
            start, end = clean(text[: kept - behind]).rstrip(), clean(text[len(text) - behind :]).lstrip()
            shown = f"{start}\n… [{cut:,} characters cut] …\n{end}"
        else:
            shown = clean(text)
        size = len(_encode(shown))
        if size <= limit:
            return shown, cut
        kept = min(kept - 1, kept * limit // size)
