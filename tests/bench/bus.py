"""Facts and commands against raw ZeroMQ with the same structs, each in processes of its own."""

import asyncio
import multiprocessing
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import msgspec
import zmq

from ipc.bus import Follower, Publisher
from ipc.channel import Channel
from ipc.mailbox import Link, Mailbox
from ipc.messages import Accepted, AnyFact, AnyMessage, MessageDelta, StartTurn
from tests.bench.measure import Row, interleaved

FACTS = 50_000
TRIPS = 3_000
FACT = MessageDelta(turn=1, kind="text", text="x" * 150)
COMMAND = StartTurn(prompt="x" * 60)


def rows() -> list[Row]:
    ours, floor = interleaved(5, lambda: _pair(_our_facts), lambda: _pair(_raw_facts))
    trip, raw_trip = interleaved(5, lambda: _pair(_our_trips), lambda: _pair(_raw_trips))
    return [
        Row(
            "fact, 200 bytes, published to received",
            ours * 1e6,
            floor * 1e6,
            "µs",
            2.0,
            f"{1 / ours:,.0f} a second",
        ),
        Row("command round trip, 100 bytes", trip * 1e6, raw_trip * 1e6, "µs", 3.0),
    ]


def _pair(scene: Callable[[str, Connection | None], float]) -> float:
    """Play a scene's other half in a second process; return the seconds per message seen by this one."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="fido-b-", dir="/tmp") as folder:
        here, there = context.Pipe()
        other = context.Process(target=scene, args=(folder, there))
        other.start()
        try:
            here.recv()
            return scene(folder, None) if scene in (_raw_trips, _our_trips) else _receive(scene, folder, here)
        finally:
            here.close()
            other.join(20)
            if other.is_alive():
                other.kill()


def _receive(scene: Callable[..., float], folder: str, go: Connection) -> float:
    return asyncio.run(_receive_ours(folder, go)) if scene is _our_facts else _receive_raw(folder, go)


def _our_facts(folder: str, ready: Connection | None) -> float:
    async def publish() -> None:
        channel = Channel()
        publisher = Publisher(channel, "parent")
        mailbox = Mailbox(channel, "parent", lambda command, _: publisher.snapshot(), lambda fact, _: None)
        mailbox.bind(f"ipc://{folder}/c")
        publisher.bind(f"ipc://{folder}/f")
        assert ready is not None
        ready.send("bound")
        await asyncio.to_thread(ready.recv)
        for number in range(FACTS):
            publisher.publish(FACT)
            if number % 500 == 0:
                await asyncio.sleep(0)
        await asyncio.to_thread(ready.recv)
        publisher.close()
        channel.close()

    asyncio.run(publish())
    return 0.0


async def _receive_ours(folder: str, go: Connection) -> float:
    channel, size = Channel(), 0
    healed, done = asyncio.Event(), asyncio.Event()

    def take(fact: AnyFact) -> None:
        nonlocal size
        if isinstance(fact, MessageDelta):
            size += len(fact.text)
        if size == FACTS * len(FACT.text):
            done.set()

    def reset(facts: tuple[AnyFact, ...]) -> None:
        nonlocal size
        size = 0
        healed.set()
        for fact in facts:
            take(fact)

    link = Link(channel, "client", f"ipc://{folder}/c")
    Follower(channel, link, f"ipc://{folder}/f", on_reset=reset, on_fact=take)
    await healed.wait()
    started = time.perf_counter()
    go.send("go")
    await asyncio.wait_for(done.wait(), 60)
    elapsed = time.perf_counter() - started
    go.send("end")
    channel.close()
    return elapsed / FACTS


def _raw_facts(folder: str, ready: Connection | None) -> float:
    context, encode = zmq.Context(), msgspec.msgpack.Encoder().encode
    socket = context.socket(zmq.PUB)
    socket.sndhwm = 2 * FACTS
    socket.bind(f"ipc://{folder}/f")
    assert ready is not None
    ready.send("bound")
    while not ready.poll(0.02):
        socket.send(b"")
    ready.recv()
    for _ in range(FACTS):
        socket.send(encode(FACT))
    ready.recv()
    context.destroy(0)
    return 0.0


def _receive_raw(folder: str, go: Connection) -> float:
    context, decoder = zmq.Context(), msgspec.msgpack.Decoder(AnyMessage)
    socket = context.socket(zmq.SUB)
    socket.rcvhwm = 2 * FACTS
    socket.subscribe(b"")
    socket.connect(f"ipc://{folder}/f")
    socket.recv()
    started = time.perf_counter()
    go.send("go")
    count = 0
    while count < FACTS:
        frame = socket.recv()
        if frame:
            decoder.decode(frame)
            count += 1
    elapsed = time.perf_counter() - started
    go.send("end")
    context.destroy(0)
    return elapsed / FACTS


def _our_trips(folder: str, ready: Connection | None) -> float:
    return asyncio.run(_serve_ours(folder, ready) if ready else _ask_ours(folder))


async def _serve_ours(folder: str, ready: Connection) -> float:
    channel = Channel()
    Mailbox(channel, "parent", lambda command, peer: Accepted(), lambda fact, peer: None).bind(
        f"ipc://{folder}/c"
    )
    ready.send("bound")
    await asyncio.to_thread(_wait_closed, ready)
    channel.close()
    return 0.0


async def _ask_ours(folder: str) -> float:
    channel = Channel()
    link = Link(channel, "client", f"ipc://{folder}/c")
    await link.ask(COMMAND)
    started = time.perf_counter()
    for _ in range(TRIPS):
        await link.ask(COMMAND)
    elapsed = time.perf_counter() - started
    channel.close()
    return elapsed / TRIPS


def _raw_trips(folder: str, ready: Connection | None) -> float:
    context, encode = zmq.Context(), msgspec.msgpack.Encoder().encode
    decoder = msgspec.msgpack.Decoder(AnyMessage)
    try:
        if ready is not None:
            router = context.socket(zmq.ROUTER)
            router.bind(f"ipc://{folder}/c")
            ready.send("bound")
            for _ in range(TRIPS + 1):
                identity, frame = router.recv_multipart()
                decoder.decode(frame)
                router.send_multipart([identity, encode(Accepted())])
            _wait_closed(ready)
            return 0.0
        dealer = context.socket(zmq.DEALER)
        dealer.connect(f"ipc://{folder}/c")
        started = 0.0
        for number in range(TRIPS + 1):
            if number == 1:
                started = time.perf_counter()
            dealer.send(encode(COMMAND))
            decoder.decode(dealer.recv())
        return (time.perf_counter() - started) / TRIPS
    finally:
        context.destroy(0)


def _wait_closed(connection: Connection) -> Any:
    try:
        return connection.recv()
    except EOFError:
        return None


if __name__ == "__main__":
    for row in rows():
        print(row.line())
