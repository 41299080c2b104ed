"""A long session with a server that spoils three answers in ten; `FIDO_FAULTS=long`: 500 turns a seed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from actors.parent import Parent
from actors.plan_store import PlanStore
from actors.provider.direct import DirectProvider
from actors.provider.retry import RetryPolicy
from actors.secrets.redacted import RedactedProvider
from actors.settings.settings import Settings
from ipc.actor import Actor
from ipc.endpoints import RunPlace
from ipc.errors import PeerGone
from ipc.messages import (
    Accepted,
    AnyCommand,
    AnyFact,
    AnyReply,
    CancelTurn,
    MessageDelta,
    NoticeRaised,
    StartTurn,
    ToolFinished,
    TurnFinished,
)
from tests.fakes.apis import CHAT, RESPONSES, Api
from tests.fakes.chaos import Chaos, Course
from tests.fakes.fault_table import LONG, SEED, Fault
from tests.fakes.places import run_place
from tests.fakes.scripted_server import ScriptedServer
from tests.fakes.session_events import check_log
from tests.fakes.spoiling import AGAIN, CALL_AS_TEXT, EMPTY, HOLD, OPEN, SPOILINGS

TURNS = 500 if LONG else 130
SEEDS = range(SEED, SEED + (4 if LONG else 1))
ATTEMPTS = 3
TURN_S = 30.0


class Person:
    """Sends commands to a parent in the same process."""

    async def ask(self, command: AnyCommand, deadline_s: float = 0) -> AnyReply:
        raise PeerGone("nobody")

    def tell(self, fact: AnyFact) -> None:
        raise PeerGone("nobody")


class WatchedParent(Parent):
    """Keeps what it tells of the running turn; cancels where the server says `HOLD`."""

    def __init__(self, place: RunPlace, settings: Settings, state: Path) -> None:
        super().__init__(place, settings, state)
        self.bound = asyncio.Event()
        self.told: list[AnyFact] = []
        self.ended = asyncio.Event()

    async def on_bound(self) -> None:
        await super().on_bound()
        provider = self._parts.provider
        assert isinstance(provider, RedactedProvider)
        assert isinstance(provider._provider, DirectProvider)
        provider._provider._retry = RetryPolicy(ATTEMPTS, base_s=0.001)
        self.bound.set()

    def publish(self, fact: AnyFact) -> None:
        super().publish(fact)
        self.told.append(fact)
        match fact:
            case MessageDelta(text=text) if HOLD in text:
                asyncio.get_running_loop().call_soon(self.on_command, CancelTurn(), Person())
            case TurnFinished():
                asyncio.get_running_loop().call_soon(self.ended.set)

    async def turn(self, prompt: str) -> TurnFinished:
        """Play one turn to its end."""
        self.told.clear()
        self.ended.clear()
        assert self.on_command(StartTurn(prompt=prompt), Person()) == Accepted()
        try:
            async with asyncio.timeout(TURN_S):
                await self.ended.wait()
                while self._work is not None:
                    await asyncio.wait({self._work})
        except TimeoutError:
            raise AssertionError(f"{prompt} does not end: {self.told}") from None
        (finished,) = [fact for fact in self.told if isinstance(fact, TurnFinished)]
        return finished


@asynccontextmanager
async def serving(actor: Actor, bound: asyncio.Event | None = None) -> AsyncIterator[None]:
    """An actor from its start to its end."""
    served = asyncio.ensure_future(actor.serve())
    ready = asyncio.ensure_future(bound.wait() if bound else asyncio.sleep(0))
    try:
        await asyncio.wait({served, ready}, timeout=TURN_S, return_when=asyncio.FIRST_COMPLETED)
        assert not served.done(), served
        yield
    finally:
        ready.cancel()
        actor.stop("test")
        await served


@asynccontextmanager
async def life(place: RunPlace, base_url: str, state: Path, api: Api) -> AsyncIterator[WatchedParent]:
    """A parent from its start to its end."""
    settings = Settings.model_validate(
        {
            "base_url": base_url,
            "model": "chaos",
            "wire_api": "chat" if api is CHAT else "responses",
            "mode": "yolo",
            "retry_attempts": ATTEMPTS,
            "timeouts": {"connect_s": 5.0, "idle_s": 3.0, "total_s": 15.0},
        }
    )
    parent = WatchedParent(place, settings, state)
    async with serving(parent, parent.bound):
        yield parent


@pytest.mark.timeout(900 if LONG else 180)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("api", [CHAT, RESPONSES], ids=["chat", "responses"])
@pytest.mark.fault(16, 17, says="a server that spoils three answers in ten, 500 turns")
def test_every_turn_ends_in_its_right_answer_or_one_clear_error(
    api: Api, seed: int, tmp_path: Path, fault: Fault
) -> None:
    ways = [how for how in SPOILINGS if api is CHAT or not how.for_chats]
    chaos = Chaos(seed, ways)
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "seed.txt").write_text("ä\n", encoding="utf-8")

    async def play() -> None:
        with run_place(workspace) as place, ScriptedServer(otherwise=chaos.answer, api=api) as server:
            place.workspace_directory.mkdir(exist_ok=True)
            server.open(OPEN)
            # One store for both lives: its lock is the process's own.
            async with serving(PlanStore(place)):
                async with life(place, server.base_url, tmp_path, api) as parent:
                    for number in range(1, TURNS + 1):
                        course = chaos.begin(number)
                        with fault.attempt():
                            check(course, await parent.turn(f"wish {number}"), parent.told)
                            check_files(course, workspace)
                            assert not server.violations, (course, server.violations)
                    messages = tuple(parent._conversation.messages)
                chaos.rate = 0.0
                async with life(place, server.base_url, tmp_path, api) as parent:
                    assert tuple(parent._conversation.messages) == messages
                    course = chaos.begin(TURNS + 1)
                    check(course, await parent.turn(f"wish {TURNS + 1}"), parent.told)
            server.assert_done()

    asyncio.run(play())
    check_log(tmp_path / "sessions" / "s-test.jsonl")
    assert set(chaos.met) == {how.name for how in ways}


def check(course: Course, finished: TurnFinished, told: list[AnyFact]) -> None:
    """A turn ended as its last answer has to end it, and did everything that arrived, once."""
    tools = [fact for fact in told if isinstance(fact, ToolFinished)]
    case = f"{course}\n{told}"
    last, problem = course.last, finished.problem
    if last is None or last.effect == "right":
        assert (finished.status, finished.final_text) == ("completed", course.answer), case
    elif last.effect == "told":
        assert (finished.status, finished.final_text) == ("completed", CALL_AS_TEXT), case
        assert any(isinstance(fact, NoticeRaised) and fact.level == "warning" for fact in told), case
    else:
        assert finished.status in {"failed", "limit", "cancelled"}, case
        assert problem is not None, case
        assert problem.code in last.codes, case
        assert problem.message, case
        assert problem.next_step or finished.status == "cancelled", case
        if last.effect == "again":
            assert all(how and {*how.codes} & {*AGAIN} for how in course.spoiled[-ATTEMPTS:]), case
        if last.codes == EMPTY:
            assert [how and how.codes for how in course.spoiled[-2:]] == [EMPTY, EMPTY], case
    assert sum(fact.status == "ok" for fact in tools) == course.arrived, case


def check_files(course: Course, workspace: Path) -> None:
    """What a turn changed is what arrived whole, and nothing of what was cut."""
    made = {path.name: path.read_text(encoding="utf-8") for path in workspace.glob(f"{course.number}-*.txt")}
    assert made.items() <= course.changes.items()
    if len(course.left) == 1:
        assert made == course.changes
