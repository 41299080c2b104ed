"""The file of a session: one event a line, and a damaged line costs itself alone."""

import json
import os
import subprocess
import sys
import tracemalloc
from itertools import chain
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actors.conversation import encode_tool_result
from actors.session.events import CallStarted, ConversationCompacted, MessageAppended, PromptTaken
from actors.session.history import History
from actors.session.log import LogFailed, Recovery, SessionLog, read_log
from actors.session.replay import Replay
from actors.session.summaries import summaries
from ipc.messages import TurnFinished
from tests.fakes.launch import DEADLINE_S, ROOT
from tests.fakes.session_events import (
    HEADER,
    conversation,
    fold,
    messages,
    opened,
    refusal_to_open,
    said,
    small_files,
    whole_turn,
    written,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "fido" / "sessions"


# --- writing -----------------------------------------------------------------------------------------------


def test_what_is_appended_is_there_at_once_and_after_opening_again(folder: Path) -> None:
    log = SessionLog.create(folder, "s-1", HEADER)
    log.append(PromptTaken(turn=1, text="hello", at="now"))
    assert read_log(log.path).events == (HEADER, PromptTaken(turn=1, text="hello", at="now"))
    log.close()
    again, recovery = SessionLog.open(log.path)
    assert recovery == Recovery((HEADER, PromptTaken(turn=1, text="hello", at="now")))
    again.append(said("more"))
    again.close()
    assert messages(opened(log.path)) == ["more"]


def test_the_log_is_private(folder: Path) -> None:
    path = written(folder)
    assert path == folder / "s-1.jsonl"
    assert path.stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700


HOSTILE = "a\nb\rc\u2028d\u2029e\x85f\x0cg\x00h\x1b[2Ji\ufeffj\U000e0041"


@pytest.mark.parametrize("text", [HOSTILE, "x" * 2_000_000, ""])
def test_any_text_stays_on_one_line_and_comes_back_equal(folder: Path, text: str) -> None:
    message = encode_tool_result("c", text)
    path = written(folder, said(text), MessageAppended(turn=1, message=msgspec.Raw(message)), said("end"))
    assert path.read_bytes().count(b"\n") == 4
    recovery = opened(path)
    assert messages(recovery) == [text, "end"]
    assert fold(recovery.events).messages == ()
    (appended,) = (event for event in recovery.events if isinstance(event, MessageAppended))
    assert bytes(appended.message) == message


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(texts=st.lists(TEXTS, max_size=5))
def test_every_event_is_one_json_line(tmp_path: Path, texts: list[str]) -> None:
    path = written(tmp_path, *map(said, texts))
    lines = path.read_bytes().split(b"\n")
    assert lines.pop() == b""
    assert [json.loads(line)["event"].get("message") for line in lines] == [None, *texts]
    assert messages(opened(path)) == texts
    path.unlink()


@pytest.mark.parametrize("text", ["\udce9", "a\ud83d", "\ude00\ud83d", "\U0001f600\udfff\\ud83d"])
def test_half_a_surrogate_pair_comes_back_equal(folder: Path, text: str) -> None:
    started = CallStarted(turn=1, call_id="c", name="read_file", arguments=text, summary=text)
    path = written(folder, said(text), started, said("end"))
    assert path.read_bytes().decode("utf-8")
    assert opened(path).events[1:] == (said(text), started, said("end"))


def test_messages_go_in_byte_for_byte(folder: Path) -> None:
    odd = b'{"role" : "user","content":"\\u00e9 \xc3\xa9","b":1,"a":1e0}'
    recovery = opened(written(folder, MessageAppended(turn=1, message=msgspec.Raw(odd))))
    assert fold(recovery.events).messages == (odd,)


def test_a_message_of_several_lines_is_a_fault_of_the_caller(folder: Path) -> None:
    log = SessionLog.create(folder, "s-1", HEADER)
    with pytest.raises(ValueError, match="several lines"):
        log.append(MessageAppended(turn=1, message=msgspec.Raw(b'{"role":\n"user"}')))
    log.append(said("still usable"))
    log.close()
    assert messages(opened(log.path)) == ["still usable"]


@pytest.mark.parametrize("session_id", ["../s", "a/b", "", ".hidden", "x" * 65, "a\n"])
def test_a_session_id_can_not_name_another_place(folder: Path, session_id: str) -> None:
    with pytest.raises(ValueError, match="not a session id"):
        SessionLog.create(folder, session_id, HEADER)


# --- one writer --------------------------------------------------------------------------------------------


def test_a_session_has_one_writer_until_that_ends(folder: Path) -> None:
    log = SessionLog.create(folder, "s-1", HEADER)
    refusal_to_open("session_in_use", log.path)
    assert read_log(log.path).events == (HEADER,)
    log.close()
    opened(log.path)


def test_a_killed_writer_frees_the_session_and_loses_nothing(folder: Path) -> None:
    code = f"""
import os, sys; sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from tests.fakes.session_events import HEADER, said
from actors.session.log import SessionLog
log = SessionLog.create(Path(sys.argv[1]), "s-1", HEADER)
for number in range(100):
    log.append(said(str(number)))
os.kill(os.getpid(), 9)
"""
    run = subprocess.run([sys.executable, "-c", code, str(folder)], timeout=DEADLINE_S, check=False)
    assert run.returncode == -9
    assert messages(opened(folder / "s-1.jsonl")) == [str(number) for number in range(100)]


WRITER = """
import os, sys
from pathlib import Path
import msgspec
from actors.session.log import LogFailed, SessionLog
from tests.fakes.session_events import HEADER, prompted, said
folder, number = Path(sys.argv[1]), sys.argv[2]
header = msgspec.structs.replace(HEADER, session_id=f"s-{number}")
sys.stdin.readline()
try:
    SessionLog.create(folder, "s-shared", header)
    print("first", flush=True)
except LogFailed as failed:
    print(failed.code, flush=True)
log = SessionLog.create(folder, f"s-{number}", header)
for turn in range(1, 101):
    for event in prompted(turn, number):
        log.append(event)
    if turn == int(sys.argv[3]):
        os.kill(os.getpid(), 9)
"""


def test_eight_sessions_at_once_in_one_folder_do_one_another_no_harm(folder: Path) -> None:
    """They share no file; whoever comes second to one that is meant for all is refused; some are killed."""
    folder.mkdir(parents=True)
    killed_at = [0, 0, 0, 0, 0, 99, 50, 1]
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{WRITER}"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(folder), str(number), str(turn)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for number, turn in enumerate(killed_at)
    ]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write(b"go\n")
        writer.stdin.flush()
    while any(writer.poll() is None for writer in writers):
        assert all(one.turns <= 100 for one in summaries(folder, "/w", ()))
    begun = sorted(writer.communicate(timeout=DEADLINE_S)[0] for writer in writers)
    assert begun == [b"first\n", *[b"log_failed\n"] * 7]
    found = {one.session_id: (one.turns, one.first_prompt) for one in summaries(folder, "/w", ())}
    assert found == {f"s-{number}": (turn or 100, str(number)) for number, turn in enumerate(killed_at)}
    for path in folder.glob("*.jsonl"):
        assert opened(path).notice() == ""


def test_an_existing_session_is_not_begun_again(folder: Path) -> None:
    path = written(folder, said("kept"))
    with pytest.raises(LogFailed, match="File exists"):
        SessionLog.create(folder, "s-1", HEADER)
    assert messages(opened(path)) == ["kept"]


# --- failing disks -----------------------------------------------------------------------------------------


def test_a_line_that_does_not_fit_waits_for_room_and_keeps_its_place(folder: Path) -> None:
    log = SessionLog.create(folder, "s-1", HEADER)
    before = log.path.read_bytes()
    with small_files(1000):
        for text in ("x" * 2000, "behind it"):
            with pytest.raises(LogFailed, match="File too large") as caught:
                log.append(said(text))
            assert caught.value.code == "log_full"
    assert log.path.read_bytes() == before
    log.append(said("with room again"))
    log.sync()
    log.close()
    assert messages(opened(log.path)) == ["x" * 2000, "behind it", "with room again"]


def test_what_waits_is_written_at_the_end_when_there_is_room(folder: Path) -> None:
    log = SessionLog.create(folder, "s-1", HEADER)
    with pytest.raises(LogFailed), small_files(1000):
        log.append(said("x" * 2000))
    log.close()
    assert messages(opened(log.path)) == ["x" * 2000]


def test_a_session_that_can_not_begin_leaves_nothing(folder: Path) -> None:
    with pytest.raises(LogFailed) as caught, small_files(1000):
        SessionLog.create(folder, "s-1", msgspec.structs.replace(HEADER, workspace="/" + "w" * 2000))
    assert caught.value.code == "log_full"
    assert os.listdir(folder) == []


def test_a_folder_that_can_not_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LogFailed, match="Not a directory"):
        SessionLog.create(tmp_path / "file" / "sessions", "s-1", HEADER)


ON_A_FULL_DISK = """
import os, sys
from pathlib import Path
from actors.session.log import LogFailed, SessionLog
from tests.fakes.session_events import HEADER, said
folder = Path(sys.argv[1])
os.system(f"mount -t tmpfs -o size=64k none {folder}")
log = SessionLog.create(folder, "s-1", HEADER)
log.append(said("before"))
(folder / "filler").write_bytes(b"x" * 56 * 1024)
try:
    for number in range(100):
        log.append(said("x" * 3000))
except LogFailed as error:
    print(error.code, 0 < number < 30)
(folder / "filler").unlink()
log.append(said("after"))
log.sync()
log.close()
_, found = SessionLog.open(log.path)
texts = [event.message[:6] for event in found.events[1:]]
print(texts[0], texts[-1], len(texts) - number, found.skipped)
"""


ON_A_READ_ONLY_DISK = """
import os, sys
from pathlib import Path
from actors.session.log import LogFailed, SessionLog, read_log
from tests.fakes.session_events import HEADER
folder = Path(sys.argv[1])
os.system(f"mount --bind {folder} {folder} && mount -o remount,ro,bind {folder}")
for use in (lambda: SessionLog.open(folder / "s-1.jsonl"), lambda: SessionLog.create(folder, "s-2", HEADER)):
    try:
        use()
    except LogFailed as failed:
        print(failed.code, failed.message.rpartition(": ")[2])
print(len(read_log(folder / "s-1.jsonl").events))
"""


def with_own_mounts(code: str, folder: Path) -> list[str]:
    """What a script prints that may mount; everybody may in a user namespace."""
    own_mounts = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-Urm"]
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}"
    run = subprocess.run(
        [*own_mounts, sys.executable, "-c", code, str(folder)],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=True,
    )
    return run.stdout.splitlines()


def test_a_full_disk_loses_nothing_when_there_is_room_again(tmp_path: Path) -> None:
    assert with_own_mounts(ON_A_FULL_DISK, tmp_path) == ["log_full True", "before after 3 ()"]


def test_on_a_read_only_disk_a_session_is_refused_and_can_be_read(folder: Path) -> None:
    path = written(folder, said("kept"))
    before = path.read_bytes()
    assert with_own_mounts(ON_A_READ_ONLY_DISK, folder) == [
        "log_failed Read-only file system.",
        "log_failed Read-only file system.",
        "2",
    ]
    assert (path.read_bytes(), os.listdir(folder)) == (before, ["s-1.jsonl"])


@pytest.mark.parametrize("replaced", [False, True], ids=["deleted", "replaced"])
def test_a_log_that_is_taken_away_is_noticed_at_the_next_event(folder: Path, replaced: bool) -> None:
    log = SessionLog.create(folder, "s-1", HEADER)
    log.path.unlink()
    if replaced:
        log.path.write_text("theirs", encoding="utf-8")
    for use in (lambda: log.append(said("lost")), log.sync, lambda: log.append(said("lost, too"))):
        with pytest.raises(LogFailed, match="deleted or replaced") as caught:
            use()
        assert caught.value.code == "log_gone"
    assert not replaced or log.path.read_text(encoding="utf-8") == "theirs"
    log.close()


def test_a_closed_log_refuses_events(folder: Path) -> None:
    log = SessionLog.create(folder, "s-1", HEADER)
    log.close()
    log.close()
    with pytest.raises(LogFailed, match="closed"):
        log.append(said("late"))


# --- size --------------------------------------------------------------------------------------------------


def test_a_log_is_read_as_a_stream_and_none_of_it_is_kept_twice(folder: Path) -> None:
    """A session that is compacted holds its conversation and what is shown again, however long it is."""
    compacted = ConversationCompacted(turn=1, messages=(), method="trim", before_tokens=9, after_tokens=1)
    turns = [[*whole_turn(turn, 5, "x" * 3000), compacted] for turn in range(1, 200)]
    path = written(folder, *chain(*turns), *whole_turn(999))
    history, replay = History(), Replay(shown=100)
    tracemalloc.start()
    read_log(path, history.apply, replay.apply)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert path.stat().st_size > 4 * peak
    assert len(history.messages) == len(conversation([*whole_turn(999)]))
    assert [fact for fact in replay.facts() if isinstance(fact, TurnFinished)][-1].final_text == "done 999"


def test_a_new_session_is_recorded_whole_or_not_at_all(folder: Path) -> None:
    with pytest.raises(LogFailed), small_files(1000):
        SessionLog.create(folder, "s-1", HEADER, said("x" * 2000))
    assert os.listdir(folder) == []


def test_an_empty_file_is_the_beginning_of_a_session(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "s-1.jsonl").touch()
    SessionLog.create(folder, "s-1", HEADER, said("first")).close()
    assert messages(opened(folder / "s-1.jsonl")) == ["first"]
