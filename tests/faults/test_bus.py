"""The bus among strangers, garbage, floods, dead and sleeping peers: real processes on both ends."""

import asyncio
import os
import random
import re
import resource
import select
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from ipc import codec
from ipc.channel import Channel, remove_socket
from ipc.endpoints import RunPlace, create_run, new_id
from ipc.errors import LocalFault, PeerGone, ReplyLate
from ipc.mailbox import Link
from ipc.messages import Accepted, Ping, Pong, Refused, StartTurn
from tests.fakes.fault_table import LONG, SEED, Fault
from tests.fakes.fido import wait_until
from tests.fakes.launch import launch, script
from tests.fakes.places import run_place

pytestmark = pytest.mark.timeout(1800 if LONG else 60)
T = TypeVar("T")
LIMIT = 1_000_000
DEADLINE_S = 20.0
SLACK = 1 if LONG else 3
"""The short form runs beside others: it allows times what the long form, which is alone, does not."""
STRANGER = 64_321
"""A user that nobody is."""
ZMTP_3 = b"\xff\0\0\0\0\0\0\0\1\x7f\3\0NULL" + bytes(16) + b"\0" + bytes(31)
READY = b"\x04\x26\x05READY\x0bSocket-Type\0\0\0\x06DEALER\x08Identity\0\0\0\0"


class Post:
    """A process that serves a mailbox, and what the test sees of it."""

    def __init__(self, place: RunPlace) -> None:
        self.place = place
        self.path = place.mailbox("parent").removeprefix("ipc://")
        self.process = start("post", place)
        assert read_line(self.process) == "bound"

    def memory_kb(self, which: str) -> int:
        found = re.search(
            rf"{which}:\s+(\d+) kB", Path(f"/proc/{self.process.pid}/status").read_text("utf-8")
        )
        assert found
        return int(found[1])

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


def start(what: str, place: RunPlace) -> "subprocess.Popen[bytes]":
    pipe = {"stdout": subprocess.PIPE, "bufsize": 0}  # what is buffered here, `select` does not see
    return launch("tests.fakes.post", what, place.directory, os.getpid(), **pipe)


def read_line(process: "subprocess.Popen[bytes]") -> str:
    assert process.stdout
    assert select.select([process.stdout], [], [], DEADLINE_S)[0], "nothing was said"
    return process.stdout.readline().decode().strip()


def end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()
    assert process.stdout
    process.stdout.close()


@pytest.fixture
def post(tmp_path: Path) -> Iterator[Post]:
    with run_place(tmp_path, frame_limit=LIMIT) as place:
        made = Post(place)
        yield made
        end(made.process)


def talk(place: RunPlace, act: Callable[[Channel, Link], Awaitable[T]]) -> T:
    """Do something with a link to the post."""

    async def whole() -> T:
        channel = Channel(frame_limit=LIMIT)
        try:
            async with asyncio.timeout(2 * DEADLINE_S):
                return await act(channel, Link(channel, "client", place.mailbox("parent")))
        finally:
            channel.close()

    return asyncio.run(whole())


def counted(place: RunPlace) -> tuple[dict[str, int], list[int]]:
    """What the post refused; how many commands and facts reached its handlers, this question not counted."""

    async def ask(_: Channel, link: Link) -> tuple[dict[str, int], list[int]]:
        pong, count = await link.ask(Ping()), await link.ask(StartTurn(prompt="count"))
        assert isinstance(pong, Pong)
        assert isinstance(count, Refused)
        commands, facts = map(int, count.message.split())
        return pong.refused, [commands - 1, facts]

    return talk(place, ask)


# --- strangers ---------------------------------------------------------------------------------------------


def garbage(chance: random.Random) -> bytes:
    """What a stranger says: old protocols, halves of greetings, whole ones with nonsense behind, anything."""
    good = codec.encode(StartTurn(prompt="from a stranger"), sender="client", id=1)
    frame = bytes([0, len(good)]) + good
    return chance.choice(
        [
            b"",
            b"\xff\0\0\0",
            ZMTP_3[: chance.randrange(1, len(ZMTP_3))],
            b"\x01\x00" + frame * 3,
            b"\xff\0\0\0\0\0\0\0\1\x7f\1\5\0\0" + frame * 3,
            ZMTP_3.replace(b"NULL", b"PLAIN"[:4]) + READY + frame,
            ZMTP_3 + chance.randbytes(60),
            ZMTP_3 + b"\x06" + b"\xff" * 8 + b"x",
            chance.randbytes(chance.randrange(300)),
        ]
    )


@pytest.mark.fault(50, says="strangers speak garbage to a mailbox")
def test_strangers_and_garbage_reach_nobody_and_end_nothing(post: Post, fault: Fault) -> None:
    chance = random.Random(SEED)
    before = post.descriptors()
    for _ in range(10_000 if LONG else 300):
        with fault.attempt(), socket.socket(socket.AF_UNIX) as stranger:
            stranger.connect(post.path)
            stranger.setblocking(False)
            stranger.send(garbage(chance))
    assert counted(post.place) == ({}, [0, 0])
    wait_until(lambda: post.descriptors() <= before, "the strangers to be forgotten")


@pytest.mark.fault(50, says="strangers open connections and say nothing")
def test_connections_that_never_speak_do_not_use_up_the_descriptors(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with run_place(tmp_path, frame_limit=LIMIT) as place, ExitStack() as strangers:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, limits[1]))  # as a shell may have it
        post = Post(place)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(2000, limits[1]), limits[1]))
        for _ in range(600):
            stranger = strangers.enter_context(socket.socket(socket.AF_UNIX))
            stranger.connect(post.path)
            stranger.send(b"\xff\0")
        assert counted(post.place) == ({}, [0, 0])
        end(post.process)
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.mark.fault(52, says="a mailbox gets messages of a wrong shape or in parts")
def test_whatever_a_peer_sends_is_answered_counted_and_never_fatal(post: Post, fault: Fault) -> None:
    chance = random.Random(SEED)
    tries = 100_000 if LONG else 1_000
    replies: list[Refused] = []

    async def act(channel: Channel, link: Link) -> None:
        def take(frames: list[bytes]) -> None:
            _, reply = codec.decode(frames[-1])
            assert isinstance(reply, Refused)
            replies.append(reply)
            came.set()

        came = asyncio.Event()
        peer = channel.socket("dealer", take)
        peer.connect(post.place.mailbox("parent"))
        good = codec.encode(StartTurn(prompt="x"), sender="client", id=9)
        for number in range(tries):
            bad = damaged(good, chance)
            peer.send(*bad)
            while len(replies) <= number - 100:
                came.clear()
                await came.wait()
        while len(replies) < tries:
            came.clear()
            await came.wait()

    talk(post.place, act)
    for _ in replies:
        with fault.attempt():
            pass
    refused, delivered = counted(post.place)
    assert sum(refused.values()) == tries
    assert delivered == [0, 0]
    assert {"bad_frame", "wrong_version", "unknown_message", "bad_message"} <= set(refused)


def damaged(good: bytes, chance: random.Random) -> list[bytes]:
    """A frame that is none any more, or one too many."""
    match chance.randrange(6):
        case 0:
            return [good[: chance.randrange(len(good))]]
        case 1:
            return [good.replace(b"\x97\x01", b"\x97" + bytes([chance.choice([0, 2, 99])]), 1)]
        case 2:
            return [good.replace(b"StartTurn", bytes(chance.choices(b"abc", k=9)))]
        case 3:
            return [
                good.replace(b"\xa6prompt\xa1x", b"\xa6prompt" + chance.choice([b"\xc0", b"\x01", b"\x90"]))
            ]
        case 4:
            return [good.replace(b"\xa1x", b"\xa1\xff")]
        case _:
            return [good] * chance.randrange(2, 5)


@pytest.mark.fault(51, says="a peer sends more than a message may hold")
def test_a_message_that_is_too_large_costs_its_sender_the_connection_and_nobody_else(
    post: Post, fault: Fault
) -> None:
    tries = 50 if LONG else 6

    async def act(channel: Channel, link: Link) -> tuple[list[float], list[float]]:
        quiet = [await trip(link) for _ in range(200)]
        loud: list[float] = []
        for _ in range(tries):
            replies: asyncio.Queue[list[bytes]] = asyncio.Queue()
            peer = channel.socket("dealer", replies.put_nowait)
            peer.connect(post.place.mailbox("parent"))
            with fault.attempt():
                peer.send(bytes(3 * LIMIT))
                loud += [await trip(link) for _ in range(30)]
                peer.send(codec.encode(Ping(), sender="client", id=2))
                _, pong = codec.decode((await replies.get())[-1])
                assert isinstance(pong, Pong)
            channel.forget(peer)
        return sorted(quiet), sorted(loud)

    quiet, loud = talk(post.place, act)
    fault.took(loud[-1])
    assert loud[len(loud) // 2] < 2 * SLACK * quiet[len(quiet) // 2] + 0.001
    assert post.memory_kb("VmHWM") < 100_000


async def trip(link: Link) -> float:
    started = time.perf_counter()
    assert isinstance(await link.ask(Ping()), Pong)
    return time.perf_counter() - started


# --- sleepers and the dead ---------------------------------------------------------------------------------


@pytest.mark.fault(53, says="a subscriber stands still while facts are published")
def test_a_subscriber_that_stood_still_catches_up_and_costs_its_publisher_nothing(
    post: Post, fault: Fault
) -> None:
    watcher = start("watch", post.place)
    try:
        assert read_line(watcher) == "whole"
        publish(post, 1000)  # as warm as it will be
        assert read_line(watcher).startswith("published 1000 1000")
        before = post.memory_kb("VmRSS")
        for _ in range(5 if LONG else 1):
            with fault.attempt():
                watcher.send_signal(signal.SIGSTOP)
                publish(post, 20_000)
                grown_kb = post.memory_kb("VmHWM") - before
                if LONG:
                    asleep = threading.Event()
                    asleep.wait(30)
                watcher.send_signal(signal.SIGCONT)
                woke = time.monotonic()
                while not (line := read_line(watcher)).startswith("published 20000 20000"):
                    assert line == "whole" or line.startswith("published 1000")
                fault.took(time.monotonic() - woke)
                assert int(line.split()[-1]) > 0, "no hole was noticed"
                assert grown_kb < 10_000
    finally:
        end(watcher)


def publish(post: Post, count: int) -> None:
    async def act(_: Channel, link: Link) -> None:
        assert await link.ask(StartTurn(prompt=f"plans {count} 1000"), DEADLINE_S) == Accepted()

    talk(post.place, act)


KILLED = pytest.mark.fault(57, says="a peer is killed")
STOPPED = pytest.mark.fault(57, says="a peer stands still")


@pytest.mark.parametrize(
    ("number", "limit_s", "tries", "large"),
    [
        pytest.param(signal.SIGKILL, 0.05, 50 if LONG else 2, 0, marks=KILLED),
        pytest.param(signal.SIGKILL, 0.05, 50 if LONG else 1, 4, marks=KILLED),
        pytest.param(signal.SIGSTOP, 1.0, 50 if LONG else 1, 0, marks=STOPPED),
        pytest.param(signal.SIGSTOP, 1.0, 50 if LONG else 1, 4, marks=STOPPED),
    ],
    ids=["killed", "killed with much on its way", "stopped", "stopped with much on its way"],
)
def test_the_other_end_of_a_link_is_seen_to_be_gone(
    tmp_path: Path, fault: Fault, number: signal.Signals, limit_s: float, tries: int, large: int
) -> None:
    """Whoever takes nothing may be noticed by the deadline of a question alone."""
    took = []
    for _ in range(tries):
        with run_place(tmp_path, frame_limit=LIMIT) as place, fault.attempt():
            took.append(talk_until_gone(Post(place), number, large))
            fault.took(took[-1])
    assert sorted(took)[len(took) // 2] < SLACK * limit_s


def talk_until_gone(post: Post, number: signal.Signals, large: int) -> float:
    async def act(_: Channel, link: Link) -> float:
        await link.ask(Ping())
        hanging = asyncio.ensure_future(link.ask(StartTurn(prompt="hang"), 0.95 if large else DEADLINE_S))
        await link.ask(Ping())
        post.process.send_signal(number)
        struck = time.monotonic()
        more = [link.ask(StartTurn(prompt="x" * 500_000), 0.95) for _ in range(large)]
        every = await asyncio.gather(hanging, *more, return_exceptions=True)
        expected = {PeerGone, ReplyLate} if large and number == signal.SIGSTOP else {PeerGone}
        assert {type(one) for one in every} <= expected
        return time.monotonic() - struck

    try:
        return talk(post.place, act)
    finally:
        end(post.process)


@pytest.mark.fault(58, says="a process ends while messages to a sleeping peer are unsent")
def test_a_process_that_has_unsent_messages_ends_within_its_linger(post: Post, fault: Fault) -> None:
    code = """
import asyncio, os, sys, time
from ipc.channel import Channel
from ipc.mailbox import Link
from ipc.messages import NoticeRaised, Ping

async def main():
    channel = Channel()
    link = Link(channel, "client", sys.argv[1])
    print(await link.ask(Ping()), file=sys.stderr)
    os.kill(int(sys.argv[2]), 19)
    for _ in range(20):
        link.tell(NoticeRaised(level="info", message="x" * 500_000))
    started = time.monotonic()
    exec(sys.argv[3])
    channel.close()
    print(time.monotonic() - started)

asyncio.run(main())
"""
    for way in ("pass", "raise RuntimeError('planted')", "sys.exit(3)"):
        with fault.attempt():
            started = time.monotonic()
            done = script(code, post.place.mailbox("parent"), post.process.pid, way)
            assert "Pong" in done.stderr, done.stderr
            assert time.monotonic() - started < 3.0 * SLACK
            if way == "pass":
                fault.took(float(done.stdout))
                assert float(done.stdout) < 0.8 * SLACK
            post.process.send_signal(signal.SIGCONT)


@pytest.mark.fault(58, says="a process answers with much and ends at once")
def test_what_was_said_last_before_the_end_arrives(tmp_path: Path, fault: Fault) -> None:
    async def act(_: Channel, link: Link) -> int:
        reply = await link.ask(StartTurn(prompt=f"last words {LIMIT - 100}"))
        assert isinstance(reply, Refused)
        return len(reply.message)

    for _ in range(200 if LONG else 2):
        with run_place(tmp_path, frame_limit=LIMIT) as place, fault.attempt():
            post = Post(place)
            assert talk(place, act) == LIMIT - 100
            assert post.process.wait(DEADLINE_S) == 0
            end(post.process)


# --- the run directory -------------------------------------------------------------------------------------


@pytest.mark.fault(55, says="a stranger or a second session wants our path")
def test_a_living_ones_path_is_never_taken(post: Post, fault: Fault) -> None:
    async def take(channel: Channel, link: Link) -> None:
        with pytest.raises(LocalFault, match="belongs to a process that is running"):
            channel.socket("router").bind(post.place.mailbox("parent"))
        assert isinstance(await link.ask(Ping()), Pong)

    with fault.attempt():
        talk(post.place, take)
    with fault.attempt():
        root = post.place.directory.parent
        others = [create_run(root, post.place.run._replace(id=new_id())) for _ in range(50)]
        assert len({place.mailbox("parent") for place in [post.place, *others]}) == 51
    if os.geteuid() == 0:
        with fault.attempt(), somebody_else():
            for trespass in trespasses(Path(post.path)):
                with pytest.raises(PermissionError):
                    trespass()
    assert counted(post.place) == ({}, [0, 0])


@contextmanager
def somebody_else() -> Iterator[None]:
    os.setresuid(STRANGER, STRANGER, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


def trespasses(path: Path) -> Iterator[Callable[[], object]]:
    with socket.socket(socket.AF_UNIX) as one:
        yield lambda: one.connect(str(path))
        yield lambda: one.bind(str(path.with_name("mine.ipc")))
    yield path.unlink
    yield lambda: path.rename(path.with_name("taken"))
    yield lambda: os.listdir(path.parent)
    yield lambda: (path.parent / "run.json").read_bytes()


@pytest.mark.fault(55, says="something that is no socket lies in the way")
@pytest.mark.parametrize("what", ["file", "folder", "link"])
def test_what_is_no_socket_is_named_and_left_alone(tmp_path: Path, what: str) -> None:
    async def take() -> None:
        channel = Channel()
        try:
            with pytest.raises(LocalFault, match="is in the way"):
                channel.socket("router").bind(f"ipc://{path}")
        finally:
            channel.close()

    path = tmp_path / "parent.ipc"
    match what:
        case "file":
            path.write_text("mine", encoding="utf-8")
        case "folder":
            path.mkdir()
        case _:
            path.symlink_to(tmp_path / "elsewhere")
    asyncio.run(take())
    assert path.is_symlink() == (what == "link")
    assert what != "file" or path.read_text(encoding="utf-8") == "mine"


@pytest.mark.fault(57, says="a peer is killed and another takes its place")
def test_the_socket_of_a_killed_process_is_no_hindrance_for_its_successor(tmp_path: Path) -> None:
    with run_place(tmp_path, frame_limit=LIMIT) as place:
        for _ in range(3):
            post = Post(place)
            assert counted(place) == ({}, [0, 0])
            end(post.process)
            assert Path(post.path).is_socket()
        remove_socket(place.mailbox("parent"))
