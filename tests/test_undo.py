"""/undo and /redo of what the tools did: exact, all or nothing, never over what somebody changed since."""

import asyncio
import os
from pathlib import Path

import pytest

from actors.session.events import FilesChanging
from actors.tools.tool import ToolFailure
from actors.undo.undo import UndoRefused
from tests.fakes.somebody import somebodys_folder
from tests.fakes.undoing import Crash, Session, tree_of


@pytest.fixture
def session(tmp_path: Path) -> Session:
    made = Session(tmp_path)
    made.turn()
    return made


def refused(session: Session, what: str = "undo") -> UndoRefused:
    with pytest.raises(UndoRefused) as caught:
        getattr(session, what)()
    assert caught.value.message
    assert caught.value.next_step
    return caught.value


def test_what_the_four_tools_do_is_taken_back_and_made_again(session: Session) -> None:
    session.write("edited.py", "one\n", 0o755)
    session.write("removed", "bytes")
    session.write("folder/deep/file", "1")
    (session.root / "folder" / "link").symlink_to("../..")
    (session.root / "folder" / "empty").mkdir(mode=0o700)
    before = session.tree()
    session.patch("edited.py", "one", "two")
    session.patch("new.py", "", "made\r\n")
    session.mkdir("a/b/c")
    session.rm("removed")
    session.rmdir("folder")
    after = session.tree()
    assert session.undo().turn == 1
    assert session.tree() == before
    session.redo()
    assert session.tree() == after


def test_message_says_what_was_taken_back_and_how_to_have_it_again(session: Session) -> None:
    session.write("src/a.py", "one")
    session.write("b", "two")
    session.patch("src/a.py", "one", "1")
    session.patch("c", "", "3")
    session.rm("b")
    told = session.undo()
    assert told.message == (
        "Took back turn 1: 1 edit, 1 creation, 1 deletion (src/a.py, c, b). /redo makes them again."
    )
    assert sorted(told.paths) == ["b", "c", "src/a.py"]
    assert session.redo().message.startswith("Made the changes of turn 1 again: ")


def test_changes_of_one_turn_to_one_file_are_one_change(session: Session) -> None:
    session.write("a", "one")
    session.patch("a", "one", "two")
    session.bash("chmod 600 a")
    session.patch("a", "two", "three")
    session.patch("b", "", "passing")
    session.rm("b")
    assert session.undo().paths == ("a",)
    assert session.read("a") == "one"
    session.redo()
    assert session.read("a") == "three"


def test_each_undo_goes_one_turn_further_back_and_each_redo_one_forward(session: Session) -> None:
    states = [session.tree()]
    for number in range(3):
        session.patch(f"f{number}", "", "x")
        states.append(session.tree())
        session.turn()
        session.bash("true")
    for wanted in (3, 2, 1):
        assert session.undo().turn == wanted
        assert session.tree() == states[wanted - 1]
    assert refused(session).code == "nothing_to_undo"
    for number in (1, 2, 3):
        assert session.redo().turn == number
        assert session.tree() == states[number]
    assert refused(session, "redo").code == "nothing_to_redo"


def test_a_new_change_ends_what_could_be_made_again(session: Session) -> None:
    session.patch("a", "", "1")
    session.undo()
    session.turn()
    session.bash("true")
    assert session.log.to_redo() is not None
    session.patch("b", "", "2")
    assert refused(session, "redo").code == "nothing_to_redo"
    assert session.undo().turn == 2


@pytest.mark.parametrize("somebody", ["edits", "removes", "chmods", "links", "makes a folder"])
def test_a_file_changed_since_is_named_and_nothing_is_touched(session: Session, somebody: str) -> None:
    session.write("a", "one")
    session.write("b", "two")
    session.patch("a", "one", "1")
    session.patch("b", "two", "2")
    place = session.root / "a"
    match somebody:
        case "edits":
            place.write_text("mine", encoding="utf-8")
        case "chmods":
            place.chmod(0o600)
        case _:
            place.unlink()
    if somebody == "links":
        place.symlink_to("b")
    if somebody == "makes a folder":
        place.mkdir()
    mine = session.tree()
    refusal = refused(session)
    assert refusal.code == "changed_since"
    assert refusal.message == "a has changed since turn 1, so nothing was touched."
    assert session.tree() == mine
    earlier = session.folder / "earlier" / "undo-1"
    assert str(earlier) in refusal.next_step
    assert (earlier / "a").read_text(encoding="utf-8") == "one"


def test_a_file_made_where_one_was_removed_is_not_overwritten(session: Session) -> None:
    session.write("a", "one")
    session.rm("a")
    session.write("a", "mine")
    assert refused(session).code == "changed_since"
    assert session.read("a") == "mine"


def test_redo_refuses_what_was_changed_since_the_undo(session: Session) -> None:
    session.patch("a", "", "1")
    session.undo()
    session.write("a", "mine")
    refusal = refused(session, "redo")
    assert refusal.code == "changed_since"
    assert session.read("a") == "mine"
    (session.root / "a").unlink()
    session.redo()
    assert session.read("a") == "1"


def test_somebody_elses_files_in_a_new_folder_keep_the_folder(session: Session) -> None:
    session.mkdir("made/deep")
    session.patch("made/deep/a", "", "1")
    session.write("made/mine", "precious")
    told = session.undo()
    assert "made stayed" in told.message
    assert session.tree().keys() == {b"made", b"made/mine"}
    session.redo()
    assert session.read("made/deep/a") == "1"


def test_a_change_of_somebody_else_during_the_turn_is_named_and_redo_has_it(session: Session) -> None:
    session.write("a", "one\n")
    session.patch("a", "one", "two")
    session.write("a", "mine\ntwo\n")
    session.patch("a", "two", "three")
    assert "Somebody else had changed a during the turn" in session.undo().message
    assert session.read("a") == "one\n"
    session.redo()
    assert session.read("a") == "mine\nthree\n"


def test_a_file_that_is_already_as_it_was_needs_nothing(session: Session) -> None:
    session.write("a", "one")
    session.write("b", "one")
    session.patch("a", "one", "two")
    session.patch("b", "one", "two")
    session.write("a", "one")
    inode = (session.root / "a").stat().st_ino
    assert session.undo().paths == ("a", "b")
    assert session.read("a") == session.read("b") == "one"
    assert (session.root / "a").stat().st_ino == inode


def test_a_call_that_fails_leaves_nothing_to_undo(session: Session) -> None:
    session.write("a", "one")
    for fails in (
        lambda: session.patch("a", "nowhere", "x"),
        lambda: session.rm("missing"),
        lambda: session.rmdir("a"),
        lambda: session.mkdir("a"),
    ):
        with pytest.raises(ToolFailure):
            fails()
    assert session.changes() == []
    assert not session.log.dangling
    assert refused(session).code == "nothing_to_undo"


def test_undo_is_the_same_after_a_restart(session: Session) -> None:
    session.write("a", "one")
    before = session.tree()
    session.patch("a", "one", "two")
    session.turn()
    session.bash("rm a; echo 1 > b")
    after = session.tree()
    session.restart()
    assert session.undo().turn == 2
    session.restart()
    assert session.undo().turn == 1
    assert session.tree() == before
    session.restart()
    session.redo()
    session.restart()
    session.redo()
    assert session.tree() == after


def test_a_folder_replaced_by_a_link_leads_nothing_outside(session: Session, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "edited").write_text("two", encoding="utf-8")
    session.write("d/edited", "one")
    session.write("d/removed", "old")
    session.patch("d/edited", "one", "two")
    session.rm("d/removed")
    (session.root / "d").rename(session.root / "moved")
    (session.root / "d").symlink_to(outside)
    beyond = tree_of(outside)
    refusal = refused(session)
    assert refusal.code == "changed_since"
    assert "d/edited" in refusal.message
    assert "d/removed" in refusal.message
    assert tree_of(outside) == beyond


def test_owner_and_other_links_of_an_edited_file_are_as_a_patch_leaves_them(session: Session) -> None:
    session.write("a", "one")
    if os.geteuid() == 0:
        os.chown(session.root / "a", 1234, 1234)
    owner = (session.root / "a").stat().st_uid
    session.patch("a", "one", "two")
    session.undo()
    assert (session.root / "a").stat().st_uid == owner


def test_a_mode_alone_is_taken_back_without_writing_the_file(session: Session) -> None:
    session.write("a", "one")
    os.link(session.root / "a", session.root / "b")
    inode = (session.root / "a").stat().st_ino
    session.bash("chmod 600 a")
    session.undo()
    assert (session.root / "a").stat().st_ino == inode
    assert (session.root / "a").stat().st_mode & 0o777 == 0o644


def test_what_is_kept_is_private(session: Session) -> None:
    session.write(".env", "KEY=1")
    session.bash("true")
    session.patch(".env", "1", "2")
    session.write(".env", "KEY=3")
    refused(session)
    for each in (session.folder, *session.folder.rglob("*")):
        assert each.stat().st_mode & 0o077 == 0 or each.parent.stat().st_mode & 0o077 == 0, each
    assert session.folder.stat().st_mode & 0o777 == 0o700


def test_undo_is_refused_while_a_call_changes_files(session: Session) -> None:
    async def during() -> str:
        async with session.undoer.snapshots.around_command("call-1"):
            with pytest.raises(UndoRefused) as caught:
                await session.undoer.undo()
            return caught.value.code

    session.patch("a", "", "1")
    assert asyncio.run(during()) == "busy"


def test_a_patch_through_a_link_is_a_change_of_its_target(session: Session) -> None:
    session.write("real", "one")
    (session.root / "link").symlink_to("real")
    before = session.tree()
    session.patch("link", "one", "two")
    session.undo()
    assert session.tree() == before


def test_a_removed_folder_too_large_to_keep_is_named(session: Session) -> None:
    session.bounded(workspace_entries=10)
    for number in range(20):
        session.write(f"big/f{number}", "1")
    session.rmdir("big")
    assert "big holds more than is kept" in session.told[0]
    assert "big" in refused(session).message


def test_contents_that_are_gone_are_said_to_be_and_nothing_is_touched(session: Session) -> None:
    session.write("a", "one")
    session.write("b", "one")
    session.patch("a", "one", "two")
    session.rm("b")
    contents = session.folder / "contents"
    contents.write_bytes(contents.read_bytes().replace(b"one", b"oNe"))
    session.restart()
    after = session.tree()
    refusal = refused(session)
    assert refusal.code == "restore_failed"
    assert "no longer kept" in refusal.message
    assert session.tree() == after


def test_what_stands_there_is_recorded_before_a_call_changes_it(session: Session) -> None:
    session.write("a", "one")
    for changes in (
        lambda: session.patch("a", "one", "two"),
        lambda: session.rm("a"),
        lambda: session.mkdir("b"),
        lambda: session.bash("rm a"),
    ):
        session.start()
        session.turn()
        session.dies_at = lambda event: isinstance(event, FilesChanging)
        with pytest.raises(Crash):
            changes()
        assert session.tree() == {b"a": ("file", 0o644, b"one")}


def test_a_file_that_can_not_be_read_is_taken_back_by_its_status() -> None:
    """Modes bind everybody but root."""
    with somebodys_folder() as folder:
        session = Session(folder)
        session.write("a", "one")
        session.write("unreadable", "never read")
        (session.root / "unreadable").chmod(0)
        session.write("d/b", "two")
        session.turn()
        session.during_command(lambda: (session.root / "a").chmod(0))
        session.during_command(lambda: (session.root / "d").chmod(0))
        assert [each.path for each in session.changes()] == ["a", "d"]
        session.restart()
        session.undo()
        assert session.read("a") == "one"
        assert session.read("d/b") == "two"


def test_a_folder_that_nobody_may_write_leaves_everything_as_it_was() -> None:
    with somebodys_folder() as folder:
        session = Session(folder)
        session.write("a", "one")
        session.write("d/b", "two")
        session.turn()
        session.patch("a", "one", "1")
        session.patch("d/b", "two", "2")
        after = session.tree()
        (session.root / "d").chmod(0o500)
        assert refused(session).code == "restore_failed"
        assert session.tree() == after | {b"d": ("folder", 0o500, b"")}


def test_what_a_command_makes_readable_is_not_taken_for_new() -> None:
    with somebodys_folder() as folder:
        session = Session(folder)
        session.write("locked/precious", "mine")
        session.write("names only/precious", "mine")
        session.write("a", "one")
        (session.root / "locked").chmod(0)
        (session.root / "names only").chmod(0o444)
        session.turn()
        session.during_command(
            lambda: [each.chmod(0o755) for each in session.root.iterdir() if each.is_dir()]
        )
        session.patch("a", "one", "two")
        session.undo()
        for place, mode in (("locked", 0), ("names only", 0o444)):
            assert (session.root / place).stat().st_mode & 0o777 == mode
            (session.root / place).chmod(0o755)
            assert session.read(f"{place}/precious") == "mine"
        assert session.read("a") == "one"
