"""What is required of the wall decides who may work behind it."""

import pytest

from actors.delegation.requirement import BARRED, standing
from actors.sandbox.level import Level
from actors.settings.tables import Sandbox

WHOLE = Level(landlock=7, seccomp=True)
LACKING = (
    Level(landlock=0, seccomp=True),
    Level(landlock=7, seccomp=False),
    Level(landlock=0, seccomp=False),
)


@pytest.mark.parametrize("required", ["require", "best-effort"])
def test_a_whole_wall_lets_everybody_work_and_is_told_without_alarm(required: Sandbox) -> None:
    found = standing(required, WHOLE)
    assert found.whole
    assert found.problem is None
    assert found.notice.level == "info"
    assert "(Landlock 7, seccomp)" in found.notice.message


@pytest.mark.parametrize("level", LACKING)
def test_a_wall_that_lacks_a_part_bars_delegations_and_says_what_to_do(level: Level) -> None:
    found = standing("require", level)
    assert found.problem is not None
    assert found.problem.code == BARRED
    assert found.problem.next_step == ""  # a model has no say in what holds it
    assert "Delegation is not available here" in found.problem.message
    assert level.sentence[1:] in found.sentence
    assert "best-effort" in found.next_step
    assert found.notice.level == "warning"
    assert found.notice.message == f"{found.sentence} {found.next_step}"


@pytest.mark.parametrize("level", LACKING)
def test_best_effort_works_behind_what_there_is_and_warns(level: Level) -> None:
    found = standing("best-effort", level)
    assert found.problem is None
    assert found.notice.level == "warning"
    assert level.sentence[1:] in found.notice.message
    assert level.next_step in found.next_step
    assert "set sandbox" not in found.next_step.lower()  # it says so already


@pytest.mark.parametrize("level", [WHOLE, *LACKING])
def test_a_wall_that_is_turned_off_is_never_silent(level: Level) -> None:
    found = standing("off", level)
    assert (found.whole, found.problem) == (False, None)
    assert found.notice.level == "warning"
    assert '"off"' in found.notice.message


def test_whoever_turned_the_wall_off_is_told_the_way_to_what_this_kernel_has() -> None:
    assert 'sandbox = "require"' in standing("off", WHOLE).next_step
    for level in LACKING:
        told = standing("off", level).next_step
        assert level.next_step in told
        assert "require" not in told  # there it would be no delegation at all
        assert ("best-effort" in told) == (level.landlock > 0 or level.seccomp)
