"""How old a plan is, in words (pure)."""

from datetime import datetime


def age(stamp: str, now: datetime) -> str:
    """A time (ISO 8601) as a person says it at `now`, in the zone of the system.

    `today at 14:05`, `yesterday`, `on Monday` within a week, else `on 3 Mar 2025`.
    """
    try:
        at = datetime.fromisoformat(stamp).astimezone()
    except (ValueError, OverflowError):
        return "at an unknown time"
    match (now.astimezone().date() - at.date()).days:
        case 0:
            return f"today at {at:%H:%M}"
        case 1:
            return "yesterday"
        case 2 | 3 | 4 | 5 | 6:
            return f"on {at:%A}"
        case _:
            return f"on {at.day} {at:%b %Y}"
