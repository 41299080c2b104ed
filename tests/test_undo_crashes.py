"""A crash, a full disk, a refused write at any moment: what follows is whole, or said not to be."""

import asyncio
import gc
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from actors.session.events import AnyEvent, FilesChanged, FilesRestored, FilesRestoring, FileState
from actors.session.records import encode_event
from actors.undo.effects import Effects
from actors.undo.entries import Entries
from actors.undo.restore import RestoreFailed, Restorer, steps_of
from actors.undo.undo import INTERRUPTED, UndoRefused
from tests.fakes.undoing import Crash, Session, refusal_of

CALLS: dict[str, Callable[[Session], object]] = {
    "patch": lambda session: session.patch("a", "one", "two"),
    "creation": lambda session: session.patch("new", "", "made"),
    "mkdir": lambda session: session.mkdir("x/y/z"),
    "rm": lambda session: session.rm("a"),
    "rmdir": lambda session: session.rmdir("d"),
    "command": lambda session: session.bash("rm a; mv d e; echo 1 > made; mkdir -p x/y"),
}


@pytest.fixture
def session(tmp_path: Path) -> Session:
    made = Session(tmp_path)
    made.write("a", "one")
    made.write("d/b", "two", 0o700)
    (made.root / "d" / "link").symlink_to("b")
    (made.root / "d" / "empty").mkdir()
    made.turn()
    return made


def is_changed(event: AnyEvent) -> bool:
    return isinstance(event, FilesChanged)


@pytest.mark.parametrize("name", CALLS)
def test_a_crash_behind_an_effect_leaves_it_to_be_taken_back(session: Session, name: str) -> None:
    before = session.tree()
    session.dies_at = is_changed
    with pytest.raises(Crash):
        CALLS[name](session)
    after = session.tree()
    assert after != before
    session.restart()
    assert not session.log.dangling
    session.undo()
    assert session.tree() == before
    session.redo()
    assert session.tree() == after


@pytest.mark.parametrize("name", CALLS)
def test_a_crash_behind_a_restore_is_no_loss(session: Session, name: str) -> None:
    before = session.tree()
    CALLS[name](session)
    after = session.tree()
    session.dies_at = lambda event: isinstance(event, FilesRestored)
    with pytest.raises(Crash):
        session.undo()
    assert session.tree() == before
    session.restart()
    assert session.undo().paths
    assert session.tree() == before
    session.redo()
    assert session.tree() == after


class DyingEffects(Effects):
    """Ends the process at one of its steps, as a power cut would."""

    def __init__(self, entries: Entries, session: Session, step: int) -> None:
        super().__init__(entries, session.undoer._blobs)
        self.left = step

    def __getattribute__(self, name: str) -> object:
        if name in ("write_aside", "move", "make_folder", "set_mode", "remove"):
            self.left -= 1
            if self.left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return super().__getattribute__(name)


def die_in_undo(session: Session, step: int) -> bool:
    """Take the last turn back in a process that dies before a step; whether it did. Its log stays."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        entries = session.undoer._restorer._entries
        effects = DyingEffects(entries, session, step)
        session.undoer._restorer = Restorer(entries, effects, session.folder / "restoring")
        session.undoer._record = lambda event: _hand_over(event, writing)
        session.undo()
        os._exit(0)
    os.close(writing)
    _, status = os.waitpid(child, 0)
    with open(reading, "rb") as log:
        session.events += [msgspec.json.decode(line, type=AnyEvent) for line in log]
    return os.WIFSIGNALED(status)


def _hand_over(event: AnyEvent, pipe: int) -> None:
    os.write(pipe, encode_event(event) + b"\n")


def test_an_undo_that_is_killed_at_any_step_is_completed_by_the_next(tmp_path: Path) -> None:
    for step in range(100):
        (tmp_path / str(step)).mkdir()
        session = Session(tmp_path / str(step))
        session.write("a", "one", 0o640)
        session.write("d/b", "two")
        session.write("kind", "a file")
        session.write("ro/kept", "1")
        session.turn()
        before = session.tree()
        session.shell(
            "echo 2 > a; chmod 755 a; rm -r d; mkdir -p n/m; echo 1 > n/m/f; ln -s a l;"
            "rm kind; mkdir kind; echo > kind/x; echo 2 > ro/kept; chmod 500 ro"
        )
        after = session.tree()
        died = die_in_undo(session, step)
        session.restart()
        assert bool(session.undoer.interrupted) is died
        if not died:
            break
        session.undo()
        assert not session.undoer.interrupted
        assert session.tree() == before, step
        session.redo()
        assert session.tree() == after, step
    assert not died
    assert session.tree() == before
    assert step > 20


class FailingEffects(Effects):
    """Fails at one step, as a full disk or a lost right would."""

    def __init__(self, entries: Entries, session: Session, step: int, *, for_ever: bool) -> None:
        super().__init__(entries, session.undoer._blobs)
        self.left = step
        self.for_ever = for_ever

    def __getattribute__(self, name: str) -> object:
        if name in ("write_aside", "move", "make_folder", "set_mode"):
            self.left -= 1
            if self.left == -1 or (self.left < 0 and self.for_ever):
                raise OSError(28, "No space left on device")
        return super().__getattribute__(name)


@pytest.mark.parametrize("for_ever", [False, True])
def test_an_undo_that_fails_at_any_step_changes_nothing_or_says_what_it_did(
    tmp_path: Path, for_ever: bool
) -> None:
    for step in range(100):
        (tmp_path / str(step)).mkdir()
        session = Session(tmp_path / str(step))
        session.write("a", "one", 0o640)
        session.write("d/b", "two")
        session.write("c", "three")
        session.turn()
        before = session.tree()
        session.shell("echo 2 > a; rm -r d; echo 1 > n; ln -s a l; chmod 600 c; mkdir -m 500 m; rm a")
        after = session.tree()
        entries = session.undoer._restorer._entries
        failing = FailingEffects(entries, session, step, for_ever=for_ever)
        session.undoer._restorer = Restorer(entries, failing, session.folder / "restoring")
        refusal = refusal_of(session)
        if refusal is None:
            break
        assert "No space left on device" in refusal.message
        assert not list(session.root.rglob(".fido-*"))
        half_way = session.undoer.interrupted
        if refusal.code == "restore_failed":
            assert session.tree() == after, step
            assert not half_way
        else:
            assert (refusal.code, for_ever) == ("partly_restored", True)
            assert {"a", "d/b", "n"} <= set(half_way[0].paths)
        session.restart()
        session.undo()
        assert session.tree() == before, step
    assert refusal is None
    assert session.tree() == before
    assert step > 5


class SlowEffects(Effects):
    """Somebody saves a file while the others are written aside."""

    def __init__(self, entries: Entries, session: Session) -> None:
        super().__init__(entries, session.undoer._blobs)
        self.session = session

    def write_aside(self, path: str, aside: str, state: FileState, *, sync: bool) -> None:
        super().write_aside(path, aside, state, sync=sync)
        self.session.write("a", "saved")


def test_a_file_that_is_saved_while_undo_writes_is_not_overwritten(session: Session) -> None:
    session.shell("echo 1 > a; rm d/b")
    entries = session.undoer._restorer._entries
    slow = SlowEffects(entries, session)
    session.undoer._restorer = Restorer(entries, slow, session.folder / "restoring")
    refusal = refusal_of(session)
    assert refusal is not None
    assert refusal.code == "restore_failed"
    assert session.read("a") == "saved"
    assert session.tree().keys() == {b"a", b"d", b"d/link", b"d/empty"}


def test_what_a_killed_undo_wrote_aside_is_removed_and_the_person_is_told(session: Session) -> None:
    session.rm("a")
    assert die_in_undo(session, 1)
    assert list(session.root.glob(".fido-*"))
    session.restart()
    assert not list(session.root.glob(".fido-*"))
    assert session.told == [INTERRUPTED]
    session.restart()
    assert session.told == [INTERRUPTED] * 2
    session.undo()
    session.restart()
    assert len(session.told) == 2


def test_a_killed_undo_is_in_the_log_until_a_prompt_has_told_of_it(session: Session) -> None:
    session.shell("rm a; echo 1 > d/b")
    assert die_in_undo(session, 0)
    session.restart()
    assert session.undoer.interrupted == (FilesRestoring(turn=1, direction="undo", paths=("a", "d/b")),)
    session.turn()
    assert not session.undoer.interrupted
    assert session.undo().turn == 1


def test_a_restore_that_never_began_is_not_in_the_log(session: Session) -> None:
    session.shell("rm a")
    session.write("a", "mine")
    assert refusal_of(session) is not None
    assert not [event for event in session.events if isinstance(event, FilesRestoring)]


def test_a_file_that_can_not_be_put_back_leaves_everything_as_it_was(session: Session) -> None:
    """A name that is in the way of the last move: it comes back as somebody's folder."""
    session.write("z", "last")
    session.shell("rm a z d/b")
    after = session.tree()
    changes = session.log.to_undo()
    assert changes is not None
    steps = steps_of(changes.changes(), back=True)
    (session.root / "z").mkdir()
    with pytest.raises(RestoreFailed) as caught:
        session.undoer._restorer.carry_out(steps)
    assert (caught.value.path, caught.value.reason) == ("z", "it was changed at this very moment")
    (session.root / "z").rmdir()
    assert session.tree() == after


def test_a_call_goes_on_when_nothing_can_be_kept(session: Session) -> None:
    session.folder.parent.mkdir(parents=True)
    session.folder.write_text("in the way", encoding="utf-8")
    session.patch("a", "one", "two")
    session.shell("rm d/b")
    assert session.read("a") == "two"
    assert len(session.told) == 1
    with pytest.raises(UndoRefused):
        session.undo()


def test_what_a_person_changed_long_after_a_crash_is_not_taken_back(session: Session) -> None:
    session.write("gone", "1")
    session.dies_at = is_changed
    with pytest.raises(Crash):
        session.shell("rm gone")
    session.undoer.close()
    os.utime(session.folder / "contents", (1, 1))
    session.write("a", "my work")
    session.write("mine", "my work")
    (session.root / "d" / "link").unlink()
    (session.root / "d" / "link").symlink_to("elsewhere")
    session.restart()
    told = session.undo()
    assert told.paths == ("gone",)
    assert "a (changed after Fido was interrupted)" in told.message
    assert session.read("a") == session.read("mine") == "my work"
    assert (session.root / "d" / "link").readlink() == Path("elsewhere")


def test_a_running_command_leaves_marks_of_the_time(session: Session) -> None:
    def during() -> None:
        assert time.time() - session.undoer._blobs.touched() < 60

    session.during_command(lambda: None)
    os.utime(session.folder / "contents", (1, 1))
    session.during_command(during)
    os.utime(session.folder / "contents", (1, 1))
    session.patch("a", "one", "two")
    during()


def test_a_list_that_is_lost_makes_the_command_one_that_is_not_kept(session: Session) -> None:
    session.dies_at = is_changed
    with pytest.raises(Crash):
        session.shell("rm a")
    for path in session.folder.glob("manifest-*"):
        path.write_bytes(b"\x00torn")
    session.restart()
    assert not session.log.dangling
    with pytest.raises(UndoRefused) as refused:
        session.undo()
    assert "shell commands" in refused.value.message


def test_a_cancelled_command_is_recorded(session: Session) -> None:
    async def cancelled() -> None:
        async def command() -> None:
            async with session.undoer.snapshots.around_command("call-1"):
                (session.root / "a").unlink()
                started.set()
                await asyncio.Event().wait()

        started = asyncio.Event()
        task = asyncio.ensure_future(command())
        await started.wait()
        task.cancel()
        await asyncio.wait({task}, timeout=0)
        task.cancel()
        await asyncio.wait({task}, timeout=20)
        assert task.cancelled()

    asyncio.run(cancelled())
    assert [each.path for each in session.changes()] == ["a"]
    session.undo()
    assert session.read("a") == "one"


def test_a_command_that_is_cancelled_before_it_began_does_nothing(session: Session) -> None:
    for number in range(3000):
        (session.root / f"f{number}").touch()
    ran = []

    async def command() -> None:
        async with session.undoer.snapshots.around_command("call-1"):
            ran.append(True)

    crashes: list[object] = []

    async def cancelled() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: crashes.append(context))
        task = asyncio.ensure_future(command())
        while not session.undoer._restorer._entries.seen:
            await asyncio.wait({task}, timeout=0.001)
        task.cancel()
        task.cancel()
        await asyncio.wait({task}, timeout=20)
        assert task.cancelled()
        assert not session.undoer.snapshots.lock.locked()

    asyncio.run(cancelled())
    gc.collect()
    assert not ran
    assert not crashes
    assert not session.log.dangling
    session.shell("rm f7")
    assert session.undo().paths == ("f7",)
