"""How much is kept so that it can be taken back, and how long keeping it may take."""

from typing import Final

FILE_BYTES: Final = 16 << 20
"""Of one file; larger ones are named and left out."""
WORKSPACE_ENTRIES: Final = 20_000
WORKSPACE_BYTES: Final = 256 << 20
"""Of all files around a shell command, or in a folder that `rmdir` removes."""
SESSION_BYTES: Final = 1 << 30
"""Of one session, each content once."""
SESSIONS: Final = 20
SESSIONS_BYTES: Final = 2 << 30
"""Of all sessions, the running one aside; the oldest go first."""
LISTING_S: Final = 5.0
READING_S: Final = 20.0
"""Seconds for a look at the workspace; past that no other is tried in the session."""


class TooMuch(Exception):
    """There is more than is kept, or it can not be listed in time; its message says so."""


class TooSlow(TooMuch):
    """The disk is too slow; every command would wait for it."""
