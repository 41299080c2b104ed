"""The tables: closed, without dead ends, and every turn and delegation ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipc.lifecycle import DELEGATION, PROCESS, TURN, IllegalTransitionError, advance


def states(table: object) -> set[str]:
    assert isinstance(table, dict)
    return {state for state, _ in table} | set(table.values())


@pytest.mark.parametrize("table", [PROCESS, TURN, DELEGATION])
def test_every_state_is_reached_and_left(table: dict[tuple[str, str], str]) -> None:
    assert {state for state, _ in table} == states(table)


def test_what_a_table_does_not_know_is_an_error() -> None:
    with pytest.raises(IllegalTransitionError, match="'end' can't happen while 'idle'"):
        advance(TURN, "idle", "end")


@given(st.lists(st.sampled_from(sorted({event for _, event in DELEGATION}))))
def test_a_delegation_that_has_ended_stays_ended(events: list[str]) -> None:
    state = "ended"
    for event in events:
        state = DELEGATION.get(("ended", event), "ended")  # type: ignore[call-overload]
    assert state == "ended"


@given(st.lists(st.sampled_from(sorted({event for _, event in DELEGATION})), max_size=12))
def test_from_wherever_a_delegation_is_a_lost_worker_or_its_deadline_ends_it(events: list[str]) -> None:
    state = "waiting"
    for event in events:
        state = DELEGATION.get((state, event), state)  # type: ignore[call-overload]
    for event in ("deadline", "worker_lost", "deadline"):
        state = DELEGATION.get((state, event), state)  # type: ignore[call-overload]
    assert state == "ended"
