"""What a legal plan is (pure).

Rules
-----
Ids are unique, well-formed and kept from one plan to the next. Dependencies exist, point at other items and
do not cycle. At most one item is in progress, and only when what it depends on is done. What is not done
says what happens next; what is done says what shows it. Texts are short, the plan has at most 20 items.

A refusal names everything that is wrong at once. Whether a plan is legal depends on the earlier plan in one
way only: an item whose title is known must keep its id, whoever else bears it now; upper case and blanks do
not make a title another one. Following the fixes always leads there. The empty plan is always legal.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from itertools import chain, islice, zip_longest
from typing import Final, NamedTuple

import msgspec

from ipc.messages import Plan, PlanItem, PlanProblem, Verdict

MAX_ITEMS: Final = 20
MAX_REASON: Final = 240
MAX_ID: Final = 48
MAX_TITLE: Final = 120
MAX_DETAILS: Final = 600
MAX_NEXT_ACTION: Final = 240
MAX_EVIDENCE: Final = 10
"""Entries of one item."""
MAX_EVIDENCE_TEXT: Final = 240
"""Characters of one entry; a command or a `file:line`, never an output."""
MAX_PROBLEMS: Final = 200
"""Problems told in one refusal; more than any plan has that was meant as one."""
MAX_PROBLEMS_OF_A_RUNAWAY: Final = 40
"""The same for a call with too many items, which must not fill the conversation."""

_LIMITS: Final = (
    ("id", MAX_ID),
    ("title", MAX_TITLE),
    ("details", MAX_DETAILS),
    ("next_action", MAX_NEXT_ACTION),
)
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_SHOWN: Final = 60

Items = Sequence[PlanItem]
ItemRule = Callable[[PlanItem], Iterator["Finding"]]
PlanRule = Callable[[Items], Iterator[PlanProblem]]


def normalize_plan(plan: Plan) -> Plan:
    """The same plan with reason and items normalized."""
    return msgspec.structs.replace(plan, reason=one_line(plan.reason), items=normalize(plan.items))


def normalize(items: Iterable[PlanItem]) -> tuple[PlanItem, ...]:
    """Trim all texts, join the lines of one-line fields, drop empty and repeated entries; idempotent.

    Every entry of `evidence` keeps its verdict; what has none is claimed.
    """
    return tuple(map(_normalized, items))


def _normalized(item: PlanItem) -> PlanItem:
    verdicts: dict[str, Verdict] = {}
    for entry, verdict in zip_longest(item.evidence, item.verdicts[: len(item.evidence)]):
        if line := one_line(entry):
            verdicts.setdefault(line, verdict or "claimed")
    return PlanItem(
        id=one_line(item.id),
        title=one_line(item.title),
        status=item.status,
        details=item.details.replace("\r\n", "\n").strip(),
        dependencies=_entries(item.dependencies),
        next_action=one_line(item.next_action),
        evidence=tuple(verdicts),
        verdicts=tuple(verdicts.values()),
    )


def one_line(text: str) -> str:
    """Trim a text and join its lines by single spaces."""
    if text.isprintable():  # no line end is; saves a fifth of a plan's way through the rules
        return text.strip()
    return " ".join(filter(None, map(str.strip, text.splitlines())))


def check(reason: str, items: Items, previous: Items) -> tuple[PlanProblem, ...]:
    """Everything that is wrong with a normalized plan; empty when it is legal."""
    found = chain(
        empty_reason(reason), long_reason(reason), _item_problems(items), changed_id(items, previous)
    )
    return bounded(found, len(items))


def check_stored(plan: Plan) -> tuple[PlanProblem, ...]:
    """Everything that is wrong with a normalized plan that was read from a file."""
    return bounded(chain(long_reason(plan.reason), _item_problems(plan.items)), len(plan.items))


def dropped(items: Items, previous: Items) -> tuple[str, ...]:
    """Ids of the earlier plan that the new one no longer has, in order."""
    kept = {item.id for item in items}
    return tuple(item.id for item in previous if item.id not in kept)


def label(position: int, item_id: str | None) -> str:
    """An item as a person would point at it; `position` counts from 0."""
    return f"item {position + 1}" + (f" (id {shown(item_id)})" if item_id else "")


def shown(value: object) -> str:
    """A received value as JSON, shortened."""
    text = json.dumps(value, ensure_ascii=False, default=str).encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"


# --- rules of the whole plan ---------------------------------------------------------------------------


def empty_reason(reason: str) -> Iterator[PlanProblem]:
    if not reason:
        fix = "Say in one line why the plan changes."
        yield PlanProblem(item="plan", rule="empty_reason", message="reason is empty", fix=fix)


def long_reason(reason: str) -> Iterator[PlanProblem]:
    if len(reason) > MAX_REASON:
        rule, message, fix = _over("reason", reason, MAX_REASON)
        yield PlanProblem(item="plan", rule=rule, message=message, fix=fix)


def too_many_items(items: Items) -> Iterator[PlanProblem]:
    if len(items) > MAX_ITEMS:
        yield PlanProblem(
            item="plan",
            rule="too_many_items",
            message=f"the plan has {len(items)} items; at most {MAX_ITEMS} are allowed",
            fix="Merge small steps, or leave out what is long done.",
        )


def duplicate_id(items: Items) -> Iterator[PlanProblem]:
    first: dict[str, int] = {}
    for position, item in enumerate(items):
        if item.id and first.setdefault(item.id, position) != position:
            yield PlanProblem(
                item=label(position, item.id),
                rule="duplicate_id",
                message=f"id {shown(item.id)} is already used by item {first[item.id] + 1}",
                fix="Give every item an id of its own.",
            )


def unknown_dependency(items: Items) -> Iterator[PlanProblem]:
    ids = dict.fromkeys(item.id for item in items)
    for position, item in enumerate(items):
        missing = [other for other in item.dependencies if other not in ids]
        if missing:
            yield PlanProblem(
                item=label(position, item.id),
                rule="unknown_dependency",
                message=f"dependencies: no item has the id {_listed(missing)}; the ids are {_listed(ids)}",
                fix="Name an id of this plan, or remove the dependency.",
            )


def self_dependency(items: Items) -> Iterator[PlanProblem]:
    for position, item in enumerate(items):
        if item.id and item.id in item.dependencies:
            yield PlanProblem(
                item=label(position, item.id),
                rule="self_dependency",
                message="dependencies: the item depends on itself",
                fix=f"Remove {shown(item.id)} from its own dependencies.",
            )


def cyclic_dependency(items: Items) -> Iterator[PlanProblem]:
    """One problem a circle; following all their fixes leaves none."""
    if not any(item.dependencies for item in items):
        return
    position_of: dict[str, int] = {}
    graph: dict[str, list[str]] = {}
    for position, item in enumerate(items):
        position_of.setdefault(item.id, position)
        graph.setdefault(item.id, [other for other in item.dependencies if other != item.id])
    while circle := _circle(graph):
        needed, needing = circle[0], circle[1]
        graph[needing].remove(needed)
        yield PlanProblem(
            item=label(position_of[needing], needing),
            rule="cyclic_dependency",
            message=f"dependencies: these need each other in a circle: {_listed(circle[1:])}",
            fix=f"Break it; for one, remove {shown(needed)} from the dependencies of {shown(needing)}.",
        )


def second_in_progress(items: Items) -> Iterator[PlanProblem]:
    running = [
        label(position, item.id) for position, item in enumerate(items) if item.status == "in_progress"
    ]
    for where in running[1:]:
        yield PlanProblem(
            item=where,
            rule="second_in_progress",
            message=f'status "in_progress", but {running[0]} is in progress, too; at most one may be',
            fix='Make all but one of them "pending", "blocked" or "done".',
        )


def unmet_dependency(items: Items) -> Iterator[PlanProblem]:
    open_ids = {item.id for item in items if item.status != "done"}
    for position, item in enumerate(items):
        unmet = [other for other in item.dependencies if other in open_ids and other != item.id]
        if item.status == "in_progress" and unmet:
            yield PlanProblem(
                item=label(position, item.id),
                rule="unmet_dependency",
                message=f'status "in_progress", but it depends on {_listed(unmet)}, which is not done',
                fix='Finish that first, make this item "pending", or remove the dependency.',
            )


def changed_id(items: Items, previous: Items) -> Iterator[PlanProblem]:
    """Judge titles that both plans have once; following all fixes at once gives every title its id back."""
    if [(item.id, item.title) for item in items] == [(item.id, item.title) for item in previous]:
        return  # as most plans do; the rest takes 30 µs
    titles, old_titles = [_folded(item.title) for item in items], [_folded(item.title) for item in previous]
    uses, old_uses = Counter(titles), Counter(old_titles)
    id_of = {
        title: item.id
        for title, item in zip(old_titles, previous, strict=True)
        if title and old_uses[title] == uses[title] == 1
    }
    owner = {id_of[title]: item for title, item in zip(titles, items, strict=True) if title in id_of}
    for position, (title, item) in enumerate(zip(titles, items, strict=True)):
        kept = id_of.get(title, item.id)
        if kept != item.id:
            message = f"id: received {shown(item.id)}; {shown(item.title)} has the id {shown(kept)}"
            fix = f"Keep the id {shown(kept)}, also in dependencies, or give a new step a title of its own."
        elif item.id in owner and title not in id_of and owner[item.id].id != item.id:
            message = f"id: received {shown(item.id)}; that is the id of {shown(owner[item.id].title)}"
            fix = "Give this step an id of its own, also in dependencies."
        else:
            continue
        yield PlanProblem(item=label(position, item.id), rule="changed_id", message=message, fix=fix)


def _folded(title: str) -> str:
    return " ".join(title.casefold().split())


# --- rules of one item ---------------------------------------------------------------------------------


class Finding(NamedTuple):
    """A rule that an item breaks."""

    rule: str
    message: str
    fix: str


def missing_id(item: PlanItem) -> Iterator[Finding]:
    if not item.id:
        yield Finding("missing_id", "id is empty", 'Add a short readable id such as "verify".')


def malformed_id(item: PlanItem) -> Iterator[Finding]:
    if item.id and not _ID.fullmatch(item.id):
        yield Finding(
            "malformed_id",
            f"id: received {shown(item.id)}; allowed are ASCII letters, digits, `-`, `_` and `.`, "
            "beginning with a letter or digit",
            'Use a short readable id such as "inspect" or "run-tests".',
        )


def empty_title(item: PlanItem) -> Iterator[Finding]:
    if not item.title:
        yield Finding("empty_title", "title is empty", "Say in one line what the step achieves.")


def missing_next_action(item: PlanItem) -> Iterator[Finding]:
    if item.status != "done" and not item.next_action:
        yield Finding(
            "missing_next_action",
            f'next_action is empty, status is "{item.status}"; only a done item may have none',
            "Say what happens next, or what the item waits for.",
        )


def missing_evidence(item: PlanItem) -> Iterator[Finding]:
    if item.status == "done" and not item.evidence:
        yield Finding(
            "missing_evidence",
            'status "done", but evidence is empty',
            'Add what shows it, such as "npm test" or "test/ui.test.js:42"; without any it is not done.',
        )


def too_long(item: PlanItem) -> Iterator[Finding]:
    for field, limit in _LIMITS:
        if len(text := getattr(item, field)) > limit:
            yield _over(field, text, limit)
    for number, entry in enumerate(item.evidence[:MAX_EVIDENCE], 1):
        if len(entry) > MAX_EVIDENCE_TEXT:
            yield _over(f"evidence {number}", entry, MAX_EVIDENCE_TEXT)


def too_much_evidence(item: PlanItem) -> Iterator[Finding]:
    if len(item.evidence) > MAX_EVIDENCE:
        yield Finding(
            "too_much_evidence",
            f"evidence has {len(item.evidence)} entries; at most {MAX_EVIDENCE} are allowed",
            "Keep the entries that show the most.",
        )


def _over(field: str, text: str, limit: int) -> Finding:
    message = f"{field} has {len(text)} characters; at most {limit} are allowed"
    return Finding("too_long", message, f"Shorten {field}.")


PLAN_RULES: Final[tuple[PlanRule, ...]] = (
    too_many_items,
    duplicate_id,
    unknown_dependency,
    self_dependency,
    cyclic_dependency,
    second_in_progress,
    unmet_dependency,
)
ITEM_RULES: Final[tuple[ItemRule, ...]] = (
    missing_id,
    malformed_id,
    empty_title,
    missing_next_action,
    missing_evidence,
    too_long,
    too_much_evidence,
)


def _item_problems(items: Items) -> Iterator[PlanProblem]:
    for plan_rule in PLAN_RULES:
        yield from plan_rule(items)
    for position, item in enumerate(items):
        for rule, message, fix in _findings(item):
            yield PlanProblem(item=label(position, item.id), rule=rule, message=message, fix=fix)


@lru_cache(3 * MAX_ITEMS)
def _findings(item: PlanItem) -> tuple[Finding, ...]:
    """Most items come again with the next plan; a look is a tenth of the rules' time."""
    return tuple(chain.from_iterable(rule(item) for rule in ITEM_RULES))


def bounded(problems: Iterator[PlanProblem], items: int) -> tuple[PlanProblem, ...]:
    """All problems of a plan of so many items; of very many the first, and a last one that says so."""
    most = MAX_PROBLEMS if items <= MAX_ITEMS else MAX_PROBLEMS_OF_A_RUNAWAY
    first = tuple(islice(problems, most))
    if next(problems, None) is None:
        return first
    return (
        *first,
        PlanProblem(
            item="plan",
            rule="more_problems",
            message=f"there are more than {most} problems",
            fix="Send a shorter plan.",
        ),
    )


def _circle(graph: dict[str, list[str]]) -> list[str]:
    """Ids `[a, b, ..., a]` where each needs the one before it; empty when there is no circle."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def _entries(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(line for line in map(one_line, texts) if line))


def _listed(ids: Iterable[str]) -> str:
    first = list(islice(ids, MAX_ITEMS + 1))
    return ", ".join(map(shown, first[:MAX_ITEMS])) + (", …" if len(first) > MAX_ITEMS else "")
