"""The restart budget: what each way to end means."""

import pytest

from actors.restarts import REOPEN, START_REFUSED, RestartBudget


@pytest.mark.parametrize(
    ("actor", "status", "verdict"),
    [("parent", START_REFUSED, "refused"), ("headless", 3, "end"), ("ui", 0, "end"), ("ui", -9, "restart")],
)
def test_an_end_has_its_verdict(actor: str, status: int, verdict: str) -> None:
    assert RestartBudget().judge(actor, status, now=0.0) == verdict


def test_three_ends_within_the_window_are_forgiven_and_the_fourth_is_not() -> None:
    budget = RestartBudget(restarts=3, window_s=30.0)
    assert [budget.judge("parent", -9, now) for now in (0.0, 1.0, 2.0, 3.0)] == ["restart"] * 3 + ["give_up"]
    assert budget.judge("parent", -9, now=33.5) == "restart"


def test_a_parent_may_go_on_with_another_session_as_often_as_it_likes() -> None:
    budget = RestartBudget()
    assert {budget.judge("parent", REOPEN, now=0.0) for _ in range(50)} == {"restart"}
    assert budget.judge("parent", -9, now=0.0) == "restart"
