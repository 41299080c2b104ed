"""A subscriber whose loop is busy for a while, as a screen is that lays out a long transcript."""

import asyncio
import sys
from pathlib import Path

from ipc.channel import Channel
from tests.fakes.launch import ROOT
from tests.fakes.places import short_directory

BUSY_S = 0.9
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
