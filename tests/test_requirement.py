"""What is required of the wall decides who may work behind it."""

import pytest

from actors.delegation.requirement import BARRED, standing
from actors.settings import Sandbox

WALL = "Subagents can write nothing."
HOLE = "This kernel has no Landlock, which keeps subagents from writing."


@pytest.mark.parametrize("required", ["require", "best-effort"])
def test_a_whole_wall_lets_everybody_work_and_is_told_once(required: Sandbox) -> None:
    notice, barred = standing(required, whole=True, wall=WALL)
    assert (notice.level, notice.message, barred) == ("info", WALL, None)


def test_a_wall_with_a_hole_bars_delegations_and_says_what_would_allow_them() -> None:
    notice, barred = standing("require", whole=False, wall=HOLE)
    assert barred is not None
    assert barred.code == BARRED
    assert HOLE in barred.message
    assert "best-effort" in barred.next_step
    assert notice.level == "warning"
    assert notice.message == f"{barred.message} {barred.next_step}"


def test_best_effort_works_behind_what_there_is_and_warns() -> None:
    notice, barred = standing("best-effort", whole=False, wall=HOLE)
    assert barred is None
    assert notice.level == "warning"
    assert HOLE in notice.message


@pytest.mark.parametrize("whole", [True, False])
def test_a_wall_that_is_turned_off_is_never_silent(whole: bool) -> None:
    notice, barred = standing("off", whole=whole, wall=WALL)
    assert barred is None
    assert notice.level == "warning"
    assert "off" in notice.message
    assert WALL not in notice.message
