"""The undo log as a fold: which turns stand, under which number, whatever else the session's log holds."""

import pytest

from actors.session.events import (
    AnyEvent,
    CallStarted,
    ConversationCompacted,
    FileChange,
    FilesChanged,
    FilesChanging,
    FilesRestored,
    FilesRestoring,
    FileState,
    Notice,
    PromptTaken,
    RestoreTakenBack,
    TurnEnded,
)
from actors.undo.log import UndoLog
from tests.fakes.session_events import AT, appended


def file(content: str) -> FileState:
    return FileState(kind="file", mode=0o644, content=content)


def changed(turn: int, path: str, before: str | None, after: str | None, *unkept: str) -> FilesChanged:
    states = [file(each) if each else None for each in (before, after)]
    change = FileChange(path=path, before=states[0], after=states[1])
    return FilesChanged(turn=turn, call_id="c", changes=(change,), unkept=unkept)


def turn_of_ten_calls(turn: int) -> list[AnyEvent]:
    """A prompt, ten calls that change a file each, and what else is logged with them."""
    events: list[AnyEvent] = [PromptTaken(turn=turn, text="go", at=AT)]
    for number in range(10):
        call_id = f"call_{number}"
        events += [
            CallStarted(turn=turn, call_id=call_id, name="patch", arguments="{}"),
            FilesChanging(turn=turn, call_id=call_id),
            changed(turn, f"f{number}", str(turn - 1) if turn > 1 else None, str(turn)),
            Notice(level="info", message="said"),
        ]
    return [*events, TurnEnded(turn=turn, status="completed", final_text="Done.")]


def compaction(turn: int) -> ConversationCompacted:
    return ConversationCompacted(turn=turn, messages=(), method="summary", before_tokens=9, after_tokens=1)


def test_turn_numbers_hold_after_tool_calls_a_compaction_and_a_restart() -> None:
    events = [*turn_of_ten_calls(1), *turn_of_ten_calls(2), compaction(2), *turn_of_ten_calls(3)]
    log = UndoLog()
    for event in events:
        log.apply(event)
    restored = FilesRestored(turn=3, direction="undo", paths=())
    log.apply(restored)
    for each in (log, UndoLog([*events, restored])):
        standing = each.to_undo()
        assert standing is not None
        assert standing.turn == 2
        assert len(standing.changes()) == 10
        assert {(change.before, change.after) for change in standing.changes()} == {(file("1"), file("2"))}
        again = each.to_redo()
        assert again is not None
        assert again.turn == 3


def test_a_turn_that_left_files_as_they_were_is_passed_over() -> None:
    log = UndoLog([changed(1, "a", None, "1"), changed(2, "b", None, "1"), changed(2, "b", "1", None)])
    standing = log.to_undo()
    assert standing is not None
    assert standing.turn == 1


def test_a_change_between_two_calls_by_somebody_else_is_noticed() -> None:
    log = UndoLog([changed(1, "a", "1", "2"), changed(1, "a", "mine", "3"), changed(1, "b", "1", "2")])
    standing = log.to_undo()
    assert standing is not None
    assert standing.mixed == {"a"}


def test_what_was_not_kept_is_remembered_with_its_turn() -> None:
    log = UndoLog([changed(1, "a", None, "1", "big"), changed(2, "b", None, "1", "huge")])
    assert log.unkept_since(1) == ["big", "huge"]
    assert log.unkept_since(2) == ["huge"]


def test_what_was_not_kept_for_one_reason_is_said_once() -> None:
    log = UndoLog([changed(1, "a", None, "1", "all (20,000)"), changed(2, "b", None, "1", "all (20,000)")])
    assert log.unkept_since(1) == ["all (20,000)"]


@pytest.mark.parametrize(
    ("end", "ended"),
    [
        (FilesRestored(turn=1, direction="undo", paths=()), True),
        (RestoreTakenBack(turn=1, direction="undo"), True),
        (PromptTaken(turn=2, text="x", at=""), True),
        (changed(1, "b", None, "1"), False),
    ],
)
def test_a_restore_is_interrupted_until_its_end_or_a_prompt(end: AnyEvent, ended: bool) -> None:
    began = FilesRestoring(turn=1, direction="undo", paths=("a",))
    log = UndoLog([changed(1, "a", None, "1"), began])
    assert log.interrupted == (began,)
    log.apply(end)
    assert (not log.interrupted) is ended


def test_a_second_try_that_is_taken_back_leaves_the_first_one_half_way() -> None:
    first = FilesRestoring(turn=1, direction="undo", paths=("a", "b"))
    second = FilesRestoring(turn=1, direction="undo", paths=("b",))
    log = UndoLog([changed(1, "a", None, "1"), first, second, RestoreTakenBack(turn=1, direction="undo")])
    assert log.interrupted == (first,)
    log.apply(second)
    log.apply(FilesRestored(turn=1, direction="undo", paths=("a", "b")))
    assert not log.interrupted


def test_a_change_that_only_lacks_its_end_is_dangling() -> None:
    log = UndoLog([FilesChanging(turn=1, call_id="c"), FilesChanging(turn=1, call_id="d")])
    log.apply(FilesChanged(turn=1, call_id="c", changes=()))
    assert list(log.dangling) == ["d"]


def test_an_event_that_is_none_of_its_own_changes_nothing() -> None:
    log = UndoLog([changed(1, "a", None, "1"), FilesRestored(turn=1, direction="undo", paths=())])
    log.apply(appended(b"{}", turn=2))
    log.apply(FilesRestored(turn=7, direction="undo", paths=()))
    assert log.to_undo() is None
    assert log.to_redo() is not None
