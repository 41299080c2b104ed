"""The time as logs and plans keep it."""

from datetime import UTC, datetime


def timestamp() -> str:
    """Now, in UTC, with milliseconds and `Z`."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
