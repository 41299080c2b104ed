"""Strategies for plans: legal ones, and what anybody could send."""

from hypothesis import strategies as st

from ipc.messages import PlanItem
from tests.fakes.plans import step

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
