"""Mailboxes, links, facts: real sockets on one loop."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ipc import codec
from ipc.actor import Actor
from ipc.bus import Follower
from ipc.channel import Channel
from ipc.errors import LocalFault, PeerGone, ReplyLate
from ipc.mailbox import Answer, Link, Mailbox, Peer
from ipc.messages import (
    Accepted,
    AnyCommand,
    AnyFact,
    CancelTurn,
    CompleteModel,
    GetPlan,
    GetSnapshot,
    ModelStreamed,
    NoticeRaised,
    Ping,
    Pong,
    Refused,
    Snapshot,
    StartTurn,
    Stop,
    TextDelta,
)
from tests.fakes.fault_table import SEED
from tests.fakes.places import run_place
from tests.fakes.watching import DEADLINE_S, LossyPublisher, Seen


class Echo(Actor):
    """Accepts what it knows, fails where told, never answers where told."""

    name = "parent"
    publishes = True

    def __init__(self, place) -> None:  # type: ignore[no-untyped-def]
        super().__init__(place)
        self.commands = 0
        self.told: list[AnyFact] = []
        self.tellers: list[Peer] = []

    def on_command(self, command: AnyCommand, peer: Peer) -> Answer:
        self.commands += 1
        match command:
            case StartTurn(prompt="raise"):
                raise RuntimeError("planted")
            case StartTurn(prompt="raise later"):
                return self.raise_later()
            case StartTurn(prompt="hang"):
                return asyncio.get_running_loop().create_future()
            case StartTurn(prompt="ask back"):
                return self.ask_back(peer)
            case StartTurn(prompt="tell"):
                peer.tell(notice(self.commands))
                return Accepted()
            case StartTurn():
                return Accepted()
            case _:
                return super().on_command(command, peer)

    def on_fact(self, fact: AnyFact, peer: Peer) -> None:
        self.told.append(fact)
        self.tellers.append(peer)

    async def raise_later(self) -> Accepted:
        await asyncio.sleep(0)
        raise RuntimeError("planted")

    async def ask_back(self, peer: Peer) -> Accepted:
        peer.tell(ModelStreamed(agent_id="a", event=TextDelta(text="hello")))
        reply = await peer.ask(CompleteModel(agent_id="a", tail=()))
        assert isinstance(reply, Refused)
        return Accepted()


@asynccontextmanager
async def serving(actor: Actor) -> AsyncIterator[None]:
    task = asyncio.ensure_future(actor.serve())
    await asyncio.sleep(0)
    try:
        yield
    finally:
        actor.stop("test over")
        await asyncio.wait_for(task, DEADLINE_S)


@pytest.fixture
def scene(tmp_path: Path) -> "Callable[[Callable[[Echo, Channel], Awaitable[None]]], None]":
    def play(act: "Callable[[Echo, Channel], Awaitable[None]]") -> None:
        async def whole() -> None:
            with run_place(tmp_path, frame_limit=1_000_000) as place:
                actor = Echo(place)
                async with serving(actor):
                    channel = Channel(frame_limit=1_000_000)
                    try:
                        await asyncio.wait_for(act(actor, channel), DEADLINE_S)
                    finally:
                        channel.close()

        asyncio.run(whole())

    return play


def link_to(actor: Actor, channel: Channel, **kw: object) -> Link:
    return Link(channel, "client", actor.mailbox_address(), **kw)  # type: ignore[arg-type]


def test_every_command_gets_exactly_one_reply(scene) -> None:  # type: ignore[no-untyped-def]
    async def act(actor: Echo, channel: Channel) -> None:
        link = link_to(actor, channel)
        assert isinstance(await link.ask(Ping()), Pong)
        assert await link.ask(StartTurn(prompt="x")) == Accepted()
        for prompt in ("raise", "raise later"):
            reply = await link.ask(StartTurn(prompt=prompt))
            assert isinstance(reply, Refused)
            assert reply.code == "internal_error"
        reply = await link.ask(GetPlan())
        assert isinstance(reply, Refused)
        assert reply.code == "not_for_me"

    scene(act)


def test_a_reply_that_does_not_come_is_late_at_its_deadline(scene) -> None:  # type: ignore[no-untyped-def]
    async def act(actor: Echo, channel: Channel) -> None:
        with pytest.raises(ReplyLate, match="StartTurn"):
            await link_to(actor, channel).ask(StartTurn(prompt="hang"), deadline_s=0.05)

    scene(act)


def test_a_ping_never_queues_behind_work(scene) -> None:  # type: ignore[no-untyped-def]
    async def act(actor: Echo, channel: Channel) -> None:
        link = link_to(actor, channel)
        hanging = asyncio.ensure_future(link.ask(StartTurn(prompt="hang"), 5))
        assert isinstance(await link.ask(Ping(), 1), Pong)
        assert not hanging.done()
        hanging.cancel()

    scene(act)


def test_the_owner_can_ask_and_tell_back_on_the_same_connection(scene) -> None:  # type: ignore[no-untyped-def]
    async def act(actor: Echo, channel: Channel) -> None:
        facts: list[AnyFact] = []
        link = link_to(
            actor,
            channel,
            on_command=lambda command, _: Refused(code="no", message=type(command).__name__),
            on_fact=lambda fact, _: facts.append(fact),
        )
        assert await link.ask(StartTurn(prompt="ask back")) == Accepted()
        assert facts == [ModelStreamed(agent_id="a", event=TextDelta(text="hello"))]

    scene(act)


def test_a_caller_is_known_only_while_somebody_holds_it(scene) -> None:  # type: ignore[no-untyped-def]
    async def act(actor: Echo, channel: Channel) -> None:
        waiting = link_to(actor, channel)
        hanging = asyncio.ensure_future(waiting.ask(StartTurn(prompt="hang")))
        for _ in range(20):
            link = link_to(actor, channel)
            assert isinstance(await link.ask(Ping()), Pong)
            link.close()
        assert isinstance(await waiting.ask(Ping()), Pong)
        assert len(actor._mailbox._callers) == 1
        hanging.cancel()

    scene(act)


def test_a_caller_that_is_held_stays_the_same(scene) -> None:  # type: ignore[no-untyped-def]
    async def act(actor: Echo, channel: Channel) -> None:
        link = link_to(actor, channel)
        for _ in range(2):
            link.tell(notice(1))
            await link.ask(Ping())
        first, second = actor.tellers
        assert first is second

    scene(act)


def test_a_stop_is_accepted_and_ends_the_actor(scene) -> None:  # type: ignore[no-untyped-def]
    async def act(actor: Echo, channel: Channel) -> None:
        assert await link_to(actor, channel).ask(Stop(reason="quit")) == Accepted()

    scene(act)


def test_what_is_asked_of_a_process_that_ends_fails_with_peer_gone(tmp_path: Path) -> None:
    async def whole() -> None:
        with run_place(tmp_path) as place:
            actor = Echo(place)
            channel = Channel()
            link = link_to(actor, channel)
            async with serving(actor):
                await link.ask(Ping())
                # A hanging command is answered "stopping" by an actor that ends in good order ...
                hanging = asyncio.ensure_future(link.ask(StartTurn(prompt="hang"), DEADLINE_S))
                await link.ask(Ping())
            try:
                reply = await asyncio.wait_for(hanging, 2)
                assert isinstance(reply, Refused)
            except PeerGone:
                pass  # ... unless its connection is gone before the answer
            channel.close()

    asyncio.run(whole())


def bad_frames() -> dict[str, bytes]:
    good = codec.encode(Ping(), sender="client", id=9)
    return {
        "bad_frame": good[:7],
        "wrong_version": good.replace(b"\x97\x01", b"\x97\x63", 1),
        "unknown_message": good.replace(b"\xa4Ping", b"\xa4Pong"[:1] + b"Pxng"),
        "bad_message": codec.encode(CancelTurn(), sender="client", id=9).replace(
            b"\x81\xa4type\xaaCancelTurn", b"\x82\xa4type\xaaCancelTurn\xa1x\x01"
        ),
        "too_large": b"\x00" * 1_000_001,
    }


@pytest.mark.parametrize("code", sorted(bad_frames()))
def test_a_bad_frame_is_refused_counted_and_never_fatal(scene, code: str) -> None:  # type: ignore[no-untyped-def]
    async def act(actor: Echo, channel: Channel) -> None:
        replies: asyncio.Queue[bytes] = asyncio.Queue()
        raw = channel.socket("dealer", lambda frames: replies.put_nowait(frames[-1]))
        raw.connect(actor.mailbox_address())
        raw.send(bad_frames()[code])
        _, refused = codec.decode(await replies.get())
        assert isinstance(refused, Refused)
        assert refused.code == code
        pong = await link_to(actor, channel).ask(Ping())
        assert isinstance(pong, Pong)
        assert pong.refused == {code: 1}

    scene(act)


def test_what_another_version_says_ends_the_question_and_is_not_answered(tmp_path: Path) -> None:
    async def whole() -> None:
        got: list[bytes] = []

        def answer(frames: list[bytes]) -> None:
            envelope, _ = codec.decode(frames[1])
            got.append(frames[1])
            for parent in (envelope.id, 0):
                said = codec.encode(Accepted(), sender="parent", parent=parent)
                other.send(frames[0], said.replace(b"\x97\x01", b"\x97\x63", 1))

        with run_place(tmp_path) as place:
            channel = Channel()
            other = channel.socket("router", answer)
            other.bind(place.mailbox("parent"))
            link = Link(channel, "client", place.mailbox("parent"))
            for number in (1, 2):
                reply = await link.ask(Ping())
                assert isinstance(reply, Refused)
                assert reply.code == "wrong_version"
                assert "version 99" in reply.message
                assert len(got) == number, "what was no question was answered"
            channel.close()

    asyncio.run(whole())


def test_a_message_over_the_limit_is_refused_before_it_is_sent(scene) -> None:  # type: ignore[no-untyped-def]
    async def act(actor: Echo, channel: Channel) -> None:
        with pytest.raises(LocalFault, match="limit"):
            await link_to(actor, channel).ask(StartTurn(prompt="x" * 1_000_001))

    scene(act)


def notice(number: int) -> NoticeRaised:
    return NoticeRaised(level="info", message=str(number))


def numbers(count: int) -> list[str]:
    return [str(number) for number in range(count)]


def follow(actor: Actor, channel: Channel) -> tuple[Seen, Follower]:
    seen = Seen()
    link = link_to(actor, channel)
    return seen, Follower(channel, link, actor.facts_address(), on_reset=seen.reset, on_fact=seen.add)


def test_a_late_follower_sees_everything(scene) -> None:  # type: ignore[no-untyped-def]
    async def act(actor: Echo, channel: Channel) -> None:
        await link_to(actor, channel).ask(Ping())
        for number in range(5):
            actor.publish(notice(number))
        seen, _ = follow(actor, channel)
        await seen.until(lambda seen: seen.notices == numbers(5))
        actor.publish(notice(5))
        await seen.until(lambda seen: seen.notices == numbers(6))

    scene(act)


def test_a_fact_over_the_limit_is_refused_and_leaves_no_hole(scene) -> None:  # type: ignore[no-untyped-def]
    async def act(actor: Echo, channel: Channel) -> None:
        link = link_to(actor, channel)
        await link.ask(Ping())
        seen, _ = follow(actor, channel)
        actor.publish(notice(0))
        await seen.until(lambda seen: seen.notices == numbers(1))
        with pytest.raises(LocalFault, match="limit"):
            actor.publish(NoticeRaised(level="info", message="x" * 1_000_001))
        actor.publish(notice(1))
        await seen.until(lambda seen: seen.notices == numbers(2))
        snapshot = await link.ask(GetSnapshot())
        assert isinstance(snapshot, Snapshot)
        assert snapshot.seq == 2, "a number was used up"

    scene(act)


def test_a_late_follower_is_healed_after_more_facts_than_fit_a_frame(scene) -> None:  # type: ignore[no-untyped-def]
    async def act(actor: Echo, channel: Channel) -> None:
        await link_to(actor, channel).ask(Ping())
        for number in range(30):
            actor.publish(NoticeRaised(level="info", message=str(number) + " " * 100_000))
        seen, _ = follow(actor, channel)
        await seen.until(lambda seen: bool(seen.notices))
        assert seen.notices[-1].strip() == "29"

    scene(act)


def test_dropped_facts_heal_by_snapshot_also_when_the_last_ones_are_lost(tmp_path: Path) -> None:
    async def whole() -> None:
        with run_place(tmp_path) as place:
            channel = Channel()
            publisher = LossyPublisher(channel, "parent")
            publisher.loses = lambda seq: seq % 7 == 3 or seq > 95
            mailbox = Mailbox(
                channel, "parent", lambda command, _: publisher.snapshot(), lambda fact, _: None
            )
            mailbox.bind(place.mailbox("parent"))
            publisher.bind(place.facts("parent"))
            seen = Seen()
            link = Link(channel, "client", place.mailbox("parent"))
            follower = Follower(channel, link, place.facts("parent"), on_reset=seen.reset, on_fact=seen.add)
            publisher.publish(notice(0))
            await seen.until(lambda seen: seen.notices == numbers(1))
            for number in range(1, 100):
                publisher.publish(notice(number))
                await asyncio.sleep(0)
            publisher.loses = lambda seq: False
            await seen.until(lambda seen: seen.notices == numbers(100))
            assert follower.replica.holes > 0
            publisher.close()
            channel.close()

    asyncio.run(whole())


def test_a_follower_survives_the_publishers_death(tmp_path: Path) -> None:
    async def whole() -> None:
        with run_place(tmp_path) as place:
            channel = Channel()
            first = Echo(place)
            async with serving(first):
                await link_to(first, channel).ask(Ping())
                seen, _ = follow(first, channel)
                first.publish(notice(1))
                await seen.until(lambda seen: seen.notices == ["1"])
            second = Echo(place)
            async with serving(second):
                await link_to(second, channel).ask(Ping())
                second.publish(notice(2))
                await seen.until(lambda seen: seen.notices == ["2"])
            channel.close()

    asyncio.run(whole())


def test_a_cancelled_question_loses_no_message(scene) -> None:  # type: ignore[no-untyped-def]
    """Each is cancelled around the tick in which its answer comes, and a fact with it."""

    async def act(actor: Echo, channel: Channel) -> None:
        chance, facts = random.Random(SEED), list[AnyFact]()
        link = link_to(actor, channel, on_fact=lambda fact, _: facts.append(fact))
        answered = 0
        for _ in range(2_000):
            asking = asyncio.ensure_future(link.ask(StartTurn(prompt="tell")))
            for _ in range(chance.randrange(12)):
                await asyncio.sleep(0)
            asking.cancel()
            (end,) = await asyncio.gather(asking, return_exceptions=True)
            answered += end == Accepted()
        assert isinstance(await link.ask(Ping()), Pong)  # whatever was sent before it has been answered
        assert 100 < answered < actor.commands - 100
        assert facts == [notice(number + 1) for number in range(actor.commands)]
        assert link._conversations._asked == {}

    scene(act)


def test_no_burst_in_either_direction_is_left_lying(scene) -> None:  # type: ignore[no-untyped-def]
    """The descriptor of a socket tells once that there is something, however much there is."""

    async def act(actor: Echo, channel: Channel) -> None:
        chance = random.Random(SEED)
        came: list[AnyFact] = []
        link = link_to(actor, channel, on_fact=lambda fact, _: came.append(fact))
        link.tell(notice(0))
        await link.ask(Ping())
        (peer,) = actor.tellers
        actor.told.clear()
        for _ in range(100):
            there, back = chance.randrange(1, 100), chance.randrange(1, 100)
            for number in range(max(there, back)):
                if number < there:
                    link.tell(notice(number))
                if number < back:
                    peer.tell(notice(number))
            while len(actor.told) < there or len(came) < back:  # noqa: ASYNC110 - nothing else wakes it
                await asyncio.sleep(0)
            assert (len(actor.told), len(came)) == (there, back)
            actor.told.clear()
            came.clear()

    scene(act)
