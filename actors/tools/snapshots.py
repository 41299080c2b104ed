"""What a tool that changes files needs so that a person can take it back."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol


class Snapshots(Protocol):
    """Keeps what is there before a block and notes what differs behind it; never fails a call."""

    def around(self, call_id: str, path: Path) -> AbstractAsyncContextManager[None]:
        """For a call that changes one resolved path, and what is in it."""
        ...

    def around_command(self, call_id: str) -> AbstractAsyncContextManager[None]:
        """For a command that may change anything in the workspace."""
        ...
