"""ZeroMQ sockets on an asyncio loop: the only import of zmq.

Plain sockets, their descriptor watched by the loop. The descriptor is edge-triggered, so every wake-up and
every send drains the socket until it would block; `zmq.asyncio` costs twice the round trip.
"""

import asyncio
import contextlib
import resource
import signal
import socket
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, Literal, cast

import zmq
from zmq.utils.monitor import parse_monitor_message

from ipc.endpoints import FRAME_LIMIT
from ipc.errors import LocalFault, PeerGone

LINGER_MS: Final = 500
"""Longest wait for unsent messages when a socket closes."""
HIGH_WATER: Final = 100_000
"""Commands and replies queued for one peer."""
FACTS_HIGH_WATER: Final = 5_000
"""Facts queued for one subscriber; a slow one loses those past it, and its sequence numbers tell."""
WARY_QUEUE: Final = 4
"""Messages that a peer who may be hostile can have waiting here."""
WARY_LIMIT: Final = 16 * 1024 * 1024
"""Bytes of one such message; with more, the connection is broken off."""
LARGE_FRAME: Final = 64 * 1024
"""Bytes from which on a frame is handed to ZeroMQ and taken from it without a copy."""
_DRAIN_BATCH: Final = 512
"""Messages taken in one go before the loop may do something else."""
_HEARTBEAT_MS: Final = 400
"""Between two pings of whoever asks to whoever answers: each wakes both, and an idle Fido has ten such pairs.
Facts need none: a subscriber that stands still loses those past its queue, and a beat tells it so."""
_SILENCE_MS: Final = 500
"""A peer that was not heard for so long has gone. The peer is told as well: our own pings do not go out
while it takes nothing, and its queue would grow for as long as it stands still."""
_RECONNECT_MS: Final = 10
_DESCRIPTORS: Final = 4096
"""What a process may open at least: libzmq aborts where a connection finds no descriptor left."""
_SLACK: Final = 1024 * 1024
"""Frames a little over the limit still arrive, so that they can be refused with a reply."""

Kind = Literal["router", "dealer", "pub", "sub"]
_KINDS: Final[dict[Kind, int]] = {"router": zmq.ROUTER, "dealer": zmq.DEALER, "pub": zmq.PUB, "sub": zmq.SUB}


class Channel:
    """All sockets of one process. Make it after the last fork and on the loop that uses it."""

    def __init__(self, *, frame_limit: int = FRAME_LIMIT) -> None:
        self.frame_limit = frame_limit
        _make_room()
        self._context = zmq.Context()
        self._sockets: list[Socket] = []

    def socket(
        self, kind: Kind, on_frames: Callable[[list[bytes]], None] | None = None, *, wary: bool = False
    ) -> "Socket":
        """Open a socket; `on_frames` gets each message as its list of frames. Raises `OSError`.

        A `wary` one takes no more of our memory than `WARY_QUEUE` messages of `WARY_LIMIT` bytes.
        """
        with _as_os_error():
            raw = self._context.socket(_KINDS[kind])
        raw.linger = LINGER_MS
        raw.sndhwm = raw.rcvhwm = FACTS_HIGH_WATER if kind in ("pub", "sub") else HIGH_WATER
        raw.maxmsgsize = self.frame_limit + _SLACK
        if wary:
            raw.rcvhwm, raw.maxmsgsize = WARY_QUEUE, min(WARY_LIMIT, raw.maxmsgsize)
        if kind == "dealer":
            raw.set(zmq.HEARTBEAT_IVL, _HEARTBEAT_MS)
            raw.set(zmq.HEARTBEAT_TIMEOUT, _SILENCE_MS)
            raw.set(zmq.HEARTBEAT_TTL, _HEARTBEAT_MS + _SILENCE_MS)
        raw.set(zmq.RECONNECT_IVL, _RECONNECT_MS)
        raw.set(zmq.RECONNECT_IVL_MAX, 20 * _RECONNECT_MS)
        if (
            wary
        ):  # whoever fills its queue counts as silent; connected anew, libzmq would abort (its issue 3937)
            raw.set(zmq.RECONNECT_IVL, -1)
        if kind == "router":
            raw.router_mandatory = True
        if kind == "sub":
            raw.subscribe(b"")
        socket = Socket(raw, on_frames, routed=kind == "router")
        self._sockets.append(socket)
        return socket

    def forget(self, socket: "Socket") -> None:
        """Close one socket before the others."""
        self._sockets.remove(socket)
        socket.close()

    def close(self) -> None:
        """Close every socket, then wait at most `LINGER_MS` for what is unsent. Signals wait for it.

        A signal would break the wait off: what is unsent would be lost, an address stay served for a while.
        """
        for each in self._sockets:
            each.close()
        self._sockets.clear()
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            self._context.term()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


class Socket:
    """One ZeroMQ socket whose messages arrive by callback."""

    def __init__(
        self, raw: "zmq.Socket[bytes]", on_frames: Callable[[list[bytes]], None] | None, *, routed: bool
    ) -> None:
        self._raw = raw
        self._routed = routed
        self._on_frames = on_frames
        self._on_gone: Callable[[], None] | None = None
        self._monitor: zmq.Socket[bytes] | None = None
        self._loop = asyncio.get_running_loop()
        self._drain_due = False
        self._closed = False
        if on_frames is not None:
            self._loop.add_reader(raw.fileno(), self._drain)

    def bind(self, address: str, listening: int | None = None) -> None:
        """Bind, replacing the socket file of a dead process. Only the owner of the name may call this.

        `listening` is the descriptor of a socket that is bound there already; closing it is ours from now on.
        """
        # A domain makes libzmq refuse ZMTP 1 and 2 peers, which carry no handshake.
        self._raw.set(zmq.ZAP_DOMAIN, b"fido")
        if listening is not None:
            self._raw.set(zmq.USE_FD, listening)
            self._raw.bind(address)
            return
        path = Path(address.removeprefix("ipc://"))
        if path.is_symlink() or (path.exists() and not path.is_socket()):
            raise LocalFault(f"{path} is in the way and is not a socket; move it away")
        if _is_served(path):  # libzmq would take its place without a word
            raise LocalFault(f"{path} belongs to a process that is running; end that one first")
        try:
            self._raw.bind(address)
        except zmq.ZMQError as error:
            raise LocalFault(f"{path} can not be bound: {error.strerror}") from None
        path.chmod(0o600)

    def connect(self, address: str) -> None:
        """Connect; the peer may bind later."""
        self._raw.connect(address)
        self._schedule_drain()

    def on_gone(self, callback: Callable[[], None]) -> None:
        """Be told each time the connected peer disappears. Call it before `connect`. Raises `OSError`."""
        self._on_gone = callback
        with _as_os_error():
            self._monitor = self._raw.get_monitor_socket(zmq.EVENT_DISCONNECTED)
        self._loop.add_reader(self._monitor.fileno(), self._drain_monitor)
        self._drain_monitor()

    def send(self, *frames: bytes) -> None:
        """Send one message without waiting. Raises `PeerGone` when the peer has left or takes nothing."""
        with _peer_gone():
            if len(frames) == 1:
                # Copied, ten megabytes took four times as long on their way.
                self._raw.send(frames[0], zmq.NOBLOCK, copy=len(frames[0]) < LARGE_FRAME)
            else:
                self._raw.send_multipart(frames, zmq.NOBLOCK)
        if self._on_frames is not None:
            self._schedule_drain()

    def send_each(self, messages: Iterable[bytes]) -> None:
        """Send messages of one frame without waiting, on a socket that only sends. Raises `PeerGone`."""
        send = self._raw.send
        with _peer_gone():
            for message in messages:
                send(message, zmq.NOBLOCK)

    def close(self) -> None:
        """Stop watching and close; unsent messages linger."""
        if self._closed:
            return
        self._closed = True
        if self._on_frames is not None:
            self._loop.remove_reader(self._raw.fileno())
        if self._monitor is not None:
            self._loop.remove_reader(self._monitor.fileno())
            self._raw.disable_monitor()
            self._monitor.close(0)
        self._raw.close()

    def _schedule_drain(self) -> None:
        if not self._drain_due and not self._closed:
            self._drain_due = True
            self._loop.call_soon(self._drain)

    def _drain(self) -> None:
        self._drain_due = False
        deliver = self._on_frames
        if deliver is None:
            return
        receive = self._receive_routed if self._routed else self._receive_single
        for _ in range(_DRAIN_BATCH):
            if self._closed:
                return
            try:
                frames = receive()
            except zmq.Again:
                return
            deliver(frames)
        self._schedule_drain()

    def _receive_single(self) -> list[bytes]:
        # Our own messages are one frame, so asking for more each time would only cost; the frames of
        # anything longer come one by one and are refused.
        return [self._raw.recv(zmq.NOBLOCK)]

    def _receive_routed(self) -> list[bytes]:
        # A large frame stays where ZeroMQ put it: what decodes it takes a view for bytes.
        frames = self._raw.recv_multipart(zmq.NOBLOCK, copy=False)
        return [frame.bytes if len(frame) < LARGE_FRAME else cast("bytes", frame.buffer) for frame in frames]

    def _drain_monitor(self) -> None:
        while self._monitor is not None and not self._closed:
            try:
                frames = self._monitor.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            parse_monitor_message(frames)
            if self._on_gone is not None:
                self._on_gone()


@contextlib.contextmanager
def _as_os_error() -> Iterator[None]:
    """Tell as the system does that it has no descriptor or memory left."""
    try:
        yield
    except zmq.ZMQError as error:
        raise OSError(error.errno, error.strerror) from None


@contextlib.contextmanager
def _peer_gone() -> Iterator[None]:
    """Tell in our words that a message was not taken."""
    try:
        yield
    except zmq.Again:
        raise PeerGone("the peer's queue is full") from None
    except zmq.ZMQError as error:
        if error.errno in (zmq.EHOSTUNREACH, zmq.ENOTSOCK, zmq.ETERM):
            raise PeerGone("the peer has left") from None
        raise


def _make_room() -> None:
    """Raise what the shell allows, as far as the system lets us."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(_DESCRIPTORS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _is_served(path: Path) -> bool:
    """Whether somebody listens there."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except BlockingIOError:  # its queue of connections is full: it lives
            return True
        except OSError:
            return False
    return True


def remove_socket(address: str) -> None:
    """Delete a socket file of ours."""
    with contextlib.suppress(OSError):
        Path(address.removeprefix("ipc://")).unlink()
