"""Keeps what is written and not sent, and takes up what an earlier screen has left."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ipc.endpoints import Run, live_runs
from ui.composer.composer import Composer
from ui.composer.draft import joined
from ui.composer.slot import Kept, Slot
from ui.desk import Message
from ui.view import View

log = logging.getLogger(__name__)

WRITE_S: Final = 0.3
"""Shortest time between two writes while a person types; a crash costs no more than that."""


class Keeper:
    """Writes the draft and the queue down shortly after they change."""

    def __init__(self, view: View, composer: Callable[[], Composer], loop: asyncio.AbstractEventLoop) -> None:
        self._view = view
        self._composer = composer
        self._loop = loop
        self.slot: Slot | None = None
        """Where it is kept; None when this screen keeps nothing."""
        self._left: list[Kept] = []
        self._written = Kept()
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, run: Run, root: Path) -> None:
        """Take the slot of this run, if it is free, and show the draft that is found. `root`: of all runs."""
        if not run.drafts:
            return
        self.slot = Slot.open(Path(run.drafts), run.workspace, run.id)
        if self.slot is None:
            return
        self._written = mine = self.slot.read()
        orphans = self.slot.orphans({each.id for each in live_runs(root, run.workspace)})
        self._left = [kept for kept in (*orphans, mine) if kept.queue or kept.sending]
        found = joined([*(kept.draft for kept in orphans), mine.draft]) if orphans else mine.draft
        if self._composer().editor.edit_text:
            self._composer().give_back(found)
        else:
            self._composer().editor.restore(found)
        if orphans:
            self._say("Here is what was not sent when Fido ended.")
        self.look()
        self._write()
        self.slot.forget_orphans()

    def settle(self) -> None:
        """Queue what was queued in this session; what was meant for another one joins the draft, unsent."""
        talk = self._view.state.conversation
        if not self._left or talk.session is None:
            return
        for kept in reversed(self._left):
            mine = kept.session == talk.session.session_id
            messages = [*kept.queue]
            if kept.sending is not None and not (mine and talk.turn > kept.turn):
                messages.insert(0, kept.sending)
            if mine:
                self._view.desk.outbox.begin_with(messages)
            else:
                self._composer().give_back(joined(messages))
        self._left = []

    def look(self, *, urgent: bool = False) -> None:
        """See whether anything has changed; write it soon, or at once when it is about to be sent."""
        if self.slot is None or (self._timer is not None and not urgent):
            return
        if urgent:
            self._write()
        elif self._now() != self._written:
            self._timer = self._loop.call_later(WRITE_S, self._write)

    def end(self, *, left: bool) -> None:
        """Write the last; when the person has left, the draft alone: the queue they were told of."""
        if self.slot is None:
            return
        if left:
            self._left, self._view.desk.sending = [], None
            draft, _ = self._view.desk.outbox.with_edited(self._composer().editor.draft())
            self._put(Kept(draft=draft))
        else:
            self._write()
        if self._timer is not None:
            self._timer.cancel()
        self.slot.close()
        self.slot = None

    def _now(self) -> Kept:
        """Return what is worth keeping; what was found and has no session yet stays as it was."""
        desk, talk = self._view.desk, self._view.state.conversation
        draft, queue = desk.outbox.with_edited(self._composer().editor.draft())
        if len(self._left) == 1:
            found = self._left[0]
            return Kept(found.session, draft, (*found.queue, *queue), found.sending, found.turn)
        found_queue = [
            each for kept in self._left for each in (kept.sending, *kept.queue) if each is not None
        ]
        session = "" if talk.session is None or self._left else talk.session.session_id
        turn = 0 if desk.sending is None else talk.turn
        return Kept(session, draft, (*found_queue, *queue), desk.sending, turn)

    def _write(self) -> None:
        self._timer = None
        if self.slot is not None and (now := self._now()) != self._written:
            self._put(now)

    def _put(self, kept: Kept) -> None:
        assert self.slot is not None
        try:
            self.slot.write(kept)
        except OSError as error:
            log.warning("the draft is not kept: %s", error)
        self._written = kept

    def _say(self, text: str) -> None:
        self._view.desk.message = Message("info", text)
