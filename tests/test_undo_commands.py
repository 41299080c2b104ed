"""What shell commands do to files is taken back: real commands, no Git repository, exact bytes and modes."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from actors.session.events import FilesChanged
from actors.undo.left_out import CHANGED_INSIDE, NEW
from actors.undo.undo import UndoRefused
from tests.fakes.undoing import Crash, Session


@pytest.fixture
def session(tmp_path: Path) -> Session:
    made = Session(tmp_path)
    made.turn()
    return made


def taken_back(session: Session, command: str) -> None:
    """Run a command, take it back, make it again: the exact tree each time."""
    before = session.tree()
    session.shell(command)
    after = session.tree()
    assert after != before, "the command did nothing"
    session.undo()
    assert session.tree() == before
    session.redo()
    assert session.tree() == after
    session.undo()
    assert session.tree() == before


def test_one_undo_takes_back_a_creation_a_deletion_a_renaming_an_edit_and_a_mode(session: Session) -> None:
    session.write("B", "deleted")
    session.write("C", "renamed", 0o755)
    session.write("E", "edited")
    session.write("run.sh", "#!/bin/sh\n")
    before = session.tree()
    session.bash("echo made > A; rm B; mv C D; sed -i s/edited/changed/ E; chmod 4755 run.sh")
    after = session.tree()
    assert after.keys() == {b"A", b"D", b"E", b"run.sh"}
    session.undo()
    assert session.tree() == before
    session.redo()
    assert session.tree() == after
    assert not (session.root / ".git").exists()


def test_bytes_are_exact_whatever_they_are(session: Session) -> None:
    (session.root / "bom").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    (session.root / "binary").write_bytes(bytes(range(256)) * 100)
    (session.root / "utf16").write_bytes("text\r\n".encode("utf-16"))
    (session.root / "no newline").write_bytes(b"end")
    (session.root / "empty").touch()
    taken_back(session, "for each in *; do echo more >> \"$each\"; done; printf '\\000\\377' > new.bin")


def test_names_that_are_no_text_are_taken_back(session: Session) -> None:
    root = os.fsencode(session.root)
    for name in (b"\xff\xfe", b"back\\slash", b"back\\xff", b"new\nline", b"-rf", b" ", "ünï".encode()):
        with open(os.path.join(root, name), "wb") as file:
            file.write(name)
    os.mkdir(os.path.join(root, b"folder\xff"))
    taken_back(session, r"rm -f -- *back* $'\xff\xfe'; mv $'new\nline' ' 2'; rmdir -- f*; echo 1 > $'\xfd'")


def test_links_are_taken_back_and_never_followed(session: Session, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("precious", encoding="utf-8")
    session.write("inside", "one")
    (session.root / "in").symlink_to("inside")
    (session.root / "out").symlink_to("../outside")
    (session.root / "dangling").symlink_to("nowhere")
    (session.root / "folder").symlink_to(".")
    taken_back(session, "rm in folder; ln -sfn inside out; ln -s /etc made; rm dangling; echo > dangling")
    assert (tmp_path / "outside").read_text(encoding="utf-8") == "precious"


def test_empty_folders_and_their_modes_are_taken_back(session: Session) -> None:
    (session.root / "a" / "b" / "c").mkdir(parents=True)
    (session.root / "a" / "b").chmod(0o2750)
    (session.root / "d").mkdir(mode=0o700)
    taken_back(session, "rm -r a; chmod 755 d; mkdir -p x/y/z; chmod 1777 x")


def test_a_folder_in_place_of_a_file_is_taken_back(session: Session) -> None:
    session.write("a", "file")
    session.write("b/c/d", "deep")
    session.write("b/e", "beside")
    taken_back(session, "rm a; mkdir a; echo 1 > a/new; rm -r b; echo 2 > b")
    taken_back(session, "mv b/c elsewhere; rm -r b; ln -s elsewhere b")


def test_a_folder_that_a_command_makes_read_only_is_taken_back(session: Session) -> None:
    session.write("d/kept", "1")
    taken_back(session, "echo 2 >> d/kept; echo 3 > d/new; mkdir d/in; chmod 555 d/in d")


def test_a_folder_that_is_moved_with_all_in_it_comes_back(session: Session) -> None:
    for number in range(30):
        session.write(f"src/p{number % 5}/f{number}.py", f"number {number}\n", 0o600 + number % 2)
    taken_back(session, "mkdir lib; mv src/p1 src/p2 lib; mv src/p0/f0.py lib/renamed.py; rm -r src/p3")


def test_a_change_within_the_tick_of_a_clock_is_seen(session: Session) -> None:
    """File systems tell times in steps of milliseconds; the size stays the same, too."""
    path = session.root / "a"
    path.write_text("0", encoding="utf-8")
    for number in range(1, 30):
        session.during_command(lambda number=number: path.write_text(str(number % 10), encoding="utf-8"))
    assert [each.path for each in session.changes()] == ["a"] * 29
    session.undo()
    assert session.read("a") == "0"


def test_a_time_that_is_set_back_hides_nothing(session: Session) -> None:
    session.write("a", "one")
    taken_back(session, "touch -r a ref; echo two > a; touch -r ref a; rm ref")


def test_a_command_that_fails_is_taken_back_as_well(session: Session) -> None:
    session.write("a", "one")
    assert "[exit status 3]" in session.bash("echo two > a; exit 3")
    session.undo()
    assert session.read("a") == "one"


def test_git_is_left_alone(session: Session) -> None:
    session.write("a", "one\n")
    git = ["git", "-C", str(session.root), "-c", "user.name=n", "-c", "user.email=e"]
    subprocess.run([*git, "init", "-q"], check=True, timeout=30)
    session.bash(
        "git add a && git -c user.name=n -c user.email=e commit -qm one && echo two > a && git add a"
    )
    session.undo()
    assert session.read("a") == "one\n"
    staged = subprocess.run([*git, "show", ":a"], capture_output=True, check=True, timeout=30)
    assert staged.stdout == b"two\n"
    assert all(not each.path.startswith(".git") for each in session.changes())


def test_ignored_files_are_left_as_they_are(session: Session) -> None:
    session.write(".gitignore", "build/\n*.log\n")
    session.write("build/deep/out.o", "1")
    session.write("src/a.log", "1")
    session.write("src/deep/b.log", "1")
    session.during_command(lambda: None)
    session.shell("echo 2 > build/deep/out.o; echo 2 > src/a.log; echo 2 > src/deep/a.py; echo 3 > build/new")
    assert "stayed" not in session.undo().message
    assert session.read("build/deep/out.o") == "2\n"
    assert session.read("src/a.log") == "2\n"
    assert session.read("build/new") == "3\n"
    assert not (session.root / "src" / "deep" / "a.py").exists()


def test_files_that_other_ignore_rules_let_in_are_not_taken_for_new(session: Session) -> None:
    session.write(".gitignore", "data/\nnotes\n")
    session.write("data/precious", "years of work")
    session.write("notes", "mine")
    session.shell("rm .gitignore; echo new > a")
    session.undo()
    assert session.read("data/precious") == "years of work"
    assert session.read("notes") == "mine"
    assert session.read(".gitignore") == "data/\nnotes\n"
    assert not (session.root / "a").exists()


def test_files_that_new_ignore_rules_shut_out_are_not_taken_for_deleted(session: Session) -> None:
    session.write("data/one", "1")
    session.write("data/two", "2")
    session.shell("echo data/ > .gitignore; echo 3 > data/one; rm data/two")
    assert sorted(each.path for each in session.changes()) == [".gitignore", "data/one", "data/two"]
    session.undo()
    assert session.tree().keys() == {b"data", b"data/one", b"data/two"}
    assert session.read("data/one") == "1"


def test_rules_outside_the_workspace_are_asked_again_when_they_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = tmp_path / "config" / "git" / "ignore"
    rules.parent.mkdir(parents=True)
    rules.write_text("data\n", encoding="utf-8")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    session = Session(tmp_path)
    session.write("data/precious", "mine")
    session.turn()
    session.shell("true")
    rules.write_text("", encoding="utf-8")
    session.shell("echo 1 > a")
    session.undo()
    assert session.tree().keys() == {b"data", b"data/precious"}


def test_a_new_folder_that_holds_ignored_files_stays_and_is_named(session: Session) -> None:
    session.write(".gitignore", "*.pyc\n")
    session.shell("mkdir -p pkg/cache; echo 1 > pkg/a.py; echo 1 > pkg/cache/a.pyc")
    told = session.undo()
    assert "pkg stayed" in told.message
    assert session.tree().keys() == {b".gitignore", b"pkg", b"pkg/cache", b"pkg/cache/a.pyc"}
    session.redo()
    assert session.read("pkg/a.py") == "1\n"


def test_ignored_folders_that_a_command_removes_are_named(session: Session) -> None:
    session.write(".gitignore", "node_modules/\n")
    session.write("node_modules/x/y", "1")
    session.write("a", "1")
    session.shell("rm -r node_modules; rm a")
    assert "node_modules (left out by the ignore rules)" in session.undo().message
    assert session.read("a") == "1"


NAMES_IT = "left out by the ignore rules"


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("rm build/out build/sub/x", "build (changed inside, "),
        ("rm build/sub/x", "build (changed inside, "),
        ("rm -rf build", "build ("),
        ("rm -rf build/*", "build (changed inside, "),
        ("rm -f secret.log", "secret.log ("),
        ("echo 2 >> .env", ".env (changed, "),
        ("chmod 600 .env", ".env (changed, "),
        ("echo 2 >> build/sub/x", "build (changed inside, "),
        ("echo 1 > build/new", "build (changed inside, "),
        ("echo 1 > src/new.log", "src/new.log (new, "),
        ("mkdir out build/deep; echo 1 > out/a.log", "out (new, "),
        ("echo 1 > empty/a.log", "empty (changed inside, "),
        ("mv build dist", "dist (moved here from what was "),
        ("mv secret.log src/public", "src/public (moved here from what was "),
    ],
)
def test_what_a_command_changes_of_what_is_ignored_is_named(
    session: Session, command: str, named: str
) -> None:
    session.write(".gitignore", "build/\n*.log\n.env\n")
    for path in ("build/out", "build/sub/x", "secret.log", ".env", "src/a.py", "t.txt"):
        session.write(path, "1")
    (session.root / "empty").mkdir()
    session.shell(f"{command}; echo 2 > t.txt")
    assert [each.path for each in session.changes()] == ["t.txt"]
    is_trace = named.endswith((NEW, CHANGED_INSIDE))
    assert [told.endswith(f"{NAMES_IT}.") for told in session.told] == [True] * (not is_trace)
    after = session.tree()
    assert f"{named}{NAMES_IT}" in session.undo().message
    assert session.read("t.txt") == "1"
    assert session.tree().keys() == after.keys()


def test_what_is_ignored_and_left_alone_is_not_named(session: Session) -> None:
    session.write(".gitignore", "build/\n*.log\n")
    for path in ("build/sub/x", "src/a.log", "src/a.py", "only/a.log"):
        session.write(path, "1")
    (session.root / "empty").mkdir()
    session.shell("cat build/sub/x */*.log; rm src/a.py; rmdir empty; echo 2 > only/new.py")
    assert sorted(each.path for each in session.changes()) == ["empty", "only/new.py", "src/a.py"]
    session.shell("git init -q .")
    assert not session.told
    assert "Not in it" not in session.undo().message


def test_an_ignored_folder_that_two_commands_empty_and_remove_does_not_come_back_as_if_whole(
    session: Session,
) -> None:
    session.write(".gitignore", "build/\n")
    session.write("build/sub/x", "1")
    session.shell("rm build/sub/x")
    session.shell("rm -rf build")
    assert f"build (changed inside, {NAMES_IT})" in session.undo().message


def test_a_turn_that_changed_only_what_is_ignored_is_named_before_undo_goes_further_back(
    session: Session,
) -> None:
    session.write(".gitignore", "*.log\n")
    session.write("secret.log", "1")
    session.write("other.log", "1")
    session.patch("wanted", "", "made")
    turn = session.turn()
    session.shell("rm -f secret.log")
    session.shell("rm -f other.log")
    assert session.told == [f"/undo will not take back secret.log: {NAMES_IT}."]
    with pytest.raises(UndoRefused) as refused:
        session.undo()
    assert refused.value.code == "not_kept"
    assert f"Turn {turn} may have changed" in refused.value.message
    assert "secret.log" in refused.value.message
    assert "other.log" in refused.value.message
    assert session.read("wanted") == "made"
    assert session.undo().turn == turn - 1


def test_what_tests_and_builds_leave_is_named_but_stops_no_undo(session: Session) -> None:
    session.write(".gitignore", ".cache/\nbuild/\n")
    session.write("build/out", "1")
    session.patch("wanted", "", "made")
    turn = session.turn()
    session.shell("mkdir .cache; echo 1 > .cache/x; echo 22 > build/out; echo 3 > build/new")
    assert not session.told
    restored = session.undo()
    assert restored.turn == turn - 1
    assert f".cache (new, {NAMES_IT}), build (changed inside, {NAMES_IT})" in restored.message
    assert not (session.root / "wanted").exists()


def test_a_large_ignored_folder_is_watched_no_further_than_a_bound(session: Session) -> None:
    session.bounded(left_out_entries=40)
    session.write(".gitignore", "modules/\nbuild/\n")
    session.write("build/sub/x", "1")
    for number in range(100):
        session.write(f"modules/m{number}/deep/f", "1")
    listed = asyncio.run(session.undoer.snapshots._look_and_mark())
    assert len(listed.marks) <= 40
    assert {"modules", "build", "build/sub", "build/sub/x"} <= set(listed.marks)
    session.shell("rm build/sub/x; rm -r modules/m7; echo 1 > a")
    message = session.undo().message
    assert f"build (changed inside, {NAMES_IT})" in message
    assert f"modules (changed inside, {NAMES_IT})" in message


def test_what_a_crash_left_of_ignored_changes_is_named(session: Session) -> None:
    session.write(".gitignore", "build/\n")
    session.write("build/x", "1")
    session.dies_at = lambda event: isinstance(event, FilesChanged)
    with pytest.raises(Crash):
        session.shell("rm build/x; echo 1 > a")
    session.restart()
    assert f"build (changed inside, {NAMES_IT})" in session.undo().message


def test_fidos_own_files_are_never_in_it(session: Session) -> None:
    session.write(".fido-plan.json", "1")
    session.write(".fido-config.toml", "1")
    session.shell("echo 2 > .fido-plan.json; echo 2 > .fido-config.toml; echo 2 > .fido-1-2.tmp")
    assert [each.path for each in session.changes()] == [".fido-config.toml"]


def test_a_state_folder_inside_the_workspace_is_never_in_it(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.folder = session.root / "state" / "fido" / "undo" / "s-1"
    session.write("state/fido/sessions/s-1.jsonl", "log")
    session.write("state/other", "1")
    session.start()
    session.turn()
    session.shell("echo more >> state/fido/sessions/s-1.jsonl; echo 2 > state/other")
    assert [each.path for each in session.changes()] == ["state/other"]
    session.undo()
    assert session.read("state/fido/sessions/s-1.jsonl") == "logmore\n"


def test_a_file_too_large_to_keep_is_named_and_the_rest_is_taken_back(session: Session) -> None:
    with open(session.root / "big", "wb") as file:
        file.truncate(session.bounds.file_bytes + 1)
    session.write("a", "1")
    session.shell("printf x | dd of=big conv=notrunc status=none; echo 2 > a")
    assert "big (larger than 16 MB)" in session.undo().message
    assert session.read("a") == "1"


@pytest.mark.parametrize(
    ("bound", "value", "reason"),
    [
        ("workspace_entries", 20, "more than 20 files"),
        ("workspace_bytes", 1 << 20, "more than 1 MB of files"),
    ],
)
def test_a_workspace_past_the_bounds_is_told_once_and_undo_names_it(
    session: Session, bound: str, value: int, reason: str
) -> None:
    session.bounded(**{bound: value})
    for number in range(30):
        session.write(f"f{number}", "x" * (1 << 16))
    session.shell("rm f1")
    session.shell("rm f2")
    assert len(session.told) == 1
    assert reason in session.told[0]
    with pytest.raises(UndoRefused) as refused:
        session.undo()
    assert refused.value.code == "nothing_to_undo"
    assert reason in refused.value.message
    session.patch("f3", "x" * (1 << 16), "y")
    assert reason in session.undo().message
    assert session.read("f3") == "x" * (1 << 16)


def test_a_turn_of_which_nothing_was_kept_is_not_passed_over_in_silence(session: Session) -> None:
    session.patch("wanted", "", "made")
    session.bounded(workspace_bytes=1)
    session.write("big", "more than a byte")
    turn = session.turn()
    session.shell("echo 1 > unwanted")
    with pytest.raises(UndoRefused) as refused:
        session.undo()
    assert refused.value.code == "not_kept"
    assert f"Turn {turn} may have changed" in refused.value.message
    assert f"/undo again takes back turn {turn - 1}" in refused.value.next_step
    assert session.read("wanted") == "made"
    assert session.undo().turn == turn - 1
    assert not (session.root / "wanted").exists()


def test_pipes_and_sockets_are_left_alone(session: Session) -> None:
    os.mkfifo(session.root / "pipe")
    session.write("a", "1")
    session.shell("echo 2 > a; mkfifo new; rm pipe; mkdir d; mkfifo d/pipe")
    restored = session.undo()
    assert "new (new, no regular file)" in restored.message
    assert "pipe (no regular file)" in restored.message
    assert "d (new, left out by the ignore rules)" in restored.message
    assert session.read("a") == "1"
    assert {b"new", b"d", b"d/pipe"} <= set(os.listdir(os.fsencode(session.root))) | {b"d/pipe"}


def test_a_workspace_that_takes_too_long_is_given_up_once_and_for_all(session: Session) -> None:
    session.write("a", "1")
    session.bounded(listing_s=0.0)
    session.shell("echo 2 > a")
    session.shell("echo 3 > a")
    assert len(session.told) == 1
    assert "takes" in session.told[0]
    assert not session.changes()
