"""Makes room in a conversation: when it nears the model's window, when it is past it, and when asked to."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, Literal, Protocol

import msgspec

from actors.compaction import rewrite
from actors.compaction.cut import cut, limit_for
from actors.compaction.deeds import behind_cut
from actors.compaction.estimate import size_of, tokens_of
from actors.compaction.memory import Memory
from actors.compaction.record import record_of
from actors.compaction.rewrite import size
from actors.compaction.summarizer import Books, NoSummary, Summarizer
from actors.compaction.window import ASSUMED_WINDOW, Window
from actors.conversation import Conversation
from actors.plan.delivery import origin, restoring
from actors.provider.interface import Provider
from actors.session.events import AnyEvent, ConversationCompacted
from actors.tools.tool import ToolFailure
from ipc.messages import AnyFact, CompactionFinished, CompactionStarted, NoticeRaised, Plan

PLAN_S: Final = 10.0
"""Longest wait for the plan store; one that died is back within a fraction of a second."""
LEAST_GROWTH: Final = 1 / 8
"""Part of the window that must be new before another compaction is worth its price."""
ROOM: Final = 1_000
"""Tokens that the request for a summary and a short one take; with less left, none is asked for."""
NO_ROOM: Final = "There was no room for a summary."
ASSUMING: Final = (
    f"Neither a setting nor the server says how many tokens the model takes, so {ASSUMED_WINDOW:,} are "
    "assumed. Set context_window if it takes more or less."
)

Method = Literal["summary", "trim", "none"]


class Plans(Protocol):
    """Where the current plan is."""

    seen: int | None

    async def get(self) -> Plan:
        """Raises `ToolFailure`."""
        ...


class Session(Books, Protocol):
    """Where the session is recorded."""

    @property
    def turn(self) -> int:
        """Number of the running turn, or of the last one."""
        ...

    def record(self, event: AnyEvent) -> None: ...


class Compactor:
    """Shortens one session's conversation in place. `memory` is a fold of the same session's events."""

    def __init__(
        self,
        provider: Provider,
        plans: Plans,
        session: Session,
        publish: Callable[[AnyFact], None],
        memory: Memory,
        *,
        window: Window,
        at: float,
    ) -> None:
        """`at` is the part of the window from which `fit` acts."""
        self._summarizer = Summarizer(provider, session)
        self._plans = plans
        self._session = session
        self._publish = publish
        self._memory = memory
        self._window = window
        self._is_warned = False
        self._at = at
        self._settled = 0
        """Bytes that could have been summed up when this was last tried."""

    def tokens(self, conversation: Conversation) -> int:
        """Size of the next request, tokens."""
        return tokens_of(size_of(conversation), self._memory.reported, self._memory.since)

    async def fit(self, conversation: Conversation) -> None:
        """Before a request of the running turn: compact when the conversation nears the window."""
        before = self.tokens(conversation)
        if before < self._threshold():
            return
        fresh = _movable(conversation) - self._settled
        if fresh * before < LEAST_GROWTH * self._window.tokens * size_of(conversation):
            return
        self._warn_of_assuming()
        with self._telling(before, automatic=True):
            await self._sum_up(conversation, before, "", running=True)

    async def compact(self, conversation: Conversation, focus: str) -> None:
        """Between turns, as a person asked: sum up, above all `focus`. The facts tell how it went."""
        before = self.tokens(conversation)
        if len(conversation) < 3 or (self._memory.is_summary and not self._memory.since):
            self._finish("none", before, before, "There is nothing new to compact.")
            return
        with self._telling(before, automatic=False):
            await self._sum_up(conversation, before, focus, running=False)

    async def overflow(self, conversation: Conversation, window: int = 0) -> bool:
        """After a request of the running turn was refused as too long: cut without the model.

        `window` is what the server said it takes, tokens; 0 when it did not say. True: it is shorter now.
        """
        why = "The server refused it as too long."
        if window and window != self._window.tokens:
            why = f"The server takes {window:,} tokens; set context_window to that."
        before = self._learn(conversation, window)
        with self._telling(before, automatic=True):
            return await self._cut(conversation, before, why, running=True)

    async def _sum_up(self, conversation: Conversation, before: int, focus: str, *, running: bool) -> None:
        self._settled = _movable(conversation)
        if self._window.is_known and before + ROOM >= self._window.tokens:
            await self._cut(conversation, before, NO_ROOM, running=running)
            return
        share = self._share(conversation, before)
        try:
            summary = await self._summarizer.ask(conversation, focus, share.summary, running=running)
        except NoSummary as fault:
            await self._go_without(conversation, before, fault, running=running)
            return
        plan, revision = await self._plan(conversation)
        turns = self._memory.turns
        record = record_of(turns[:-1] if running else turns, share.words)
        text = behind_cut(summary.text, self._memory, share.summary // 2) if summary.remark else summary.text
        messages = conversation.messages
        rounds = rewrite.rounds_behind(messages, plan) if running else ()
        kept = rewrite.newest_rounds(rounds, share.rounds)
        new = rewrite.rewritten(messages, record, text, plan, kept, running=running)
        if size(new) < size(conversation.messages):
            self._replace(conversation, new, "summary", before, summary.remark, revision)
        else:
            self._finish("none", before, before, "It is shorter than its summary would be.")

    async def _go_without(
        self, conversation: Conversation, before: int, fault: NoSummary, *, running: bool
    ) -> None:
        """Cut what does not fit; else leave all as it is, since the next request may well succeed."""
        if fault.overflow:
            before = self._learn(conversation, fault.window)
            await self._cut(conversation, before, NO_ROOM, running=running)
        else:
            self._finish("none", before, before, str(fault))

    async def _cut(self, conversation: Conversation, before: int, why: str, *, running: bool) -> bool:
        """Shorten it without the model, as far as that goes."""
        plan, revision = await self._plan(conversation)
        messages, whole = conversation.messages, size_of(conversation)
        window = whole * min(self._window.tokens, before) // max(1, before) - len(conversation.head)
        limit = limit_for(messages, plan, window, running=running, is_known=self._window.is_known)
        new = cut(messages, plan, self._memory, limit, self._share(conversation, before), running=running)
        if size(new) >= size(conversation.messages):
            self._finish("none", before, before, f"{why} There is nothing left that could be dropped.")
            return False
        self._replace(conversation, new, "trim", before, f"{why} The oldest parts were dropped.", revision)
        return True

    async def _plan(self, conversation: Conversation) -> tuple[rewrite.Pair, int | None]:
        """The plan as the store has it now, and its revision; else as the model saw it last."""
        call_id = f"plan{self._memory.compactions + 1:05}"  # nine letters and digits, as Mistral demands
        try:
            async with asyncio.timeout(PLAN_S):
                plan = await self._plans.get()
        except (ToolFailure, TimeoutError):
            return rewrite.latest_plan(conversation.messages, call_id), None
        if not plan.updated_at:
            return (), None
        return restoring(plan, call_id, origin(plan, self._memory.session_id)), plan.revision

    def _replace(
        self,
        conversation: Conversation,
        new: Sequence[bytes],
        method: Literal["summary", "trim"],
        before: int,
        detail: str,
        revision: int | None,
    ) -> None:
        """Record it first: a process that dies in between comes back with the new conversation."""
        old = size_of(conversation)
        after = before * (old - size(conversation.messages) + size(new)) // old
        event = ConversationCompacted(
            turn=self._session.turn,
            messages=tuple(map(msgspec.Raw, new[1:])),
            method=method,
            before_tokens=before,
            after_tokens=after,
        )
        self._session.record(event)
        conversation.replace(new[1:])
        self._settled = _movable(conversation)
        if revision is not None:
            self._plans.seen = revision
        self._finish(method, before, after, detail)

    def _learn(self, conversation: Conversation, window: int) -> int:
        """Take what a refusal tells about the window; return the size of the conversation, tokens."""
        before = self.tokens(conversation)
        self._window.refused(window, before)
        return max(before, window)

    def _warn_of_assuming(self) -> None:
        """Tell a person, once, that this compaction rests on a number that nobody gave."""
        if self._window.is_assumed and not self._is_warned:
            self._is_warned = True
            self._publish(NoticeRaised(level="warning", message=ASSUMING))

    def _threshold(self) -> float:
        """Tokens from which `fit` acts; in a small window early enough for a summary to have room."""
        window = self._window.tokens
        return min(self._at * window, max(0.5 * window, window - 2 * ROOM))

    def _share(self, conversation: Conversation, before: int) -> rewrite.Share:
        return rewrite.share_of(self._window.tokens * size_of(conversation) // max(1, before))

    @contextmanager
    def _telling(self, before: int, *, automatic: bool) -> Iterator[None]:
        self._publish(CompactionStarted(automatic=automatic, context_tokens=before))
        try:
            yield
        except asyncio.CancelledError:
            self._finish("none", before, before, "It was cancelled.")
            raise

    def _finish(self, method: Method, before: int, after: int, detail: str) -> None:
        self._publish(
            CompactionFinished(method=method, before_tokens=before, after_tokens=after, detail=detail)
        )


def _movable(conversation: Conversation) -> int:
    """Bytes that are neither the system message nor the last prompt."""
    messages = conversation.messages
    live = rewrite.live_position(messages)
    return size(messages[1:]) - (len(messages[live]) if live else 0)
