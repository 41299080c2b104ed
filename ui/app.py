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
from collections.abc import Iterable
from datetime import datetime
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Final, assert_never

import urwid

from ipc import kernel, logs
from ipc.endpoints import DRAWN
from ipc.errors import PlaceError
from ipc.messages import MessageDelta, StartTurn
from ui import keys, theme
from ui.appearance import Appearance
from ui.aside import aside
from ui.clipboard import Clipboard
from ui.composer.draft import Draft
from ui.composer.handover import reclaim_terminal
from ui.composer.incoming import Incoming
from ui.desk import Desk
from ui.errands import Errands
from ui.keyboard import Keyboard
from ui.orders import Copy, Order
from ui.outlet import Outlet, own_terminal
from ui.palettes import Background
from ui.pointer import Event, is_of_mouse, point
from ui.screen import Screen
from ui.state import ViewState, apply, rebuild
from ui.sweeping import Sweeping
from ui.terminal import STOP_AGAIN_S, Terminal, suspend_group
from ui.transcript.code import LANGUAGES
from ui.view import View
from ui.widgets.row import Size

if TYPE_CHECKING:
    from ui.composer.composer import Composer
    from ui.composer.external import ExternalEditor
    from ui.composer.keeper import Keeper
    from ui.wires import News

log = logging.getLogger(__name__)

FRAME_S: Final = 1 / 30
"""Shortest time between two frames that no key asked for."""
_TICK_S: Final = 0.001
"""A timer may come so much too early."""
PHASE_S: Final = 0.5
"""Time between two frames while only the clock moves."""
AGE_S: Final = 600.0
"""Time between two frames while only the age of a plan changes; also after the machine has slept."""
READ_AHEAD_S: Final = 0.5
"""Time after the first frame when what the first answer needs is loaded: 40 ms that nobody then waits."""
CRASHED: Final = 70


class App:
    """One screen on one terminal."""

    def __init__(self, run_directory: str, loop: asyncio.AbstractEventLoop) -> None:
        self._run_directory = run_directory
        self._loop = loop
        # The layout's encoding; what an ASCII terminal gets is decided where it is written.
        urwid.set_encoding("utf-8")
        glyphs = theme.glyphs("auto", os.environ)
        home = os.environ.get("HOME", "")
        self._view = View(ViewState(), Desk(), glyphs, time.monotonic, _wall, home)
        self._screen = Screen(self._view, self._key)
        self._keyboard = Keyboard(self._screen)
        fd = own_terminal()
        outlet = None if fd is None else Outlet(fd, loop.add_writer, loop.remove_writer, self._catch_up)
        self._terminal = Terminal(outlet, self._see_background, self._drawn, self._stop, loop.call_later)
        self._clipboard = Clipboard(self._view, self._terminal, loop, self._draw_soon)
        self._appearance = Appearance(self._view, self._terminal)
        self._sweeping = Sweeping(loop.call_later)
        LANGUAGES.load = aside(loop, self._draw_soon)
        self._main = urwid.MainLoop(
            self._screen,
            self._appearance.palette(),
            screen=self._terminal,
            input_filter=lambda typed, _: self._typed(typed),
            handle_mouse=False,
            event_loop=urwid.AsyncioEventLoop(loop=loop),
        )
        pastes = self._terminal.pastes
        self._incoming = Incoming(pastes, self._view.desk, loop.call_later, self._take_paste, self._draw_soon)
        self._keeper: Keeper | None = None
        self._editor: ExternalEditor | None = None
        self._errands = Errands(self._view, loop, self._give_back, self._draw_soon)
        self._news: deque[News] = deque()
        self._next_frame: asyncio.TimerHandle | None = None
        self._drawn_at = self._heard_at = 0.0
        self._leaving = False
        self._left = False

    def run(self) -> None:
        """Draw until the person leaves or a signal ends it. Raises what went wrong in a callback."""
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            self._loop.add_signal_handler(number, self._exit)
        self._loop.call_soon(self._first_frame)
        self._sweeping.begin()
        reclaim_terminal()
        try:
            self._main.run()
        except urwid.InputClosedError:
            log.info("the terminal was closed")
        finally:
            self._left = True
            if self._editor is not None:
                self._editor.abandon()
            if self._keeper is not None:
                self._keeper.end(left=self._leaving)
            if self._errands.wires is not None:
                self._errands.wires.close()

    def _first_frame(self) -> None:
        self._main.draw_screen()
        drawn = Path(self._run_directory, DRAWN)
        again = drawn.exists()
        with contextlib.suppress(OSError):
            drawn.touch()
        self._loop.call_soon(self._connect, again)
        self._loop.call_later(READ_AHEAD_S, _read_ahead)

    def _connect(self, again: bool) -> None:
        """Follow the others; `again`: this run had a screen before, and what it began with is over."""
        from ui.composer.keeper import Keeper
        from ui.wires import Wires

        self._view.state.late = again
        wires = self._errands.wires = Wires(self._run_directory, self._hear)
        self._keeper = Keeper(self._view, self._composer, self._loop)
        self._keeper.begin(wires.run, Path(self._run_directory).parent)
        self._draw_soon()
        if wires.run.flags.get("pick") is True and not again:
            self._view.desk.pick()

    # --- what the others tell

    def _hear(self, news: "News") -> None:
        """Keep news for the next frame; called from tasks that would swallow an exception."""
        self._news.append(news)
        self._draw_soon()

    def _take_news(self) -> None:
        state, now = self._view.state, self._view.clock()
        self._heard_at = self._loop.time()
        while self._news:
            source, kind, facts = self._news.popleft()
            match kind:
                case "snapshot":
                    rebuild(state, source, facts, now)
                    self._sweeping.set_aside()
                case "fact":
                    for fact in facts:
                        apply(state, fact, now, source)
                case "lost":
                    if source == "parent":
                        self._errands.probe()
                case _:
                    assert_never(kind)
        if self._keeper is not None:
            self._keeper.settle()
        self._carry_out(self._view.desk.advance(state))
        if self._appearance.follow():
            self._make_anew()
        self._changed()

    def _changed(self) -> None:
        """Let every part look at what is new."""
        self._screen.changed()
        if self._keeper is not None:
            self._keeper.look()
        self._appearance.tell()

    def _make_anew(self) -> None:
        """Make every part with other signs, but for the line that one writes and what is offered there."""
        self._screen = self._main.widget = Screen(self._view, self._key, self._screen)
        self._keyboard = Keyboard(self._screen)

    def _see_background(self, background: Background) -> None:
        self._appearance.see_background(background)
        self._draw_soon()

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
        if self._left:  # the loop goes on for a moment, the screen does not
            return
        if self._loop.time() < self._drawn_at + FRAME_S - _TICK_S:  # a key's frame came in between
            self._draw_soon()
            return
        self._take_news()
        if self._terminal.started:  # else an editor has the terminal
            self._main.draw_screen()
        self._expect_change()

    def _catch_up(self) -> None:
        """Draw at once what the terminal had no room for: it may be the frame of a key."""
        if self._terminal.missed and not self._left:
            self._main.draw_screen()

    def _drawn(self) -> None:
        self._drawn_at = self._loop.time()
        self._view.desk.seen()
        self._sweeping.drawn()
        if (left := self._screen.drawn()) is not None:
            self._draw_soon(left)

    def _expect_change(self) -> None:
        """Plan the next frame, when something on the screen changes with time alone."""
        plan = self._view.state.plan
        if plan is not None and plan.items:
            self._draw_soon(min(AGE_S, self._view.until_midnight))
        if self._view.moving:
            self._draw_soon(PHASE_S - self._view.clock() % PHASE_S)

    # --- what the person wants

    def _typed(self, typed: Iterable[str | Event]) -> list[str | Event]:
        """Return the keys of what came from the terminal; take what is none."""
        self._incoming.look()
        left: list[str | Event] = []
        attention = self._appearance.attention
        for key in self._terminal.named(typed):
            if key == keys.FOCUS_IN or key == keys.FOCUS_OUT:
                attention.focused = key == keys.FOCUS_IN
            elif isinstance(key, str):
                if key != keys.RESIZED:
                    attention.touched()
                left.append(key)
            elif is_of_mouse(key):
                attention.touched()
                self._take_news()
                point(self._screen, key)
                self._changed()
        return left

    def _take_paste(self, pasted: keys.Pasted) -> None:
        self._main.process_input([pasted])

    def _composer(self) -> "Composer":
        return self._screen.composer

    def _give_back(self, draft: Draft) -> None:
        self._composer().give_back(draft)

    def _key(self, size: Size, key: str) -> str | None:
        """Take a key, looking at all that was told before it; urwid draws afterwards.

        What a model says changes no key's meaning. Left to its own frame, it does not make this one dearer.
        """
        late = self._loop.time() - self._heard_at > FRAME_S  # who holds a key down must not stop what is said
        if late or not all(map(_is_said, self._news)):
            self._take_news()
        self._leaving = False
        orders = self._keyboard.press(size, key)
        self._carry_out(orders)
        self._changed()
        self._expect_change()
        return None

    def _carry_out(self, orders: Iterable[Order]) -> None:
        for order in orders:
            if isinstance(order, StartTurn) and self._keeper is not None:
                self._keeper.look(urgent=True)
            match order:
                case "edit":
                    self._edit()
                case "background":
                    self._stop()
                case "redraw":
                    self._main.screen.clear()
                case "leave":
                    self._leaving = True
                    # Of a session in which nothing was said nobody wants to know how to come back.
                    self._errands.leave("left" if self._view.state.conversation.turn else "quit", self._exit)
                case "suspend":
                    self._leaving = True
                    self._errands.leave("suspend", self._exit)
                case Copy():
                    self._clipboard.copy(order)
                case _:
                    self._errands.send(order)

    def _stop(self) -> None:
        self._terminal.stop()
        self._suspend()

    def _suspend(self) -> None:
        """Stop until a shell gives the terminal back; between two stops a signal may end everything."""
        if self._left:
            return
        if not suspend_group():
            self._loop.call_later(STOP_AGAIN_S, self._suspend)
            return
        self._terminal.start()
        self._terminal.clear()
        self._main.screen_size = None
        self._draw_soon()

    def _edit(self) -> None:
        """Hand the draft to the person's editor; the news are taken meanwhile."""
        from ui.composer.external import ExternalEditor

        folder = Path(self._run_directory)
        if self._keeper is not None and self._keeper.slot is not None:
            self._keeper.look(urgent=True)
            folder = self._keeper.slot.folder
        if self._editor is None:
            self._editor = ExternalEditor(self._view, self._composer, self._main, folder, self._loop)
        self._editor.begin()

    def _exit(self) -> None:
        """End the screen, once: after the first nobody catches what ends urwid's loop."""
        if not self._left:
            self._left = True
            self._loop.call_soon(_leave_loop)  # raised in a task, urwid would never see it


def _is_said(news: "News") -> bool:
    """Tell whether news are pieces of a message and nothing else."""
    return news[1] == "fact" and all(type(fact) is MessageDelta for fact in news[2])


def _wall() -> datetime:
    return datetime.now().astimezone()


def _read_ahead() -> None:
    Thread(target=import_module, args=("ui.transcript.markdown",), daemon=True).start()


def _leave_loop() -> None:
    raise urwid.ExitMainLoop


def main(argv: list[str]) -> int:
    """Run the screen; return the exit status: 0 when it was left, 70 when it broke."""
    run_directory, parent = argv
    kernel.die_with_parent(int(parent), signal.SIGTERM)
    kernel.set_name("fido-ui")
    kernel.hide_memory()  # the environment may hold a key under any name
    logs.begin("warning")
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
    kernel.leave(main(sys.argv[1:]))
