"""The clipboard: the terminal's own, or through tmux, which hands a text on to the terminal around it."""

import asyncio
import os
from collections.abc import Callable
from typing import Final

from ui.desk import Message
from ui.orders import Copy
from ui.terminal import Terminal
from ui.view import View

TMUX_S: Final = 2.0
"""How long tmux may take; it runs on this machine."""


class Clipboard:
    """Copies, and says what became of it. No terminal tells whether it took a text."""

    def __init__(
        self, view: View, terminal: Terminal, loop: asyncio.AbstractEventLoop, draw: Callable[[], None]
    ) -> None:
        self._view = view
        self._terminal = terminal
        self._loop = loop
        self._draw = draw
        self._tasks: set[asyncio.Task[None]] = set()

    def copy(self, order: Copy) -> None:
        """Begin to copy a text."""
        if os.environ.get("TMUX"):
            task = self._loop.create_task(self._through_tmux(order, self._view.desk.message))
            self._tasks.add(task)
            task.add_done_callback(self._done)
        elif not self._terminal.has_clipboard:
            self._view.desk.message = Message("warning", "This terminal has no clipboard to copy to.")
        else:
            self._terminal.copy_to_clipboard(order.text)

    async def _through_tmux(self, order: Copy, said_before: Message | None) -> None:
        if await _loaded(order.text):
            said = Message("info", f"Copied {order.size}, in tmux and its terminal.")
        else:
            self._terminal.copy_to_clipboard(order.text)
            said = Message("warning", "tmux did not take it; with `set-clipboard on` it may yet arrive.")
        if self._view.desk.message is said_before:  # else the person has gone on
            self._view.desk.message = said
        self._draw()

    def _done(self, task: asyncio.Task[None]) -> None:
        """Raise what the task raised: from a callback it reaches the loop's handler."""
        self._tasks.discard(task)
        if not task.cancelled():
            task.result()


async def _loaded(text: str) -> bool:
    """Tell whether tmux took a text, for its own buffer and for the clipboard of the terminal around it."""
    null, pipe = asyncio.subprocess.DEVNULL, asyncio.subprocess.PIPE
    try:
        tmux = await asyncio.create_subprocess_exec(
            "tmux", "load-buffer", "-w", "-", stdin=pipe, stdout=null, stderr=null
        )
    except OSError:
        return False
    try:
        async with asyncio.timeout(TMUX_S):
            await tmux.communicate(text.encode("utf-8", "replace"))
    except TimeoutError:
        tmux.kill()
    return await tmux.wait() == 0
