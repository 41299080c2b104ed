"""What runs: the tail of a running command, and what commands have left in the background."""

import pytest

from ipc.messages import (
    JobsChanged,
    Problem,
    StopJob,
    ToolFinished,
    ToolPrinted,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from tests.fakes.facts import jobs, session, usage
from tests.fakes.screen import Desktop
from ui.state import apply, rebuild

WIDTHS = [40, 60, 80, 120, 200]
SERVER, WATCH = "python -m http.server 0", "npm run watch"


def running(columns: int = 80, rows: int = 24) -> Desktop:
    """A turn in which a command runs."""
    return Desktop(columns, rows).tell(
        session(),
        TurnStarted(turn=1, prompt="Test it"),
        ToolStarted(call_id="1", name="bash_exec", summary="make test"),
    )


def printed(tail: str, call_id: str = "1") -> ToolPrinted:
    return ToolPrinted(call_id=call_id, tail=tail)


def ended(status: str = "ok", display: str = "") -> ToolFinished:
    return ToolFinished(call_id="1", name="bash_exec", status=status, duration_ms=9, display=display)  # type: ignore[arg-type]


# --- the tail of a command


@pytest.mark.parametrize("columns", WIDTHS)
def test_the_last_lines_of_a_running_command_are_seen_below_it_dimmed(columns: int) -> None:
    desk = running(columns).tell(printed("\n".join(f"test {number} ok" for number in range(9)) + "\n\n"))
    at = desk.lines.index(desk.line_with("bash_exec"))
    below = [line.split("│")[0].rstrip() for line in desk.lines[at + 1 : at + 7]]
    assert below == [*(f"    test {number} ok" for number in range(4, 9)), ""]
    assert desk.roles_of("    test 8 ok") == {"dim"}


def test_a_tail_moves_on_and_is_gone_when_the_command_ends() -> None:
    desk = running().tell(printed("first"), printed("first\n  second"))
    assert "    first" in desk.text
    assert "      second" in desk.text
    desk.tell(ended())
    assert "second" not in desk.text
    assert "✓ bash_exec make test" in desk.text
    assert "late" not in desk.tell(printed("late")).text
    assert "failed" in running().tell(printed("one"), ended("error", "exit status 2")).line_with("bash_exec")


def test_of_a_command_that_was_stopped_the_last_lines_and_the_time_stay() -> None:
    desk = running().tell(printed("one\ntwo"), ended("cancelled", "".join(f"line {at}\n" for at in range(9))))
    assert "9 ms" in desk.line_with("cancelled")
    assert "    line 4" in desk.text
    assert "    line 8" in desk.text
    assert "line 3" not in desk.text


def test_of_a_call_that_was_given_up_no_time_is_made_up_and_its_last_lines_stay() -> None:
    lost = TurnFinished(turn=1, status="failed", final_text="", problem=Problem(code="x", message="Lost."))
    desk = running().tell(printed("one\ntwo"), lost)
    assert " ms" not in desk.line_with("cancelled")
    assert "    two" in desk.text


def test_a_tail_belongs_to_its_call() -> None:
    desk = running().tell(
        ToolStarted(call_id="2", name="delegate", summary="Look"), printed("from the command")
    )
    rows = [line.split("│")[0].strip() for line in desk.lines]
    assert "make test" in rows[rows.index("from the command") - 1]


def test_no_line_of_a_tail_is_more_than_a_row_or_acts_on_the_terminal() -> None:
    desk = running(60).tell(printed("x" * 100_000 + "\n\x1b[2J\u202eb\rc\n" + "\n" * 500 + "end"))
    rows = [line.rstrip() for line in desk.lines]
    at = rows.index("    end")
    assert rows[at - 1] == "    ␛[2J<U+202E>b␍c"
    assert rows[at - 2] == "" or rows[at - 2].endswith("…")


# --- what runs in the background


@pytest.mark.parametrize("columns", WIDTHS)
def test_the_status_line_counts_what_runs_in_the_background(columns: int) -> None:
    desk = Desktop(columns).tell(session(), usage(), jobs(SERVER))
    assert f"{desk.lines[-1]} ".count(" 1 job ") == 1
    assert "Enter send" in desk.lines[-1] or columns == 40
    assert " 2 jobs" in desk.tell(jobs(SERVER, WATCH)).lines[-1]
    assert "job" not in desk.tell(jobs()).lines[-1]


@pytest.mark.parametrize("columns", WIDTHS)
def test_jobs_lists_what_runs_by_number_command_start_and_process(columns: int) -> None:
    desk = Desktop(columns).tell(session(), jobs(SERVER, WATCH)).type("/jobs").press("enter")
    assert desk.orders == []
    for text in (f"1 {SERVER}", f"2 {WATCH}", "process 4711, since", "process 4712, since", "/jobs stop"):
        assert text in desk.words
    desk.tell(jobs(SERVER))
    assert WATCH not in desk.text
    desk.tell(jobs())
    assert "Nothing runs in the background." in desk.text
    assert "Nothing runs" not in desk.press("esc").text


def test_a_job_is_stopped_by_its_number() -> None:
    desk = Desktop().tell(session(), jobs(SERVER, WATCH)).type("/jobs stop 2").press("enter")
    assert desk.orders == [StopJob(pid=4712)]
    assert f"Stopping job 2: {WATCH}" in desk.text
    desk.tell(jobs(SERVER))
    desk.view.desk.done(StopJob(pid=4712))
    assert f"Stopped job 2: {WATCH}" in desk.text


@pytest.mark.parametrize("number", ["", " 3", " 0", " -1", " one", " 1 2", " ²", " 99999999999"])
def test_a_number_that_no_job_has_stops_nothing_and_says_so(number: str) -> None:
    desk = Desktop().tell(session(), jobs(SERVER, WATCH)).type("/jobs stop" + number).press("enter")
    assert desk.orders == []
    assert "There is no job" in desk.words
    assert "Running: 1, 2" in desk.words


def test_a_number_never_comes_to_mean_another_job() -> None:
    desk = Desktop().tell(session(), jobs(SERVER, WATCH))
    desk.tell(jobs(WATCH, pid=4712)).tell(JobsChanged(jobs=(*jobs(WATCH, pid=4712).jobs, *jobs("new").jobs)))
    assert desk.view.state.conversation.jobs.keys() == {2, 1}
    later = jobs("x").jobs[0]
    again = JobsChanged(jobs=(*jobs(WATCH, pid=4712).jobs, type(later)(pid=4711, command="x", started_at="")))
    desk.tell(again)
    assert {number: job.command for number, job in desk.view.state.conversation.jobs.items()} == {
        2: WATCH,
        3: "x",
    }
    rebuild(desk.view.state, "parent", (session(), again))
    assert desk.view.state.conversation.jobs.keys() == {2, 3}


def test_a_parent_that_begins_anew_has_no_jobs() -> None:
    desk = Desktop().tell(session(), jobs(SERVER))
    rebuild(desk.view.state, "parent", (session(),))
    assert desk.view.state.conversation.jobs == {}
    apply(desk.view.state, jobs(WATCH, pid=9), 1.0)
    assert desk.view.state.conversation.jobs.keys() == {2}


def test_the_command_of_a_job_is_cleaned() -> None:
    desk = Desktop().tell(session(), jobs("evil\x1b[2J\nline")).type("/jobs").press("enter")
    assert "evil␛[2J ⏎ line" in desk.text
