"""Commands asked and answered: mailboxes, the links to them, and who is at the other end.

A command gets exactly one reply, whatever its handler does.
"""

import asyncio
import contextlib
import inspect
import itertools
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Final, Protocol
from weakref import WeakValueDictionary

from ipc import codec
from ipc.channel import Channel, Socket
from ipc.errors import LocalFault, PeerGone, RemoteFault, ReplyLate
from ipc.messages import (
    ActorName,
    AnyCommand,
    AnyFact,
    AnyMessage,
    AnyReply,
    Command,
    Refused,
    Reply,
)

log = logging.getLogger(__name__)

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
            self._refuse(fault, send)
            return
        if isinstance(message, Reply):
            if not self._settle(envelope.parent, message):
                self.refused["late_reply"] += 1
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

    def _settle(self, number: int, reply: AnyReply) -> bool:
        """Hand a reply to whoever asked; false when nobody waits for it any more."""
        future = self._asked.get(number)
        if future is None or future.done():
            return False
        future.set_result(reply)
        return True

    def _refuse(self, fault: RemoteFault, send: Callable[[bytes], None]) -> None:
        """Count what can not be read; tell whoever waits for it.

        What is seen to be a reply or a fact is never answered: two versions would refuse each other's
        refusals without end.
        """
        self.refused[fault.code] += 1
        refused = Refused(code=fault.code, message=fault.message)
        if fault.parent:
            self._settle(fault.parent, refused)
        elif fault.command_id or fault.code in ("bad_frame", "too_large"):
            self._reply(send, fault.command_id, refused)

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
        admits: Callable[[int], bool] | None = None,
    ) -> None:
        """`admits` is for a peer that may be hostile: told a size, it may have the message dropped."""
        self._channel = channel
        self._conversations = Conversations(
            sender, on_command or refuse, on_fact or _ignore, channel.frame_limit
        )
        self._gone = on_gone
        self._admits = admits
        self._socket = channel.socket("dealer", self._receive, wary=admits is not None)
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
        if self._admits is None or self._admits(len(frames[-1])):
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
        self._callers: WeakValueDictionary[bytes, _Caller] = WeakValueDictionary()
        """Each for as long as somebody holds it: an answer on its way, or an owner who talks back."""

    def bind(self, address: str, listening: int | None = None) -> None:
        self._socket.bind(address, listening)

    def send_to(self, identity: bytes, frame: bytes) -> None:
        self._socket.send(identity, frame)

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

    __slots__ = ("__weakref__", "_identity", "_mailbox")

    def __init__(self, mailbox: Mailbox, identity: bytes) -> None:
        self._mailbox = mailbox
        self._identity = identity

    def send(self, frame: bytes) -> None:
        self._mailbox.send_to(self._identity, frame)

    async def ask(self, command: AnyCommand, deadline_s: float = ASK_DEADLINE_S) -> AnyReply:
        return await self._mailbox.conversations.ask(self.send, command, deadline_s)

    def tell(self, fact: AnyFact) -> None:
        self.send(self._mailbox.conversations.encode(fact))


def refuse(command: AnyCommand, peer: Peer) -> Refused:
    """Answer a command that is not for this mailbox."""
    return Refused(code="not_for_me", message=f"{type(command).__name__} is not for this mailbox")


def _ignore(fact: AnyFact, peer: Peer) -> None:
    """Drop a fact nobody waits for."""
