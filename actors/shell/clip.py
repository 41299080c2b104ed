"""The start and the end of a stream, and how much there was in between; memory does not grow with it."""


class Clip:
    """Takes bytes as they are read and keeps the first `head` and the last `tail` of them."""

    __slots__ = ("_head", "_tail", "_tail_limit", "_wanted", "total")

    def __init__(self, head: int, tail: int) -> None:
        self.total = 0
        """Bytes taken."""
        self._head: list[bytes] = []
        self._wanted = head
        self._tail = bytearray()
        self._tail_limit = tail

    def add(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self.total += len(chunk)
        if self._wanted:
            self._head.append(chunk[: self._wanted])
            chunk = chunk[self._wanted :]
            self._wanted -= len(self._head[-1])
        self._tail += chunk[-self._tail_limit :] if self._tail_limit else b""
        # Trimmed when it is twice too long: every byte is then moved once, however small the chunks are.
        if len(self._tail) > 2 * self._tail_limit:
            del self._tail[: -self._tail_limit]

    @property
    def head(self) -> bytes:
        """The first bytes."""
        return b"".join(self._head)

    @property
    def tail(self) -> bytes:
        """The last bytes, without what is in `head` already."""
        return bytes(self._tail[-self._tail_limit :]) if self._tail_limit else b""
