"""Numbers as people read them: durations, times, token counts, money; every form has a bounded width."""

from datetime import datetime


def duration(milliseconds: int) -> str:
    """Return `840 ms`, `4.2 s`, `2m03s` or `1h02m`; at most 6 characters up to 99 hours."""
    if milliseconds < 1_000:
        return f"{max(0, milliseconds)} ms"
    seconds = milliseconds / 1_000
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}m{rest:02}s" if minutes < 60 else f"{minutes // 60}h{minutes % 60:02}m"


def clock(seconds: float) -> str:
    """Return elapsed time as `0:07`, `12:45` or `1:02:03`."""
    minutes, rest = divmod(max(0, int(seconds)), 60)
    return f"{minutes}:{rest:02}" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def elapsed(milliseconds: int) -> str:
    """Return elapsed time in 5 columns: ` 0:07`, `12:45`; from 100 minutes on `1h40m`, then `10h05`."""
    minutes, seconds = divmod(max(0, milliseconds) // 1_000, 60)
    hours, rest = divmod(minutes, 60)
    if minutes < 100:
        return f"{minutes:2}:{seconds:02}"
    if hours < 100:
        return f"{hours}h{rest:02}m"[:5]
    return f"{hours:4}h"


def count(number: int) -> str:
    """Return `999`, `12.3k`, `128k` or `1.2M`."""
    if number < 1_000:
        return str(number)
    for size, unit in ((1_000, "k"), (1_000_000, "M")):
        value = number / size
        if value < 99.95:
            return f"{value:.1f}".removesuffix(".0") + unit
        if value < 999.5:
            return f"{value:.0f}{unit}"
    return f"{number / 1_000_000:.0f}M"


def money(dollars: float) -> str:
    """Return US dollars, small amounts with the digits that matter: `$0.0042`, `$0.12`, `$3.40`."""
    if 0 < dollars < 0.0001:
        return "<$0.0001"
    return f"${dollars:.4f}" if 0 < dollars < 0.01 else f"${dollars:.2f}"


def share(part: int, whole: int) -> str:
    """Return a part of a whole as `89%`; only nothing is `0%`, and only all of it `100%`."""
    if part <= 0 or whole <= 0:
        return "0%"
    percent = round(100 * part / whole)
    if percent == 0:
        return "<1%"
    return f"{min(percent, 99) if part < whole else percent}%"


def moment(stamp: str, now: datetime) -> str:
    """Return an ISO 8601 time as its day and, of earlier days, the time of day; at most 17 characters."""
    said = day(stamp, now)
    return said if not said or ":" in said else f"{said} {datetime.fromisoformat(stamp).astimezone():%H:%M}"


def day(stamp: str, now: datetime) -> str:
    """Return an ISO 8601 time as a person would say it at `now`; empty when it is none.

    Of today `14:05`, then `yesterday`, `Monday` within a week, else `3 Mar 2025`; at most 11 characters.
    """
    try:
        at = datetime.fromisoformat(stamp).astimezone()
    except (ValueError, OverflowError):
        return ""
    match (now.astimezone().date() - at.date()).days:
        case 0:
            return f"{at:%H:%M}"
        case 1:
            return "yesterday"
        case 2 | 3 | 4 | 5 | 6:
            return f"{at:%A}"
        case _:
            return f"{at.day} {at:%b %Y}"
