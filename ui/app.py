"""The UI actor: draws what the others tell, sends what the person wants. `python -I -m ui.app RUN_DIR PPID`.

The first frame is drawn before anything is connected. Whatever raises in a callback or a task ends the
process with the terminal restored; nothing is caught to go on with a frozen screen.
"""

import asyncio
import contextlib
import logging
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Coroutine, Iterable
from typing import TYPE_CHECKING, Final, assert_never

import urwid

from ipc.errors import IpcError, PeerGone, PlaceError
from ipc.messages import AnyReply, ClearPlan, GetPlan, PlanChanged, PlanStored, ProcessStarted, Refused, Stop
from ui import theme
from ui.blocks import steady
from ui.desk import Desk, Message, Order, Send
from ui.keyboard import Keyboard
from ui.screen import Screen
from ui.state import ViewState, apply, lose, rebuild
from ui.terminal import Terminal, suspend_group
from ui.view import View
from ui.widgets.row import Size

if TYPE_CHECKING:
    from ui.wires import News, Wires

log = logging.getLogger(__name__)

FRAME_S: Final = 1 / 30
"""Shortest time between two frames that no key asked for."""
PHASE_S: Final = 0.5
"""Time between two frames while only the clock moves."""
ASK_DEADLINE_S: Final = 5.0
LEAVE_DEADLINE_S: Final = 1.0
RETRY_S: Final = 0.3
"""Wait before a message is sent again that the parent was too busy to take."""
CRASHED: Final = 70


class App:
    """One screen on one terminal."""

    def __init__(self, run_directory: str, loop: asyncio.AbstractEventLoop) -> None:
        self._run_directory = run_directory
        self._loop = loop
        unicode = theme.speaks_unicode(os.environ)
        urwid.set_encoding(
            "utf-8"
        )  # The layout's; what an ASCII terminal gets is decided where it is written.
        glyphs = theme.UNICODE if unicode else theme.ASCII
        home = os.environ.get("HOME", "")
        self._view = View(ViewState(), Desk(), glyphs, time.monotonic, home)
        self._screen = Screen(self._view, self._key)
        self._keyboard = Keyboard(self._screen)
        self._main = urwid.MainLoop(
            self._screen,
            theme.PALETTE,
            screen=Terminal(ascii_only=not unicode),
            handle_mouse=False,
            event_loop=urwid.AsyncioEventLoop(loop=loop),
        )
        self._wires: Wires | None = None
        self._news: deque[News] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._next_frame: asyncio.TimerHandle | None = None
        self._drawn_at = 0.0

    def run(self) -> None:
        """Draw until the person leaves or a signal ends it. Raises what went wrong in a callback."""
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            self._loop.add_signal_handler(number, self._exit)
        self._loop.call_soon(self._first_frame)
        try:
            self._main.run()
        except urwid.InputClosedError:
            log.info("the terminal was closed")
        finally:
            if self._wires is not None:
                self._wires.close()

    def _first_frame(self) -> None:
        self._main.draw_screen()
        self._loop.call_soon(self._connect)

    def _connect(self) -> None:
        from ui.wires import Wires

        self._wires = Wires(self._run_directory, self._hear)

    # --- what the others tell

    def _hear(self, news: "News") -> None:
        """Keep news for the next frame; called from tasks that would swallow an exception."""
        self._news.append(news)
        self._draw_soon()

    def _take_news(self) -> None:
        state, now = self._view.state, self._view.clock()
        while self._news:
            source, kind, facts = self._news.popleft()
            match kind:
                case "snapshot":
                    rebuild(state, source, facts)
                case "fact":
                    for fact in facts:
                        apply(state, fact, now)
                case "lost":
                    lose(state, source)
                case _:
                    assert_never(kind)
        self._carry_out(self._view.desk.advance(self._view.state))
        self._screen.changed()

    # --- frames

    def _draw_soon(self, delay: float = 0.0) -> None:
        now = self._loop.time()
        when = max(now + delay, self._drawn_at + FRAME_S)
        if self._next_frame is not None and not self._next_frame.cancelled():
            if self._next_frame.when() <= when:
                return
            self._next_frame.cancel()
        self._next_frame = self._loop.call_at(when, self._draw)

    def _draw(self) -> None:
        self._next_frame = None
        self._drawn_at = self._loop.time()
        self._take_news()
        self._main.draw_screen()
        self._expect_change()

    def _expect_change(self) -> None:
        """Plan the next frame, when something on the screen changes with time alone."""
        form = self._screen.form
        if form is not None and not form.armed:
            self._draw_soon(form.grace.until - self._view.clock())
        if self._view.moving:
            self._draw_soon(PHASE_S - self._view.clock() % PHASE_S)

    # --- what the person wants

    def _key(self, size: Size, key: str) -> str | None:
        """Take a key, looking at all that was told before it; urwid draws afterwards."""
        self._take_news()
        orders = self._keyboard.press(size, key)
        self._carry_out(orders)
        self._screen.changed()
        self._expect_change()
        return None

    def _carry_out(self, orders: Iterable[Order]) -> None:
        for order in orders:
            match order:
                case "suspend":
                    with self._main.paused():
                        suspend_group()
                case "redraw":
                    self._main.screen.clear()
                case "leave":
                    self._start(self._leave())
                case _:
                    self._start(self._send(order))

    async def _send(self, order: Send) -> None:
        to_store = isinstance(order, GetPlan | ClearPlan)
        try:
            if self._wires is None:
                raise PeerGone("nothing is connected yet")
            reply = await self._wires.ask("plan_store" if to_store else "parent", order, ASK_DEADLINE_S)
        except IpcError as error:
            whom = "plan store" if to_store else "agent"
            self._failed(order, "no_answer", f"The {whom} did not answer: {error}.", "Try again.")
        else:
            self._settled(order, reply)
        self._draw_soon()

    def _settled(self, order: Send, reply: AnyReply) -> None:
        match reply:
            case Refused(code=code, message=message, next_step=next_step):
                self._failed(order, code, steady(message), steady(next_step))
            case PlanStored(plan=plan):
                apply(self._view.state, PlanChanged(plan=plan), None)
                if isinstance(order, ClearPlan):
                    self._view.desk.message = Message("info", "The plan is empty.")
            case _:
                pass

    def _failed(self, order: Send, code: str, message: str, next_step: str) -> None:
        desk = self._view.desk
        if text := desk.failed(order, code, message, next_step):
            self._screen.composer.give_back(text)
        if desk.held:
            self._loop.call_later(RETRY_S, self._retry)

    def _retry(self) -> None:
        self._view.desk.held = False
        self._draw_soon()

    async def _leave(self) -> None:
        """End the run when it is ours; a screen that was attached to a run leaves it alone."""
        news = self._view.state.processes.get("ui")
        ours = isinstance(news, ProcessStarted) and news.pid == os.getpid()
        if ours and self._wires is not None:
            with contextlib.suppress(IpcError):
                await self._wires.ask("supervisor", Stop(reason="quit"), LEAVE_DEADLINE_S)
        self._exit()

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        """Raise what a task raised: in a callback it reaches the loop's handler, which ends the screen."""
        self._tasks.discard(task)
        if not task.cancelled():
            task.result()

    def _exit(self) -> None:
        self._loop.call_soon(_leave_loop)


def _leave_loop() -> None:
    raise urwid.ExitMainLoop


def main(argv: list[str]) -> int:
    """Run the screen; return the exit status: 0 when it was left, 70 when it broke."""
    run_directory, _ppid = argv
    with asyncio.Runner() as runner:
        try:
            App(run_directory, runner.get_loop()).run()
        except PlaceError as error:
            sys.stderr.write(f"fido: {error}\n")
            return 1
        except Exception:
            log.critical("the screen broke", exc_info=True)
            return CRASHED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
