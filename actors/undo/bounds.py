"""How much is kept so that it can be taken back, and how long keeping it may take."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bytes, numbers and seconds."""

    file_bytes: int = 16 << 20
    """Of one file; larger ones are named and left out."""
    workspace_entries: int = 20_000
    left_out_entries: int = 1_000
    """Of what the ignore rules leave out; changes to more are not noticed."""
    workspace_bytes: int = 256 << 20
    """Of all files around a shell command, or in a folder that `rmdir` removes."""
    session_bytes: int = 1 << 30
    """Of one session, each content once."""
    sessions: int = 20
    sessions_bytes: int = 2 << 30
    """Of all sessions, the running one aside; the oldest go first."""
    listing_s: float = 5.0
    reading_s: float = 20.0
    """Seconds for a look at the workspace; past that no other is tried in the session."""


class TooMuch(Exception):
    """There is more than is kept, or it can not be listed in time; its message says so."""


class TooSlow(TooMuch):
    """The disk is too slow; every command would wait for it."""
