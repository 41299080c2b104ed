"""What a tool that changes files needs so that a person can take it back."""

from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Final, Protocol


class Snapshots(Protocol):
    """Keeps what is there before a block and notes what differs behind it; never fails a call."""

    def around(self, call_id: str, path: Path) -> AbstractAsyncContextManager[None]:
        """For a call that changes one resolved path, and what is in it."""
        ...

    def around_command(self, call_id: str) -> AbstractAsyncContextManager[None]:
        """For a command that may change anything in the workspace."""
        ...


class _NothingKept:
    def around(self, call_id: str, path: Path) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    def around_command(self, call_id: str) -> AbstractAsyncContextManager[None]:
        return nullcontext()


NOTHING_KEPT: Final = _NothingKept()
"""For a caller whose changes nobody takes back."""
