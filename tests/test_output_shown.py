"""What a person sees of a tool's output: what the recorder keeps of it, and what the screen makes of that."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.calls import ToolResult
from actors.session.log import SessionLog
from actors.session.recorder import DISPLAY_LIMIT, Recorder
from ipc.messages import DISPLAY_LINES, AnyFact, ToolCall, ToolFinished, ToolStarted
from tests.fakes.facts import session
from tests.fakes.screen import Desktop
from tests.fakes.session_events import HEADER, SYSTEM

LEFT_OUT = re.compile(r"^… ([\d,]+) (line|character)(s?) left out$", re.MULTILINE)
LINES = st.text("ab", max_size=3) | st.builds(lambda size: "c" * size, st.integers(0, 9_000))
OUTPUTS = st.builds(
    lambda parts: "\n".join(line for line, times in parts for _ in range(times)),
    st.lists(st.tuples(LINES, st.integers(1, 3) | st.integers(90, 310)), min_size=1, max_size=5),
)


@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Recorder:
    log = SessionLog.create(tmp_path_factory.mktemp("log"), "s-1", HEADER, SYSTEM)
    return Recorder(log, TOLD.append, None)


TOLD: list[AnyFact] = []


def told(recorder: Recorder, output: str) -> ToolFinished:
    """What is told of a call with an output."""
    recorder.call_finished(ToolCall(id="1", name="bash_exec", arguments="{}"), ToolResult("", "ok", output))
    fact = TOLD.pop()
    assert isinstance(fact, ToolFinished)
    return fact


def unfolded(fact: ToolFinished, rows: int = 340) -> Desktop:
    started = ToolStarted(call_id="1", name="bash_exec", summary="x")
    return Desktop(100, rows).tell(session(), started, fact).press("f3")


@given(OUTPUTS)
def test_both_ends_are_kept_and_what_is_missing_is_counted(recorder: Recorder, output: str) -> None:
    shown = told(recorder, output).display
    if shown == output:
        return
    assert len(output) > DISPLAY_LIMIT or output.count("\n") + 1 > DISPLAY_LINES
    assert shown.count("\n") < DISPLAY_LINES
    found = LEFT_OUT.search(shown)
    assert found is not None
    head, tail = shown[: found.start() - 1], shown[found.end() + 1 :]
    assert output.startswith(head)
    assert output.endswith(tail)
    assert 1_000 <= len(head) + len(tail) <= DISPLAY_LIMIT or shown.count("\n") > 90
    left = output[len(head) : len(output) - len(tail)]
    number = int(found[1].replace(",", ""))
    assert number == (len(left) if found[2] == "character" else left.count("\n") - 1) > 0
    assert (found[3] == "") == (number == 1)


def test_of_a_line_that_is_too_long_both_ends_are_kept(recorder: Recorder) -> None:
    shown = told(recorder, "short\n" + "c" * 9_000 + "\nend").display
    assert shown == f"short\n{'c' * 4_994}\n… 1,010 characters left out\n{'c' * 2_996}\nend"


@pytest.mark.parametrize("count", [300, 301, 3_000])
def test_the_last_line_of_a_long_output_is_on_the_screen_and_the_lines_are_those_it_printed(
    recorder: Recorder, count: int
) -> None:
    printed = "\n".join(f"line {number}" for number in range(1, count + 1))
    desk = unfolded(told(recorder, f"{printed}\n[exit status 0]"))
    assert f"{count:,} lines" in desk.line_with("bash_exec")
    assert f"line {count}" in desk.text
    assert "[exit status 0]" in desk.text
    assert "more" not in desk.text


def test_what_was_cut_before_is_not_counted(recorder: Recorder) -> None:
    marker = "[... 90,000 of 99,999 bytes left out: all are in x ...]"
    printed = "\n".join(["line"] * 20)
    desk = unfolded(told(recorder, f"{printed}\n{marker}\n{printed}\n[exit status 0]"), 60)
    assert "lines" not in desk.line_with("bash_exec")
