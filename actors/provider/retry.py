"""When a request is sent again, and how long to wait before it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from math import ceil, isfinite


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Limits of sending one request again; only ever before the first byte of a response."""

    attempts: int = 4
    """How often a request is sent in all."""
    base_s: float = 0.5
    """Longest wait before the first retry; it doubles with each."""
    longest_backoff_s: float = 8.0
    """Where doubling ends, seconds."""
    longest_wait_s: float = 60.0
    """A server that asks for a longer wait than this many seconds is not waited for."""

    def delay(self, attempt: int, retry_after_s: float | None, chance: float) -> float | None:
        """Return the seconds to wait after failed attempt number `attempt`, or None to give up.

        What the server asks for is kept to. Otherwise exponential backoff with full jitter (AWS Architecture
        Blog, "Exponential Backoff And Jitter"): `chance` in [0, 1) picks from the whole range.
        """
        if attempt >= self.attempts:
            return None
        if retry_after_s is not None:
            return retry_after_s if retry_after_s <= self.longest_wait_s else None
        return chance * min(self.longest_backoff_s, self.base_s * 2.0 ** (attempt - 1))


def wait_asked_for(headers: Mapping[str, str], now: float) -> float | None:
    """The seconds that a server wants to be left alone, from its headers; None: it says nothing."""
    milliseconds = parse_retry_after(headers.get("retry-after-ms"), now)  # OpenAI's, which is more exact
    if milliseconds is not None:
        return milliseconds / 1000
    return parse_retry_after(headers.get("retry-after"), now)


def told_wait(seconds: float) -> str:
    """The advice to wait so long."""
    size, unit = next(((s, u) for s, u in ((3600, "hour"), (60, "minute")) if seconds >= s), (1, "second"))
    count = ceil(seconds / size)
    return f"The server asks to wait {count} {unit}{'s' * (count != 1)}; send it again then."


def parse_retry_after(value: str | None, now: float) -> float | None:
    """Read a `Retry-After` header, seconds or HTTP date (RFC 9110, 10.2.3); None when it says nothing usable.

    `now` is Unix time. A date that has passed means 0.
    """
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        seconds = _seconds_until(value, now)
    return max(0.0, seconds) if isfinite(seconds) else None


def _seconds_until(date: str, now: float) -> float:
    try:
        return parsedate_to_datetime(date).timestamp() - now
    except (ValueError, OverflowError, OSError):
        return float("nan")
