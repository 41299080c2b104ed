"""The loop every actor runs: bind, answer, ask, publish, stop.

An actor is one process with one mailbox that owns one piece of state. Subclass `Actor`, fill the hooks,
hand it to `run`. A command gets exactly one reply, whatever the hook does.
"""

import asyncio
import contextlib
import inspect
import itertools
import logging
import os
import signal
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import ClassVar, Final, Protocol

from ipc import codec
from ipc.bus import Publisher
from ipc.channel import Channel, Socket, remove_socket
from ipc.endpoints import RunPlace
from ipc.errors import LocalFault, PeerGone, RemoteFault, ReplyLate
from ipc.messages import (
    Accepted,
    ActorName,
    AnyCommand,
    AnyFact,
    AnyMessage,
    AnyReply,
    Command,
    GetSnapshot,
    Ping,
    Pong,
    Refused,
    Reply,
    Stop,
)

log = logging.getLogger(__name__)

STOP_BUDGET_S: Final = 1.5
"""Longest time an actor's `on_stop` may take."""
ASK_DEADLINE_S: Final = 5.0
"""How long a caller waits for a reply unless it says otherwise."""

Answer = AnyReply | Awaitable[AnyReply]


class Peer(Protocol):
    """The other end of a connection, whoever opened it."""

    async def ask(self, command: AnyCommand, deadline_s: float = ASK_DEADLINE_S) -> AnyReply:
        """Send a command, wait for its one reply. Raises `PeerGone`, `ReplyLate`, `LocalFault`."""
        ...

    def tell(self, fact: AnyFact) -> None:
        """Send a fact on this connection alone. Raises `PeerGone`."""
        ...


CommandHandler = Callable[[AnyCommand, Peer], Answer]
FactHandler = Callable[[AnyFact, Peer], None]


class Conversations:
    """Commands asked and answered over one socket; shared by both ends of a connection."""

    def __init__(
        self, sender: ActorName, on_command: CommandHandler, on_fact: FactHandler, limit: int
    ) -> None:
        self.sender = sender
        self.refused: Counter[str] = Counter()
        self._on_command = on_command
        self._on_fact = on_fact
        self._limit = limit
        self._ids = itertools.count(1)
        self._asked: dict[int, asyncio.Future[AnyReply]] = {}
        self._answering: set[asyncio.Task[None]] = set()

    def encode(self, message: AnyMessage, *, id: int = 0, parent: int = 0) -> bytes:  # noqa: A002
        return codec.encode(message, sender=self.sender, id=id, parent=parent, limit=self._limit)

    async def ask(self, send: Callable[[bytes], None], command: AnyCommand, deadline_s: float) -> AnyReply:
        number = next(self._ids)
        frame = self.encode(command, id=number)
        reply: asyncio.Future[AnyReply] = asyncio.get_running_loop().create_future()
        self._asked[number] = reply
        try:
            send(frame)
            async with asyncio.timeout(deadline_s):
                return await reply
        except TimeoutError:
            raise ReplyLate(f"no reply to {type(command).__name__} within {deadline_s:g} s") from None
        finally:
            del self._asked[number]

    def receive(self, frame: bytes, peer: Peer, send: Callable[[bytes], None]) -> None:
        """Take one frame: settle what it answers, or have it answered."""
        try:
            envelope, message = codec.decode(frame, limit=self._limit)
        except RemoteFault as fault:
            self.refused[fault.code] += 1
            self._reply(send, fault.command_id, Refused(code=fault.code, message=fault.message))
            return
        if isinstance(message, Reply):
            future = self._asked.get(envelope.parent)
            if future is None:
                self.refused["late_reply"] += 1
            elif not future.done():
                future.set_result(message)
        elif isinstance(message, Command):
            self._answer(message, envelope.id, peer, send)
        else:
            self._on_fact(message, peer)

    def peer_gone(self) -> None:
        """Fail whatever is still asked."""
        for future in self._asked.values():
            if not future.done():
                future.set_exception(PeerGone("the other process ended before it answered"))

    def close(self) -> None:
        for task in self._answering:
            task.cancel()

    def _answer(self, command: AnyCommand, number: int, peer: Peer, send: Callable[[bytes], None]) -> None:
        try:
            answer = self._on_command(command, peer)
        except Exception:
            log.exception("%s failed", type(command).__name__)
            answer = _internal_error(command)
        if inspect.isawaitable(answer):
            task = asyncio.ensure_future(self._answer_later(answer, command, number, send))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)
        else:
            self._reply(send, number, answer)

    async def _answer_later(
        self, answer: Awaitable[AnyReply], command: AnyCommand, number: int, send: Callable[[bytes], None]
    ) -> None:
        try:
            reply = await answer
        except asyncio.CancelledError:
            self._reply(send, number, Refused(code="stopping", message="this process is ending"))
            raise
        except Exception:
            log.exception("%s failed", type(command).__name__)
            reply = _internal_error(command)
        self._reply(send, number, reply)

    def _reply(self, send: Callable[[bytes], None], number: int, reply: AnyReply) -> None:
        try:
            frame = self.encode(reply, parent=number)
        except LocalFault as fault:
            frame = self.encode(Refused(code="reply_too_large", message=str(fault)), parent=number)
        with contextlib.suppress(PeerGone):
            send(frame)


def _internal_error(command: AnyCommand) -> Refused:
    return Refused(
        code="internal_error",
        message=f"{type(command).__name__} failed inside Fido",
        next_step="The log has the traceback.",
    )


class Link:
    """A connection to somebody's mailbox."""

    def __init__(
        self,
        channel: Channel,
        sender: ActorName,
        address: str,
        *,
        on_command: CommandHandler | None = None,
        on_fact: FactHandler | None = None,
        on_gone: Callable[[], None] | None = None,
    ) -> None:
        self._channel = channel
        self._conversations = Conversations(
            sender, on_command or refuse, on_fact or _ignore, channel.frame_limit
        )
        self._gone = on_gone
        self._socket = channel.socket("dealer", self._receive)
        self._socket.on_gone(self._peer_gone)
        self._socket.connect(address)

    async def ask(self, command: AnyCommand, deadline_s: float = ASK_DEADLINE_S) -> AnyReply:
        return await self._conversations.ask(self._socket.send, command, deadline_s)

    def tell(self, fact: AnyFact) -> None:
        self._socket.send(self._conversations.encode(fact))

    def close(self) -> None:
        self._conversations.close()
        self._conversations.peer_gone()
        self._channel.forget(self._socket)

    def _receive(self, frames: list[bytes]) -> None:
        self._conversations.receive(frames[-1], self, self._socket.send)

    def _peer_gone(self) -> None:
        self._conversations.peer_gone()
        if self._gone is not None:
            self._gone()


class Mailbox:
    """A bound mailbox; everyone who writes to it becomes a `Peer`."""

    def __init__(
        self, channel: Channel, sender: ActorName, on_command: CommandHandler, on_fact: FactHandler
    ) -> None:
        self.conversations = Conversations(sender, on_command, on_fact, channel.frame_limit)
        self._socket: Socket = channel.socket("router", self._receive)
        self._callers: dict[bytes, _Caller] = {}

    def bind(self, address: str) -> None:
        self._socket.bind(address)

    def send_to(self, identity: bytes, frame: bytes) -> None:
        try:
            self._socket.send(identity, frame)
        except PeerGone:
            self._callers.pop(identity, None)
            raise

    def _receive(self, frames: list[bytes]) -> None:
        identity = frames[0]
        caller = self._callers.get(identity)
        if caller is None:
            caller = self._callers[identity] = _Caller(self, identity)
        # A DEALER sends one frame; anything longer is refused by the codec as it would be by a person.
        frame = frames[1] if len(frames) == 2 else b""
        self.conversations.receive(frame, caller, caller.send)


class _Caller:
    """Somebody who connected to our mailbox."""

    __slots__ = ("_identity", "_mailbox")

    def __init__(self, mailbox: Mailbox, identity: bytes) -> None:
        self._mailbox = mailbox
        self._identity = identity

    def send(self, frame: bytes) -> None:
        self._mailbox.send_to(self._identity, frame)

    async def ask(self, command: AnyCommand, deadline_s: float = ASK_DEADLINE_S) -> AnyReply:
        return await self._mailbox.conversations.ask(self.send, command, deadline_s)

    def tell(self, fact: AnyFact) -> None:
        self.send(self._mailbox.conversations.encode(fact))


class Actor:
    """One process, one mailbox, one owner of one piece of state. Override the hooks.

    `channel` exists from `on_start` on; the mailbox is bound when `on_start` has returned.
    """

    name: ClassVar[ActorName]
    publishes: ClassVar[bool] = False
    """Whether this actor has facts to tell."""

    def __init__(self, place: RunPlace) -> None:
        self.place = place
        self.exit_status = 0
        """What the process exits with; set it before `stop`."""
        self._stopping: asyncio.Event | None = None
        self._stop_reason = ""
        self._publisher: Publisher | None = None

    channel: Channel

    async def on_start(self) -> None:
        """Get hold of the state; nobody can write to the mailbox yet."""

    async def on_bound(self) -> None:
        """Begin own work; the mailbox is open."""

    def on_command(self, command: AnyCommand, peer: Peer) -> Answer:
        """Carry out a command; return its reply, or an awaitable of it."""
        return refuse(command, peer)

    def on_fact(self, fact: AnyFact, peer: Peer) -> None:
        """Take a fact that a peer sent on its connection."""

    def on_signal(self, number: signal.Signals) -> None:
        """Take SIGTERM, SIGINT or SIGHUP."""
        self.stop(number.name)

    async def on_stop(self, reason: str) -> None:
        """Bring the state into safety; at most `STOP_BUDGET_S`."""

    def mailbox_address(self) -> str:
        return self.place.mailbox(self.name)

    def facts_address(self) -> str:
        return self.place.facts(self.name)

    def publish(self, fact: AnyFact) -> None:
        """Tell everyone who watches."""
        if self._publisher is None:
            raise LocalFault(f"{self.name} publishes before it is bound")
        self._publisher.publish(fact)

    def link(
        self,
        address: str,
        *,
        on_command: CommandHandler | None = None,
        on_fact: FactHandler | None = None,
        on_gone: Callable[[], None] | None = None,
    ) -> Link:
        """Connect to another actor's mailbox."""
        return Link(self.channel, self.name, address, on_command=on_command, on_fact=on_fact, on_gone=on_gone)

    def stop(self, reason: str) -> None:
        """End this process in good order; may be called at any time, also twice."""
        if self._stopping is not None and not self._stopping.is_set():
            self._stop_reason = reason
            self._stopping.set()

    async def serve(self) -> None:
        """Run until stopped."""
        self._stopping = asyncio.Event()
        self.channel = Channel(frame_limit=self.place.run.frame_limit)
        mailbox = Mailbox(self.channel, self.name, self._dispatch, self.on_fact)
        try:
            if await self._until_stopped(self.on_start()):
                mailbox.bind(self.mailbox_address())
                self._mailbox = mailbox
                if self.publishes:
                    self._publisher = Publisher(self.channel, self.name)
                    self._publisher.bind(self.facts_address())
                if await self._until_stopped(self.on_bound()):
                    await self._stopping.wait()
            async with asyncio.timeout(STOP_BUDGET_S):
                await self.on_stop(self._stop_reason)
        except TimeoutError:
            log.error("%s: stopping took longer than %s s", self.name, STOP_BUDGET_S)
        finally:
            if self._publisher is not None:
                self._publisher.close()
                remove_socket(self.facts_address())
                remove_socket(self.mailbox_address())
            mailbox.conversations.close()
            self.channel.close()

    async def _until_stopped(self, work: Awaitable[None]) -> bool:
        """Do a piece of start-up work; False when a stop came first."""
        assert self._stopping is not None
        task = asyncio.ensure_future(work)
        stopped = asyncio.ensure_future(self._stopping.wait())
        await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            stopped.cancel()
            task.result()
            return not self._stopping.is_set()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        return False

    def _dispatch(self, command: AnyCommand, peer: Peer) -> Answer:
        match command:
            case Ping():
                refused = dict(self._mailbox.conversations.refused)
                return Pong(actor=self.name, pid=os.getpid(), refused=refused)
            case GetSnapshot() if self._publisher is not None:
                return self._publisher.snapshot()
            case Stop(reason=reason):
                self.stop(reason)
                return Accepted()
            case _:
                return self.on_command(command, peer)


def refuse(command: AnyCommand, peer: Peer) -> Refused:
    """Answer a command that is not for this mailbox."""
    return Refused(code="not_for_me", message=f"{type(command).__name__} is not for this mailbox")


def _ignore(fact: AnyFact, peer: Peer) -> None:
    """Drop a fact nobody waits for."""


def run(actor: Actor) -> int:
    """Run an actor as this process's whole work; return its exit status.

    SIGTERM, SIGINT and SIGHUP stop it in good order. An exception that nobody caught, in a task or a
    callback as well, ends the process with status 70 and a traceback in the log.
    """
    return asyncio.run(_run(actor))


async def _run(actor: Actor) -> int:
    loop = asyncio.get_running_loop()

    def crash(_: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        error = context.get("exception")
        log.critical(
            "%s: %s",
            actor.name,
            context.get("message"),
            exc_info=error if isinstance(error, BaseException) else None,
        )
        actor.exit_status = 70
        actor.stop("crash")

    loop.set_exception_handler(crash)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, actor.on_signal, number)
    await actor.serve()
    return actor.exit_status
