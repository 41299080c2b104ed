"""The parent in one process with the test: what it has promised is kept by its successor."""

import asyncio
import dataclasses
import inspect
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from actors.conversation import encode_user
from actors.parent import Parent
from actors.session.events import FilesRestored, FilesRestoring, PromptTaken
from actors.session.invariants import CHECK
from actors.session.log import SessionLog, read_log
from actors.settings.settings import load
from actors.turn import TurnOutcome
from actors.undo.undo import Restored
from ipc.actor import CRASHED
from ipc.endpoints import RunPlace
from ipc.errors import PeerGone
from ipc.messages import (
    Accepted,
    AnyCommand,
    AnyFact,
    AnyReply,
    CancelTurn,
    ListPaths,
    ListPrompts,
    NoticeRaised,
    OpenSession,
    PathsListed,
    PromptsListed,
    Refused,
    StartTurn,
    TurnStarted,
    UndoTurn,
    Usage,
    UsageReported,
)
from tests.fakes.launch import script
from tests.fakes.places import run_place

DEADLINE_S = 20.0


class WatchedParent(Parent):
    """Notes what it tells."""

    def __init__(self, place: RunPlace, state: Path) -> None:
        settings = load({}, {}, Path(place.run.workspace))
        super().__init__(place, settings, state)
        self.told: list[AnyFact] = []
        self.bound = asyncio.Event()

    async def on_bound(self) -> None:
        await super().on_bound()
        self.bound.set()

    def publish(self, fact: AnyFact) -> None:
        self.told.append(fact)
        super().publish(fact)

    def notices(self) -> list[str]:
        """All but the first, which tells how subagents are held."""
        first, *others = [fact.message for fact in self.told if isinstance(fact, NoticeRaised)]
        assert "Landlock" in first
        return others


@asynccontextmanager
async def life(place: RunPlace, state: Path) -> AsyncIterator[WatchedParent]:
    """A parent from its start to its end."""
    parent = WatchedParent(place, state)
    served = asyncio.ensure_future(parent.serve())
    bound = asyncio.ensure_future(parent.bound.wait())
    try:
        await asyncio.wait({served, bound}, timeout=DEADLINE_S, return_when=asyncio.FIRST_COMPLETED)
        assert parent.bound.is_set(), served
        yield parent
    finally:
        bound.cancel()
        parent.stop("test")
        await served


class Nobody:
    """The sender of a command that needs no answer."""

    async def ask(self, command: AnyCommand, deadline_s: float = 0) -> AnyReply:
        raise PeerGone("nobody")

    def tell(self, fact: AnyFact) -> None:
        raise PeerGone("nobody")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


def test_an_accepted_prompt_is_recorded_before_it_is_accepted(workspace: Path, tmp_path: Path) -> None:
    async def play() -> None:
        with run_place(workspace) as place:
            async with life(place, tmp_path) as parent:
                assert parent.on_command(StartTurn(prompt="hello"), Nobody()) == Accepted()
                events = read_log(tmp_path / "sessions" / "s-test.jsonl").events
                assert [event.text for event in events if isinstance(event, PromptTaken)] == ["hello"]
                assert [fact.prompt for fact in parent.told if isinstance(fact, TurnStarted)] == ["hello"]

    asyncio.run(play())


@pytest.mark.parametrize(("front", "told"), [("ui", ("hello",)), ("none", ("hello",)), ("headless", ())])
def test_what_a_person_prompted_is_told_to_the_next_run_in_the_workspace(
    workspace: Path, tmp_path: Path, front: str, told: tuple[str, ...]
) -> None:
    async def play() -> None:
        with run_place(workspace, front=front) as place:
            async with life(place, tmp_path) as parent:
                parent.on_command(StartTurn(prompt="hello"), Nobody())
        with run_place(workspace, session_id="s-other") as place:
            async with life(place, tmp_path) as parent:
                assert parent.on_command(ListPrompts(), Nobody()) == PromptsListed(prompts=told)

    asyncio.run(play())


def test_the_files_of_the_workspace_are_listed_also_while_a_turn_runs(
    workspace: Path, tmp_path: Path
) -> None:
    (workspace / "a.py").touch()

    async def play() -> None:
        with run_place(workspace) as place:
            async with life(place, tmp_path) as parent:
                parent.on_command(StartTurn(prompt="hello"), Nobody())
                answer = parent.on_command(ListPaths(), Nobody())
                assert inspect.isawaitable(answer)
                assert await answer == PathsListed(paths=("a.py",))

    asyncio.run(play())


def test_what_instructions_were_not_read_is_told_once_and_kept(workspace: Path, tmp_path: Path) -> None:
    (workspace / "AGENTS.md").symlink_to("/etc/hostname")

    async def play() -> None:
        with run_place(workspace) as place:
            for _ in range(3):
                async with life(place, tmp_path) as parent:
                    assert ["AGENTS.md was not read" in notice for notice in parent.notices()] == [True]

    asyncio.run(play())


def test_a_damaged_line_is_told_once_in_every_life_and_not_recorded(workspace: Path, tmp_path: Path) -> None:
    async def play() -> None:
        with run_place(workspace) as place:
            async with life(place, tmp_path):
                pass
            path = tmp_path / "sessions" / "s-test.jsonl"
            path.write_bytes(path.read_bytes() + b"damage\n")
            size = path.stat().st_size
            for _ in range(2):
                async with life(place, tmp_path) as parent:
                    (notice,) = parent.notices()
                    assert "1 record of the session log could not be read" in notice
                    assert "line 3 (damaged)" in notice
            assert path.stat().st_size == size

    asyncio.run(play())


def test_a_session_that_goes_on_shows_its_usage_and_its_context(workspace: Path, tmp_path: Path) -> None:
    async def play() -> None:
        with run_place(workspace) as place:
            async with life(place, tmp_path) as parent:
                parent._parts.recorder.used(Usage(prompt_tokens=70, completion_tokens=7))
                parent._parts.recorder.used(Usage(prompt_tokens=9), subagent=True)
            async with life(place, tmp_path) as parent:
                (usage,) = [fact for fact in parent.told if isinstance(fact, UsageReported)]
                assert (usage.total.prompt_tokens, usage.subagent.prompt_tokens) == (79, 9)
                assert usage.context_tokens == 77

    asyncio.run(play())


def test_a_parent_that_never_started_ends_in_good_order(workspace: Path, tmp_path: Path) -> None:
    with run_place(workspace) as place:
        asyncio.run(WatchedParent(place, tmp_path).on_stop("early"))


class SlowUndo:
    """An undo that ends when it is told to."""

    def __init__(self) -> None:
        self.may_end = asyncio.Event()
        self.ended = False

    async def undo(self) -> Restored:
        await self.may_end.wait()
        self.ended = True
        return Restored(turn=1, paths=("a",), message="Took back turn 1.")


@pytest.mark.parametrize("how", ["cancelled", "stopped", "left"])
def test_an_undo_goes_on_to_its_end_and_is_told(workspace: Path, tmp_path: Path, how: str) -> None:
    async def play() -> None:
        with run_place(workspace) as place:
            async with life(place, tmp_path) as parent:
                slow = SlowUndo()
                parent._parts = dataclasses.replace(parent._parts, undo=slow)  # type: ignore[arg-type]
                reply = parent.on_command(UndoTurn(), Nobody())
                busy = parent.on_command(StartTurn(prompt="hello"), Nobody())
                assert isinstance(busy, Refused)
                assert (busy.code, busy.message) == ("turn_running", "An undo is going on.")
                asyncio.get_running_loop().call_later(0.05, slow.may_end.set)
                if how == "cancelled":
                    parent.on_command(CancelTurn(), Nobody())
                if how == "stopped":
                    await parent.on_stop("test")
                if how != "stopped":
                    assert isinstance(reply, asyncio.Future)
                    assert await reply == Accepted()
                assert slow.ended
                assert "Took back turn 1." in parent.notices()

    asyncio.run(play())


def test_a_session_that_can_not_be_noted_is_refused_and_the_open_one_goes_on(
    workspace: Path, tmp_path: Path
) -> None:
    async def play() -> None:
        with run_place(workspace) as place:
            async with life(place, tmp_path) as parent:
                header = parent._parts.history.started
                assert header is not None
                other = msgspec.structs.replace(header, session_id="s-other")
                SessionLog.create(tmp_path / "sessions", "s-other", other).close()
                (place.directory / "run.json.new").mkdir()
                refused = parent.on_command(OpenSession(session_id="s-other"), Nobody())
                assert isinstance(refused, Refused)
                assert "s-other can not be noted" in refused.message
                assert parent.on_command(StartTurn(prompt="hello"), Nobody()) == Accepted()

    asyncio.run(play())


def test_what_was_taken_back_is_told_again_when_its_prompt_was_lost(workspace: Path, tmp_path: Path) -> None:
    async def play() -> None:
        with run_place(workspace) as place:
            async with life(place, tmp_path) as parent:
                parent._parts.recorder.prompt_taken("first")
                parent._parts.recorder.on_appended(encode_user("first"))
                parent._parts.recorder.turn_ended(TurnOutcome())
                parent._parts.recorder.record(FilesRestored(turn=1, direction="undo", paths=("a.py",)))
                parent._parts.recorder.prompt_taken("second", asides=tuple(parent._asides()))
            async with life(place, tmp_path) as parent:
                assert [
                    message.count(b"took back the file changes of turn 1: a.py")
                    for message in parent._conversation.messages
                ] == [0, 0, 1]
                assert list(parent._asides()) == []

    asyncio.run(play())


def test_a_model_is_told_once_that_a_restore_was_interrupted(workspace: Path, tmp_path: Path) -> None:
    async def play() -> None:
        with run_place(workspace) as place:
            async with life(place, tmp_path) as parent:
                parent._parts.recorder.record(FilesRestoring(turn=1, direction="undo", paths=("a.py",)))
            async with life(place, tmp_path) as parent:
                asides = tuple(parent._asides())
                assert "turn 1 was interrupted" in asides[0]
                assert "a.py" in asides[0]
                parent._parts.recorder.prompt_taken("go on", asides=asides)
                assert not tuple(parent._asides())

    asyncio.run(play())


BROKEN = """
import asyncio, logging, sys
from pathlib import Path
from actors.conversation import encode_user
from actors.parent import Parent
from actors.session.events import TurnEnded
from actors.settings.settings import load
from actors.turn import TurnOutcome
from actors.undo.undo import Restored
from ipc.actor import run
from ipc.endpoints import RunPlace

class Broken(Parent):
    async def on_bound(self):
        await super().on_bound()
        loop = asyncio.get_running_loop()
        loop.call_soon(self._parts.recorder.record, TurnEnded(turn=9, status="completed"))
        loop.call_soon(self.stop, "test")

logging.basicConfig()
place = RunPlace.open(sys.argv[1])
sys.exit(run(Broken(place, load({}, {}, Path(place.run.workspace)), Path(sys.argv[2]))))
"""


@pytest.mark.parametrize("checked", [True, False])
def test_an_event_that_must_not_be_ends_the_process_where_it_is_checked_and_no_persons_session(
    workspace: Path, tmp_path: Path, checked: bool
) -> None:
    environ = {"PATH": os.environ["PATH"]} | ({CHECK: "1"} if checked else {})
    with run_place(workspace) as place:
        ended = script(BROKEN, place.directory, tmp_path, env=environ)
    assert ended.returncode == (CRASHED if checked else 0), ended.stderr
    assert ("BrokenInvariant: this belongs into the running turn: TurnEnded" in ended.stderr) == checked
