"""Any sequence of changes to any tree: undo gives back the exact tree of before, redo the one behind."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actors.session.events import FileChange, FilesChanged, FilesRestored, FileState, PromptTaken
from actors.undo.log import UndoLog
from actors.undo.path_text import to_name, to_text
from tests.fakes.undoing import Session, refusal_of

MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None
"""Where being durable takes no time."""
NAMES = st.sampled_from([b"a", b"b", b"c d", b"\xff\xfe", b"x\\y", b"n\nl", "é".encode(), b"-r"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(b"/".join)
CONTENTS = st.sampled_from([b"", b"one\n", b"two\n", b"\xef\xbb\xbfx\r\n", bytes(range(256)), b"\0" * 70_000])
FILE_MODES = st.sampled_from([0o644, 0o600, 0o755, 0o444, 0o4755])
FOLDER_MODES = st.sampled_from([0o755, 0o700, 0o2770, 0o1777])
Change = Callable[[bytes], None]


def change(do: Callable[..., None], *arguments: st.SearchStrategy[object]) -> st.SearchStrategy[Change]:
    return st.tuples(*arguments).map(lambda given: lambda root: do(root, *given))


def at(root: bytes, path: bytes) -> bytes:
    return os.path.join(root, path)


def write(root: bytes, path: bytes, content: bytes, mode: int) -> None:
    with open(at(root, path), "wb") as file:
        file.write(content)
        os.fchmod(file.fileno(), mode)


def append(root: bytes, path: bytes) -> None:
    with open(at(root, path), "ab") as file:
        file.write(b"+")


def remove(root: bytes, path: bytes) -> None:
    if os.path.islink(at(root, path)) or not os.path.isdir(at(root, path)):
        os.unlink(at(root, path))
    else:
        shutil.rmtree(at(root, path))


def changes_of(paths: st.SearchStrategy[bytes]) -> st.SearchStrategy[Change]:
    return st.one_of(
        change(write, paths, CONTENTS, FILE_MODES),
        change(append, paths),
        change(remove, paths),
        change(
            lambda root, path, mode: (os.makedirs(at(root, path)), os.chmod(at(root, path), mode)),
            paths,
            FOLDER_MODES,
        ),
        change(lambda root, path, to: os.symlink(to, at(root, path)), paths, paths),
        change(lambda root, path, to: os.rename(at(root, path), at(root, to)), paths, paths),
        change(
            lambda root, path, mode: os.chmod(at(root, path), mode, follow_symlinks=True),
            paths,
            FILE_MODES | FOLDER_MODES,
        ),
        change(lambda root, path, to: os.link(at(root, path), at(root, to)), paths, paths),
    )


CHANGES = changes_of(PATHS)
FEW_PATHS = st.lists(st.sampled_from([b"a", b"b", b"c"]), min_size=1, max_size=3).map(b"/".join)
FEW_CHANGES = changes_of(FEW_PATHS)


def apply(changes: list[Change], root: Path) -> None:
    """Whatever of them is possible."""
    for each in changes:
        with contextlib.suppress(OSError):
            each(os.fsencode(root))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    first=st.lists(CHANGES, max_size=12),
    turns=st.lists(st.lists(CHANGES, min_size=1, max_size=6), min_size=1, max_size=3),
    restarts=st.booleans(),
)
def test_undo_gives_back_the_exact_tree_and_redo_the_one_behind(
    first: list[Change], turns: list[list[Change]], restarts: bool
) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        session = Session(Path(folder))
        apply(first, session.root)
        trees = {0: session.tree()}
        for changes in turns:
            turn = session.turn()
            session.during_command(lambda changes=changes: apply(changes, session.root))
            trees[turn] = session.tree()
        if restarts:
            session.restart()
        undone = []
        while (standing := session.log.to_undo()) is not None:
            assert session.undo().turn == standing.turn
            assert session.tree() == trees[standing.turn - 1]
            undone.append(standing.turn)
        assert session.tree() == trees[0]
        for turn in reversed(undone):
            assert session.redo().turn == turn
            assert session.tree() == trees[turn]
        session.undoer.close()


def is_named(path: bytes, named: set[bytes]) -> bool:
    """Whether a path is told, or lies in what is, or holds it."""
    return any(path == each or path.startswith(each + b"/") or each.startswith(path + b"/") for each in named)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    first=st.lists(FEW_CHANGES, min_size=3, max_size=12),
    commands=st.lists(st.lists(FEW_CHANGES, min_size=1, max_size=6), min_size=1, max_size=3),
    restarts=st.booleans(),
)
def test_what_is_ignored_and_does_not_come_back_is_named(
    first: list[Change], commands: list[list[Change]], restarts: bool
) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        session = Session(Path(folder))
        session.write(".gitignore", "a\nb/\n")
        apply(first, session.root)
        before = session.tree()
        session.turn()
        for changes in commands:
            session.during_command(lambda changes=changes: apply(changes, session.root))
        if restarts:
            session.restart()
        named = {
            os.fsencode(to_name(each.rpartition(" (")[0]))
            for event in session.events
            if isinstance(event, FilesChanged)
            for each in (*event.unkept, *event.traces)
        }
        refusal = refusal_of(session)
        assert refusal is None or refusal.code == "nothing_to_undo"
        now = session.tree()
        lost = {path for path in before.keys() | now.keys() if before.get(path) != now.get(path)}
        assert {path for path in lost if not is_named(path, named)} == set()
        session.undoer.close()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    first=st.lists(CHANGES, max_size=10),
    turn=st.lists(CHANGES, min_size=1, max_size=6),
    since=st.lists(CHANGES, min_size=1, max_size=3),
)
def test_undo_over_changes_of_somebody_else_is_exact_or_touches_nothing(
    first: list[Change], turn: list[Change], since: list[Change]
) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        session = Session(Path(folder))
        apply(first, session.root)
        before = session.tree()
        session.turn()
        session.during_command(lambda: apply(turn, session.root))
        after = session.tree()
        apply(since, session.root)
        mine = session.tree()
        refusal = refusal_of(session)
        if refusal is not None:
            assert refusal.code in ("changed_since", "nothing_to_undo", "restore_failed")
            assert session.tree() == mine
        else:
            now = session.tree()
            theirs = {path for path in mine.keys() | after.keys() if mine.get(path) != after.get(path)}
            for path in now.keys() | before.keys():
                if path not in theirs and now.get(path) != before.get(path):
                    # A folder that holds something of somebody else's stays.
                    assert any(each.startswith(path + b"/") for each in theirs), path
            for path in theirs:
                assert now.get(path) in (mine.get(path), before.get(path)), path
        session.undoer.close()


@given(st.binary(min_size=1).filter(lambda name: b"\0" not in name))
def test_every_name_comes_back_from_its_text(name: bytes) -> None:
    text = to_text(os.fsdecode(name))
    assert os.fsencode(to_name(text)) == name
    text.encode("utf-8")


STATES = st.sampled_from([None, *(FileState(kind="file", mode=0o644, content=each) for each in "abc")])


@pytest.mark.parametrize("turns", [3])
@given(data=st.data())
def test_the_log_merges_calls_and_keeps_numbers(turns: int, data: st.DataObject) -> None:
    """A model of it: the states behind each turn, in a list."""
    log = UndoLog()
    state: dict[str, FileState | None] = dict.fromkeys("xyz")
    behind = [dict(state)]
    for turn in range(1, turns + 1):
        log.apply(PromptTaken(turn=turn, text="", at=""))
        for _ in range(data.draw(st.integers(0, 3))):
            path, after = data.draw(st.sampled_from("xyz")), data.draw(STATES)
            if after != state[path]:
                changed = FileChange(path=path, before=state[path], after=after)
                log.apply(FilesChanged(turn=turn, call_id="c", changes=(changed,)))
                state[path] = after
        behind.append(dict(state))
    undone = []
    while (standing := log.to_undo()) is not None:
        assert not standing.mixed
        for each in standing.changes():
            assert state[each.path] == each.after
            state[each.path] = each.before
        assert state == behind[standing.turn - 1]
        log.apply(FilesRestored(turn=standing.turn, direction="undo", paths=()))
        undone.append(standing.turn)
    assert undone == [turn for turn in range(turns, 0, -1) if behind[turn] != behind[turn - 1]]
    for turn in reversed(undone):
        again = log.to_redo()
        assert again is not None
        assert again.turn == turn
        log.apply(FilesRestored(turn=turn, direction="redo", paths=()))
    assert log.to_redo() is None
