"""The loop every actor runs: bind, answer, publish, stop.

An actor is one process with one mailbox that owns one piece of state. Subclass `Actor`, fill the hooks,
hand it to `run`.
"""

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Awaitable, Callable
from typing import ClassVar, Final

from ipc import kernel
from ipc.bus import Publisher
from ipc.channel import Channel, remove_socket
from ipc.endpoints import RunPlace
from ipc.errors import LocalFault
from ipc.mailbox import Answer, CommandHandler, FactHandler, Link, Mailbox, Peer, refuse
from ipc.messages import (
    Accepted,
    ActorName,
    AnyCommand,
    AnyFact,
    GetSnapshot,
    Ping,
    Pong,
    Stop,
)

log = logging.getLogger(__name__)

STOP_BUDGET_S: Final = 1.5
"""Longest time an actor's `on_stop` may take."""
STOPS: Final = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
"""Signals that stop an actor in good order, whenever they come."""
CRASHED: Final = 70
"""Exit status after an exception that nobody caught."""


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
        self.started = False
        """Whether `on_start` has done its work."""
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

    def mailbox_descriptor(self) -> int | None:
        """The mailbox's listening socket when somebody has bound it already."""
        return None

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
        admits: Callable[[int], bool] | None = None,
    ) -> Link:
        """Connect to another actor's mailbox."""
        return Link(
            self.channel,
            self.name,
            address,
            on_command=on_command,
            on_fact=on_fact,
            on_gone=on_gone,
            admits=admits,
        )

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
                self.started = True
                mailbox.bind(self.mailbox_address(), self.mailbox_descriptor())
                self._mailbox = mailbox
                if self.publishes:
                    self._publisher = Publisher(self.channel, self.name)
                    self._publisher.bind(self.facts_address())
                if await self._until_stopped(self.on_bound()):
                    await self._stopping.wait()
            try:
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


def run(actor: Actor) -> int:
    """Run an actor as this process's whole work; return its exit status.

    SIGTERM, SIGINT and SIGHUP stop it in good order. An exception that nobody caught, in a task or a
    callback as well, ends the process with status 70 and a traceback in the log. Raises what `on_start`
    raises: the caller may know it as a start to be refused in words.
    """
    kernel.set_name(f"fido-{actor.name}")
    # One that comes while the loop is being made would tear it down half-made, with a traceback.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
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
        actor.exit_status = CRASHED
        actor.stop("crash")

    loop.set_exception_handler(crash)
    for number in STOPS:
        loop.add_signal_handler(number, actor.on_signal, number)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
    try:
        await actor.serve()
    except Exception:
        if not actor.started:
            raise
        log.critical("%s failed", actor.name, exc_info=True)
        actor.exit_status = CRASHED
    finally:
        kernel.hear_no_signals()
    return actor.exit_status
