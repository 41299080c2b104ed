"""Facts as the other actors tell them: made by hand, and any of them by Hypothesis."""

from typing import Any, get_args

from hypothesis import strategies as st

from ipc.messages import (
    AnyFact,
    AskRaised,
    AskSettled,
    CompactionFinished,
    CompactionStarted,
    Glyphs,
    Job,
    JobsChanged,
    MessageDelta,
    NoticeRaised,
    Plan,
    PlanChanged,
    PlanItem,
    Problem,
    ProcessExited,
    ProcessStarted,
    RequestDelayed,
    ScreenConfigured,
    SessionOpened,
    SubagentActivityChanged,
    Theme,
    ToolFinished,
    ToolPrinted,
    ToolStarted,
    TurnFinished,
    TurnStarted,
    TurnStatus,
    Usage,
    UsageReported,
)

SURVEY = PlanItem(
    id="survey",
    title="Survey the workspace",
    status="done",
    details="Languages and entry points",
    evidence=("list_files: 212 files", "src/app.py:1"),
    verdicts=("verified", "claimed"),
)
INSPECT = PlanItem(
    id="inspect",
    title="Inspect the provider",
    status="in_progress",
    dependencies=("survey",),
    next_action="wait for the subagent",
)
REPORT = PlanItem(
    id="report",
    title="Write the report",
    status="pending",
    dependencies=("survey", "inspect"),
    next_action="list the findings",
)
LICENSE = PlanItem(
    id="license", title="Ask about the license", status="blocked", next_action="wait for an answer"
)
PLAN = Plan(
    revision=3,
    updated_at="2025-01-01T10:12:13.000Z",
    reason="Surveyed the tree",
    session="20250101-101112-7f3a",
    items=(SURVEY, INSPECT, REPORT, LICENSE),
)


def session(**changes: object) -> SessionOpened:
    """The first fact of a parent."""
    fields: dict[str, object] = {
        "session_id": "20250101-101112-7f3a",
        "workspace": "/home/me/code/project",
        "model": "gpt-5-mini",
        "mode": "agent",
        "offline": False,
        "context_window": 128_000,
        "system_sha256": "",
        "tools_sha256": "",
    }
    return SessionOpened(**{**fields, **changes})  # type: ignore[arg-type]


def usage(context: int = 12_300, cost: float | None = None) -> UsageReported:
    total = Usage(prompt_tokens=45_000, cached_tokens=40_000, completion_tokens=1_200, cost_usd=cost)
    return UsageReported(turn=Usage(), total=total, subagent=Usage(), context_tokens=context)


def activity(
    phase: str, detail: str = "", *, elapsed_ms: int = 0, active: bool = True, **more: Any
) -> SubagentActivityChanged:
    return SubagentActivityChanged(
        agent_id="subagent-7f3a", phase=phase, detail=detail, elapsed_ms=elapsed_ms, active=active, **more
    )


def approval(
    body: str = "make test",
    *,
    ask_id: str = "ask-1",
    tool: str = "bash_exec",
    grant: str = "`make test`",
    title: str = "",
    call_id: str = "",
) -> AskRaised:
    title = title or f"{tool} in tests: {' '.join(body.split())}"[:300]
    return AskRaised(
        ask_id=ask_id, kind="approval", tool=tool, title=title, body=body, grant=grant, call_id=call_id
    )


def delayed(attempt: int, wait_s: float, until: float, **more: Any) -> RequestDelayed:
    """A request that waits; `until` by the clock of the screen."""
    fields = {"attempts": 4, "reason": "429 from http://server: slow down", **more}
    return RequestDelayed(attempt=attempt, delay_s=wait_s, until=until, **fields)


def jobs(*commands: str, pid: int = 4711) -> JobsChanged:
    """Commands that have left something running, with processes that count from `pid`."""
    return JobsChanged(
        jobs=tuple(
            Job(pid=pid + at, command=command, started_at="2025-03-05T13:05:00.000Z")
            for at, command in enumerate(commands)
        )
    )


def finished(
    turn: int = 1,
    text: str = "",
    status: TurnStatus = "completed",
    problem: Problem | None = None,
    worked_s: int = 0,
) -> TurnFinished:
    return TurnFinished(turn=turn, status=status, final_text=text, problem=problem, worked_s=worked_s)


HOSTILE_TEXTS = (
    "\x1b[2J\x1b]0;t\x07",
    "\x9b31m",
    "a\rb\x08c\x00",
    "\u202egnp\u2066",
    "\u200b\u00ad\ufeff",
    "\u2028\u0085",
    "e" + "\u0301" * 50,
    "\U000e0041\ue000",
    "👨\u200d👩\u200d👧",
    "漢字かな",
    "[/x] [b {0} <tag>",
    "\t\n\n\n  x",
    "word " * 60,
    "x" * 300,
    "\udce9",
    "…",
)
MARKDOWN_TEXTS = (
    "# head\n\n**bold *both* [t](http://x.y/z)",
    "```py\nif x:\n\ty = 1\n",
    "```\n\n\n",
    "| a | b |\n|---|--:|\n| 漢字 | " + "word " * 20 + "|\n",
    "- [ ] one\n  1. two\n     > three\n",
    "<b>no</b> ![alt](x.png) `code` <https://x.y>\n***\n",
    "\n\n",
)
TEXTS = (
    st.text(st.characters(codec=None, categories=None), max_size=60)
    | st.sampled_from(HOSTILE_TEXTS)
    | st.sampled_from(MARKDOWN_TEXTS)
)
_SMALL = st.integers(0, 3)
_CALLS = st.sampled_from(["call-1", "call-2", "call-3"])
_ASKS = st.sampled_from(["ask-1", "ask-2"])
_NUMBERS = st.integers(0, 10**9)
_USAGES = st.builds(
    Usage, prompt_tokens=_NUMBERS, completion_tokens=_NUMBERS, cost_usd=st.none() | st.floats(0, 1e4)
)
_PROBLEMS = st.none() | st.builds(Problem, code=TEXTS, message=TEXTS, next_step=TEXTS)
_STATUSES = st.sampled_from(["pending", "in_progress", "blocked", "done"])
_ITEMS = st.builds(
    PlanItem,
    id=TEXTS,
    title=TEXTS,
    status=_STATUSES,
    details=TEXTS,
    dependencies=st.lists(TEXTS, max_size=3).map(tuple),
    next_action=TEXTS,
    evidence=st.lists(TEXTS, max_size=3).map(tuple),
    verdicts=st.lists(st.sampled_from(["verified", "claimed"]), max_size=3).map(tuple),
)
PLANS = st.builds(
    Plan,
    updated_at=TEXTS | st.just(PLAN.updated_at),
    reason=TEXTS,
    session=TEXTS | st.just(PLAN.session),
    items=st.lists(_ITEMS, max_size=20).map(tuple),
)
FACTS: st.SearchStrategy[AnyFact] = st.one_of(
    st.builds(session, session_id=TEXTS, workspace=TEXTS, model=TEXTS, context_window=_NUMBERS),
    st.builds(
        ScreenConfigured,
        theme=st.sampled_from(get_args(Theme)),
        glyphs=st.sampled_from(get_args(Glyphs)),
        mouse=st.booleans(),
        motion=st.booleans(),
        keys=st.dictionaries(
            TEXTS | st.sampled_from(["send", "plan"]), st.lists(TEXTS, max_size=2).map(tuple), max_size=3
        ),
    ),
    st.builds(TurnStarted, turn=_SMALL, prompt=TEXTS),
    st.builds(MessageDelta, turn=_SMALL, kind=st.sampled_from(["text", "reasoning"]), text=TEXTS),
    st.builds(
        RequestDelayed,
        attempt=_SMALL,
        attempts=_SMALL,
        delay_s=st.floats(0, 1e9),
        until=st.floats(0, 1e9),
        reason=TEXTS,
        agent_id=TEXTS | st.just(""),
    ),
    st.builds(ToolStarted, call_id=_CALLS, name=TEXTS, summary=TEXTS),
    st.builds(ToolPrinted, call_id=_CALLS, tail=TEXTS),
    st.builds(
        JobsChanged,
        jobs=st.lists(st.builds(Job, pid=_SMALL, command=TEXTS, started_at=TEXTS), max_size=3).map(tuple),
    ),
    st.builds(
        ToolFinished,
        call_id=_CALLS,
        name=TEXTS,
        status=st.sampled_from(["ok", "error", "denied", "cancelled"]),
        duration_ms=_NUMBERS,
        display=TEXTS,
        decided=TEXTS | st.just("allow_once"),
    ),
    st.builds(
        AskRaised,
        ask_id=_ASKS,
        kind=st.sampled_from(["approval", "question"]),
        tool=TEXTS | st.just("patch"),
        title=TEXTS,
        body=TEXTS,
        options=st.lists(TEXTS, max_size=6).map(tuple),
        grant=TEXTS,
        call_id=_CALLS | st.just(""),
    ),
    st.builds(AskSettled, ask_id=_ASKS, outcome=TEXTS),
    st.builds(
        UsageReported,
        turn=_USAGES,
        total=_USAGES,
        subagent=_USAGES,
        context_tokens=_NUMBERS,
        context_window=_NUMBERS,
    ),
    st.builds(CompactionStarted, automatic=st.booleans(), context_tokens=_NUMBERS),
    st.builds(
        CompactionFinished,
        method=st.sampled_from(["summary", "trim", "none"]),
        before_tokens=_NUMBERS,
        after_tokens=_NUMBERS,
        detail=TEXTS,
    ),
    st.builds(
        SubagentActivityChanged,
        agent_id=TEXTS,
        phase=TEXTS | st.sampled_from(["starting", "reasoning", "read_file", "completed", "partial"]),
        detail=TEXTS,
        elapsed_ms=_NUMBERS,
        active=st.booleans(),
        usage=_USAGES,
        queued=_SMALL,
    ),
    st.builds(NoticeRaised, level=st.sampled_from(["info", "warning", "error"]), message=TEXTS),
    st.builds(
        TurnFinished,
        turn=_SMALL,
        status=st.sampled_from(["completed", "failed", "limit", "cancelled"]),
        final_text=TEXTS,
        problem=_PROBLEMS,
    ),
    st.builds(PlanChanged, plan=PLANS),
    st.builds(ProcessStarted, actor=st.sampled_from(["parent", "ui", "worker"]), pid=_NUMBERS),
    st.builds(
        ProcessExited,
        actor=st.sampled_from(["parent", "worker"]),
        pid=_NUMBERS,
        status=st.integers(-15, 255),
        restarting=st.booleans(),
    ),
)
