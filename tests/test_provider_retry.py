"""When a request is sent again: the policy and the Retry-After header."""

from datetime import UTC, datetime
from email.utils import format_datetime

import pytest

from actors.provider.errors import Detail, from_status, is_passing
from actors.provider.retry import RetryPolicy, parse_retry_after, told_wait, wait_asked_for

NOW = 1_700_000_000.0
POLICY = RetryPolicy(attempts=4, base_s=0.5, longest_backoff_s=3.0, longest_wait_s=60.0)


def test_backoff_doubles_up_to_its_limit_and_is_jittered_over_the_whole_range() -> None:
    policy = RetryPolicy(attempts=9, base_s=0.5, longest_backoff_s=3.0)
    assert [policy.delay(n, None, 1.0) for n in range(1, 6)] == [0.5, 1.0, 2.0, 3.0, 3.0]
    assert policy.delay(3, None, 0.25) == 0.5
    assert policy.delay(3, None, 0.0) == 0.0


def test_attempts_are_bounded_also_when_the_server_says_when_to_come_back() -> None:
    assert POLICY.delay(3, 1.0, 0.5) == 1.0
    assert POLICY.delay(4, 1.0, 0.5) is None
    assert RetryPolicy(attempts=1).delay(1, None, 0.5) is None


@pytest.mark.report("PROV-15")
def test_a_longer_wait_than_the_limit_is_not_waited_for() -> None:
    assert POLICY.delay(1, 60.0, 0.5) == 60.0
    assert POLICY.delay(1, 60.1, 0.5) is None


@pytest.mark.report("PROV-15")
@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("2", 2.0),
        ("0.5", 0.5),
        ("-3", 0.0),
        (format_datetime(datetime.fromtimestamp(NOW + 30, UTC), usegmt=True), 30.0),
        (format_datetime(datetime.fromtimestamp(NOW - 30, UTC), usegmt=True), 0.0),
        ("", None),
        (None, None),
        ("soon", None),
        ("inf", None),
        ("nan", None),
        ("Mon, 99 Foo 2999 99:99:99 GMT", None),
    ],
)
def test_retry_after_is_read_as_seconds_or_date(value: str | None, seconds: float | None) -> None:
    assert parse_retry_after(value, NOW) == seconds


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [({"retry-after-ms": "1500", "retry-after": "2"}, 1.5), ({"retry-after": "2"}, 2.0), ({}, None)],
)
def test_a_wait_in_milliseconds_is_the_more_exact_one(headers: dict[str, str], seconds: float | None) -> None:
    assert wait_asked_for(headers, NOW) == seconds


@pytest.mark.parametrize(
    ("seconds", "told"), [(3600, "1 hour;"), (9000.0, "3 hours;"), (90, "2 minutes;"), (0.5, "1 second;")]
)
def test_a_long_wait_is_told_in_a_unit_for_people(seconds: float, told: str) -> None:
    assert f"wait {told}" in told_wait(seconds)


@pytest.mark.parametrize(
    ("status", "retried"),
    [
        (400, False),
        (401, False),
        (402, False),
        (404, False),
        (408, True),
        (409, True),
        (429, True),
        (500, True),
        (529, True),
    ],
)
def test_only_passing_troubles_are_retried(status: int, retried: bool) -> None:
    assert is_passing(from_status(status, Detail("", ""), "http://localhost")) is retried
