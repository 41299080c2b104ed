"""A process whose loop is busy for a while, and what somebody sends it meanwhile."""

import asyncio
import contextlib
import sys
from pathlib import Path

from ipc.channel import Channel
from ipc.errors import PeerGone
from tests.fakes.launch import ROOT
from tests.fakes.places import short_directory

BUSY_S = 1.2
"""Longer than the silence after which a peer is taken to have gone; it is busy so twice."""
MANY = 60_000
"""Facts, more than a publisher keeps for one subscriber."""
_SLOW = f"""
import asyncio, sys, time
sys.path.insert(0, {str(ROOT)!r})
from ipc.channel import Channel

async def main():
    channel, done = Channel(), asyncio.Event()
    heard = 0
    def hear(frames):
        nonlocal heard
        heard += 1
        if heard in (10, 6_010):
            time.sleep({BUSY_S})
        if frames == [b"end"]:
            done.set()
    channel.socket("sub", hear).connect("ipc://" + sys.argv[1])
    async with asyncio.timeout(20):
        await done.wait()
    channel.close()

asyncio.run(main())
"""


def test_a_subscriber_that_was_busy_for_a_while_goes_on() -> None:
    with short_directory() as folder:
        assert asyncio.run(_flooded(folder / "facts")) == 0


async def _flooded(address: Path) -> int:
    channel = Channel()
    facts = channel.socket("pub")
    facts.bind(f"ipc://{address}")
    slow = await asyncio.create_subprocess_exec(sys.executable, "-I", "-c", _SLOW, str(address))
    ended = asyncio.ensure_future(slow.wait())
    try:
        for _ in range(MANY // 250):
            facts.send_each([b"x" * 200] * 250)
            await asyncio.wait([ended], timeout=0.005)
        while not ended.done():
            facts.send_each([b"end"])
            await asyncio.wait([ended], timeout=0.05)
    finally:
        channel.close()
    return await ended


_WARY = f"""
import asyncio, contextlib, sys, time
sys.path.insert(0, {str(ROOT)!r})
from ipc.channel import Channel
from ipc.errors import PeerGone

async def main():
    channel, gone = Channel(), asyncio.Event()
    heard = 0
    def hear(frames):
        nonlocal heard
        heard += 1
        if heard in (10, 30, 60, 100):
            time.sleep({BUSY_S})
        with contextlib.suppress(PeerGone):
            worker.send(b"more")
    worker = channel.socket("dealer", hear, wary=True)
    worker.on_gone(gone.set)
    worker.connect("ipc://" + sys.argv[1])
    worker.send(b"begin")
    async with asyncio.timeout(20):
        await gone.wait()
    with contextlib.suppress(TimeoutError):  # time for the flood to come back on another connection
        await asyncio.wait_for(asyncio.Event().wait(), {2 * BUSY_S})
    channel.close()

asyncio.run(main())
"""


def test_a_worker_that_floods_a_busy_parent_is_cut_off_and_the_parent_goes_on() -> None:
    with short_directory() as folder:
        assert asyncio.run(_flooded_by_a_worker(folder / "mail")) == 0


async def _flooded_by_a_worker(address: Path) -> int:
    channel = Channel()
    callers: list[bytes] = []
    mailbox = channel.socket("router", lambda frames: callers.append(bytes(frames[0])))
    mailbox.bind(f"ipc://{address}")
    parent = await asyncio.create_subprocess_exec(sys.executable, "-I", "-c", _WARY, str(address))
    ended = asyncio.ensure_future(parent.wait())
    try:
        while not ended.done():
            with contextlib.suppress(PeerGone):
                for _ in range(50 if callers else 0):
                    mailbox.send(callers[-1], b"x" * 200)
            await asyncio.wait([ended], timeout=0.005)
    finally:
        channel.close()
    return await ended
