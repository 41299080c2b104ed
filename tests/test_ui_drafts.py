"""What was written and not sent is taken up again, whatever has ended in between, and never sent unasked."""

import asyncio
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ipc.endpoints import Run, create_run
from ipc.messages import StartTurn, TurnStarted
from tests.fakes.facts import finished, session
from tests.fakes.screen import Desktop
from ui import keys
from ui.composer import prompt_file
from ui.composer.draft import Draft
from ui.composer.keeper import Keeper

SESSION_ID = "20250101-101112-7f3a"
LONG = "line\n" * 500


class Sitting:
    """A screen that keeps what is written on it, until it is left or killed."""

    def __init__(self, run_id: str, folder: Path, loop: asyncio.AbstractEventLoop, typed: str = "") -> None:
        """`typed`: before the draft was found."""
        self.desk = Desktop().type(typed)
        self.keeper = Keeper(self.desk.view, lambda: self.desk.screen.composer, loop)
        run = Run(run_id, SESSION_ID, "/workspace", 1, drafts=str(folder / "drafts"))
        self.keeper.begin(run, folder / "root")

    def tell(self, session_id: str = SESSION_ID, *, turns: int = 0, prompt: str = "x") -> "Sitting":
        """Open a session in which so many turns are over, each with this prompt."""
        self.desk.tell(session(session_id=session_id))
        for turn in range(1, turns + 1):
            self.desk.tell(TurnStarted(turn=turn, prompt=prompt), finished(turn))
        self.keeper.settle()
        self.desk.tell()
        return self

    def busy(self) -> "Sitting":
        """Begin a turn, so that what is sent waits."""
        self.desk.tell(TurnStarted(turn=9, prompt="busy"))
        return self

    def kill(self) -> None:
        """End as by SIGKILL: what is on disk is all there is, and the lock is free."""
        self.keeper.look(urgent=True)
        assert self.keeper.slot is not None
        self.keeper.slot.release()

    @property
    def draft(self) -> str:
        return self.desk.screen.composer.editor.draft().whole

    @property
    def queue(self) -> list[str]:
        return self.desk.view.desk.queue


Sit = Callable[..., Sitting]


@pytest.fixture
def sit(tmp_path: Path) -> Iterator[Sit]:
    loop = asyncio.new_event_loop()
    (tmp_path / "root").mkdir()
    yield lambda run_id="0123456789ab", typed="": Sitting(run_id, tmp_path, loop, typed)
    loop.close()


def test_a_draft_with_a_paste_and_its_cursor_survives_a_screen_that_is_killed(sit: Sit) -> None:
    before = sit()
    before.desk.type("a").press(keys.Pasted(LONG)).type("bc").press("left")
    before.kill()
    after = sit()
    assert after.draft == f"a{LONG}bc"
    assert after.desk.screen.composer.editor.edit_pos == 3
    assert after.desk.view.desk.message is None


def test_what_was_typed_before_the_draft_was_found_stands_behind_it(sit: Sit) -> None:
    before = sit()
    before.desk.type("found")
    before.kill()
    assert sit(typed="typed").draft == "found\ntyped"


def test_what_was_queued_in_the_same_session_is_queued_again(sit: Sit) -> None:
    before = sit().tell().busy()
    before.desk.type("next").press("enter").type("after it").press("enter").type("draft")
    before.kill()
    after = sit()
    assert (after.queue, after.draft) == ([], "draft")
    after.tell().busy()
    assert (after.queue, after.draft) == (["after it"], "draft")
    assert after.desk.orders == [StartTurn(prompt="next")]


def test_what_was_queued_in_another_session_joins_the_draft_and_is_not_sent(sit: Sit) -> None:
    before = sit("a" * 12).tell().busy()
    before.desk.type("one").press("enter").type("two").press("enter").type("draft")
    before.kill()
    after = sit("b" * 12).tell("another-session")
    assert after.draft == "one\n\ntwo\ndraft"
    assert (after.queue, after.desk.orders) == ([], [])
    assert "not sent when Fido ended" in after.desk.words


def test_a_message_that_is_being_edited_is_kept_as_it_was_changed(sit: Sit) -> None:
    before = sit().tell().busy()
    before.desk.type("one").press("enter").type("draft").press("meta up").type("!")
    before.kill()
    after = sit()
    assert after.draft == "draft"
    after.tell().desk.tell()
    assert after.desk.orders == [StartTurn(prompt="one!")]


@pytest.mark.parametrize(
    ("turns", "prompt", "again"), [(1, "go", True), (2, "go", False), (2, "of another screen", True)]
)
def test_a_message_that_was_on_its_way_is_sent_again_only_if_it_did_not_arrive(
    sit: Sit, turns: int, prompt: str, again: bool
) -> None:
    before = sit().tell(turns=1)
    before.desk.type("go").press("enter")
    assert before.desk.orders == [StartTurn(prompt="go")]
    before.kill()
    after = sit().tell(turns=turns, prompt=prompt)
    assert after.desk.orders == ([StartTurn(prompt="go")] if again else [])
    assert (after.draft, after.queue) == ("", [])


def test_a_queued_message_that_was_being_emptied_is_not_sent_after_a_crash(sit: Sit) -> None:
    before = sit().tell().busy()
    before.desk.type("queued").press("enter").press("meta up", "ctrl u")
    before.kill()
    after = sit().tell()
    assert (after.desk.orders, after.queue, after.draft) == ([], [], "")


def test_the_draft_is_kept_while_one_walks_the_history_and_so_is_what_is_changed_there(sit: Sit) -> None:
    before = sit().tell()
    before.desk.view.desk.history.fill(["an old prompt"])
    before.desk.type("a long draft").press("up")
    before.kill()
    middle = sit()
    assert middle.draft == "a long draft"
    middle.desk.view.desk.history.fill(["an old prompt"])
    middle.desk.press("up").type("!")
    middle.kill()
    assert sit().draft == "a long draft\n\nan old prompt!"


def test_who_leaves_finds_the_draft_again_and_not_the_queue(sit: Sit) -> None:
    before = sit("a" * 12).tell().busy()
    before.desk.type("queued").press("enter").type("draft")
    before.keeper.end(left=True)
    assert sit("b" * 12).tell("another-session").draft == "draft"


def test_a_screen_that_keeps_nothing_leaves_nothing(sit: Sit, tmp_path: Path) -> None:
    sitting = sit().tell()
    sitting.desk.type("sent").press("enter").tell(TurnStarted(turn=1, prompt="sent"))
    sitting.keeper.end(left=False)
    assert list((tmp_path / "drafts").iterdir()) == []


def test_each_screen_of_a_run_keeps_a_draft_of_its_own(sit: Sit, tmp_path: Path) -> None:
    place = create_run(tmp_path / "root", Run("a" * 12, SESSION_ID, "/workspace", 1))
    first, second = sit("a" * 12), sit("a" * 12)
    first.desk.type("of the first")
    second.desk.type("of the second")
    second.kill()
    again = sit("a" * 12)
    assert again.draft == "of the second"
    first.kill()
    assert sit("a" * 12).draft == "of the first"
    place.remove()
    again.kill()
    assert "of the second" in sit("b" * 12).draft


def test_the_draft_of_a_run_that_lives_is_left_to_it(sit: Sit, tmp_path: Path) -> None:
    place = create_run(tmp_path / "root", Run("a" * 12, SESSION_ID, "/workspace", 1))
    before = sit("a" * 12)
    before.desk.type("its screen starts again")
    before.kill()
    assert sit("b" * 12).draft == ""
    assert sit("a" * 12).draft == "its screen starts again"
    place.remove()


def test_drafts_of_several_dead_runs_are_joined_and_kept_by_the_one_that_took_them(sit: Sit) -> None:
    sittings = [sit("a" * 12), sit("b" * 12)]  # the second can not take what the first still has
    for sitting, text in zip(sittings, ("one", "two"), strict=True):
        sitting.desk.type(text)
        sitting.kill()
    taking = sit("c" * 12)
    assert sorted(taking.draft.split("\n\n")) == ["one", "two"]
    taking.kill()
    assert sorted(sit("d" * 12).draft.split("\n\n")) == ["one", "two"]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"one\r\ntwo\r\n", "one\ntwo"),
        (b"one\n\n", "one\n"),
        (b"", ""),
        ("\ufeffa\u200cb \ue0b0\n".encode(), "\ufeffa\u200cb \ue0b0"),
        (b"line\n" * 4_000_000, ("line\n" * 4_000_000)[:-1]),
    ],
)
def test_what_an_editor_saved_is_taken_as_it_is_and_whole(tmp_path: Path, data: bytes, text: str) -> None:
    file = tmp_path / "prompt-1.md"
    file.write_bytes(data)
    assert prompt_file.saved(file) == text


def test_drafts_are_for_their_owner_alone(sit: Sit, tmp_path: Path) -> None:
    sitting = sit()
    sitting.desk.type("secret plans")
    sitting.kill()
    sitting.desk.press(keys.Pasted(LONG))
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "drafts").rglob("*")}
    assert modes == {0o700, 0o600}


def test_a_damaged_draft_is_no_reason_not_to_start(sit: Sit, tmp_path: Path) -> None:
    before = sit()
    before.desk.type("text")
    before.kill()
    (file,) = (tmp_path / "drafts").rglob("draft.json")
    file.write_text('{"draft": 3', encoding="utf-8")
    assert sit().draft == ""


def test_where_nothing_can_be_kept_that_is_said_and_one_writes_on(sit: Sit, tmp_path: Path) -> None:
    (tmp_path / "drafts").touch()
    sitting = sit()
    assert "What you write is not kept for a crash: File exists." in sitting.desk.words
    sitting.desk.type("text")
    sitting.keeper.look(urgent=True)
    sitting.keeper.end(left=False)
    assert sitting.draft == "text"


def test_a_draft_that_can_not_be_kept_is_said_once_and_tried_again(sit: Sit, tmp_path: Path) -> None:
    sitting = sit()
    (slot,) = (tmp_path / "drafts").iterdir()
    (slot / "draft.json.new").mkdir()
    sitting.desk.type("a")
    sitting.keeper.look(urgent=True)
    assert "Is a directory; Fido tries again" in sitting.desk.words
    sitting.desk.type("b")
    sitting.keeper.look(urgent=True)
    assert sitting.desk.view.desk.message is None
    (slot / "draft.json.new").rmdir()
    sitting.keeper.look(urgent=True)
    sitting.kill()
    assert sit().draft == "ab"


def test_a_folder_that_is_gone_is_made_again(sit: Sit, tmp_path: Path) -> None:
    sitting = sit()
    sitting.desk.type("one ").press(keys.Pasted(LONG))
    sitting.keeper.look(urgent=True)
    shutil.rmtree(tmp_path / "drafts")
    sitting.desk.type("two")
    sitting.kill()
    assert sit().draft == f"one {LONG}two"


def test_a_paste_is_written_once_and_goes_with_its_draft(sit: Sit, tmp_path: Path) -> None:
    sitting = sit()
    sitting.desk.press(keys.Pasted(LONG))
    sitting.keeper.look(urgent=True)
    (paste,) = (tmp_path / "drafts").rglob("paste-*")
    written = paste.stat()
    sitting.desk.type("more")
    sitting.keeper.look(urgent=True)
    assert paste.stat() == written
    (kept,) = (tmp_path / "drafts").rglob("draft.json")
    assert kept.stat().st_size < 200
    sitting.desk.press("ctrl u")
    sitting.keeper.look(urgent=True)
    assert not paste.exists()


@pytest.mark.parametrize(
    ("saves", "found"),
    [(None, f"see {LONG}"), (f"read {LONG} twice\n", f"read {LONG} twice"), ("", f"see {LONG}")],
)
def test_what_was_saved_in_an_editor_is_the_draft_when_the_screen_dies(
    sit: Sit, tmp_path: Path, saves: str | None, found: str
) -> None:
    before = sit()
    before.desk.type("see ").press(keys.Pasted(LONG))
    before.keeper.look(urgent=True)
    assert before.keeper.slot is not None
    file = prompt_file.in_folder(before.keeper.slot.folder)
    prompt_file.write(file, before.draft)
    if saves is not None:
        file.write_text(saves, encoding="utf-8")
    before.kill()
    after = sit("b" * 12)
    assert after.draft == found
    assert after.desk.line_with("[paste #1: 500 lines]")
    assert not list((tmp_path / "drafts").rglob("*prompt*"))


def test_the_queue_counts_what_is_being_edited_once() -> None:
    desk = Desktop().tell(session(), TurnStarted(turn=1, prompt="x"))
    desk.type("one").press("enter", "meta up")
    assert desk.view.desk.outbox.with_edited(Draft("changed")) == (Draft(), [Draft("changed")])
