"""What takes a moment is done beside the loop, so that no key waits for it."""

import asyncio
import contextlib
from collections.abc import Callable
from threading import Thread
from typing import Final

Work = Callable[[], None]
_NAME: Final = "aside"


def aside(loop: asyncio.AbstractEventLoop, after: Work) -> Callable[[Work, Work], None]:
    """Return what does some work in a thread, then in the loop what has to follow it, and `after`."""

    def load(work: Work, then: Work) -> None:
        def done() -> None:
            then()
            after()

        def run() -> None:
            work()
            with contextlib.suppress(RuntimeError):  # the screen was left meanwhile
                loop.call_soon_threadsafe(done)

        Thread(target=run, name=_NAME, daemon=True).start()

    return load
