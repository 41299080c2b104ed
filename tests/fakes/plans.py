"""Plans for tests: legal by default, broken on purpose."""

from typing import Any

from ipc.messages import Plan, PlanItem


def step(item_id: str, **changes: Any) -> PlanItem:
    """A legal item as it is stored; a done one has evidence."""
    fields: dict[str, Any] = {"id": item_id, "title": f"Title of {item_id}", "status": "pending"}
    if changes.get("status") == "done":
        fields["evidence"] = ("pytest -q",)
    else:
        fields["next_action"] = "begin"
    fields |= changes
    return PlanItem(**{"verdicts": ("claimed",) * len(fields.get("evidence", ())), **fields})


def plan(*items: PlanItem, revision: int = 1) -> Plan:
    return Plan(revision=revision, updated_at="2026-01-02T03:04:05.678Z", reason="For a test", items=items)
