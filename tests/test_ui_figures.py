"""Numbers as people read them."""

from datetime import datetime

import pytest

from ui import figures


@pytest.mark.parametrize(
    ("milliseconds", "shown"),
    [
        (-5, "0 ms"),
        (999, "999 ms"),
        (1_000, "1.0 s"),
        (59_940, "59.9 s"),
        (59_960, "1m00s"),
        (123_000, "2m03s"),
        (3_600_000, "1h00m"),
        (359_999_000, "99h59m"),
    ],
)
def test_durations(milliseconds: int, shown: str) -> None:
    assert figures.duration(milliseconds) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"), [(-1, "0:00"), (7.9, "0:07"), (765, "12:45"), (3_723, "1:02:03")]
)
def test_clock(seconds: float, shown: str) -> None:
    assert figures.clock(seconds) == shown


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (0, "0"),
        (999, "999"),
        (1_000, "1k"),
        (12_345, "12.3k"),
        (128_000, "128k"),
        (999_600, "1M"),
        (1_234_567, "1.2M"),
        (5_000_000_000, "5000M"),
    ],
)
def test_counts(number: int, shown: str) -> None:
    assert figures.count(number) == shown


@pytest.mark.parametrize(
    ("dollars", "shown"),
    [(0.0, "$0.00"), (0.00004, "<$0.0001"), (0.0042, "$0.0042"), (0.123, "$0.12"), (3.4, "$3.40")],
)
def test_money(dollars: float, shown: str) -> None:
    assert figures.money(dollars) == shown


@pytest.mark.parametrize(
    ("minutes", "shown"),
    [
        (0, " 0:00"),
        (99, "99:00"),
        (100, "1h40m"),
        (9 * 60 + 5, "9h05m"),
        (10 * 60 + 5, "10h05"),
        (25 * 60, "25h00"),
        (99 * 60 + 59, "99h59"),
        (100 * 60, " 100h"),
    ],
)
def test_elapsed_time_has_five_columns_and_goes_on(minutes: int, shown: str) -> None:
    assert figures.elapsed(60_000 * minutes) == shown


@pytest.mark.parametrize(
    ("part", "whole", "shown"),
    [
        (0, 0, "0%"),
        (0, 1_000, "0%"),
        (1, 1_000, "<1%"),
        (6, 1_000, "1%"),
        (996, 1_000, "99%"),
        (1_000, 1_000, "100%"),
        (1_500, 1_000, "150%"),
    ],
)
def test_only_nothing_is_no_share_and_only_all_the_whole(part: int, whole: int, shown: str) -> None:
    assert figures.share(part, whole) == shown


NOW = datetime(2025, 3, 5, 14, 30).astimezone()


@pytest.mark.parametrize(
    ("at", "shown"),
    [
        ("2025-03-05T00:00", "00:00"),
        ("2025-03-05T14:05", "14:05"),
        ("2025-03-04T23:59", "yesterday"),
        ("2025-03-03T12:00", "Monday"),
        ("2025-02-27T00:01", "Thursday"),
        ("2025-02-26T23:00", "26 Feb 2025"),
        ("2025-03-06T00:01", "6 Mar 2025"),
    ],
)
def test_a_day_is_named_as_a_person_would_in_local_time(at: str, shown: str) -> None:
    assert figures.day(at, NOW) == shown


@pytest.mark.parametrize("text", ["", "yesterday", "2025-13-01T00:00:00Z", "0001-01-01T00:00:00+23:59"])
def test_a_time_that_is_none_is_not_shown(text: str) -> None:
    assert figures.day(text, NOW) == ""
