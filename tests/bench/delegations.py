"""A delegation against what it can not do without: its beginning, a large fork, its end when cancelled."""

import asyncio
import os
import signal
import socket
import tempfile
import threading
import time
from collections.abc import AsyncGenerator
from pathlib import Path

from actors.conversation import Conversation, encode_user
from actors.delegation.delegator import Delegator
from ipc import kernel
from ipc.messages import StreamEvent
from tests.bench.measure import Row, interleaved, percentile
from tests.fakes.delegation_scene import Answering, Scene, delegate, worker
from tests.fakes.launch import Watched

ROUNDS = 15
CANCELS = 25
LARGE = 10_000_000
FIRST_REQUEST_MS, CANCEL_MS, CANCEL_P99_MS, STOPPED_MS = 20.0, 100.0, 300.0, 700.0
SETTLED_S = 0.1
"""What a fresh worker is given to come to rest, as any real turn gives it."""


class Timed(Answering):
    """Answers at once, or never; knows when it was asked."""

    def __init__(self, *, ever: bool = True) -> None:
        super().__init__(delay_s=0.0 if ever else 1000.0)
        self.began = 0.0
        self.waiting = asyncio.Event()

    async def stream(self, conversation: Conversation) -> AsyncGenerator[StreamEvent, None]:
        self.began = time.perf_counter()
        self.waiting.set()
        async for event in super().stream(conversation):
            yield event


def rows() -> list[Row]:
    kernel.keep_freed_memory()  # as the parent does
    with (
        tempfile.TemporaryDirectory(prefix="fido-b-") as folder,
        worker(Path(folder), "honest") as (scene, _),
    ):
        large = Scene(scene.place, Path(folder) / "large")
        large.conversation._messages.insert(1, encode_user("x" * LARGE))
        small_s, large_s, floor_s = interleaved(
            ROUNDS, lambda: _first_request(scene), lambda: _first_request(large), _copied_and_sent
        )
        cancels = [_cancelled(scene, stand_still=False) for _ in range(CANCELS)]
        stopped = [_cancelled(scene, stand_still=True) for _ in range(CANCELS)]
    p50, p99 = percentile(cancels, 0.5), percentile(cancels, 0.99)
    still = percentile(stopped, 0.99)
    return [
        Row("delegate call to the child's first request", 1000 * small_s, FIRST_REQUEST_MS, "ms", 1.0),
        Row(
            "what a history of 10 MB adds to that",
            1000 * max(0.0, large_s - small_s),
            1000 * floor_s,
            "ms",
            2.0,
            "floor: copied in memory, sent through a socket",
        ),
        Row("cancel to a result and no worker, p50", 1000 * p50, CANCEL_MS, "ms", 1.0),
        Row("the same, p99", 1000 * p99, CANCEL_P99_MS, "ms", 1.0),
        Row("the same, of a worker that stands still, p99", 1000 * still, STOPPED_MS, "ms", 1.0),
    ]


def _first_request(scene: Scene) -> float:
    async def measured() -> float:
        await scene.ready()
        await asyncio.sleep(SETTLED_S)
        scene.provider = model = Timed()
        delegator = scene.delegator()
        started = time.perf_counter()
        try:
            made = await delegate(delegator)
        finally:
            scene.close()
        assert made["status"] == "completed", made
        return model.began - started

    return asyncio.run(measured())


def _cancelled(scene: Scene, *, stand_still: bool) -> float:
    async def measured() -> float:
        pid = await scene.ready()
        scene.provider = model = Timed(ever=False)
        with Watched(pid) as busy:
            try:
                return await _cancel(scene.delegator(), model, busy, stand_still=stand_still)
            finally:
                scene.close()

    return asyncio.run(measured())


async def _cancel(delegator: Delegator, model: Timed, busy: Watched, *, stand_still: bool) -> float:
    delegating = asyncio.ensure_future(delegate(delegator))
    await model.waiting.wait()
    if stand_still:
        os.kill(busy.pid, signal.SIGSTOP)
    started = time.perf_counter()
    delegating.cancel()
    made = await delegating
    assert busy.ends_within()
    elapsed = time.perf_counter() - started
    assert made["error"]["code"] == "cancelled", made
    return elapsed


def _copied_and_sent() -> float:
    """One copy of as many bytes, and their way through a socket to somebody who reads them."""
    history = bytes(LARGE)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        reader = threading.Thread(target=_read, args=(theirs,))
        reader.start()
        started = time.perf_counter()
        ours.sendall(bytearray(history))
        reader.join()
        return time.perf_counter() - started


def _read(source: socket.socket) -> None:
    left, room = LARGE, bytearray(1 << 20)
    while left:
        left -= source.recv_into(room)
