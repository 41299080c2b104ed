"""A parent's side of delegations in the test's own process, and one real worker of a kind."""

import asyncio
import contextlib
import json
import os
import subprocess
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from actors.conversation import Conversation
from actors.delegation.delegator import Delegator
from actors.delegation.result import MAX_BYTES
from actors.delegation.warm_worker import find_worker
from actors.process_tree import children
from actors.provider.interface import Provider, ProviderError
from actors.session.events import SessionStarted
from actors.session.log import SessionLog
from actors.session.recorder import Recorder
from actors.settings.tables import Delegation
from actors.tools.delegate import DelegateInput
from actors.tools.tool import Invocation
from actors.turn import Invoker
from ipc.channel import Channel
from ipc.endpoints import RunPlace
from ipc.errors import PeerGone
from ipc.mailbox import Answer, CommandHandler, Link, Peer
from ipc.messages import (
    AnyCommand,
    AnyFact,
    AnyReply,
    ModelAnswer,
    Problem,
    StreamEvent,
    SubagentActivityChanged,
    TextDelta,
    Usage,
)
from tests.fakes.launch import DEADLINE_S, launch
from tests.fakes.models import ScriptedProvider, Step, conversation
from tests.fakes.places import run_place
from tests.fakes.worker_parent import calls, result, says

LONG_MS, SHORT_MS = 30_000, 1_500


class Scene:
    """One parent's side; its conversation stands at two open calls, the first one a delegation."""

    def __init__(
        self,
        place: RunPlace,
        state: Path,
        *steps: Step,
        barred: Problem | None = None,
        limits: Delegation | None = None,
    ) -> None:
        self.facts: list[AnyFact] = []
        self.scripted = ScriptedProvider(steps)
        self.provider: Provider = self.scripted
        self.conversation: Conversation = conversation()
        self.conversation.append_answer(says("", calls("delegate", "d"), calls("read_file", "r")))
        self.place = place
        self.peer_is_gone = False
        self.fault: Exception | None = None
        """What connecting to a worker raises."""
        self.web: Invoker | None = None
        """What makes the subagent's calls to the web."""
        self._barred = barred
        self._limits = limits or Delegation()
        self._state = state
        self._log = SessionLog.create(state, "20250101-101112-7f3a", _header())
        self.recorder = Recorder(self._log, self.facts.append, None)
        self._channel: Channel | None = None

    def delegator(self) -> Delegator:
        """One for the running loop; `close` it there."""
        channel = self._channel = Channel()

        def connect(
            address: str,
            *,
            on_command: CommandHandler,
            on_gone: Callable[[], None],
            admits: Callable[[int], bool],
        ) -> Link:
            if self.fault is not None:
                raise self.fault

            def answer(command: AnyCommand, peer: Peer) -> Answer:
                return on_command(command, Gone() if self.peer_is_gone else peer)

            return Link(channel, "parent", address, on_command=answer, on_gone=on_gone, admits=admits)

        return Delegator(
            self.place,
            connect,
            self.facts.append,
            self.recorder,
            self.provider,
            self._limits,
            lambda: self.conversation,
            self._barred,
            web=self.web,
        )

    def close(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    async def delegate(self, timeout_ms: int) -> dict[str, Any]:
        """One delegation to a worker that is there; its result."""
        if self._barred is None:
            await self.ready()
        try:
            async with asyncio.timeout(DEADLINE_S):
                return await delegate(self.delegator(), timeout_ms)
        finally:
            self.close()

    async def ready(self) -> int:
        """Wait for a warm worker; its process id."""
        worker = await asyncio.wait_for(find_worker(self.place), DEADLINE_S)
        worker.close()
        return worker.pid

    def logged(self) -> str:
        (log,) = self._state.glob("*.jsonl")
        return log.read_text(encoding="utf-8")

    @property
    def activities(self) -> list[SubagentActivityChanged]:
        return [fact for fact in self.facts if isinstance(fact, SubagentActivityChanged)]


async def delegate(delegator: Delegator, timeout_ms: int = LONG_MS) -> dict[str, Any]:
    """One delegation; its result, which is bounded and names who made it."""
    request = DelegateInput(task="name the licence", timeout_ms=timeout_ms)
    made = await delegator.delegate(request, Invocation("d"))
    assert len(made.encode()) <= MAX_BYTES
    return json.loads(made)  # type: ignore[no-any-return]


class Answering:
    """A model that answers everything with the same words, after a while."""

    def __init__(self, text: str = result(), delay_s: float = 0.0) -> None:
        self.live = self.most = self.asked = 0
        self._text = text
        self._delay_s = delay_s

    async def stream(self, conversation: Conversation) -> AsyncGenerator[StreamEvent, None]:
        self.live, self.asked = self.live + 1, self.asked + 1
        self.most = max(self.most, self.live)
        try:
            await asyncio.sleep(self._delay_s)
            yield TextDelta(text=self._text)
            yield ModelAnswer(text=self._text, finish_reason="stop")
        finally:
            self.live -= 1


class Lingering:
    """A model that has answered, and does not let go of its connection when it is stopped."""

    def __init__(self) -> None:
        self.answered = asyncio.Event()
        self.let_go = asyncio.Event()
        self.went_on = asyncio.Event()

    async def stream(self, conversation: Conversation) -> AsyncGenerator[StreamEvent, None]:
        yield TextDelta(text="I see MIT.")
        yield ModelAnswer(text="I see MIT.", finish_reason="stop", usage=Usage(prompt_tokens=7))
        self.answered.set()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        await self.let_go.wait()
        yield TextDelta(text="And more of it.")
        self.went_on.set()
        raise ProviderError("server_error", "And then it broke.")


class Gone:
    """A connection whose other end has left."""

    async def ask(self, command: AnyCommand, deadline_s: float = 5.0) -> AnyReply:
        raise PeerGone("it has left")

    def tell(self, fact: AnyFact) -> None:
        raise PeerGone("it has left")


def _header() -> SessionStarted:
    return SessionStarted(
        session_id="20250101-101112-7f3a",
        workspace="/w",
        model="m",
        mode="agent",
        at="",
        system_sha256="",
        tools_sha256="",
    )


@contextmanager
def worker(
    tmp_path: Path, behaviour: str, *steps: Step, **options: Any
) -> "Iterator[tuple[Scene, subprocess.Popen[bytes]]]":
    """A scene and a hostile worker, or the host of honest ones."""
    with run_place(tmp_path) as place:
        process = start_worker(place, behaviour)
        try:
            yield Scene(place, tmp_path / "state", *steps, **options), process
        finally:
            process.kill()
            process.wait(DEADLINE_S)


def start_worker(place: RunPlace, behaviour: str = "honest") -> "subprocess.Popen[bytes]":
    if behaviour == "honest":
        return launch("actors.worker", place.directory, os.getpid(), env={"PATH": os.environ["PATH"]})
    return launch("tests.fakes.hostile_worker", place.directory, behaviour, "actors.worker")


def workers_of(host: "subprocess.Popen[bytes]") -> list[int]:
    """Process ids of a host's workers."""
    return list(children(host.pid))
