"""Plans for tests: legal by default, broken on purpose."""

from typing import Any

from hypothesis import strategies as st

from ipc.messages import Plan, PlanItem


def step(item_id: str, **changes: Any) -> PlanItem:
    """A legal item; a done one has evidence."""
    fields: dict[str, Any] = {"id": item_id, "title": f"Title of {item_id}", "status": "pending"}
    if changes.get("status") == "done":
        fields["evidence"] = ("pytest -q",)
    else:
        fields["next_action"] = "begin"
    return PlanItem(**{**fields, **changes})


def plan(*items: PlanItem, revision: int = 1) -> Plan:
    return Plan(revision=revision, updated_at="2026-01-02T03:04:05.678Z", reason="For a test", items=items)


IDS = st.from_regex(r"[a-z][a-z0-9-]{0,7}", fullmatch=True)
LINES = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
STATUSES = st.sampled_from(["pending", "in_progress", "blocked", "done"])

any_items = st.lists(
    st.builds(
        PlanItem,
        id=st.one_of(IDS, LINES),
        title=LINES,
        status=STATUSES,
        details=LINES,
        dependencies=st.lists(st.one_of(IDS, LINES), max_size=3).map(tuple),
        next_action=LINES,
        evidence=st.lists(LINES, max_size=2).map(tuple),
    ),
    max_size=5,
).map(tuple)
"""Items as anybody could send them."""


@st.composite
def legal_items(draw: st.DrawFn) -> tuple[PlanItem, ...]:
    """The items of a legal plan; each depends on earlier ones alone, at most one runs."""
    ids = draw(st.lists(IDS, unique=True, max_size=8))
    running = draw(st.sampled_from([*ids, None]))
    items: list[PlanItem] = []
    for item_id in ids:
        done = [item.id for item in items if item.status == "done"]
        status = (
            "in_progress" if item_id == running else draw(st.sampled_from(["pending", "blocked", "done"]))
        )
        known = done if status == "in_progress" else [item.id for item in items]
        needs = draw(st.lists(st.sampled_from(known), unique=True, max_size=3)) if known else []
        items.append(step(item_id, status=status, dependencies=tuple(needs)))
    return tuple(items)
