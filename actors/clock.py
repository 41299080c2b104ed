"""The time as logs and plans keep it."""

from datetime import UTC, datetime


def timestamp(seconds: float | None = None) -> str:
    """Now, or so many seconds after the epoch: in UTC, with milliseconds and `Z`."""
    moment = datetime.now(UTC) if seconds is None else datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
