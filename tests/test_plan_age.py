"""How old a plan is, as a person says it; whose it is, as `fido plan` says it."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from actors.commands.reports import plan_lines
from actors.plan.age import age
from tests.fakes.plans import plan, step

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC).astimezone().replace(hour=12, minute=0)
"""A Wednesday noon of this system's zone, wherever that is."""


@pytest.mark.parametrize(
    ("ago", "words"),
    [
        (timedelta(minutes=5), "today at 11:55"),
        (timedelta(hours=11), "today at 01:00"),
        (timedelta(hours=13), "yesterday"),
        (timedelta(hours=35), "yesterday"),
        (timedelta(days=2), "on Monday"),
        (timedelta(days=6), "on Thursday"),
        (timedelta(days=7), "on 25 Feb 2026"),
        (timedelta(days=400), "on 28 Jan 2025"),
        (timedelta(hours=-20), "on 5 Mar 2026"),
    ],
)
def test_age_is_told_in_days_and_not_in_hours(ago: timedelta, words: str) -> None:
    assert age((NOON - ago).isoformat(), NOON) == words


@pytest.mark.parametrize("stamp", ["", "soon", "0001-01-01T00:00:00+23:59", "2026-13-01"])
def test_a_stamp_that_is_no_time_has_an_unknown_age(stamp: str) -> None:
    assert age(stamp, NOON) == "at an unknown time"


@pytest.mark.parametrize(
    ("session", "words"),
    [
        ("s-1", "Of the running session s-1, yesterday."),
        ("s-2", "Carried over from session s-2, yesterday."),
        ("", "Changed by hand, yesterday."),
    ],
)
def test_a_plan_says_whose_it_is_and_how_old(session: str, words: str) -> None:
    yesterday = (NOON - timedelta(days=1)).isoformat()
    shown = msgspec.structs.replace(plan(step("a")), session=session, updated_at=yesterday)
    assert words in list(plan_lines(shown, {"s-1"}, NOON))
