"""The list of a workspace's sessions, told from logs that may be long, damaged or no logs at all."""

import os
from pathlib import Path

import msgspec
import pytest

from actors.session.events import PromptTaken, SessionStarted
from actors.session.log import SessionLog
from actors.session.summaries import FIRST_PROMPT, summaries
from ipc.messages import SessionSummary
from tests.fakes.session_events import AT, HEADER, appended, done, long_session, prompted, said, written

CHUNK = 1024 * 1024


def header(session_id: str, workspace: str = "/w") -> SessionStarted:
    return msgspec.structs.replace(HEADER, session_id=session_id, workspace=workspace)


def touched(path: Path, seconds: int) -> Path:
    os.utime(path, (seconds, seconds))
    return path


def ids(found: list[SessionSummary]) -> list[str]:
    return [summary.session_id for summary in found]


def test_what_there_is_of_this_workspace_is_told_the_last_changed_first(tmp_path: Path) -> None:
    touched(written(tmp_path, *prompted(1, "older"), header=header("s-1")), 1_000_000_000)
    touched(written(tmp_path, *prompted(1, "newer"), header=header("s-2")), 1_000_000_060)
    touched(written(tmp_path, *prompted(1, "theirs"), header=header("s-3", "/elsewhere")), 1_000_000_090)
    assert summaries(tmp_path, "/w", {"s-1"}) == [
        SessionSummary(
            session_id="s-2",
            started_at=AT,
            model="m",
            turns=1,
            running=False,
            first_prompt="newer",
            changed_at="2001-09-09T01:47:40.000Z",
        ),
        SessionSummary(
            session_id="s-1",
            started_at=AT,
            model="m",
            turns=1,
            running=True,
            first_prompt="older",
            changed_at="2001-09-09T01:46:40.000Z",
        ),
    ]


def test_prompts_are_counted_and_nothing_that_only_speaks_of_them(tmp_path: Path) -> None:
    path = written(tmp_path, *long_session(500))
    line = path.read_bytes().splitlines()[2].decode()
    assert "PromptTaken" in line
    log, _ = SessionLog.open(path)
    for event in (said(line), done("c", display=line), *prompted(99, line)):
        log.append(event)
    log.close()
    (summary,) = summaries(tmp_path, "/w", ())
    events = [event for event in long_session(500) if isinstance(event, PromptTaken)]
    assert (summary.turns, summary.first_prompt) == (len(events) + 1, "prompt 1")


@pytest.mark.parametrize("offset", range(-40, 41, 8))
def test_a_prompt_is_counted_once_wherever_the_log_is_cut_into_chunks(tmp_path: Path, offset: int) -> None:
    path = written(tmp_path, *prompted(1, "first"))
    begin = path.read_bytes().index(b"\n", path.read_bytes().index(b"PromptTaken")) + 1
    filler = said("x" * (CHUNK - (path.stat().st_size - begin) - 150 + offset))
    log, _ = SessionLog.open(path)
    for event in (filler, *prompted(2, "second"), filler, *prompted(3, "third")):
        log.append(event)
    log.close()
    assert [summary.turns for summary in summaries(tmp_path, "/w", ())] == [3]


def test_a_session_that_was_asked_nothing_is_left_out_unless_it_runs(tmp_path: Path) -> None:
    written(tmp_path, said("hello"))
    assert summaries(tmp_path, "/w", ()) == []
    (running,) = summaries(tmp_path, "/w", {HEADER.session_id})
    assert (running.turns, running.first_prompt, running.running) == (0, "", True)
    assert summaries(tmp_path / "none", "/w", ()) == []


def test_what_can_not_be_read_is_passed_over(tmp_path: Path) -> None:
    written(tmp_path, *prompted(1, "well"), header=header("s-well"))
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "zeros.jsonl").write_bytes(bytes(5000))
    (tmp_path / "notes.jsonl").write_text('precious\n{"event":{"type":"PromptTaken",\n', encoding="utf-8")
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "s-well.jsonl")
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert ids(summaries(tmp_path, "/w", ())) == ["s-well"]


def test_the_first_prompt_that_can_be_read_is_told(tmp_path: Path) -> None:
    path = written(
        tmp_path, *prompted(1, "damaged"), appended(b'{"role":"user","content":"x"}'), *prompted(2, "whole")
    )
    path.write_bytes(path.read_bytes().replace(b'"text":"damaged"', b'"text":"dAmaged"'))
    assert [(one.first_prompt, one.turns) for one in summaries(tmp_path, "/w", ())] == [("whole", 1)]


def test_of_a_long_first_prompt_the_beginning_is_told(tmp_path: Path) -> None:
    written(tmp_path, *prompted(1, "x" * 2_000_000))
    assert [one.first_prompt for one in summaries(tmp_path, "/w", ())] == ["x" * FIRST_PROMPT]
