"""Keeps what is written and not sent, and takes up what an earlier screen has left."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ipc.endpoints import Run, live_runs
from ui.composer.composer import Composer
from ui.composer.draft import joined
from ui.composer.sending import Sent
from ui.composer.slot import Kept, Slot
from ui.desk import Message
from ui.view import View

log = logging.getLogger(__name__)

WRITE_S: Final = 0.3
"""Shortest time between two writes while a person types; a crash costs no more than that."""


AGAIN_S: Final = 5.0
"""Wait before what could not be written is tried again."""


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
        self._fails = False
        """Whether the person was told that the draft is not kept now."""
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, run: Run, root: Path) -> None:
        """Take the slot of this run, if it is free, and show the draft that is found. `root`: of all runs."""
        if not run.drafts:
            return
        try:
            self.slot = Slot.open(Path(run.drafts), run.workspace, run.id)
        except OSError as error:
            self._not_kept(error, "")
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
            self._view.desk.message = Message("info", "Here is what was not sent when Fido ended.")
        self.look()
        if self._write():
            self.slot.forget_found()

    def settle(self) -> None:
        """Queue what was queued in this session; what was meant for another one joins the draft, unsent."""
        talk = self._view.state.conversation
        if not self._left or talk.session is None:
            return
        for kept in reversed(self._left):
            mine = kept.session == talk.session.session_id
            messages = [*kept.queue]
            sent = None if kept.sending is None else Sent(kept.sending, kept.session, kept.turn)
            if sent is not None and not sent.arrived(talk.session.session_id, talk.prompts):
                messages.insert(0, sent.draft)
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
            if self._timer is not None:
                self._timer.cancel()
            self._write()
        elif self._now() != self._written:
            self._timer = self._loop.call_later(WRITE_S, self._write)

    def end(self, *, left: bool) -> None:
        """Write the last; when the person has left, the draft alone: the queue they were told of."""
        if self.slot is None:
            return
        if left:
            self._left = []
            self._view.desk.sending.forget()
            self._put(Kept(draft=self._now().draft))
        else:
            self._write()
        if self._timer is not None:
            self._timer.cancel()
        self.slot.close()
        self.slot = None

    def _now(self) -> Kept:
        """Return what is worth keeping; what was found and has no session yet stays as it was."""
        desk, talk = self._view.desk, self._view.state.conversation
        draft, queue = desk.outbox.with_edited(desk.walk.kept(self._composer().editor.draft()))
        if len(self._left) == 1:
            found = self._left[0]
            return Kept(found.session, draft, (*found.queue, *queue), found.sending, found.turn)
        found_queue = [
            each for kept in self._left for each in (kept.sending, *kept.queue) if each is not None
        ]
        session = "" if talk.session is None or self._left else talk.session.session_id
        kept = Kept(session, draft, (*found_queue, *queue))
        if (sent := desk.sending.current) is not None:
            kept = kept._replace(sending=sent.draft, turn=sent.turn)
        return kept

    def _write(self) -> bool:
        """Write what is new; return whether all is kept now."""
        self._timer = None
        now = self._now()
        return self.slot is None or now == self._written or self._put(now)

    def _put(self, kept: Kept) -> bool:
        assert self.slot is not None
        try:
            self.slot.write(kept)
        except OSError as error:
            self._not_kept(error, "; Fido tries again")
            self._timer = self._loop.call_later(AGAIN_S, self._write)
            return False
        self._written, self._fails = kept, False
        return True

    def _not_kept(self, error: OSError, further: str) -> None:
        """Say once that the draft would not survive a crash."""
        if not self._fails:
            self._fails = True
            log.warning("the draft is not kept: %s", error)
            what = f"What you write is not kept for a crash: {error.strerror}{further}."
            self._view.desk.message = Message("warning", what)
