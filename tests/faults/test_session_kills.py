"""Kill the parent at random moments of real turns: nothing acknowledged is lost, nothing is done twice.

The prompts, the moments and the kills follow from `FIDO_SEED`. `FIDO_FAULTS=long` plays a thousand kills.
"""

import asyncio
import json
import os
import random
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.session.events import AnyEvent, CallStarted, PlanWritten, PromptTaken, TurnEnded
from ipc.bus import Follower
from ipc.channel import Channel
from ipc.endpoints import RunPlace
from ipc.errors import IpcError
from ipc.mailbox import Link
from ipc.messages import Accepted, AnyFact, Plan, StartTurn, TurnFinished
from tests.fakes.chat_request import Request
from tests.fakes.chat_script import Step, call, calls, say
from tests.fakes.fault_table import LONG, SEED, Fault
from tests.fakes.fido import Home, home, kill, openai_environment
from tests.fakes.file_writes import FileWrites
from tests.fakes.launch import launch
from tests.fakes.places import run_place
from tests.fakes.scripted_server import ScriptedServer
from tests.fakes.session_events import check_log, fold
from tests.fakes.warm_parent import WarmParent

KILLS = 1000 if LONG else 12
OF_ONE_SESSION = 25
"""Kills before the next session begins."""
MOMENTS = ("start", "fact", "fact", "write", "write")
"""While it starts and recovers; soon after the nth fact; right behind the nth line of the log."""
START_S = 0.15
MOST = 50
"""Facts or lines after which a parent is killed at the latest; a turn has about 30 and 40."""
SOON_S = 0.02
LIFE_S = 10.0
NO_EFFECT = "most likely had no effect"


def play(request: Request) -> Step:
    """What the model does next: a turn of six rounds, each call with an effect that can be counted."""
    number = request.number
    round_ = len(request.messages) - 1 - max(n for n, m in enumerate(request.messages) if m["role"] == "user")
    rounds = sum(m["role"] == "assistant" for m in request.messages[-round_:]) if round_ else 0
    match rounds:
        case 0 | 4:
            item = {"id": "a", "title": "Work", "status": "in_progress", "next_action": "go on"}
            return call("update_plan", {"reason": f"request {number}", "items": [item]})
        case 1 | 3:
            return call("bash_exec", {"command": f"echo {number} >> ran"}, id=f"run-{number}")
        case 2:
            reads = [call("read_file", {"path": "ran"}), call("list_files", {})]
            return calls(
                [
                    *reads,
                    call("mkdir", {"path": f"made-{number}"}, id=f"run-{number}"),
                    call("read_file", {"path": "ran"}),
                ]
            )
        case _:
            return say(f"Done with {number}.")


class Session:
    """One session of a parent that is killed again and again, and what must be true of it."""

    def __init__(self, at: Home, place: RunPlace, server: ScriptedServer, warm: WarmParent) -> None:
        self.accepted: list[str] = []
        self.finished = 0
        self._log = at.folder / "state" / "fido" / "sessions" / f"{place.run.session_id}.jsonl"
        self._place = place
        self._sent = 0
        self._server = server
        self._first_request = len(server.requests)
        self._warm = warm
        self._workspace = Path(place.run.workspace)
        self._log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)

    def live_and_die(self, chance: random.Random) -> None:
        """Start the parent, keep it busy, kill it at one of the moments."""
        pid = self._warm.start(self._place.directory)
        asyncio.run(self._keep_busy(pid, chance))
        assert self._warm.ended() == -9, self._warm.errors()

    async def _keep_busy(self, pid: int, chance: random.Random) -> None:
        dead, pidfd = asyncio.Event(), os.pidfd_open(pid)
        loop = asyncio.get_running_loop()
        loop.add_reader(pidfd, dead.set)
        moment = chance.choice(MOMENTS)
        loop.call_later(chance.uniform(0, START_S) if moment == "start" else LIFE_S, kill, pid)
        left = iter(range(chance.randrange(MOST), -1, -1))
        soon = chance.uniform(0, SOON_S)

        def count(happened: str) -> None:
            if happened == moment and next(left, 1) == 0:
                loop.call_later(soon, kill, pid) if moment == "fact" else kill(pid)

        writes = FileWrites(self._log.parent, lambda: count("write"))
        channel = Channel()
        link = Link(channel, "client", self._place.mailbox("parent"))
        idle = asyncio.Event()
        idle.set()

        def take(fact: AnyFact) -> None:
            count("fact")
            if isinstance(fact, TurnFinished) and fact.status == "completed":
                self.finished += 1
                idle.set()

        Follower(channel, link, self._place.facts("parent"), on_reset=lambda _: None, on_fact=take)
        prompting = asyncio.ensure_future(self._prompt(link, idle))
        await dead.wait()
        prompting.cancel()
        await asyncio.wait({prompting})
        writes.close()
        loop.remove_reader(pidfd)
        os.close(pidfd)
        channel.close()

    async def _prompt(self, link: Link, idle: asyncio.Event) -> None:
        while True:
            await idle.wait()
            idle.clear()
            self._sent += 1
            prompt = f"prompt {self._sent}"
            try:
                if await link.ask(StartTurn(prompt=prompt), 10.0) == Accepted():
                    self.accepted.append(prompt)
                else:  # it is still busy with what its predecessor left
                    idle.set()
            except IpcError:
                return

    def check(self) -> None:
        """Look at everything that is there after a kill."""
        begun = self._log.exists() and self._log.stat().st_size
        events = check_log(self._log) if begun else ()
        messages = fold(events).messages
        self._check_prompts(events)
        self._check_history(messages)
        self._check_plans(events, messages)
        self._check_effects(events, messages)

    def _check_prompts(self, events: Sequence[AnyEvent]) -> None:
        """What was accepted is there, and no turn but the last one is without its end."""
        prompts = [event.text for event in events if isinstance(event, PromptTaken)]
        assert [prompt for prompt in prompts if prompt in self.accepted] == self.accepted
        turns = [event for event in events if isinstance(event, PromptTaken | TurnEnded)]
        kinds = [type(event) for event in turns]
        assert kinds[: len(kinds) // 2 * 2] == [PromptTaken, TurnEnded] * (len(kinds) // 2)
        assert sum(isinstance(one, TurnEnded) and one.status == "completed" for one in turns) >= self.finished

    def _check_history(self, messages: Sequence[bytes]) -> None:
        """It goes on from the very bytes that the server was sent."""
        for request in self._server.requests[self._first_request :]:
            sent = request.body.partition(b'"messages":[')[2].removesuffix(b"]}")
            assert b",".join(messages[: len(request.messages)]) == sent

    def _check_plans(self, events: Sequence[AnyEvent], messages: Sequence[bytes]) -> None:
        """An update that the model was told is stored is in the log; the file has it or a later one."""
        asked = {one["id"] for message in map(json.loads, messages) for one in _updates(message)}
        told = {
            result["revision"]
            for message in map(json.loads, messages)
            if message.get("tool_call_id") in asked and "revision" in (result := _object(message["content"]))
        }
        written = [event.plan.revision for event in events if isinstance(event, PlanWritten)]
        assert told <= set(written)
        assert written == sorted(written)
        if written:
            file = self._workspace / ".fido-plan.json"
            assert msgspec.json.decode(file.read_bytes(), type=Plan).revision >= written[-1]

    def _check_effects(self, events: Sequence[AnyEvent], messages: Sequence[bytes]) -> None:
        """A call is started once and runs once, never before that is recorded; what is said of it is true."""
        started = Counter(event.call_id for event in events if isinstance(event, CallStarted))
        assert set(started.values()) <= {1}
        ran = Counter((self._workspace / "ran").read_text(encoding="utf-8").split()) if started else Counter()
        assert set(ran.values()) <= {1}
        assert {f"run-{number}" for number in ran} <= set(started)
        for message in map(json.loads, messages):
            if message["role"] == "tool" and NO_EFFECT in message["content"]:
                number = message["tool_call_id"].removeprefix("run-")
                assert number not in ran
                assert not (self._workspace / f"made-{number}").exists()


def _updates(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The model's own plan updates; a restored plan has a call without arguments."""
    made = message.get("tool_calls", ())
    return [one for one in made if "reason" in one["function"]["arguments"]]


def _object(content: str) -> dict[str, object]:
    return json.loads(content) if re.match(r"\{", content) else {}


@contextmanager
def a_session(at: Home, number: int, server: ScriptedServer, warm: WarmParent) -> Iterator[Session]:
    workspace = at.folder / f"w-{number}"
    workspace.mkdir()
    (workspace / "ran").touch()
    with run_place(workspace, session_id=f"s-{number}") as place:
        store = launch("actors.plan_store", place.directory, os.getpid(), env=at.environment())
        try:
            yield Session(at, place, server, warm)
        finally:
            store.kill()
            store.wait()


@pytest.mark.timeout(3600 if LONG else 120)
@pytest.mark.fault(13, 14, says="the parent is killed in a turn")
def test_a_parent_that_is_killed_at_random_moments_loses_and_repeats_nothing(fault: Fault) -> None:
    chance = random.Random(SEED)
    begun = time.monotonic()
    finished = prompts = 0
    with home() as at, ScriptedServer(otherwise=play) as server:
        warm = WarmParent(at, FIDO_MODE="yolo", **openai_environment(server.base_url))
        try:
            for first in range(0, KILLS, OF_ONE_SESSION):
                with a_session(at, first, server, warm) as session:
                    for number in range(first, min(first + OF_ONE_SESSION, KILLS)):
                        print(f"FIDO_SEED={SEED}, kill {number}")
                        with fault.attempt():
                            session.live_and_die(chance)
                            session.check()
                    prompts += len(session.accepted)
                    finished += session.finished
        finally:
            warm.close()
        assert warm.errors() == ""
        # A parent that is killed while it sends leaves half a request.
        assert [told for told in server.violations if "Input data was truncated" not in told] == []
    took = time.monotonic() - begun
    print(f"{KILLS} kills, {prompts} prompts, {finished} turns to the end, {took:.0f} s")
    assert prompts > KILLS / 3
