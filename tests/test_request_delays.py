"""A busy server, the real parent and the screen in one process: a wait is seen, kept to, ended by a key."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import TypeVar

import pytest

from actors.parent import Parent
from actors.settings.settings import load
from ipc.errors import PeerGone
from ipc.messages import AnyCommand, AnyFact, AnyReply, CancelTurn, RequestDelayed, StartTurn, TurnFinished
from tests.fakes.chat_script import say, status
from tests.fakes.places import run_place
from tests.fakes.screen import Desktop
from tests.fakes.scripted_server import ScriptedServer

DEADLINE_S = 20.0
FIDO = {"OPENAI_API_KEY": "sk-x"}
F = TypeVar("F", bound=AnyFact)


class ShownParent(Parent):
    """Tells a screen what it tells."""

    def __init__(self, *parts: object) -> None:
        super().__init__(*parts)  # type: ignore[arg-type]
        self.desk = Desktop(120)
        self.told: list[AnyFact] = []
        self.bound = asyncio.Event()
        self._tells = asyncio.Event()

    async def on_bound(self) -> None:
        await super().on_bound()
        self.bound.set()

    def publish(self, fact: AnyFact) -> None:
        super().publish(fact)
        self.told.append(fact)
        self.desk.now = time.monotonic()
        self.desk.tell(fact)
        self._tells.set()

    async def tells(self, kind: type[F]) -> F:
        """Wait for the first fact of a kind."""
        async with asyncio.timeout(DEADLINE_S):
            while not (found := [fact for fact in self.told if isinstance(fact, kind)]):
                self._tells.clear()
                await self._tells.wait()
        return found[0]

    def press(self, key: str) -> None:
        """Carry out what a key of the person orders."""
        known = len(self.desk.orders)
        self.desk.press(key)
        for order in self.desk.orders[known:]:
            assert isinstance(order, CancelTurn)
            self.on_command(order, Nobody())


class Nobody:
    """The sender of a command that needs no answer."""

    async def ask(self, command: AnyCommand, deadline_s: float = 0) -> AnyReply:
        raise PeerGone("nobody")

    def tell(self, fact: AnyFact) -> None:
        raise PeerGone("nobody")


@asynccontextmanager
async def prompted(server: ScriptedServer, folder: Path) -> AsyncIterator[ShownParent]:
    """A parent that has been given a prompt."""
    with run_place(folder) as place:
        settings = load({"base_url": server.base_url}, FIDO, folder)
        parent = ShownParent(place, settings, folder / "state")
        served = asyncio.ensure_future(parent.serve())
        try:
            async with asyncio.timeout(DEADLINE_S):
                await parent.bound.wait()
            parent.on_command(StartTurn(prompt="go"), Nobody())
            yield parent
        finally:
            parent.stop("test")
            await served


@pytest.mark.report("PROV-15")
def test_a_wait_is_counted_down_kept_to_and_leaves_one_line(tmp_path: Path) -> None:
    async def play(server: ScriptedServer) -> None:
        async with prompted(server, tmp_path) as parent:
            waits = await parent.tells(RequestDelayed)
            assert (waits.attempt, waits.attempts, waits.delay_s) == (2, 4, 1.0)
            assert "attempt 2/4 in 1 s  Esc stop" in parent.desk.lines[-1]
            assert len(server.requests) == 1
            assert (await parent.tells(TurnFinished)).final_text == "fine"
            assert "attempt 2" not in parent.desk.text
            assert "Attempt 1 of 4 failed" in parent.desk.text
            assert "scripted 429" in parent.desk.text

    with ScriptedServer() as server:
        server.add(status(429, {"Retry-After": "1"}), say("fine"))
        asyncio.run(play(server))
        first, second = server.requests
        assert second.began_at - first.finished_at >= 0.99
        server.assert_done()


@pytest.mark.report("PROV-15")
@pytest.mark.parametrize("kind", ["seconds", "date"])
def test_esc_ends_a_wait_at_once_and_nothing_is_sent_again(tmp_path: Path, kind: str) -> None:
    async def play(server: ScriptedServer) -> None:
        async with prompted(server, tmp_path) as parent:
            waits = await parent.tells(RequestDelayed)
            assert 40 < waits.delay_s <= 50
            assert "attempt 2/4 in " in parent.desk.lines[-1]
            pressed_at = time.monotonic()
            parent.press("esc")
            assert (await parent.tells(TurnFinished)).status == "cancelled"
            assert time.monotonic() - pressed_at < 1.0
            assert "attempt 2" not in parent.desk.text
            assert "Cancelled." in parent.desk.text

    then = format_datetime(datetime.now(UTC) + timedelta(seconds=50), usegmt=True)
    with ScriptedServer() as server:
        server.add(status(429, {"Retry-After": "50" if kind == "seconds" else then}))
        asyncio.run(play(server))
        server.assert_done()
        assert len(server.requests) == 1
