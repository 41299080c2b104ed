"""What a session knows of the files it has read or written: whether one is another by now."""

from hashlib import blake2b
from pathlib import Path
from typing import Final

MAX_BYTES: Final = 16 << 20
"""Of a larger file nothing is remembered; nothing changes one, either."""


class Seen:
    """Remembers the content of each file as it was seen last; one that was never seen does not differ."""

    def __init__(self) -> None:
        self._digests: dict[Path, bytes] = {}

    def note(self, path: Path, data: bytes) -> None:
        """Remember the whole content of a resolved path."""
        if len(data) <= MAX_BYTES:
            self._digests[path] = _digest(data)

    def differs(self, path: Path, data: bytes) -> bool:
        """Whether a file was seen, and with another content than this."""
        known = self._digests.get(path)
        return known is not None and known != _digest(data)


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()
