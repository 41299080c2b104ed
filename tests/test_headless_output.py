"""What `fido run` prints: each fact once, in the contract's shape, never acting on a terminal."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.headless_output import FactFilter, Format, json_line, printer_for, told_as_notice
from ipc.bus import History
from ipc.messages import (
    AnyFact,
    MessageDelta,
    NoticeRaised,
    Plan,
    PlanChanged,
    PlanItem,
    Problem,
    RequestDelayed,
    SessionOpened,
    SubagentActivityChanged,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
    Usage,
    UsageReported,
)

PLAN = Plan(
    revision=2,
    updated_at="2026-01-01T00:00:00.000Z",
    items=(PlanItem(id="a", title="Look", status="in_progress", next_action="x"),),
)
FACTS: list[AnyFact] = [
    SessionOpened(
        session_id="s", workspace="/w", model="m", mode="agent", offline=False, context_window=0,
        system_sha256="1", tools_sha256="2",
    ),
    TurnStarted(turn=1, prompt="p"),
    MessageDelta(turn=1, kind="text", text="Hel"),
    MessageDelta(turn=1, kind="reasoning", text="hidden"),
    ToolStarted(call_id="c", name="read_file", summary="a.py"),
    ToolFinished(call_id="c", name="read_file", status="ok", duration_ms=3, display="text"),
    PlanChanged(plan=PLAN),
    SubagentActivityChanged(agent_id="subagent-1", phase="reasoning", detail="d", elapsed_ms=5, active=True),
    UsageReported(turn=Usage(), total=Usage(prompt_tokens=7), subagent=Usage(), context_tokens=9),
    NoticeRaised(level="warning", message="careful"),
]  # fmt: skip
END = TurnFinished(turn=1, status="completed", final_text="Hello")
FIELDS = {
    "session": {"session_id", "workspace", "model", "system_sha256", "tools_sha256"},
    "turn_started": {"turn"},
    "text": {"delta"},
    "tool_started": {"call_id", "name", "summary"},
    "tool_finished": {"call_id", "name", "status", "duration_ms"},
    "plan": {"plan"},
    "subagent": {"agent_id", "phase", "detail", "elapsed_ms"},
    "usage": {"prompt_tokens", "cached_tokens", "completion_tokens", "cost_usd", "subagent"},
    "notice": {"level", "message"},
    "turn_finished": {"status", "final_text", "error"},
}


def printed(
    form: Format, facts: list[AnyFact], end: TurnFinished = END, *, progress: bool = False
) -> tuple[str, str]:
    out, err = bytearray(), bytearray()
    printer = printer_for(form, out.extend, err.extend, progress=progress)
    for fact in facts:
        printer.show(fact)
    printer.finish(end)
    return out.decode(), err.decode()


def test_stream_json_has_one_object_a_line_with_the_fields_of_the_contract() -> None:
    lines = [json.loads(line) for line in printed("stream-json", FACTS)[0].splitlines()]
    assert [line["type"] for line in lines] == list(FIELDS)
    for line in lines:
        assert set(line) == {"type", *FIELDS[line["type"]]}
    assert lines[5]["plan"]["items"][0] == {
        "id": "a", "title": "Look", "status": "in_progress", "details": "", "dependencies": [],
        "next_action": "x", "evidence": [], "verdicts": [],
    }  # fmt: skip


def test_json_is_one_object_with_session_usage_and_plan() -> None:
    out, err = printed("json", FACTS)
    summary = json.loads(out)
    assert (summary["final_text"], summary["session_id"], summary["usage"]["prompt_tokens"]) == (
        "Hello",
        "s",
        7,
    )
    assert summary["plan"]["revision"] == 2
    assert "careful" in err


def test_text_prints_the_answer_alone_on_stdout_and_notices_on_stderr() -> None:
    out, err = printed("text", FACTS)
    assert out == "Hello\n"
    assert err == "fido: careful\n"


def test_progress_tells_tools_plan_and_subagent_on_stderr() -> None:
    out, err = printed("text", FACTS, progress=True)
    assert out == "Hello\n"
    assert "read_file" in err
    assert "plan 0/1: Look" in err
    assert "SUBAGENT subagent-1 reasoning" in err


@pytest.mark.report("PROV-15")
@pytest.mark.parametrize(
    ("reason", "agent_id", "said"),
    [
        ("429: slow down.", "", "429: slow down. Attempt 2 of 4 in 7.0 s."),
        ("", "subagent-1", "A subagent's request to the model failed. Attempt 2 of 4 in 7.0 s."),
    ],
)
def test_a_request_that_waits_is_a_notice_on_stderr_in_the_shape_of_the_contract(
    reason: str, agent_id: str, said: str
) -> None:
    waits = RequestDelayed(attempt=2, attempts=4, delay_s=7.0, until=1e6, reason=reason, agent_id=agent_id)
    notice = told_as_notice(waits)
    assert printed("text", [notice])[1] == f"fido: {said}\n"
    assert said in printed("json", [notice])[1]
    line, _ = map(json.loads, printed("stream-json", [notice])[0].splitlines())
    assert line == {"type": "notice", "level": "warning", "message": said}


@pytest.mark.parametrize("form", ["text", "json", "stream-json"])
def test_a_failure_says_what_happened_and_what_to_do(form: Format) -> None:
    problem = Problem(code="unreachable", message="No server.", next_step="Start it.")
    out, err = printed(form, [], TurnFinished(turn=1, status="failed", final_text="", problem=problem))
    if form == "text":
        assert (out, err) == ("", "fido: No server. Start it.\n")
    else:
        assert json.loads(out)["error"] == {
            "code": "unreachable", "message": "No server.", "next_step": "Start it.",
        }  # fmt: skip


@given(st.text())
def test_no_output_format_lets_a_control_sequence_through(text: str) -> None:
    dirty = f"\x1b]52;c;x\x07\x9b31m\u202e{text}"
    facts: list[AnyFact] = [
        MessageDelta(turn=1, kind="text", text=dirty),
        NoticeRaised(level="error", message=dirty),
    ]
    for form in ("text", "json", "stream-json"):
        for stream in printed(form, facts, TurnFinished(turn=1, status="completed", final_text=dirty)):
            assert not set(stream) & {"\x1b", "\x9b", "\x07", "\u202e"}


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.none()))
def test_an_escaped_line_of_json_means_the_same(value: dict[str, Any]) -> None:
    line = json_line(value)
    assert line.isascii()
    assert json.loads(line) == value


def shown_after(facts: list[AnyFact], resets: set[int]) -> list[AnyFact]:
    """What a filter shows of facts when it also gets whole states in between."""
    shown: list[AnyFact] = []
    filtered, history = FactFilter(shown.append), History()
    for number, fact in enumerate(facts):
        history.add(fact, 100)
        if number in resets:
            filtered.reset(history.facts())
        else:
            filtered.fact(fact)
    return shown


def as_text(facts: list[AnyFact]) -> str:
    return "".join(fact.text for fact in facts if isinstance(fact, MessageDelta) and fact.kind == "text")


@given(st.sets(st.integers(0, 20)))
def test_every_fact_is_shown_once_however_often_the_state_is_healed(resets: set[int]) -> None:
    facts = [*FACTS, *(MessageDelta(turn=1, kind="text", text=word) for word in ("lo", " wor", "ld")), END]
    shown = shown_after(facts, resets)
    assert as_text(shown) == "Hello world"
    for kind in (ToolStarted, ToolFinished, NoticeRaised, TurnFinished, PlanChanged):
        assert sum(isinstance(fact, kind) for fact in shown) == 1
