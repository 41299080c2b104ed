"""A Fido that delegates again and again: its model, somebody who prompts it, and what its processes hold."""

import asyncio
import os
import re
import threading
from collections import Counter
from pathlib import Path

from ipc.bus import Follower
from ipc.channel import Channel
from ipc.endpoints import RunPlace
from ipc.mailbox import Link
from ipc.messages import (
    Accepted,
    AnyFact,
    CancelTurn,
    Refused,
    SessionOpened,
    StartTurn,
    SubagentActivityChanged,
    TurnFinished,
)
from tests.fakes.chat_request import Request
from tests.fakes.chat_script import Step, call, gate, say
from tests.fakes.eventful import RESULT, rounds
from tests.fakes.fido import Home
from tests.fakes.nemesis import role_of

LIMIT_S = 20.0
AGAIN_S = 0.01


class DelegatingModel:
    """Each turn is one delegation; the subagent's last answer can be held."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        """Set when the subagent's last request has come."""
        self.gate = ""
        """What holds its answer; nothing when empty."""

    def answer(self, request: Request) -> Step:
        """What the model says to a request."""
        if not request.is_subagent:
            begun = rounds(request, "user") == 0
            return call("delegate", {"task": "What does a.py print?"}) if begun else say("Done.")
        if rounds(request, "tool", "subagent_bootstrap") == 0:
            return call("read_file", {"path": "a.py"})
        self.asked.set()
        return say([*([gate(self.gate)] if self.gate else []), RESULT])


class Client:
    """Somebody who prompts a running Fido beside its screen."""

    def __init__(self, place: RunPlace) -> None:
        self.outcome = ""
        """How the last delegation ended, as its bar says."""
        self._channel = Channel()
        self._opened, self._ended = asyncio.Event(), asyncio.Event()
        self._link = Link(self._channel, "client", place.mailbox("parent"))
        facts = place.facts("parent")
        Follower(self._channel, self._link, facts, on_reset=self._take_all, on_fact=self._take)

    async def prompt(self) -> None:
        """Begin a turn, as soon as there is a session."""
        async with asyncio.timeout(LIMIT_S):
            await self._opened.wait()
        self._ended.clear()
        self.outcome = ""
        async with asyncio.timeout(LIMIT_S):
            while (reply := await self._link.ask(StartTurn(prompt="go"))) != Accepted():
                # It tells of its session a moment before it takes prompts.
                assert isinstance(reply, Refused), reply
                assert reply.code == "turn_running", reply
                await asyncio.sleep(AGAIN_S)

    async def cancel(self) -> None:
        """Stop the turn."""
        assert await self._link.ask(CancelTurn()) == Accepted()

    async def turn_ends(self) -> None:
        """Wait for the end of the turn."""
        async with asyncio.timeout(LIMIT_S):
            await self._ended.wait()

    def close(self) -> None:
        self._channel.close()

    def _take_all(self, facts: tuple[AnyFact, ...]) -> None:
        for fact in facts:
            self._take(fact)

    def _take(self, fact: AnyFact) -> None:
        if isinstance(fact, SessionOpened):
            self._opened.set()
        elif isinstance(fact, TurnFinished):
            self._ended.set()
        elif isinstance(fact, SubagentActivityChanged) and not fact.active:
            self.outcome = fact.phase


class Held:
    """What all processes of a home hold at a moment, by role."""

    def __init__(self, at: Home, guard: int) -> None:
        self.roles: Counter[str] = Counter()
        self.kilobytes: Counter[str] = Counter()
        """Memory, what is shared counted in parts (PSS)."""
        self.descriptors: Counter[str] = Counter()
        self.threads: Counter[str] = Counter()
        for pid in at.processes():
            role = role_of(pid, guard)
            self.roles[role] += 1
            self.kilobytes[role] += _number(pid, "smaps_rollup", "Pss")
            self.threads[role] += _number(pid, "status", "Threads")
            self.descriptors[role] += len(os.listdir(f"/proc/{pid}/fd"))

    def __str__(self) -> str:
        return f"{self.kilobytes.total():,} kB: {dict(self.kilobytes)}"


def _number(pid: int, file: str, name: str) -> int:
    text = Path(f"/proc/{pid}/{file}").read_text(encoding="utf-8")
    found = re.search(rf"^{name}:\s+(\d+)", text, re.MULTILINE)
    return int(found[1]) if found else 0


async def becomes_still(at: Home, guard: int) -> Held:
    """Wait until the same processes hold the same descriptors and threads as a moment ago."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            before = _looked(at, guard)
            await asyncio.sleep(AGAIN_S)
            now = _looked(at, guard)
            if before and now and now.roles["worker"] == 1 and _shape(before) == _shape(now):
                return now


def _looked(at: Home, guard: int) -> Held | None:
    """Null when a process ended meanwhile."""
    try:
        return Held(at, guard)
    except (FileNotFoundError, ProcessLookupError):
        return None


def _shape(held: Held) -> tuple[Counter[str], ...]:
    return held.roles, held.descriptors, held.threads
