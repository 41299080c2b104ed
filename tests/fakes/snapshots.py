"""Snapshots for a caller whose changes nobody takes back."""

from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path


class _NothingKept:
    def around(self, call_id: str, path: Path) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    def around_command(self, call_id: str) -> AbstractAsyncContextManager[None]:
        return nullcontext()


NOTHING_KEPT = _NothingKept()
