"""What the model is told behind a prompt, and how a plan is handed to it."""

import json

import pytest

from actors.plan.delivery import is_due, origin, plan_result, restoring
from actors.prompts.asides import files_restored, restore_interrupted, stale_step, told_with, unfinished
from actors.session.events import FilesRestored, FilesRestoring
from ipc.messages import Plan, PlanItem

RUNNING = PlanItem(id="implement", title="Write it", status="in_progress", next_action="Go on")
DONE = PlanItem(id="look", title="Look around", status="done", evidence=("src/app.py:3",))
LATER = PlanItem(id="verify", title="Test it", status="pending", next_action="pytest -q")
PLAN = Plan(
    revision=4,
    updated_at="2026-11-29T10:00:00.000Z",
    reason="why",
    session="s-1",
    items=(DONE, RUNNING, LATER),
)


def test_the_persons_words_come_first_and_unchanged() -> None:
    assert told_with("do it", []) == "do it"
    assert told_with("do it", ["one.", "two."]) == "do it\n\n[Fido: one.]\n\n[Fido: two.]"


def test_a_model_is_told_which_files_are_no_longer_as_it_left_them() -> None:
    told = files_restored(FilesRestored(turn=3, direction="undo", paths=("a.py", "b.py")))
    assert told.startswith("the user took back the file changes of turn 3: a.py, b.py.")
    many = files_restored(FilesRestored(turn=3, direction="redo", paths=tuple(map(str, range(30)))))
    assert many.endswith("again: " + ", ".join(map(str, range(20))) + " and 10 more.")


def test_a_model_is_told_which_files_may_be_half_way() -> None:
    told = restore_interrupted(FilesRestoring(turn=3, direction="undo", paths=("a.py", "b.py")))
    assert told.startswith("taking back the file changes of turn 3 was interrupted")
    assert "behind it: a.py, b.py. Read" in told
    assert "making again" in restore_interrupted(FilesRestoring(turn=3, direction="redo", paths=()))


def test_a_step_left_in_progress_is_named_and_its_status_stays() -> None:
    assert '"implement"' in stale_step(PLAN)
    assert (
        unfinished(PLAN) == 'The plan is unfinished: "Write it" is still in progress, and 1 more not begun.'
    )
    idle = Plan(items=(DONE, LATER))
    assert stale_step(idle) == unfinished(idle) == ""


@pytest.mark.parametrize(
    ("plan", "seen", "due"),
    [
        (PLAN, None, True),
        (PLAN, 4, False),
        (PLAN, 3, True),
        (Plan(), None, False),
        (Plan(revision=5), 4, True),
        (Plan(revision=5), None, False),
    ],
)
def test_a_plan_is_due_when_the_model_has_not_seen_it(plan: Plan, seen: int | None, due: bool) -> None:
    assert is_due(plan, seen) is due


def test_a_plan_of_another_session_is_marked_as_carried_over() -> None:
    assert origin(PLAN, "s-1") == ""
    assert origin(PLAN, "s-2").startswith(
        "Carried over: session s-1 wrote this plan at 2026-11-29T10:00:00.000Z."
    )
    assert "a person" in origin(Plan(items=(DONE,)), "s-2")
    assert "no plan now" in origin(Plan(revision=5), "s-1")


def test_a_restored_plan_is_a_call_and_its_complete_result() -> None:
    call, result = (json.loads(message) for message in restoring(PLAN, "plan_4", "note"))
    assert call["tool_calls"][0]["function"] == {"name": "update_plan", "arguments": "{}"}
    assert call["content"] is None
    assert result["tool_call_id"] == call["tool_calls"][0]["id"] == "plan_4"
    told = json.loads(result["content"])
    assert told.pop("note") == "note"
    assert json.loads(plan_result(PLAN)) == told
    assert [item["id"] for item in told["items"]] == ["look", "implement", "verify"]
