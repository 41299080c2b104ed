"""The result contract: from whatever a subagent wrote to one honest, bounded `delegate_result` (pure).

Rules
-----
The identity is the runner's, never the text's. The runner's status is the best it can be: the text may only
lower it, and a text out of form is at most `partial`. The last result object of the latest text counts.
Whatever was cut, dropped or guessed is said in `uncertainties`.
"""

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import msgspec

from actors.delegation.problems import closed
from ipc.messages import DelegationStatus, Problem

MAX_BYTES: Final = 16 * 1024
"""The whole encoded result."""
CHECK_BYTES: Final = 200
"""Of what a check says of one finding, encoded; room for it is kept in `MAX_BYTES`."""
MAX_SUMMARY_BYTES: Final = 6 * 1024
MAX_FINDINGS: Final = 40
MAX_ENTRIES: Final = 12
"""Of each list of sentences."""
MAX_LINE: Final = 400
"""Characters of a claim or a sentence."""
_MAX_CODE: Final = 80
_MAX_SCANNED: Final = 8_000_000
"""Characters read in search of result objects; a text full of braces would cost their square."""
_THIN: Final = 160
"""Characters below which a last word without findings may point to an earlier text."""

_NO_RESULT: Final = "The subagent ended without a result."
_OUT_OF_FORM: Final = "The subagent's last text was not in the required form; it stands here as it came."

Confidence = Literal["high", "medium", "low"]
_CONFIDENCES: Final[tuple[Confidence, ...]] = ("high", "medium", "low")
_RANKS: Final[tuple[DelegationStatus, ...]] = ("failed", "partial", "completed")
_LISTS: Final = ("recommended_next_steps", "tests_to_run", "uncertainties")

_OBJECT = re.compile(r'\{\s*"')
_CONTROL = re.compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]"
)
_LINE_NUMBER = re.compile(r"\s*(\d{1,9})")
_decoder = json.JSONDecoder(strict=False)


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Who worked; minted by the runner."""

    role: Literal["subagent"] = "subagent"
    agent_id: str
    parent_role: Literal["main"] = "main"


class Finding(msgspec.Struct, frozen=True):
    """One claim of the subagent, unverified."""

    file: str
    """Relative to the workspace, as claimed; empty when none was named."""
    line: int | None
    """From 1, as claimed."""
    claim: str
    confidence: Confidence
    checked: bool = False
    """Whether what it quotes was found where it says."""
    check: str = "not checked"
    """Why it is checked or not; at most `CHECK_BYTES` encoded."""


class ResultError(msgspec.Struct, frozen=True):
    """Why a result is not `completed`, where the runner knows."""

    code: str
    message: str


class DelegateResult(
    msgspec.Struct, frozen=True, tag_field="type", tag="delegate_result", omit_defaults=True
):
    """What the parent's model gets of a delegation, and all it gets."""

    identity: Identity
    status: DelegationStatus
    summary: str
    findings: tuple[Finding, ...]
    recommended_next_steps: tuple[str, ...]
    tests_to_run: tuple[str, ...]
    uncertainties: tuple[str, ...]
    error: ResultError | None = None

    def encoded(self) -> str:
        return _encode(self).decode()


_encode = msgspec.json.Encoder().encode


def nested_failure(agent_id: str) -> str:
    """The result of a subagent's own call to `delegate`."""
    return DelegateResult(
        identity=Identity(agent_id=agent_id),
        status="failed",
        summary="Nested delegation is not allowed.",
        findings=(),
        recommended_next_steps=("Continue the assigned task without calling delegate.",),
        tests_to_run=(),
        uncertainties=(),
        error=ResultError(
            "nested_delegation_forbidden",
            "A subagent cannot call delegate; no nested subagent was created.",
        ),
    ).encoded()


def normalize(agent_id: str, texts: Sequence[str], problem: Problem | None = None) -> DelegateResult:
    """Make the result of a run from its assistant texts, oldest first.

    `problem` is why the run did not end by itself; at most `MAX_BYTES` come out, whatever went in.
    """
    texts = [text for text in texts if text.strip()]
    problem = closed(problem) if problem else None
    draft = _Draft("completed" if problem is None else "partial" if texts else "failed")
    found = _find(texts, draft)
    if found is not None:
        draft.take(found)
        draft.status = _lower(draft.status, draft.claimed_status(found))
    elif texts:
        draft.summary = clean(texts[-1])
        draft.status = _lower(draft.status, "partial")
        draft.notes.append(_OUT_OF_FORM)
        problem = problem or Problem(code="malformed_output", message=_OUT_OF_FORM)
    _support_thin(draft, texts, found)
    if not draft.summary and not draft.findings:
        problem = problem or Problem(code="malformed_output", message=_NO_RESULT)
        draft.summary, draft.status = clean(problem.message) or _NO_RESULT, "failed"
    return draft.finished(agent_id, problem)


def has_result(text: str) -> bool:
    """Whether a text holds a result object."""
    return bool(_candidates(text))


def clean(text: str) -> str:
    """Drop control sequences, overrides of the writing direction and what is no character."""
    return sound(_CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))).strip()


def sound(text: str) -> str:
    """Replace lone surrogates, which no encoder takes."""
    return text.encode("utf-8", "replace").decode()


@dataclass
class _Draft:
    """A result in the making, with notes about what did not get in."""

    status: DelegationStatus
    summary: str = ""
    findings: list[Finding] = field(default_factory=list)
    lists: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in _LISTS})
    notes: list[str] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)

    def take(self, found: dict[str, Any]) -> None:
        summary = found.get("summary")
        if summary is not None and not isinstance(summary, str):
            self.notes.append("The summary was not a text; it stands here as JSON.")
            summary = json.dumps(summary, ensure_ascii=False)
        self.summary = clean(summary or "")
        for each in self._list_of(found, "findings"):
            finding = _finding(each)
            if finding is None:
                self.dropped["malformed findings"] += 1
            else:
                self.findings.append(finding)
        for name, entries in self.lists.items():
            for each in self._list_of(found, name):
                if isinstance(each, str) and clean(each):
                    entries.append(_cut_line(clean(each)))
                else:
                    self.dropped[f"malformed {name}"] += 1

    def claimed_status(self, found: dict[str, Any]) -> DelegationStatus:
        claimed = found.get("status", self.status)
        if claimed in _RANKS:
            return claimed  # type: ignore[no-any-return]
        self.notes.append("The subagent's own status was not one of completed, partial, failed.")
        return "partial"

    def finished(self, agent_id: str, problem: Problem | None) -> DelegateResult:
        if problem is not None:
            if self.status != "failed" and problem.message not in self.notes:
                self.notes.append(f"It did not come to its end: {_cut_line(clean(problem.message))}")
            if problem.next_step:
                self.lists["recommended_next_steps"].insert(0, _cut_line(clean(problem.next_step)))
        self._bound()
        while len(_encode(result := self._result(agent_id, problem))) > self._room():
            self._drop_one()
        return result

    def _list_of(self, found: dict[str, Any], name: str) -> list[Any]:
        value = found.get(name, [])
        if isinstance(value, list):
            return value
        return [] if value is None else [value]

    def _bound(self) -> None:
        cut = _cut_middle(self.summary)
        if cut != self.summary:
            self.notes.append(
                f"The summary was cut: it had {len(self.summary):,} characters. The rest is not kept; "
                "delegate a narrower task if you need it."
            )
            self.summary = cut
        self._drop_beyond("findings", self.findings, MAX_FINDINGS)
        for name, entries in self.lists.items():
            self._drop_beyond(name, entries, MAX_ENTRIES)

    def _room(self) -> int:
        return MAX_BYTES - CHECK_BYTES * len(self.findings)

    def _drop_beyond(self, name: str, entries: list[Any], limit: int) -> None:
        if len(entries) > limit:
            self.dropped[name] += len(entries) - limit
            del entries[limit:]

    def _drop_one(self) -> None:
        """Make the largest list one shorter; the lists together are what can be too large."""
        groups: dict[str, list[Any]] = {"findings": self.findings, **self.lists}
        name = max(groups, key=lambda name: len(_encode(groups[name])))
        groups[name].pop()
        self.dropped[name] += 1

    def _result(self, agent_id: str, problem: Problem | None) -> DelegateResult:
        lost = ", ".join(f"{count:,} {name}" for name, count in self.dropped.items())
        notes = [*self.notes, f"Left out of this result, malformed or over its bounds: {lost}."]
        error = (
            ResultError(clean(problem.code)[:_MAX_CODE], _cut_line(clean(problem.message)))
            if problem
            else None
        )
        return DelegateResult(
            identity=Identity(agent_id=agent_id),
            status=self.status,
            summary=self.summary,
            findings=tuple(self.findings),
            recommended_next_steps=tuple(self.lists["recommended_next_steps"]),
            tests_to_run=tuple(self.lists["tests_to_run"]),
            uncertainties=(*notes[: None if lost else -1], *self.lists["uncertainties"]),
            error=error,
        )


def _find(texts: Sequence[str], draft: _Draft) -> dict[str, Any] | None:
    """The last result object of the latest text that has one; a thin one gives way to one with findings."""
    best: tuple[int, list[dict[str, Any]]] | None = None
    for age, text in enumerate(reversed(texts)):
        candidates = _candidates(text)
        if candidates and (best is None or candidates[-1].get("findings")):
            best = age, candidates
            if not _is_thin(candidates[-1]):
                break
    if best is None:
        return None
    age, candidates = best
    if age:
        draft.notes.append("The result was taken from an earlier text of the subagent, not its last.")
    if len(candidates) > 1:
        draft.notes.append(f"The text held {len(candidates):,} result objects; this is the last one.")
    return candidates[-1]


def _is_thin(found: dict[str, Any]) -> bool:
    return not found.get("findings") and len(str(found.get("summary", ""))) <= _THIN


def _candidates(text: str) -> list[dict[str, Any]]:
    """Every result object in a text, fenced or not, in order; never one inside another."""
    found: list[dict[str, Any]] = []
    scanned = end = 0
    for start in _OBJECT.finditer(text):
        if start.start() < end:
            continue
        if scanned > _MAX_SCANNED:
            break
        try:
            value, stop = _decoder.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            scanned += len(text) - start.start()
            continue
        scanned += stop - start.start()
        if "summary" in value or "findings" in value:
            found.append(value)
            end = stop
    return found


def _support_thin(draft: _Draft, texts: Sequence[str], found: dict[str, Any] | None) -> None:
    """Where the last word only points back, add the longest earlier text."""
    if draft.findings or len(draft.summary) > _THIN or len(texts) < 2:
        return
    earlier = clean(max(texts[:-1], key=len))
    if len(earlier) > 2 * _THIN and (found is None or not has_result(earlier)):
        draft.summary = f"{draft.summary}\n\nEarlier the subagent wrote:\n{earlier}".strip()
        draft.notes.append("The last text was short, so the longest earlier text of the run follows it.")


def _finding(value: Any) -> Finding | None:
    if isinstance(value, str):
        value = {"claim": value}
    if not isinstance(value, dict) or not isinstance(value.get("claim"), str):
        return None
    claim = _cut_line(clean(value["claim"]))
    if not claim:
        return None
    file = value.get("file")
    confidence = str(value.get("confidence")).lower()
    return Finding(
        file=_cut_line(clean(file)) if isinstance(file, str) else "",
        line=_line_number(value.get("line")),
        claim=claim,
        confidence=next((each for each in _CONFIDENCES if each == confidence), "low"),
    )


def _line_number(value: Any) -> int | None:
    match = _LINE_NUMBER.match(str(value)) if not isinstance(value, bool) else None
    return int(match[1]) if match and int(match[1]) > 0 else None


def _lower(status: DelegationStatus, other: DelegationStatus) -> DelegationStatus:
    return min(status, other, key=_RANKS.index)


def _cut_line(text: str) -> str:
    if len(text) <= MAX_LINE:
        return text
    return f"{text[:MAX_LINE]}… [{len(text) - MAX_LINE:,} characters cut]"


def _cut_middle(text: str) -> str:
    """Keep both ends of a text that is too long: answers begin well and conclude at the end."""
    kept, cut = len(text), text
    while (size := len(_encode(cut))) > MAX_SUMMARY_BYTES:
        kept = min(kept - 1, kept * MAX_SUMMARY_BYTES // size)
        tail = kept // 3
        head = text[: kept - tail].rstrip()
        cut = f"{head}\n… [{len(text) - kept:,} characters cut] …\n{text[len(text) - tail :].lstrip()}"
    return cut
