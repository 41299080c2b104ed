"""Facts: a publisher numbers them and remembers what still matters; a follower heals every hole.

The Clone pattern: a follower that joins late or misses a number asks the publisher's mailbox for a snapshot.
A snapshot is the shortest list of facts that rebuilds the state, so followers need one fold only.
"""

import asyncio
import contextlib
import secrets
from collections.abc import Callable
from typing import Final

from ipc import codec
from ipc.channel import Channel
from ipc.endpoints import FRAME_LIMIT
from ipc.errors import IpcError, PeerGone, RemoteFault
from ipc.mailbox import Link
from ipc.messages import (
    ActorName,
    AnyFact,
    AskRaised,
    AskSettled,
    Beat,
    CompactionFinished,
    CompactionStarted,
    Fact,
    GetSnapshot,
    JobsChanged,
    MessageDelta,
    PlanChanged,
    ProcessExited,
    ProcessStarted,
    ScreenConfigured,
    SessionOpened,
    Snapshot,
    SubagentActivityChanged,
    ToolFinished,
    ToolPrinted,
    UsageReported,
)

BEAT_S: Final = 1.0
"""Seconds between heartbeats of a publisher: a lost last fact is noticed within this time."""
HISTORY_LIMIT: Final = 20_000
"""Facts a publisher remembers for late joiners; the oldest go first."""
HISTORY_SHARE: Final = 4
"""What is remembered fills at most one part in so many of a frame, so that a snapshot always fits."""
_RETRY_S: Final = 0.1
_SNAPSHOT_DEADLINE_S: Final = 10.0
"""Long: a publisher that stands still answers all that it was asked meanwhile, each with everything."""
_ENVELOPE_BYTES: Final = 100
"""What a delta is more than its text, at most."""

_LATEST_ONLY = (
    ScreenConfigured,
    SessionOpened,
    UsageReported,
    SubagentActivityChanged,
    PlanChanged,
    JobsChanged,
)


class History:
    """What was published, shortened to what a late joiner still needs; pure."""

    def __init__(self, limit: int = HISTORY_LIMIT, byte_limit: int = FRAME_LIMIT // HISTORY_SHARE) -> None:
        self._limit = limit
        self._byte_limit = byte_limit
        self._count = 0
        self._bytes = 0
        self._facts: dict[int, tuple[AnyFact, int]] = {}
        self._place_of: dict[object, int] = {}
        self._delta: MessageDelta | None = None
        self._pieces: list[str] = []

    def add(self, fact: AnyFact, size: int) -> None:
        """Remember a fact of `size` bytes; deltas of one message melt into one, states keep the last."""
        if type(fact) is MessageDelta:  # a quarter of the time of isinstance
            delta = self._delta
            if delta is None or delta.turn != fact.turn or delta.kind != fact.kind:
                self._flush()
                self._delta = fact
            self._pieces.append(fact.text)
            return
        self._flush()
        key = _key(fact)
        if key is not None:
            self._forget(self._place_of.pop(key, 0))
        if isinstance(fact, CompactionFinished | ToolFinished):  # each one counts, at its place
            self._append(fact, size, None)
        elif not isinstance(fact, AskSettled):
            self._append(fact, size, key)

    def facts(self) -> tuple[AnyFact, ...]:
        """The facts that rebuild the state, in order."""
        self._flush()
        return tuple(fact for fact, _ in self._facts.values())

    def _append(self, fact: AnyFact, size: int, key: object) -> None:
        if size > self._byte_limit:
            return
        self._count += 1
        self._facts[self._count] = fact, size
        self._bytes += size
        if key is not None:
            self._place_of[key] = self._count
        while len(self._facts) > self._limit or self._bytes > self._byte_limit:
            self._forget(self._oldest())

    def _oldest(self) -> int:
        """The place of the oldest fact; of a state only when there is nothing else."""
        states = self._place_of.values()
        return next((place for place in self._facts if place not in states), next(iter(self._facts)))

    def _forget(self, place: int) -> None:
        _, size = self._facts.pop(place, (None, 0))
        self._bytes -= size

    def _flush(self) -> None:
        if self._delta is not None:
            delta, self._delta = self._delta, None
            text = "".join(self._pieces)
            self._pieces.clear()
            melted = MessageDelta(turn=delta.turn, kind=delta.kind, text=text)
            self._append(melted, _ENVELOPE_BYTES + len(text.encode(errors="replace")), None)


def _key(fact: AnyFact) -> object:
    """What a later fact replaces: same key, only the last counts. None: every one counts."""
    if isinstance(fact, _LATEST_ONLY):
        return type(fact)
    if isinstance(fact, ProcessStarted | ProcessExited):
        return ("process", fact.actor)
    if isinstance(fact, AskRaised | AskSettled):
        return ("ask", fact.ask_id)
    if isinstance(fact, CompactionStarted | CompactionFinished):
        return "compaction"
    if isinstance(fact, ToolPrinted | ToolFinished):
        return ("printed", fact.call_id)
    return None


class Publisher:
    """The facts of one actor: numbered, remembered, sent to whoever watches."""

    def __init__(self, channel: Channel, sender: ActorName, *, epoch: str | None = None) -> None:
        self.epoch = epoch or secrets.token_hex(4)
        self.seq = 0
        self._sender = sender
        self._limit = channel.frame_limit
        self._history = History(byte_limit=self._limit // HISTORY_SHARE)
        self._socket = channel.socket("pub")
        self._unsent: list[bytes] = []
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def bind(self, address: str) -> None:
        self._socket.bind(address)
        self._beat(BEAT_S / 10)

    def publish(self, fact: AnyFact) -> None:
        """Number a fact; it is sent when the loop gets its next turn, together with its neighbours.

        One by one each message would wake ZeroMQ's thread: measured 6 µs a fact instead of 3. Raises
        `LocalFault` when the fact is over the frame limit; then nothing has happened.
        """
        frame = self._encode(fact, self.seq + 1)
        self.seq += 1
        self._history.add(fact, len(frame))
        self._send(frame)

    def snapshot(self) -> Snapshot:
        return Snapshot(epoch=self.epoch, seq=self.seq, facts=self._history.facts())

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._flush()

    def _encode(self, fact: AnyFact, seq: int) -> bytes:
        return codec.encode(fact, sender=self._sender, epoch=self.epoch, seq=seq, limit=self._limit)

    def _send(self, frame: bytes) -> None:
        if not self._unsent:
            self._loop.call_soon(self._flush)
        self._unsent.append(frame)

    def _flush(self) -> None:
        frames, self._unsent = self._unsent, []
        with contextlib.suppress(PeerGone):  # nobody keeps up; the numbers will tell
            self._socket.send_each(frames)

    def _beat(self, next_in_s: float = BEAT_S) -> None:
        self._send(self._encode(Beat(), self.seq))
        self._timer = self._loop.call_later(next_in_s, self._beat)


class Replica:
    """Decides which facts may be applied; pure.

    `offer` returns the facts to apply now, or None when a hole was found: ask for a snapshot and
    give it to `heal`. Facts that arrive meanwhile are kept.
    """

    def __init__(self) -> None:
        self.epoch = ""
        self.seq = 0
        self.holes = 0
        self._healing = True
        self._kept: list[tuple[str, int, AnyFact]] = []

    @property
    def healing(self) -> bool:
        """Whether a snapshot is due."""
        return self._healing

    def offer(self, epoch: str, seq: int, fact: AnyFact) -> AnyFact | None:
        """Return the fact when it is the next one; None when there is nothing to apply (now)."""
        beat = type(fact) is Beat
        if self._healing:
            if not beat:
                self._kept.append((epoch, seq, fact))
            return None
        if seq == self.seq + 1 and epoch == self.epoch and not beat:
            self.seq = seq
            return fact
        if epoch == self.epoch and seq <= self.seq:
            return None
        self.holes += 1
        self._healing = True
        self._kept = [] if beat else [(epoch, seq, fact)]
        return None

    def heal(self, snapshot: Snapshot) -> tuple[AnyFact, ...]:
        """Take a snapshot; return all facts to apply to an empty state."""
        self.epoch, self.seq = snapshot.epoch, snapshot.seq
        self._healing = False
        facts = list(snapshot.facts)
        kept, self._kept = self._kept, []
        for epoch, seq, fact in kept:
            if epoch == self.epoch and seq > self.seq:
                if seq != self.seq + 1:
                    self._healing = True
                    break
                self.seq = seq
                facts.append(fact)
        return tuple(facts)


class Follower:
    """Keeps a picture of one publisher's state true, whatever gets lost."""

    def __init__(
        self,
        channel: Channel,
        link: Link,
        facts_address: str,
        *,
        on_reset: Callable[[tuple[AnyFact, ...]], None],
        on_fact: Callable[[AnyFact], None],
    ) -> None:
        self.replica = Replica()
        self.refused = 0
        self._limit = channel.frame_limit
        self._link = link
        self._on_reset = on_reset
        self._on_fact = on_fact
        self._healer: asyncio.Task[None] | None = None
        self._channel = channel
        self._socket = channel.socket("sub", self._receive)
        self._socket.connect(facts_address)
        self._start_healing()

    def close(self) -> None:
        if self._healer is not None:
            self._healer.cancel()
        self._channel.forget(self._socket)

    def _receive(self, frames: list[bytes]) -> None:
        try:
            envelope, fact = codec.decode(frames[-1], limit=self._limit)
        except RemoteFault:
            self.refused += 1
            return
        if not isinstance(fact, Fact):
            self.refused += 1
            return
        applied = self.replica.offer(envelope.epoch, envelope.seq, fact)
        if applied is not None:
            self._on_fact(applied)
        elif self.replica.healing:
            self._start_healing()

    def _start_healing(self) -> None:
        if self._healer is None or self._healer.done():
            self._healer = asyncio.ensure_future(self._heal())
            self._healer.add_done_callback(_raise_fault)

    async def _heal(self) -> None:
        while self.replica.healing:
            try:
                reply = await self._link.ask(GetSnapshot(), _SNAPSHOT_DEADLINE_S)
            except IpcError:
                await asyncio.sleep(_RETRY_S)
                continue
            if isinstance(reply, Snapshot):
                self._on_reset(self.replica.heal(reply))
            else:
                await asyncio.sleep(_RETRY_S)


def _raise_fault(healer: "asyncio.Task[None]") -> None:
    """Let a fault of ours reach the loop's exception handler instead of dying with its task."""
    if not healer.cancelled():
        healer.result()
