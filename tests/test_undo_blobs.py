"""The store of kept contents: each once, whole or not at all, private, bounded."""

import fcntl
import os
import threading
from pathlib import Path

import pytest

from actors.undo.blobs import Blobs, ContentLost, StoreFull
from actors.undo.bounds import Bounds
from tests.fakes.session_events import small_files


def store(base: Path, session: str = "s-1", **bounds: int) -> Blobs:
    return Blobs(base / "undo" / session, Bounds(**bounds))


def test_contents_come_back_and_are_kept_once(tmp_path: Path) -> None:
    kept = store(tmp_path)
    names = [kept.keep(data) for data in (b"one", b"", bytes(range(256)) * 300, b"one")]
    assert names[0] == names[3]
    assert [kept.get(name) for name in names[:3]] == [b"one", b"", bytes(range(256)) * 300]
    size = (kept.folder / "contents").stat().st_size
    assert size == 3 * 40 + 3 + 256 * 300
    kept.close()
    again = store(tmp_path)
    assert [again.get(name) for name in names[:3]] == [b"one", b"", bytes(range(256)) * 300]
    assert again.keep(b"one") == names[0]
    assert (kept.folder / "contents").stat().st_size == size


def test_a_store_that_was_never_used_leaves_no_folder(tmp_path: Path) -> None:
    kept = store(tmp_path)
    assert not kept.has("0" * 64)
    with pytest.raises(ContentLost):
        kept.get("0" * 64)
    assert not kept.folder.exists()


@pytest.mark.parametrize("torn", range(1, 45))
def test_a_record_that_was_cut_off_is_gone_and_those_before_it_are_not(tmp_path: Path, torn: int) -> None:
    kept = store(tmp_path)
    first, last = kept.keep(b"first"), kept.keep(b"last!")
    kept.close()
    contents = kept.folder / "contents"
    os.truncate(contents, contents.stat().st_size - torn)
    again = store(tmp_path)
    assert again.get(first) == b"first"
    assert not again.has(last)
    assert again.keep(b"last!") == last
    assert again.get(last) == b"last!"


def test_a_content_that_the_disk_has_changed_is_lost_and_not_given_out(tmp_path: Path) -> None:
    kept = store(tmp_path)
    name = kept.keep(b"content")
    path = kept.folder / "contents"
    path.write_bytes(path.read_bytes().replace(b"content", b"CONTENT"))
    with pytest.raises(ContentLost):
        kept.get(name)


def test_a_full_disk_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    kept = store(tmp_path)
    name = kept.keep(b"x" * 1000)
    with small_files(2000), pytest.raises(OSError, match="File too large"):
        kept.keep(b"y" * 5000)
    assert kept.get(name) == b"x" * 1000
    other = kept.keep(b"z" * 5000)
    kept.close()
    assert store(tmp_path).get(other) == b"z" * 5000


def test_a_store_that_somebody_looks_at_for_a_moment_is_waited_for(tmp_path: Path) -> None:
    kept = store(tmp_path)
    name = kept.keep(b"precious")
    kept.close()
    looking = os.open(kept.folder / "contents", os.O_RDWR)
    fcntl.flock(looking, fcntl.LOCK_EX)
    leaves = threading.Timer(0.05, os.close, [looking])
    leaves.start()
    assert kept.get(name) == b"precious"
    leaves.join()
    kept.close()


def test_a_store_that_could_not_be_opened_is_opened_later(tmp_path: Path) -> None:
    kept = store(tmp_path)
    name = kept.keep(b"precious")
    kept.close()
    (kept.folder / "contents").rename(tmp_path / "away")
    assert not kept.has(name)
    (tmp_path / "away").rename(kept.folder / "contents")
    assert kept.get(name) == b"precious"


def test_a_store_is_bounded(tmp_path: Path) -> None:
    kept = store(tmp_path, session_bytes=1000)
    name = kept.keep(b"x" * 500)
    with pytest.raises(StoreFull):
        kept.keep(b"y" * 500)
    assert kept.keep(b"x" * 500) == name


def test_what_is_kept_is_for_its_owner_alone(tmp_path: Path) -> None:
    kept = store(tmp_path)
    kept.keep(b"secret")
    assert kept.folder.stat().st_mode & 0o777 == 0o700
    assert kept.folder.parent.stat().st_mode & 0o777 == 0o700
    assert (kept.folder / "contents").stat().st_mode & 0o777 == 0o600


def aged(base: Path, number: int, size: int = 10, **bounds: int) -> Blobs:
    kept = store(base, f"s-{number}", **bounds)
    kept.keep(b"x" * size)
    os.utime(kept.folder / "contents", (number, number))
    return kept


def sessions(base: Path) -> set[str]:
    return {folder.name for folder in (base / "undo").iterdir()}


def test_the_oldest_sessions_go_and_never_a_running_one(tmp_path: Path) -> None:
    running = aged(tmp_path, 1)
    for number in range(2, Bounds().sessions + 3):
        aged(tmp_path, number).close()
    newest = aged(tmp_path, 99)
    assert len(sessions(tmp_path)) == Bounds().sessions + 1
    assert {"s-1", "s-99"} <= sessions(tmp_path)
    assert not sessions(tmp_path) & {"s-2", "s-3"}
    running.close()
    newest.close()


def test_all_sessions_together_are_bounded(tmp_path: Path) -> None:
    for number in range(1, 6):
        aged(tmp_path, number, 1000, sessions_bytes=3000).close()
    assert sessions(tmp_path) == {"s-3", "s-4", "s-5"}
