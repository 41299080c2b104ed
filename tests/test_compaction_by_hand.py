"""`/compact` at a parent in the test's own process, with a real plan store and a real server."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from actors.parent import Parent
from actors.plan_store import PlanStore
from actors.settings.settings import load
from ipc.endpoints import RunPlace
from ipc.errors import PeerGone
from ipc.messages import (
    Accepted,
    AnyCommand,
    AnyFact,
    AnyReply,
    CancelTurn,
    CompactConversation,
    CompactionFinished,
    CompactionStarted,
    NoticeRaised,
    Refused,
    StartTurn,
    TurnFinished,
    UndoTurn,
)
from tests.fakes.chat_script import call, gate, say, status
from tests.fakes.places import run_place
from tests.fakes.scripted_server import ScriptedServer

DEADLINE_S = 30.0


class Nobody:
    """The sender of a command that needs no answer."""

    async def ask(self, command: AnyCommand, deadline_s: float = 0) -> AnyReply:
        raise PeerGone("nobody")

    def tell(self, fact: AnyFact) -> None:
        raise PeerGone("nobody")


class WatchedParent(Parent):
    """Lets a test wait for what it tells."""

    def __init__(self, place: RunPlace, state: Path, base_url: str) -> None:
        environ = {"OPENAI_BASE_URL": base_url, "OPENAI_API_KEY": "sk-canary", "FIDO_MODE": "yolo"}
        super().__init__(place, load({}, environ, Path(place.run.workspace)), state)
        self.bound = asyncio.Event()
        self.told: list[AnyFact] = []
        self._news = asyncio.Event()

    async def on_bound(self) -> None:
        await super().on_bound()
        self.bound.set()

    def publish(self, fact: AnyFact) -> None:
        self.told.append(fact)
        super().publish(fact)
        self._news.set()

    def order(self, command: AnyCommand) -> AnyReply:
        """Send a command that is answered at once."""
        reply = self.on_command(command, Nobody())
        assert isinstance(reply, Accepted | Refused)
        return reply

    async def tells(self, kind: type[AnyFact], count: int = 1) -> AnyFact:
        """Wait for the nth fact of a kind."""
        async with asyncio.timeout(DEADLINE_S):
            while len(found := [fact for fact in self.told if isinstance(fact, kind)]) < count:
                self._news.clear()
                await self._news.wait()
        return found[count - 1]

    def notices(self) -> list[str]:
        return [fact.message for fact in self.told if isinstance(fact, NoticeRaised)]

    async def becomes_idle(self) -> None:
        while self._work is not None:
            await asyncio.wait({self._work}, timeout=DEADLINE_S)

    async def turn(self, prompt: str) -> TurnFinished:
        """Play a turn to its end."""
        before = sum(isinstance(fact, TurnFinished) for fact in self.told)
        assert self.order(StartTurn(prompt=prompt)) == Accepted()
        finished = await self.tells(TurnFinished, before + 1)
        await self.becomes_idle()
        assert isinstance(finished, TurnFinished)
        return finished

    async def compaction(self, focus: str = "") -> CompactionFinished:
        """Compact to the end."""
        before = sum(isinstance(fact, CompactionFinished) for fact in self.told)
        assert self.order(CompactConversation(focus=focus)) == Accepted()
        finished = await self.tells(CompactionFinished, before + 1)
        await self.becomes_idle()
        assert isinstance(finished, CompactionFinished)
        return finished


@asynccontextmanager
async def life(place: RunPlace, state: Path, server: ScriptedServer) -> AsyncIterator[WatchedParent]:
    """A parent and its plan store, from start to end."""
    parent, store = WatchedParent(place, state, server.base_url), PlanStore(place)
    serving = [asyncio.ensure_future(actor.serve()) for actor in (store, parent)]
    try:
        await asyncio.wait_for(parent.bound.wait(), DEADLINE_S)
        yield parent
    finally:
        parent.stop("test")
        store.stop("test")
        await asyncio.wait(serving, timeout=DEADLINE_S)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "big.txt").write_text("a line of a long file that says little\n" * 300, encoding="utf-8")
    return folder


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as made:
        yield made


def play(workspace: Path, scene: Callable[[RunPlace], Coroutine[None, None, None]]) -> None:
    async def whole() -> None:
        with run_place(workspace) as place:
            await scene(place)

    asyncio.run(whole())


READ = call("read_file", {"path": "big.txt"})
ITEMS = [{"id": "look", "title": "Look", "status": "in_progress", "next_action": "read big.txt"}]


def test_compacting_by_hand_keeps_what_was_said_the_plan_and_the_focus(
    workspace: Path, tmp_path: Path, server: ScriptedServer
) -> None:
    server.add(call("update_plan", {"reason": "start", "items": ITEMS}), READ, say("Read."))
    server.add(say("## Facts\nThe port is 4711."), say("4711"))

    async def scene(place: RunPlace) -> None:
        async with life(place, tmp_path, server) as parent:
            await parent.turn("read it")
            finished = await parent.compaction("the port")
            assert (finished.method, finished.detail) == ("summary", "")
            await parent.turn("which port?")
        asked, after = server.requests[-2:]
        assert "keep this above all: the port" in asked.messages[-1]["content"]
        assert [m["role"] for m in after.messages] == [
            "system", "user", "assistant", "tool", "assistant", "user",
        ]  # fmt: skip
        assert "read it" in after.messages[1]["content"]
        plan = json.loads((workspace / ".fido-plan.json").read_text(encoding="utf-8"))
        assert json.loads(after.messages[3]["content"]) == plan
        assert after.messages[-1]["content"].startswith("which port?")

    play(workspace, scene)
    server.assert_done()


def test_a_compaction_that_fails_leaves_the_session_as_it_was_and_usable(
    workspace: Path, tmp_path: Path, server: ScriptedServer
) -> None:
    server.add(READ, say("Read."), status(400), call("read_file", {"path": "big.txt"}), say("Still here."))

    async def scene(place: RunPlace) -> None:
        async with life(place, tmp_path, server) as parent:
            await parent.turn("read it")
            for _ in range(2):
                finished = await parent.compaction()
                assert finished.method == "none"
                assert finished.detail
            assert (await parent.turn("hello?")).final_text == "Still here."
        first_turn, after = server.requests[1], server.requests[-1]
        assert after.extends(first_turn)

    play(workspace, scene)
    server.assert_done()


def test_no_prompt_is_taken_while_a_compaction_runs_and_it_can_be_cancelled(
    workspace: Path, tmp_path: Path, server: ScriptedServer
) -> None:
    server.add(READ, say("Read."), say(["half a", gate("never")]), say("Here."))

    async def scene(place: RunPlace) -> None:
        async with life(place, tmp_path, server) as parent:
            await parent.turn("read it")
            assert parent.order(CompactConversation()) == Accepted()
            await parent.tells(CompactionStarted)
            refused = parent.order(StartTurn(prompt="now"))
            assert isinstance(refused, Refused)
            assert refused.code == "turn_running"
            assert parent.order(CancelTurn()) == Accepted()
            finished = await parent.tells(CompactionFinished)
            assert isinstance(finished, CompactionFinished)
            assert finished.method == "none"
            await parent.becomes_idle()
            assert (await parent.turn("go on")).final_text == "Here."
        assert server.requests[-1].extends(server.requests[1])

    play(workspace, scene)


def test_after_a_compaction_another_life_begins_with_the_very_same_bytes(
    workspace: Path, tmp_path: Path, server: ScriptedServer
) -> None:
    server.add(READ, say("Read."), say("summary"), say("one"), say("two"))

    async def scene(place: RunPlace) -> None:
        async with life(place, tmp_path, server) as parent:
            await parent.turn("read it")
            await parent.compaction()
            await parent.turn("first")
        async with life(place, tmp_path, server) as parent:
            await parent.turn("second")
        before, after = server.requests[-2:]
        assert after.extends(before)

    play(workspace, scene)
    server.assert_done()


def test_file_changes_of_a_turn_are_taken_back_after_a_compaction_and_a_restart(
    workspace: Path, tmp_path: Path, server: ScriptedServer
) -> None:
    for number in (1, 2, 3):
        reads = [call("read_file", {"path": "big.txt"})] * 9
        server.add(*reads, call("mkdir", {"path": f"made-{number}"}), say("Made."))
    server.add(say("summary"))

    async def scene(place: RunPlace) -> None:
        async with life(place, tmp_path, server) as parent:
            for number in (1, 2, 3):
                await parent.turn(f"make {number}")
            assert (await parent.compaction()).method == "summary"
        async with life(place, tmp_path, server) as parent:
            for number in (3, 2):
                restored = parent.on_command(UndoTurn(), Nobody())
                assert isinstance(restored, Awaitable)
                assert await restored == Accepted()
                assert not (workspace / f"made-{number}").exists()
                assert any(f"turn {number}" in notice for notice in parent.notices())
            assert (workspace / "made-1").is_dir()

    play(workspace, scene)
    server.assert_done()
