"""The start and the end of a stream, and how much there was in between; memory does not grow with it."""


class Clip:
    """Takes bytes as they are read and keeps the first `head` and the last `tail` of them."""

    __slots__ = ("_head", "_large", "_small", "_tail_limit", "_wanted", "total")

    def __init__(self, head: int, tail: int) -> None:
        self.total = 0
        """Bytes taken."""
        self._head: list[bytes] = []
        self._wanted = head
        self._large = b""
        """The end of the last chunk that was a whole tail by itself."""
        self._small = bytearray()
        """What came behind it."""
        self._tail_limit = tail

    def add(self, chunk: memoryview | bytes) -> None:
        """Take the next bytes; nothing of a view is held."""
        self.total += len(chunk)
        if self._wanted:
            self._head.append(bytes(chunk[: self._wanted]))
            chunk = chunk[self._wanted :]
            self._wanted -= len(self._head[-1])
        if len(chunk) >= self._tail_limit:
            self._large = bytes(chunk[-self._tail_limit :]) if self._tail_limit else b""
            self._small.clear()
            return
        self._small += chunk
        # Trimmed when it is twice too long: every byte is then moved once, however small the chunks are.
        if len(self._small) > 2 * self._tail_limit:
            del self._small[: -self._tail_limit]
            self._large = b""

    @property
    def head(self) -> bytes:
        """The first bytes."""
        return b"".join(self._head)

    @property
    def tail(self) -> bytes:
        """The last bytes, without what is in `head` already."""
        return (self._large + self._small)[-self._tail_limit :] if self._tail_limit else b""
